"""The table behind the verdicts on acceptance: what each number is, and what it could see."""

from collections.abc import Iterable

from tabulate import tabulate

from specfloor.i18n import N_, _
from specfloor.judge.cell import AcceptanceJudgement
from specfloor.judge.run import CellResult
from specfloor.judge.verdict import AcceptanceSummary
from specfloor.report.table import NOTHING, with_interval

HEADERS = (
    N_("cell"),
    N_("rung"),
    N_("requests"),
    N_("mean over requests"),
    N_("pooled"),
    N_("first steps"),
    N_("design effect"),
    N_("least visible drop"),
    N_("by position (simultaneous band)"),
    N_("same text as off"),
)


def details_table(results: Iterable[CellResult], style: str = "simple") -> str:
    """Return one row a cell whose acceptance was measured, or nothing when none was."""
    rows = [
        _row(result.acceptance, result.acceptance.summary)
        for result in results
        if result.acceptance and result.acceptance.summary
    ]
    return (
        tabulate(rows, [_(h) for h in HEADERS], tablefmt=style, disable_numparse=True)
        if rows
        else ""
    )


def _row(judgement: AcceptanceJudgement, summary: AcceptanceSummary) -> tuple[str, ...]:
    detail, head = judgement.detail, summary.head
    mean = judgement.mean("rate") or summary.rate_mean
    drop = detail.least_visible_drop if detail else summary.least_visible_drop
    failed = _(", {failed} failed").format(failed=judgement.failed) if judgement.failed else ""
    return (
        judgement.cell.id,
        judgement.rung or NOTHING,
        _("{requests} of {prompts}{failed}").format(
            requests=summary.requests, prompts=judgement.prompts, failed=failed
        ),
        with_interval(mean),
        with_interval(summary.rate_pooled),
        f"{with_interval(head.mean)} ({head.steps})" if head else NOTHING,
        f"{summary.design_effect:.1f}" if summary.design_effect is not None else NOTHING,
        f"{drop:.1%}" if drop is not None else NOTHING,
        " ".join(with_interval(position) for position in summary.per_position) or NOTHING,
        str(judgement.outputs) if judgement.outputs else NOTHING,
    )
