"""What stands beside acceptance that nothing was there to judge by, and what would judge it."""

from collections.abc import Iterable, Sequence

import msgspec

from specfloor.catalog.references import describe, references_for
from specfloor.i18n import _
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.evidence import Run
from specfloor.triage.facts import ACCEPTANCE
from specfloor.triage.findings import Finding
from specfloor.triage.judge_speed import judging_acceptance
from specfloor.triage.steps import Place
from specfloor.triage.tally import Tally, total
from specfloor.triage.told import is_known

_MOST_REFERENCES = 4
"""Published figures that are shown; ``specfloor references`` has them all."""


def unjudged(conclusions: Sequence[Conclusion], evidence: Iterable[Sequence[Run]]) -> Tally | None:
    """Return the acceptance that was measured while nothing said what it should be.

    None where there is none, or where it was judged.

    Args:
        conclusions: what was concluded, the one that decides first.
        evidence: the runs by kind of evidence, of which the first with drafts is taken: the kinds
            tell of the same drafts.
    """
    if any(c.finding in ACCEPTANCE for c in conclusions):
        return None
    if conclusions[0].finding not in (None, Finding.SPEED_REGRESSION):
        return None
    tallies = (total(run.tally for run in runs) for runs in evidence)
    tally = next(filter(None, tallies), None)
    return tally if tally and tally.rate is not None else None


def published(family: str | None, method: str | None, k: int | None) -> tuple[str, ...]:
    """Return what others publish of a family and method, nearest conditions first, as texts.

    Nothing where one of the two is not known; of any k where k is not.
    """
    if family is None or method is None or not is_known(method):
        return ()
    return tuple(
        _("{what}: {why}").format(
            what=reference.method + (f", k = {reference.k}" if reference.k else ""),
            why=describe(reference),
        )
        for reference in references_for(family, method, k)[:_MOST_REFERENCES]
    )


def with_captures(
    conclusions: Sequence[Conclusion], place: Place, *, one_scrape: bool, off: bool
) -> tuple[Conclusion, ...]:
    """Return conclusions, of which PARSE says what to capture so that it can be judged.

    Args:
        conclusions: what was concluded, the one that decides first.
        place: what was measured.
        one_scrape: whether counters of ``/metrics`` have only their sums since the start.
        off: whether there is an arm without speculation already.
    """
    first, *others = conclusions
    if first.finding is not None:
        return (first, *others)
    steps = [judging_acceptance()]
    if one_scrape:
        steps.append(
            _(
                "scrape /metrics a second time after a few hundred requests and give both "
                "(before.prom, after.prom): one scrape has only sums since the start"
            )
        )
    if not off:
        steps.append(
            _(
                "whether it pays: send the same load to a server without --speculative-config, and "
                "give both logs, or both benchmark reports (off.log, on.log)"
            )
        )
    if place.family:
        command = f"`{place.suite('-k', 'acceptance')}`"
        steps.append(_("or measure it against floors: {command}").format(command=command))
    return (msgspec.structs.replace(first, next=tuple(steps)), *others)
