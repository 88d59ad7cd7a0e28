"""A short paragraph for each judgement that does not hold."""

from pathlib import Path

from specfloor.catalog.references import beside
from specfloor.experiments.base import ExperimentJudgement
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.configuration import ConfigurationJudgement
from specfloor.judge.known import KnownFaultsJudgement
from specfloor.judge.run import Judgement
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import Verdict
from specfloor.report.diagnosis import cause_lines
from specfloor.triage.diagnosis import Diagnosis


def paragraph(judgement: Judgement, folder: Path, diagnosis: Diagnosis | None = None) -> str:
    """Return what was expected, what was measured, on which rung, why, and where the evidence is.

    Args:
        judgement: what was said of a cell.
        folder: the run's folder, which paths are shown below.
        diagnosis: of the cell, whose causes are shown with what is shown not to hold.
    """
    match judgement:
        case AcceptanceJudgement():
            what = "acceptance"
            details = _acceptance_details(judgement)
        case SpeedJudgement():
            what = "speed"
            details = _speed_details(judgement)
        case ConfigurationJudgement():
            what, details = "configuration", []
        case UpgradeJudgement():
            what = f"{judgement.outcome}, upgrade from {judgement.baseline}"
            details = [f"{verdict.reason}." for verdict in judgement.quantities[1:]]
        case KnownFaultsJudgement():
            what = "known faults"
            details = [f"{f.fix.change}: {f.state}, {f.why}." for f in judgement.faults]
        case ExperimentJudgement():
            what, details = judgement.experiment, []
    findings = ", ".join(judgement.findings)
    evidence = " ".join(str(folder / name) for name in ("records.jsonl", *judgement.logs))
    return "\n".join(
        (
            f"{judgement.verdict or 'reported'} {findings}: {what} of {judgement.cell.id}",
            # a cause from a log may end with a full stop of its own
            f"{judgement.reason.removesuffix('.')}.",
            *details,
            *(cause_lines(diagnosis) if diagnosis and _asks_why(judgement) else ()),
            f"Evidence: {evidence}",
        )
    )


def _asks_why(judgement: Judgement) -> bool:
    """Whether causes follow: of what is shown not to hold, and is not a cause itself."""
    return judgement.verdict is Verdict.FAIL and not isinstance(judgement, KnownFaultsJudgement)


def _acceptance_details(judgement: AcceptanceJudgement) -> list[str]:
    lines = []
    if judgement.floor:
        floor = judgement.floor
        lines.append(f"Floor {floor.value:g} since {floor.date}: {floor.reason} ({floor.source}).")
    if judgement.rung:
        sent = f"{judgement.sent} of {judgement.prompts} prompts sent"
        lines.append(f"Rung {judgement.rung}, {sent}. {judgement.reconciliation}")
    if judgement.summary and judgement.summary.per_position:
        profile = " ".join(f"{e.value:.3f}" for e in judgement.summary.per_position)
        lines.append(f"Accepted by position: {profile}.")
    lines += [f"Published: {line}." for line in beside(judgement.cell)]
    if judgement.failed:
        lines.append(f"{judgement.failed} of {judgement.sent} requests failed.")
    return lines


def _speed_details(judgement: SpeedJudgement) -> list[str]:
    lines = []
    if judgement.floor:
        floor = judgement.floor
        lines.append(f"Floor {floor.value:g} since {floor.date}: {floor.reason} ({floor.source}).")
    summary = judgement.summary
    if summary:
        prompts = " + ".join(str(pair.prompts) for pair in summary.within)
        lines.append(
            f"Paired by prompt: {prompts} prompts in {summary.launches} pair(s) of launches."
        )
    if summary and summary.length and summary.step_cost:
        lines.append(
            f"Speedup {summary.speedup:.2f} ≈ acceptance length {summary.length:.2f} ÷ step cost "
            f"{summary.step_cost:.2f} (a step with drafts over one without)."
        )
    return lines
