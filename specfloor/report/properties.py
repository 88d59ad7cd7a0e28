"""Judgements as flat properties, for JUnit and pytest-benchmark."""

from specfloor.experiments.base import ExperimentJudgement
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.run import Judgement
from specfloor.judge.verdict import Estimate, Interval

VERDICT = "verdict"
"""The property that says what was concluded; tests without it concluded nothing."""


def properties_of(judgement: Judgement) -> list[tuple[str, str]]:
    """Return name and value of what a CI server should show of a judgement, as text."""
    found = [
        ("cell", judgement.cell.id),
        (VERDICT, judgement.verdict or "reported"),
        ("findings", " ".join(judgement.findings)),
    ]
    if isinstance(judgement, AcceptanceJudgement) and judgement.summary:
        found += _estimate("acceptance_rate_mean", judgement.summary.rate_mean)
        found += _estimate("acceptance_rate_pooled", judgement.summary.rate_pooled)
        found += _estimate("acceptance_length_pooled", judgement.summary.length_pooled)
        found.append(("rung", judgement.rung or ""))
    if isinstance(judgement, ExperimentJudgement):
        found.append(("experiment", judgement.experiment))
    if isinstance(judgement, SpeedJudgement) and judgement.summary:
        found.append(("speedup", f"{judgement.summary.speedup:.4f}"))
        found += _interval("speedup", judgement.summary.interval)
    if isinstance(judgement, AcceptanceJudgement | SpeedJudgement) and judgement.floor:
        found.append(("floor", f"{judgement.floor.value:g}"))
    return found


def _estimate(name: str, estimate: Estimate) -> list[tuple[str, str]]:
    return [(name, f"{estimate.value:.5f}"), *_interval(name, estimate.interval)]


def _interval(name: str, interval: Interval | None) -> list[tuple[str, str]]:
    if interval is None:
        return []
    return [(f"{name}_low", f"{interval.low:.5f}"), (f"{name}_high", f"{interval.high:.5f}")]
