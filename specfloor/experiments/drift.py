"""Does acceptance hold while a server runs for long, and for long prompts?"""

import itertools
from collections.abc import Iterator, Sequence

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.errors import UsageError
from specfloor.experiments.base import (
    Bench,
    Curve,
    ExperimentJudgement,
    Point,
    Table,
    arm_launch,
    cell_block,
)
from specfloor.i18n import _
from specfloor.judge.acceptance import is_dead
from specfloor.judge.cell import FAILED_ALLOWED, Rule
from specfloor.judge.drift import Drift, judge_drift
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.floors import Floors
from specfloor.judge.onset import Onset, locate_onset
from specfloor.judge.soak import Band, Segment, Soak, bands_of, soak_of
from specfloor.judge.verdict import Verdict
from specfloor.load.workload import shuffled
from specfloor.plan import Overrides
from specfloor.runs.records import FindingRecord, Purpose
from specfloor.triage.findings import Finding

CONCURRENCY = {"small": 4, "full": 16}
"""Requests in flight: more of them in the same time, and caches that are used as in service."""
SEGMENTS = {"small": 8, "full": 20}
"""Parts of a soak. Counters are read between them, so each gives the acceptance of each engine."""
PREFIX_CACHING = "--enable-prefix-caching"
_WARM_UP = "warm-up"


class DriftDetail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the soak showed, for the JSON file.

    ``last_healthy_s`` is when the last full answer ended, in seconds since the soak began.
    ``prefix_caching`` is what the engine says of it, None where it does not say.
    """

    drift: Drift
    onset: Onset | None
    segments: tuple[Segment, ...]
    bands: tuple[Band, ...]
    last_healthy_s: float
    prefix_caching: bool | None


class AcceptanceDrift:
    """Sends the prompts over and over for a long time, with prefix caching on."""

    name = "drift"
    varies = ("concurrency",)

    def why_not(self, cell: Cell, catalog: Catalog) -> str | None:
        """Every cell has an answer."""
        del cell, catalog
        return None

    def measure(self, bench: Bench, cell: Cell) -> None:
        """Fill the prefix cache, then soak in parts, each in an order of its own."""
        key = arm_launch(cell, cell.arm, self.name, 0)
        # without counts in the responses, those of a request are known at concurrency 1 alone
        counted = bench.catalog.release(cell.release).signals.per_request
        most = bench.most_concurrent(cell, CONCURRENCY[bench.size]) if counted else 1
        warm_up = cell_block(cell, Purpose.NATURAL, most, _WARM_UP)
        plan = bench.block_plan(key, warm_up)
        plans, parts = {warm_up: plan}, SEGMENTS[bench.size]
        for number in range(parts):
            block = cell_block(cell, Purpose.NATURAL, most, f"{number + 1:02d}")
            prompts = shuffled(plan.prompts, bench.seed + number)
            if bench.soak_requests is None:
                plans[block] = msgspec.structs.replace(
                    plan, prompts=prompts, duration_s=bench.soak_s / parts
                )
            else:
                every = itertools.islice(itertools.cycle(prompts), -(-bench.soak_requests // parts))
                plans[block] = msgspec.structs.replace(plan, prompts=tuple(every))
        requests, minutes = bench.soak_requests, bench.soak_s / 60
        asked = f"{minutes:g} min" if requests is None else f"{requests} requests"
        bench.say(f"drift: a soak of {asked} in {parts} parts")
        bench.launch(key, plans, Overrides(serve={PREFIX_CACHING: ""}))

    def judge(
        self, index: RecordIndex, cell: Cell, catalog: Catalog, floors: Floors, rule: Rule
    ) -> ExperimentJudgement:
        """Judge the first part of the soak against the last, and say when a fall began."""
        del floors
        key = arm_launch(cell, cell.arm, self.name, 0)
        launch, fault = index.launch(key), index.fault(key.id)
        blank = ExperimentJudgement(
            cell,
            self.name,
            Verdict.FAIL if fault else Verdict.NO_DATA,
            (fault.finding if fault else Finding.NO_DATA,),
            fault.sentence if fault else _("nothing was soaked"),
            logs=index.logs(cell, self.name),
        )
        blocks = [
            block
            for sent_to, sent in index.blocks()
            if sent_to == key
            and (sent.workload, sent.tier) == (cell.workload, cell.tier)
            and sent.label != _WARM_UP
            and (block := index.block(key, sent))
            and block.requests
        ]
        if not blocks:
            return blank
        method = method_of(catalog.family(cell.family), cell.arm)
        soak = soak_of(blocks, k=cell.k, drafts_k=method.drafts_k)
        drift = judge_drift(soak.samples, alpha=rule.alpha, beta=rule.beta, margin=rule.margin)
        onset, not_located = _onset(soak) if drift.verdict is Verdict.FAIL else (None, "")
        detail = DriftDetail(
            drift=drift,
            onset=onset,
            segments=soak.segments,
            bands=bands_of(soak),
            last_healthy_s=soak.last_healthy_s,
            prefix_caching=launch.settings.prefix_caching if launch and launch.settings else None,
        )
        verdict, findings, reason = _concluded(soak, drift, rule)
        reason += f"{describe(onset)}{not_located}{_caching(detail)}"
        if fault:
            drifted = [Finding.ACCEPT_DRIFT] if verdict is Verdict.FAIL else []
            verdict, findings = Verdict.FAIL, (fault.finding, *drifted)
            reason = _("{stalled}. Until then: {reason}").format(
                stalled=_stalled(fault, soak), reason=reason
            )
        return msgspec.structs.replace(
            blank,
            verdict=verdict,
            findings=findings,
            reason=reason,
            detail=detail,
            tables=tuple(_tables(detail)),
            curves=tuple(_curves(soak.segments)),
        )


def describe(onset: Onset | None) -> str:
    """Return when a fall began, as the end of a sentence; nothing when that is not known."""
    if onset is None:
        return ""
    how = _("at once") if onset.kind == "step" else _("little by little")
    return _(", {how} from request {number} on, {duration} into the soak").format(
        how=how, number=onset.number, duration=_duration(onset.at_s)
    )


def _concluded(soak: Soak, drift: Drift, rule: Rule) -> tuple[Verdict, tuple[Finding, ...], str]:
    if is_dead(soak.counts):
        reason = _("drafts are made from the first request on and none is accepted")
        return Verdict.FAIL, (Finding.ACCEPT_ZERO,), reason
    if drift.first is None or drift.last is None:
        why = _("; ").join(soak.gaps) or _("no prompt drafted in both its first and its last third")
        return (
            Verdict.NO_DATA,
            (Finding.NO_DATA,),
            _("the soak cannot be judged: {why}").format(why=why),
        )
    change = f"{drift.change:+.1%}" if drift.change is not None else _("from nothing")
    seen = _(
        "from {first:.3f} to {last:.3f} ({change}) between the first and the "
        "last third of {requests} requests in {duration}, on {pairs} pairs of "
        "the same prompt"
    ).format(
        first=drift.first,
        last=drift.last,
        change=change,
        requests=soak.requests,
        duration=_duration(soak.seconds),
        pairs=drift.pairs,
    )
    match drift.verdict:
        case Verdict.FAIL:
            reason = _("acceptance fell {seen}").format(seen=seen)
            return Verdict.FAIL, (Finding.ACCEPT_DRIFT,), reason
        case Verdict.PASS if soak.failed > FAILED_ALLOWED * soak.requests:
            failed = _("{failed} of {requests} requests failed").format(
                failed=soak.failed, requests=soak.requests
            )
            reason = _("{failed}, too many for the rest to pass; it went {seen}").format(
                failed=failed, seen=seen
            )
            return Verdict.INCONCLUSIVE, (Finding.INCONCLUSIVE,), reason
        case Verdict.PASS:
            excluded = _("a fall by {margin:.0%} is excluded").format(margin=rule.margin)
            reason = _("acceptance holds: it went {seen}, and {excluded}").format(
                seen=seen, excluded=excluded
            )
            return Verdict.PASS, (Finding.EXPECTED,), reason
    longer = (
        _("; soak about {longer:.2g} times as long").format(longer=drift.longer)
        if drift.longer
        else ""
    )
    reason = _("neither a fall nor that there is none is sure: it went {seen}{longer}").format(
        seen=seen, longer=longer
    )
    return Verdict.INCONCLUSIVE, (Finding.INCONCLUSIVE,), reason


def _onset(soak: Soak) -> tuple[Onset | None, str]:
    try:
        return locate_onset(soak.samples), ""
    except UsageError as missing:
        return None, f"; {missing}"


def _stalled(fault: FindingRecord, soak: Soak) -> str:
    healthy = _("the last full answer ended {duration} into the soak").format(
        duration=_duration(soak.last_healthy_s)
    )
    return _("{sentence}; {healthy}, {requests} requests were answered").format(
        sentence=fault.sentence, healthy=healthy, requests=soak.requests - soak.failed
    )


def _caching(detail: DriftDetail) -> str:
    if detail.prefix_caching is False:
        return _(". The engine says that prefix caching is off, although it was asked for")
    return ""


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s" if seconds < 100 else _("{seconds:.1f} min").format(seconds=seconds / 60)
    )


def _tables(detail: DriftDetail) -> Iterator[Table]:
    engines = sorted({engine for one in detail.segments for engine in one.by_engine})
    names = (
        [_("engine {engine}").format(engine=engine) for engine in engines]
        if len(engines) > 1
        else []
    )
    yield Table(
        _("Acceptance over the soak"),
        (_("from minute"), "requests", _("acceptance (mean)"), "from", "to", *names),
        tuple(
            (
                one.starts_s / 60,
                str(one.requests),
                one.mean.value if one.mean else None,
                one.mean.interval.low if one.mean and one.mean.interval else None,
                one.mean.interval.high if one.mean and one.mean.interval else None,
                *(one.by_engine.get(engine) for engine in engines if names),
            )
            for one in detail.segments
        ),
    )
    if detail.bands:
        yield Table(
            _("Acceptance by length of the prompt"),
            (
                _("tokens of the prompt"),
                "prompts",
                _("acceptance (mean over prompts)"),
                "from",
                "to",
            ),
            tuple(
                (
                    _("{shortest} to {longest}").format(
                        shortest=band.shortest, longest=band.longest
                    ),
                    str(band.mean.n),
                    band.mean.value,
                    band.mean.interval.low if band.mean.interval else None,
                    band.mean.interval.high if band.mean.interval else None,
                )
                for band in detail.bands
            ),
        )


def _curves(segments: Sequence[Segment]) -> Iterator[Curve]:
    axes = _("minutes into the soak"), _("accepted")
    points = tuple(
        Point(
            one.starts_s / 60,
            one.mean.value,
            one.mean.interval.low if one.mean.interval else None,
            one.mean.interval.high if one.mean.interval else None,
        )
        for one in segments
        if one.mean
    )
    if points:
        yield Curve(_("mean over requests"), *axes, points)
    engines = sorted({engine for one in segments for engine in one.by_engine})
    for engine in engines if len(engines) > 1 else ():
        own = tuple(
            Point(one.starts_s / 60, one.by_engine[engine])
            for one in segments
            if engine in one.by_engine
        )
        yield Curve(_("engine {engine}").format(engine=engine), *axes, own)
