"""Judgements as flat properties, for JUnit."""

from specfloor.experiments.base import ExperimentJudgement
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.run import Judgement
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import Estimate, Interval

VERDICT = "verdict"
"""The property that says what was concluded; tests without it concluded nothing."""


def properties_of(judgement: Judgement) -> list[tuple[str, str]]:
    """Return name and value of what a CI server should show of a judgement, as text.

    ``quantity``, ``estimate`` and its interval are the figures that were judged, in the unit of
    ``floor``; those named after a quantity suppose a number of requests fixed beforehand. Of an
    upgrade they are the relative change of the acceptance rate.
    """
    found = [
        ("cell", judgement.cell.id),
        (VERDICT, judgement.verdict or "reported"),
        ("findings", " ".join(judgement.findings)),
    ]
    if judged := _judged(judgement):
        quantity, value, interval = judged
        found += [("quantity", quantity), ("estimate", f"{value:.5f}")]
        if interval:
            found += [
                *_interval("interval", interval),
                ("interval_level", f"{interval.level:g}"),
            ]
    if isinstance(judgement, AcceptanceJudgement) and judgement.summary:
        found += _estimate("acceptance_rate_mean", judgement.summary.rate_mean)
        found += _estimate("acceptance_rate_pooled", judgement.summary.rate_pooled)
        found += _estimate("acceptance_length_pooled", judgement.summary.length_pooled)
        found.append(("rung", judgement.rung or ""))
    if isinstance(judgement, UpgradeJudgement):
        found += [("baseline", judgement.baseline), ("outcome", judgement.outcome)]
    if isinstance(judgement, ExperimentJudgement):
        found.append(("experiment", judgement.experiment))
    if isinstance(judgement, SpeedJudgement) and judgement.summary:
        found.append(("speedup", f"{judgement.summary.speedup:.4f}"))
        found += _interval("speedup", judgement.summary.interval)
    if isinstance(judgement, AcceptanceJudgement | SpeedJudgement) and judgement.floor:
        found.append(("floor", f"{judgement.floor.value:g}"))
    return found


def _judged(judgement: Judgement) -> tuple[str, float, Interval | None] | None:
    """Return what was judged: its name, value and interval; None when nothing was measured."""
    match judgement:
        case AcceptanceJudgement(detail=detail) if detail and detail.mean:
            return f"acceptance_{detail.unit}", detail.mean.value, detail.mean.interval
        case AcceptanceJudgement(summary=summary) if summary:
            return "acceptance_rate", summary.rate_mean.value, summary.rate_mean.interval
        case SpeedJudgement(summary=summary) if summary:
            return "speedup", summary.speedup, summary.interval
        case UpgradeJudgement(quantities=(rate, *_)) if rate.result:
            result = rate.result
            if result.change is not None:
                return "acceptance_rate_change", result.change, result.interval
    return None


def _estimate(name: str, estimate: Estimate) -> list[tuple[str, str]]:
    return [(name, f"{estimate.value:.5f}"), *_interval(name, estimate.interval)]


def _interval(name: str, interval: Interval | None) -> list[tuple[str, str]]:
    if interval is None:
        return []
    return [(f"{name}_low", f"{interval.low:.5f}"), (f"{name}_high", f"{interval.high:.5f}")]
