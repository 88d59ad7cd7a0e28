"""The speed of one cell: its pairs of launches against its floor."""

import statistics
from collections.abc import Iterable, Sequence

import msgspec

from specfloor.i18n import _
from specfloor.judge.cell import (
    NO_ENTRY,
    AcceptanceJudgement,
    Rule,
    SpeedJudgement,
    fault_sentence,
    floor_or_reason,
    logs_of,
    off_fault,
)
from specfloor.judge.evidence import ArmEvidence, CellEvidence
from specfloor.judge.floors import Floor, ReportOnly
from specfloor.judge.speed import LaunchTimes, judge_speed, summarize_speed
from specfloor.judge.times import (
    Clock,
    clock_of_cell,
    time_per_step,
    times_of_arms,
    times_per_token,
)
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import FindingRecord, Purpose
from specfloor.triage.findings import Finding


def judge_cell_speed(
    evidence: CellEvidence,
    entry: Floor | ReportOnly | None,
    acceptance: AcceptanceJudgement,
    rule: Rule,
) -> SpeedJudgement:
    """Judge the speedup of one cell; ``acceptance`` is what was said of its acceptance."""
    replace = msgspec.structs.replace
    floor, report_only = floor_or_reason(entry)
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
        logs=logs_of(evidence),
    )
    if fault := _broken_off(evidence.on):
        return replace(
            judged,
            verdict=Verdict.FAIL,
            findings=(fault.finding,),
            reason=fault_sentence(fault, off_fault(evidence)),
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
            reason=reason, report_only=report_only or _(NO_ENTRY)
        ),
        summary=summary,
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


def _broken_off(arms: Iterable[ArmEvidence]) -> FindingRecord | None:
    """Return the first fault that kept a block for speed from its end."""
    return next((fault for arm in arms if (fault := arm.broken_off(Purpose.FORCED))), None)
