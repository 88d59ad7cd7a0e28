"""The judgement of one cell: its evidence against its floors."""

import statistics
from collections.abc import Iterable, Sequence

import msgspec

from specfloor.catalog.model import Family
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.i18n import N_, _
from specfloor.judge import acceptance
from specfloor.judge.acceptance import is_dead, is_too_good, judge_acceptance
from specfloor.judge.estimate import summarize_acceptance
from specfloor.judge.evidence import ArmEvidence, Block, CellEvidence
from specfloor.judge.figures import figures_of
from specfloor.judge.floors import Floor, Quantity, ReportOnly
from specfloor.judge.looping import loops
from specfloor.judge.mixed import Slo
from specfloor.judge.outputs import OutputAgreement, compare_outputs
from specfloor.judge.speed import LaunchTimes, judge_speed, summarize_speed
from specfloor.judge.times import (
    Clock,
    clock_of_cell,
    time_per_step,
    times_of_arms,
    times_per_token,
)
from specfloor.judge.verdict import (
    AcceptanceSummary,
    AcceptanceVerdict,
    SpeedSummary,
    SpeedVerdict,
    Verdict,
)
from specfloor.runs.records import FindingRecord, Purpose
from specfloor.runs.spoken import spoken
from specfloor.signals.choose import BlockSignals, choose
from specfloor.signals.counts import RequestCounts, Rung
from specfloor.triage.findings import Finding
from specfloor.triage.shares import Figures
from specfloor.triage.signatures import odd_ones


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How floors are judged: error rates, the margin, what the prompts are, limits of a load."""

    alpha: float = 0.05
    beta: float = 0.05
    margin: float = 0.05
    sampled: bool = False
    slo: Slo | None = None


class AcceptanceJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a cell's acceptance.

    ``verdict`` is None when the cell is reported without a floor, for the reason ``report_only``.
    ``failed`` of ``sent`` requests got no full answer, of ``prompts`` that the block has.
    ``outputs`` compares the texts of both arms.
    ``reconciliation`` says how the rungs that were there together agree. ``figures`` are what the
    counts show besides their mean, for triage.
    """

    cell: Cell
    verdict: Verdict | None
    findings: tuple[Finding, ...]
    reason: str
    floor: Floor | None
    report_only: str | None
    prompts: int = 0
    sent: int = 0
    failed: int = 0
    rung: Rung | None = None
    reconciliation: str = ""
    outputs: OutputAgreement | None = None
    detail: AcceptanceVerdict | None = None
    summary: AcceptanceSummary | None = None
    figures: Figures | None = None
    logs: tuple[str, ...] = ()


class SpeedJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a cell's speedup; fields as in :class:`AcceptanceJudgement`.

    ``off_s`` and ``on_s`` are the median time per output token of each arm over its requests, in
    seconds, taken as ``clock`` says.
    """

    cell: Cell
    verdict: Verdict | None
    findings: tuple[Finding, ...]
    reason: str
    floor: Floor | None
    report_only: str | None
    clock: Clock = Clock.AFTER_FIRST
    off_s: float | None = None
    on_s: float | None = None
    detail: SpeedVerdict | None = None
    summary: SpeedSummary | None = None
    logs: tuple[str, ...] = ()


def judge_cell_acceptance(
    evidence: CellEvidence, family: Family, entry: Floor | ReportOnly | None, rule: Rule
) -> AcceptanceJudgement:
    """Judge the acceptance of one cell.

    Args:
        evidence: the cell's records.
        family: the cell's family.
        entry: the floor or the reason for none.
        rule: how to judge.
    """
    cell = evidence.cell
    on = evidence.on[0] if evidence.on else None
    floor, report_only = _floor_or_reason(entry)
    blank = AcceptanceJudgement(
        cell=cell,
        verdict=Verdict.NO_DATA,
        findings=(Finding.NO_DATA,),
        reason=_("this cell was not measured"),
        floor=floor,
        report_only=report_only,
        logs=_logs(evidence),
    )
    if on is None:
        return blank
    fault = on.broken_off(Purpose.NATURAL)
    if on.natural is None:
        return _faulted(blank, fault, _off_fault(evidence)) if fault else blank
    method = method_of(family, cell.arm)
    signals = choose(on.natural.requests, on.natural.counters, k=cell.k, drafts_k=method.drafts_k)
    off = evidence.off[0].natural if evidence.off else None
    measured = msgspec.structs.replace(
        blank,
        prompts=on.natural.sent.prompts,
        sent=len(on.natural.requests),
        failed=sum(not request.ok for request in on.natural.requests),
        rung=signals.rung,
        reconciliation=signals.reconciliation.sentence,
        outputs=compare_outputs(on.natural.requests, off.requests if off else ()),
        figures=figures_of(on.natural, signals),
    )
    judged = _judge(
        measured, signals, on.natural, floor, rule, draft_is_target=method.draft == "target"
    )
    if fault:
        return _faulted(judged, fault, _off_fault(evidence))
    return _with_health(_with_engines(_with_failures(judged)))


def judge_cell_speed(
    evidence: CellEvidence,
    entry: Floor | ReportOnly | None,
    acceptance: AcceptanceJudgement,
    rule: Rule,
) -> SpeedJudgement:
    """Judge the speedup of one cell; ``acceptance`` is what was said of its acceptance."""
    replace = msgspec.structs.replace
    floor, report_only = _floor_or_reason(entry)
    clock = clock_of_cell(evidence)
    apart = _on_different_hosts(evidence)
    times = [
        _launch_times(arm, clock)
        for arm in (*evidence.off, *evidence.on)
        if arm.key.repeat not in apart
    ]
    launches = [launch for launch in times if launch is not None]
    judged = SpeedJudgement(
        cell=evidence.cell,
        verdict=Verdict.NO_DATA,
        findings=(Finding.NO_DATA,),
        reason=_("no pair of launches, one off and one on, was measured for speed"),
        floor=floor,
        report_only=report_only,
        clock=clock,
        off_s=_median(times_of_arms(evidence.off, clock)),
        on_s=_median(times_of_arms(evidence.on, clock)),
        logs=_logs(evidence),
    )
    if fault := _broken_off(evidence.on):
        return replace(
            judged,
            verdict=Verdict.FAIL,
            findings=(fault.finding,),
            reason=_sentence(fault, _off_fault(evidence)),
        )
    if fault := _broken_off(evidence.off):
        reason = _("the off arm cannot be compared with: {sentence}").format(
            sentence=fault.sentence
        )
        return replace(judged, findings=(Finding.BASELINE_INVALID,), reason=reason)
    length = acceptance.summary.length_pooled.value if acceptance.summary else None
    if floor is not None:
        verdict = judge_speed(
            launches,
            floor.value,
            length=length,
            acceptance=acceptance.verdict,
            alpha=rule.alpha,
            beta=rule.beta,
        )
        return replace(
            judged,
            verdict=verdict.verdict,
            findings=verdict.findings,
            reason=verdict.reason,
            detail=verdict,
            summary=verdict.summary,
        )
    summary = summarize_speed(launches, length=length, alpha=rule.alpha)
    if summary is None:
        return judged
    reason = _("measured {speedup:.2f} × over {launches} pair(s) of launches").format(
        speedup=summary.speedup, launches=summary.launches
    )
    return replace(
        judged,
        verdict=None,
        findings=(Finding.EXPECTED,),
        reason=_("{reason}; no floor: {report_only}").format(
            reason=reason, report_only=report_only or _(_NO_ENTRY)
        ),
        summary=summary,
    )


def acceptance_floor(
    floor: Floor, cell: Cell, rule: Rule, population: int | None
) -> acceptance.Floor:
    """Return a floor with the rule it is judged by; UsageError when they do not go together.

    ``population`` is the number of prompts of a fixed set, None for a sample.
    """
    length = floor.quantity is Quantity.ACCEPTANCE_LENGTH
    return acceptance.Floor(
        value=floor.value,
        unit="length" if length else "rate",
        k=cell.k if length else None,
        population=population,
        alpha=rule.alpha,
        beta=rule.beta,
        margin=rule.margin,
    )


def _on_different_hosts(evidence: CellEvidence) -> set[int]:
    """Return the rounds whose arms ran on different hosts: their speeds are no pair."""
    hosts: dict[int, set[str | None]] = {}
    for arm in (*evidence.off, *evidence.on):
        if arm.launch:
            hosts.setdefault(arm.key.repeat, set()).add(arm.launch.host)
    return {repeat for repeat, found in hosts.items() if len(found) > 1}


def _launch_times(arm: ArmEvidence, clock: Clock) -> LaunchTimes | None:
    per_token = times_per_token(arm.forced, clock)
    if arm.forced is None or not per_token:
        return None
    per_step = {
        request.prompt_id: seconds
        for request in arm.forced.requests
        if request.prompt_id in per_token and (seconds := time_per_step(request, clock))
    }
    return LaunchTimes(arm.key.arm.speculates, arm.key.repeat, per_token, per_step)


def _median(times: Sequence[float]) -> float | None:
    return statistics.median(times) if times else None


def _judge(
    measured: AcceptanceJudgement,
    signals: BlockSignals,
    block: Block,
    floor: Floor | None,
    rule: Rule,
    *,
    draft_is_target: bool,
) -> AcceptanceJudgement:
    replace = msgspec.structs.replace
    if not signals.requests:
        return _without_requests(measured, signals, block)
    population = None if rule.sampled else block.sent.prompts
    if floor is None:
        summary = summarize_acceptance(signals.requests, alpha=rule.alpha, beta=rule.beta)
        if summary is None:
            return replace(measured, reason=_(_NO_DRAFTS))
        wrong = _wrong_without_floor(signals.requests, draft_is_target=draft_is_target)
        return replace(
            measured,
            verdict=Verdict.FAIL if wrong else None,
            findings=(wrong or Finding.EXPECTED,),
            reason=_(
                "measured {rate_pooled:.3f} (pooled) on {requests} requests; no "
                "floor: {report_only}"
            ).format(
                rate_pooled=summary.rate_pooled.value,
                requests=summary.requests,
                report_only=measured.report_only or _(_NO_ENTRY),
            ),
            summary=summary,
        )
    verdict = judge_acceptance(
        signals.requests,
        acceptance_floor(floor, measured.cell, rule, population),
        draft_is_target=draft_is_target,
        rung=signals.rung,
        looping=sum(
            loops(request.text) or loops(request.reasoning)
            for request in block.requests
            if request.ok
        ),
    )
    return replace(
        measured,
        verdict=verdict.verdict,
        findings=verdict.findings,
        reason=verdict.reason,
        detail=verdict,
        summary=verdict.summary,
    )


def _wrong_without_floor(
    requests: Sequence[RequestCounts], *, draft_is_target: bool
) -> Finding | None:
    """Return what is wrong with acceptance whatever the floor would be."""
    if is_dead(requests):
        return Finding.ACCEPT_ZERO
    if is_too_good(requests) and not draft_is_target:
        return Finding.SUSPICIOUS_ACCEPTANCE
    return None


_NO_ENTRY = N_("none was set")
_NO_DRAFTS = N_("no request drafted a token, so there is no acceptance to judge")


def _without_requests(
    measured: AcceptanceJudgement, signals: BlockSignals, block: Block
) -> AcceptanceJudgement:
    """Judge a block of which at most the total is known."""
    replace = msgspec.structs.replace
    why = _("; ").join(signals.gaps)
    if signals.total is None or not signals.total.drafted:
        reason = why or _(_NO_DRAFTS)
        if measured.sent and measured.failed == measured.sent:
            reason = _("all {sent} requests failed, the first with: {error}").format(
                sent=measured.sent, error=spoken(block.requests[0].error or "")
            )
        return replace(measured, reason=reason)
    rate = signals.total.rate
    return replace(
        measured,
        verdict=Verdict.INCONCLUSIVE,
        findings=(Finding.INCONCLUSIVE,),
        reason=_(
            "only the total of the block is known, {rate:.3f} of {drafted} drafted "
            "tokens, and without counts of each request it has no interval; run at "
            "concurrency 1, where the counters give each request's ({why})"
        ).format(rate=rate, drafted=signals.total.drafted, why=why),
    )


def _faulted(
    judged: AcceptanceJudgement, fault: FindingRecord, off_fault: FindingRecord | None
) -> AcceptanceJudgement:
    """Return the judgement of a cell whose engine failed; what was measured stays in it."""
    so_far = _(". Until then: {reason}").format(reason=judged.reason) if judged.sent else ""
    return msgspec.structs.replace(
        judged,
        verdict=Verdict.FAIL,
        findings=(fault.finding, *((Finding.BASELINE_INVALID,) if off_fault else ())),
        reason=f"{_sentence(fault, off_fault)}{so_far}",
    )


def _sentence(fault: FindingRecord, off_fault: FindingRecord | None) -> str:
    if off_fault is None:
        return fault.sentence
    so = (
        _(" too, so speculation is not the cause")
        if off_fault.finding is fault.finding
        else _(": {sentence}").format(sentence=off_fault.sentence)
    )
    return _("{sentence}. With speculation off a launch ended with {finding}{so}").format(
        sentence=fault.sentence, finding=off_fault.finding, so=so
    )


SAME_TEXTS = 0.5
"""Share of the prompts with the same text on both arms below which the texts do not look as always.
Near ties part some greedy texts even without speculation; a target that answers something else
parts nearly all."""

FAILED_ALLOWED = 0.05
"""Share of requests without a full answer from which the rest may not pass: which ones fail is no
chance, and what they would have accepted is not known."""


def _with_failures(judged: AcceptanceJudgement) -> AcceptanceJudgement:
    """Take back a PASS of which too many requests failed."""
    if judged.verdict is not Verdict.PASS or judged.failed <= FAILED_ALLOWED * judged.sent:
        return judged
    return msgspec.structs.replace(
        judged,
        verdict=Verdict.INCONCLUSIVE,
        findings=(Finding.INCONCLUSIVE,),
        reason=_(
            "{failed} of {sent} requests failed, too many for the rest to pass; {reason}"
        ).format(failed=judged.failed, sent=judged.sent, reason=judged.reason),
    )


def _with_engines(judged: AcceptanceJudgement) -> AcceptanceJudgement:
    """Fail a cell of which some engines keep less than the requests explain, whatever the mean.

    The mean over a group of engines hides one that has lost its draft, and its users do not.
    """
    odd = odd_ones(judged.figures.engines) if judged.figures else {}
    if not odd:
        return judged
    others = tuple(finding for finding in judged.findings if finding is not Finding.EXPECTED)
    return msgspec.structs.replace(
        judged,
        verdict=Verdict.FAIL,
        findings=(Finding.TOPOLOGY, *others),
        reason=_("only some engines are affected: {engines}; {reason}").format(
            engines="; ".join(odd.values()), reason=judged.reason
        ),
    )


COLLAPSE = 0.5
"""Share of the floor under which acceptance has not merely fallen: most of the draft is wrong."""


def _fall(judged: AcceptanceJudgement) -> str:
    mean = judged.detail.mean if judged.detail else None
    low = (
        mean is not None and judged.floor is not None and mean.value < COLLAPSE * judged.floor.value
    )
    return _("collapsed") if low or Finding.ACCEPT_ZERO in judged.findings else _("fell")


_COLLAPSED = {Finding.ACCEPT_ZERO, Finding.ACCEPT_REGRESSION}


def _with_health(judged: AcceptanceJudgement) -> AcceptanceJudgement:
    """Add to a collapse what looked healthy meanwhile: it is what sends people to the hardware."""
    if not _COLLAPSED & set(judged.findings):
        return judged
    seen = [
        _("the server answered {answered} of {sent} requests").format(
            answered=judged.sent - judged.failed, sent=judged.sent
        )
    ]
    if judged.outputs:
        seen.append(
            _("{outputs} prompts got the text of the off arm").format(outputs=judged.outputs)
        )
    said = _("{reason}. While acceptance {fall}, ").format(reason=judged.reason, fall=_fall(judged))
    if judged.failed or (judged.outputs and judged.outputs.share < SAME_TEXTS):
        said += _(" and ").join(seen)
    else:
        said += _(
            "everything else looked healthy: {seen}; so look at the draft before the hardware"
        ).format(seen=_(" and ").join(seen))
    return msgspec.structs.replace(judged, reason=said)


def _broken_off(arms: Iterable[ArmEvidence]) -> FindingRecord | None:
    """Return the first fault that kept a block for speed from its end."""
    return next((fault for arm in arms if (fault := arm.broken_off(Purpose.FORCED))), None)


def _off_fault(evidence: CellEvidence) -> FindingRecord | None:
    return next((arm.fault for arm in evidence.off if arm.fault), None)


def _logs(evidence: CellEvidence) -> tuple[str, ...]:
    arms: Sequence[ArmEvidence] = (*evidence.on, *evidence.off)
    return tuple(
        dict.fromkeys(
            log
            for arm in arms
            if (log := arm.launch.log if arm.launch else arm.fault and arm.fault.evidence)
        )
    )


def _floor_or_reason(entry: Floor | ReportOnly | None) -> tuple[Floor | None, str | None]:
    if isinstance(entry, Floor):
        return entry, None
    return None, entry.reason if entry else None
