"""One entry a cell of a run: what was found, and under which conditions."""

import hashlib

import msgspec

from specfloor.cells import Cell
from specfloor.judge.baseline import hardware_class
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.evidence import CellEvidence, RecordIndex
from specfloor.judge.run import CellResult, RunResult
from specfloor.judge.upgrade import Side, conditions
from specfloor.judge.verdict import Interval
from specfloor.runs.records import Purpose
from specfloor.runs.store import Run
from specfloor.signals.counts import Rung

SCHEMA = 1
"""Version of the shape of an entry; readers skip a newer one and say so."""


class AcceptancePoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The acceptance of a cell in one run, by its natural stops.

    ``rate`` is the mean over ``requests``, with the interval from ``low`` to ``high``, and
    ``length`` is pooled. ``conditions`` are the same for every point of a line.
    """

    rate: float
    low: float | None
    high: float | None
    length: float
    requests: int
    rung: str
    conditions: dict[str, str]


class SpeedPoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The speedup of a cell in one run, by forced lengths.

    ``speedup`` is the geometric mean over ``launches`` pairs, with the interval over them;
    ``off_s`` and ``on_s`` are medians of the seconds per output token.
    """

    speedup: float
    low: float | None
    high: float | None
    launches: int
    off_s: float | None
    on_s: float | None
    conditions: dict[str, str]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of ``history.jsonl``: a cell of a run.

    ``started`` is the start of the run in ISO 8601, ``verdict`` the worst that was said of the cell
    or ``reported``. What was not measured is None.
    """

    schema: int = SCHEMA
    run: str
    started: str
    cell: Cell
    verdict: str
    findings: tuple[str, ...]
    acceptance: AcceptancePoint | None
    speed: SpeedPoint | None


def entries_of(run: Run, result: RunResult) -> tuple[Entry, ...]:
    """Return the entries of a run, cell by cell.

    Args:
        run: the run's records.
        result: what was judged of it.
    """
    index, hardware = RecordIndex(run.records), hardware_class(run.info.environment)
    return tuple(_entry(run, cell, index.evidence(cell.cell), hardware) for cell in result.cells)


def line_of(cell: Cell, point: AcceptancePoint | SpeedPoint) -> str:
    """Return the id of the line of a point: a digest of its cell, quantity and conditions."""
    quantity = type(point).__name__
    text = msgspec.json.encode([cell.pair_id, quantity, sorted(point.conditions.items())])
    return hashlib.sha256(text).hexdigest()[:10]


def _entry(run: Run, result: CellResult, evidence: CellEvidence, hardware: str) -> Entry:
    side = Side(evidence, hardware)
    findings = dict.fromkeys(str(f) for j in result.judgements for f in j.findings)
    return Entry(
        run=run.info.run,
        started=run.info.started,
        cell=result.cell,
        verdict=str(result.verdict or "reported"),
        findings=tuple(findings),
        acceptance=_acceptance(result.acceptance, side),
        speed=_speed(result.speed, side),
    )


def _acceptance(judgement: AcceptanceJudgement | None, side: Side) -> AcceptancePoint | None:
    if judgement is None or judgement.summary is None:
        return None
    summary = judgement.summary
    rate, rung = summary.rate_mean, judgement.rung
    low, high = _ends(rate.interval)
    under = conditions(side)
    # the stream does not show what the end of an answer cut off: it counts less than A and C
    under["counted by"] = "chunks" if rung is Rung.STREAM else "steps"
    # which prompts come first, and how many are sent until a verdict stands, is no chance
    under["prompts sent"] = "all" if judgement.sent == judgement.prompts else "not all"
    return AcceptancePoint(
        rate.value, low, high, summary.length_pooled.value, rate.n, str(rung or ""), under
    )


def _speed(judgement: SpeedJudgement | None, side: Side) -> SpeedPoint | None:
    if judgement is None or judgement.summary is None:
        return None
    summary = judgement.summary
    low, high = _ends(summary.interval)
    return SpeedPoint(
        summary.speedup,
        low,
        high,
        summary.launches,
        judgement.off_s,
        judgement.on_s,
        conditions(side, Purpose.FORCED) | {"clock": str(judgement.clock)},
    )


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (interval.low, interval.high) if interval else (None, None)
