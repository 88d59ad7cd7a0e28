"""What stands at the top: the answer, what does not hold, the matrix and the table of cells."""

from collections import Counter
from collections.abc import Sequence

from specfloor.i18n import _
from specfloor.judge.cell import AcceptanceJudgement
from specfloor.judge.floors import Quantity
from specfloor.judge.run import CellResult
from specfloor.judge.verdict import Estimate, Interval
from specfloor.report.html import words
from specfloor.report.html.model import MatrixRow, Row, Square, Standing, Strip, Trouble, Value
from specfloor.report.html.standing import (
    BROKEN,
    WORST_FIRST,
    anchor_of,
    findings_of,
    rank,
    sentence,
    standing_of,
    what_of,
)
from specfloor.triage.diagnosis import Diagnosis, Stage


def answer(standings: Sequence[Standing]) -> str:
    """Return the answer in one sentence, from the standing of every cell."""
    cells = len(standings)
    fails = standings.count(Standing.FAIL)
    unsure = standings.count(Standing.NO_DATA) + standings.count(Standing.INCONCLUSIVE)
    if not cells:
        return _(words.ANSWER_NOTHING)
    if fails == cells > 1:
        return _(words.ANSWER_FAIL_ALL)
    if fails:
        said = _(words.ANSWER_FAIL_ONE) if fails == 1 else _(words.ANSWER_FAIL)
        return said.format(broken=fails, cells=cells)
    if unsure:
        said = _(words.ANSWER_UNSURE_ONE) if unsure == 1 else _(words.ANSWER_UNSURE)
        return said.format(broken=unsure, cells=cells)
    return _(words.ANSWER_HOLDS) if Standing.PASS in standings else _(words.ANSWER_REPORTED)


def trouble(result: CellResult, diagnosis: Diagnosis | None) -> Trouble:
    """Return what is said first of a cell that does not hold."""
    broken = [j for j in result.judgements if standing_of(j) in BROKEN]
    first = min(broken, key=lambda j: rank(standing_of(j)))
    return Trouble(
        anchor_of(result),
        result.cell.id,
        standing_of(result),
        findings_of(result),
        what_of(first),
        sentence(first.reason),
        _cause(diagnosis),
    )


def _cause(diagnosis: Diagnosis | None) -> str:
    """Return the surest cause of a diagnosis with how sure it is; nothing where none is known."""
    causes = diagnosis.causes if diagnosis else ()
    known = next((link for link in causes if link.stage is not Stage.UNKNOWN), None)
    if known is None:
        return ""
    return _(words.CAUSE).format(confidence=_(known.confidence), sentence=sentence(known.sentence))


def matrix_row(family: str, releases: Sequence[str], cells: Sequence[CellResult]) -> MatrixRow:
    """Return the squares of one family, one a release."""
    return MatrixRow(family, tuple(_square(family, release, cells) for release in releases))


def _square(family: str, release: str, cells: Sequence[CellResult]) -> Square:
    own = [one for one in cells if (one.cell.family, one.cell.release) == (family, release)]
    counts = Counter(standing_of(one) for one in own)
    worst = next((standing for standing in WORST_FIRST if counts[standing]), None)
    first = next((anchor_of(one) for one in own if standing_of(one) is worst), None)
    said = tuple((standing, counts[standing]) for standing in WORST_FIRST if counts[standing])
    place = None if worst is None else rank(worst)
    return Square(release, worst, place, said, first)


def row(result: CellResult) -> Row:
    """Return a cell's row in the table."""
    cell, acceptance, speed = result.cell, result.acceptance, result.speed
    summary = acceptance.summary if acceptance else None
    mean = acceptance.mean("rate") if acceptance else None
    speedup = speed.summary if speed else None
    return Row(
        anchor_of(result),
        cell.release,
        cell.family,
        standing_of(result),
        rank(standing_of(result)),
        findings_of(result),
        (
            Value(cell.method, cell.method),
            Value(str(cell.k), cell.k),
            Value(cell.workload, cell.workload),
            Value(cell.tier, cell.tier),
            Value(str(cell.concurrency), cell.concurrency),
            _estimate(mean),
            _acceptance_floor(acceptance),
            _estimate(summary.length_pooled if summary else None, digits=2),
            Value(f"{speedup.speedup:.2f}", speedup.speedup, _bounds(speedup.interval, 2))
            if speedup
            else _UNKNOWN,
            Value(f"{speed.floor.value:.2f}", speed.floor.value)
            if speed and speed.floor
            else _UNKNOWN,
        ),
        _strip(mean, acceptance),
    )


def _strip(mean: Estimate | None, judgement: AcceptanceJudgement | None) -> Strip | None:
    if mean is None:
        return None
    floor = judgement.floor if judgement else None
    rate = floor.value if floor and floor.quantity is Quantity.ACCEPTANCE_RATE else None
    low, high = (mean.interval.low, mean.interval.high) if mean.interval else (None, None)
    return Strip(mean.value, low, high, rate)


_UNKNOWN = Value(words.NOTHING, None)


def _estimate(estimate: Estimate | None, digits: int = 3) -> Value:
    if estimate is None:
        return _UNKNOWN
    return Value(f"{estimate.value:.{digits}f}", estimate.value, _bounds(estimate.interval, digits))


def _bounds(interval: Interval | None, digits: int) -> str:
    return (
        _(words.SPAN).format(low=f"{interval.low:.{digits}f}", high=f"{interval.high:.{digits}f}")
        if interval
        else ""
    )


def _acceptance_floor(judgement: AcceptanceJudgement | None) -> Value:
    if judgement is None or judgement.floor is None:
        return _UNKNOWN
    value = judgement.floor.value
    text = f"{value:.3f}"
    if judgement.floor.quantity is Quantity.ACCEPTANCE_LENGTH:
        text = _(words.LENGTH_FLOOR).format(value=text)
    return Value(text, value)
