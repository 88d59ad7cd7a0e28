"""The table behind the verdicts on acceptance: what each number is, and what it could see."""

from collections.abc import Iterable

from tabulate import tabulate

from specfloor.judge.cell import AcceptanceJudgement
from specfloor.judge.run import CellResult
from specfloor.judge.verdict import AcceptanceSummary, Estimate, Interval
from specfloor.report.table import NOTHING

HEADERS = (
    "cell",
    "rung",
    "requests",
    "mean over requests",
    "pooled",
    "first steps",
    "design effect",
    "least visible drop",
    "by position (simultaneous band)",
    "same text as off",
)


def details_table(results: Iterable[CellResult], style: str = "simple") -> str:
    """Return one row a cell whose acceptance was measured, or nothing when none was."""
    rows = [
        _row(result.acceptance, result.acceptance.summary)
        for result in results
        if result.acceptance and result.acceptance.summary
    ]
    return tabulate(rows, HEADERS, tablefmt=style, disable_numparse=True) if rows else ""


def _row(judgement: AcceptanceJudgement, summary: AcceptanceSummary) -> tuple[str, ...]:
    detail, head = judgement.detail, summary.head
    mean = detail.mean if detail and detail.mean else summary.rate_mean
    drop = detail.least_visible_drop if detail else summary.least_visible_drop
    failed = f", {judgement.failed} failed" if judgement.failed else ""
    return (
        judgement.cell.id,
        judgement.rung or NOTHING,
        f"{summary.requests} of {judgement.prompts}{failed}",
        _estimate(mean),
        _estimate(summary.rate_pooled),
        f"{_estimate(head.mean)} ({head.steps})" if head else NOTHING,
        f"{summary.design_effect:.1f}" if summary.design_effect is not None else NOTHING,
        f"{drop:.1%}" if drop is not None else NOTHING,
        " ".join(_estimate(position) for position in summary.per_position) or NOTHING,
        str(judgement.outputs) if judgement.outputs else NOTHING,
    )


def _estimate(estimate: Estimate) -> str:
    return f"{estimate.value:.3f}{_bounds(estimate.interval)}"


def _bounds(interval: Interval | None) -> str:
    return f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
