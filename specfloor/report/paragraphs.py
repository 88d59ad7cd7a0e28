"""A short paragraph for each judgement that does not hold."""

from pathlib import Path

from specfloor.catalog.references import beside
from specfloor.experiments.base import ExperimentJudgement
from specfloor.i18n import _, ended
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.configuration import ConfigurationJudgement
from specfloor.judge.floors import Floor
from specfloor.judge.known import KnownFaultsJudgement
from specfloor.judge.run import Judgement
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import Verdict
from specfloor.report.diagnosis import cause_lines
from specfloor.report.table import REPORTED
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
            what = _("acceptance")
            details = _acceptance_details(judgement)
        case SpeedJudgement():
            what = _("speed")
            details = _speed_details(judgement)
        case ConfigurationJudgement():
            what, details = _("configuration"), []
        case UpgradeJudgement():
            what = _("{outcome}, upgrade from {baseline}").format(
                outcome=judgement.outcome, baseline=judgement.baseline
            )
            details = [ended(verdict.reason) for verdict in judgement.quantities[1:]]
        case KnownFaultsJudgement():
            what = _("known faults")
            details = [
                _("{change}: {state}, {why}.").format(
                    change=f.fix.change, state=_(f.state), why=f.why
                )
                for f in judgement.faults
            ]
        case ExperimentJudgement():
            what, details = judgement.experiment, []
    findings = ", ".join(judgement.findings)
    evidence = " ".join(str(folder / name) for name in ("records.jsonl", *judgement.logs))
    return "\n".join(
        (
            _("{verdict} {findings}: {what} of {cell}").format(
                verdict=judgement.verdict or _(REPORTED),
                findings=findings,
                what=what,
                cell=judgement.cell.id,
            ),
            # a cause from a log may end with a full stop of its own
            ended(judgement.reason),
            *details,
            *(cause_lines(diagnosis) if diagnosis and _asks_why(judgement) else ()),
            _("Evidence: {evidence}").format(evidence=evidence),
        )
    )


def _asks_why(judgement: Judgement) -> bool:
    """Whether causes follow: of what is shown not to hold, and is not a cause itself."""
    return judgement.verdict is Verdict.FAIL and not isinstance(judgement, KnownFaultsJudgement)


def _floor_line(floor: Floor) -> str:
    return _("Floor {floor:g} since {date}: {reason} ({source}).").format(
        floor=floor.value, date=floor.date, reason=_(floor.reason), source=floor.source
    )


def _acceptance_details(judgement: AcceptanceJudgement) -> list[str]:
    lines = []
    if judgement.floor:
        lines.append(_floor_line(judgement.floor))
    if judgement.rung:
        sent = _("{sent} of {prompts} prompts sent").format(
            sent=judgement.sent, prompts=judgement.prompts
        )
        lines.append(
            _("Rung {rung}, {sent}. {reconciliation}").format(
                rung=judgement.rung, sent=sent, reconciliation=judgement.reconciliation
            )
        )
    if judgement.summary and judgement.summary.per_position:
        profile = " ".join(f"{e.value:.3f}" for e in judgement.summary.per_position)
        lines.append(_("Accepted by position: {profile}.").format(profile=profile))
    lines += [_("Published: {line}.").format(line=line) for line in beside(judgement.cell)]
    if judgement.failed:
        lines.append(
            _("{failed} of {sent} requests failed.").format(
                failed=judgement.failed, sent=judgement.sent
            )
        )
    return lines


def _speed_details(judgement: SpeedJudgement) -> list[str]:
    lines = []
    if judgement.floor:
        lines.append(_floor_line(judgement.floor))
    summary = judgement.summary
    if summary:
        prompts = " + ".join(str(pair.prompts) for pair in summary.within)
        lines.append(
            _("Paired by prompt: {prompts} prompts in {launches} pair(s) of launches.").format(
                prompts=prompts, launches=summary.launches
            )
        )
    if summary and summary.length and summary.step_cost:
        lines.append(
            _(
                "Speedup {speedup:.2f} ≈ acceptance length {length:.2f} ÷ step cost "
                "{step_cost:.2f} (a step with drafts over one without)."
            ).format(speedup=summary.speedup, length=summary.length, step_cost=summary.step_cost)
        )
    return lines
