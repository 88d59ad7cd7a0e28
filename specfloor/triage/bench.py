"""Reports of serving benchmarks, in the units of one of them: ms, tokens a second, fractions."""

import re
from collections.abc import Iterable

import msgspec

from specfloor.i18n import _
from specfloor.triage.tally import Tally

Times = dict[str, dict[str, float]]
"""Milliseconds by quantity (one of ``QUANTITIES``) and statistic: ``mean``, and ``median`` and
``p99`` where the report has them."""

QUANTITIES = ("ttft_ms", "tpot_ms", "itl_ms", "e2el_ms")

_AMOUNTS = (
    *("concurrency", "completed", "failed", "duration_s", "total_input_tokens"),
    *("total_output_tokens", "output_tok_s", "input_each", "output_each"),
)
_DATASET = re.compile(r"dataset[_-]name['\"]?[ =:]+['\"]?([\w.-]+)|--dataset[_-]name[ =]+([\w.-]+)")
_IGNORE_EOS = re.compile(r"ignore_eos['\"]?[=:] ?[Tt]rue|--ignore[_-]eos\b")
_SLACK = 0.006
"""Of a printed rate or length against the counts: reports print two decimals."""


class BenchRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One report. ``spec`` is None where it has no acceptance, which is not 0.

    ``input_each`` and ``output_each`` are tokens per request. ``doubt`` is what is cut or does not
    fit together in it.
    """

    tool: str
    concurrency: int | None = None
    completed: int | None = None
    failed: int | None = None
    duration_s: float | None = None
    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    output_tok_s: float | None = None
    times: Times = {}
    spec: Tally | None = None
    input_each: float | None = None
    output_each: float | None = None
    dataset: str | None = None
    ignore_eos: bool = False
    doubt: str | None = None

    def mean(self, quantity: str) -> float | None:
        """Return the mean of a quantity; None where the report does not have it."""
        return self.times.get(quantity, {}).get("mean")

    @property
    def length_estimate(self) -> float | None:
        """Time between chunks over time per token: near the acceptance length, but no count of it.

        None without both, or where chunks hold a token each.
        """
        between, each = self.mean("itl_ms"), self.mean("tpot_ms")
        if not between or not each or between / each < _SEVERAL:
            return None
        return between / each

    @property
    def failed_share(self) -> float:
        """Failed requests over all that were sent."""
        sent = (self.completed or 0) + (self.failed or 0)
        return (self.failed or 0) / sent if sent else 0.0


_SEVERAL = 1.05
"""ITL over TPOT from which chunks hold several tokens: without speculation the two are alike."""


def plausible(run: BenchRun) -> BenchRun:
    """Return a report without the numbers that none can have, such as a time below zero.

    A report that had one is damaged, which its ``doubt`` says.
    """
    impossible = [name for name in _AMOUNTS if (getattr(run, name) or 0) < 0]
    times = {
        quantity: {name: ms for name, ms in statistics.items() if ms >= 0}
        for quantity, statistics in run.times.items()
    }
    impossible += [q for q in times if len(times[q]) < len(run.times[q])]
    if not impossible:
        return run
    doubt = _("{name} is below zero in it").format(name=impossible[0])
    lost = dict.fromkeys((name for name in impossible if name in _AMOUNTS), None)
    return msgspec.structs.replace(run, times=times, doubt=run.doubt or doubt, **lost)


def dataset_of(text: str) -> str | None:
    """Return the data set that a report or its command line names."""
    match = _DATASET.search(text)
    return (match[1] or match[2]) if match else None


def ignores_eos(text: str) -> bool:
    """Whether a report or its command line says that the end of sequence was ignored."""
    return bool(_IGNORE_EOS.search(text))


def spec_of(
    drafts: int | None,
    draft_tokens: int | None,
    accepted_tokens: int | None,
    rates: Iterable[float],
    *,
    rate: float | None = None,
    length: float | None = None,
) -> tuple[Tally | None, str | None]:
    """Return the counts of a report, or None and what does not fit together in them.

    ``rates`` are the shares by position, ``rate`` and ``length`` as printed, all fractions.
    """
    if not drafts or not draft_tokens or accepted_tokens is None:
        return None, None
    positions = tuple(round(share * drafts) for share in rates)
    tally = Tally(drafts, draft_tokens, accepted_tokens, positions)
    doubt = None
    if accepted_tokens > draft_tokens:
        doubt = _("{accepted_tokens} tokens accepted of {draft_tokens}").format(
            accepted_tokens=accepted_tokens, draft_tokens=draft_tokens
        )
    elif rate is not None and abs(accepted_tokens / draft_tokens - rate) > _SLACK / 100:
        doubt = _("the acceptance rate is not that of its counts")
    elif length is not None and abs(1 + accepted_tokens / drafts - length) > _SLACK:
        doubt = _("the acceptance length is not that of its counts")
    elif positions and abs(sum(positions) - accepted_tokens) > 1 + 1e-4 * drafts * len(positions):
        doubt = _("the positions do not add up to the accepted tokens")
    return (None, doubt) if doubt else (tally, None)
