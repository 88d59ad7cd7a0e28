"""New floors from a run: raised by themselves, lowered only for a written reason."""

import datetime
import math

import msgspec

from specfloor.cells import Cell
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.floors import LAUNCHES, Floor, Former, Quantity
from specfloor.judge.run import RunResult
from specfloor.judge.verdict import Interval

DIGITS = {Quantity.ACCEPTANCE_RATE: 3, Quantity.ACCEPTANCE_LENGTH: 2, Quantity.SPEEDUP: 2}
"""Decimals of a floor, which is rounded down: no finer than a run can tell."""


class Proposal(msgspec.Struct, frozen=True):
    """A floor to be written; ``old`` is the one it replaces, None for a cell without."""

    new: Floor
    old: Floor | None


class Kept(msgspec.Struct, frozen=True):
    """A floor that stays as it is, or a cell that gets none, and why."""

    cell: Cell
    quantity: Quantity
    why: str


class Origin(msgspec.Struct, frozen=True):
    """What new floors say of where they come from."""

    run: str
    date: datetime.date
    hardware: str


def propose(
    result: RunResult, *, origin: Origin, margin: float, reason: str | None = None
) -> tuple[list[Proposal], list[Kept]]:
    """Return the floors that a run supports, and what stays as it is.

    A floor is the lower end of the interval less the margin. It needs a cell of which every prompt
    (acceptance) or at least two launches an arm (speed) were measured.

    Args:
        result: the judgements of the run.
        origin: what the new floors say of themselves.
        margin: share of the lower end that is left as room.
        reason: why floors may be lowered; without one they only rise.
    """
    proposals: list[Proposal] = []
    kept: list[Kept] = []
    for cell in result.cells:
        for judgement in (cell.acceptance, cell.speed):
            if judgement is None:
                continue
            quantity = _quantity(judgement)
            decided = _decide(judgement, quantity, origin, margin, reason)
            if isinstance(decided, str):
                kept.append(Kept(cell.cell, quantity, decided))
            else:
                proposals.append(decided)
    return proposals, kept


def _decide(
    judgement: AcceptanceJudgement | SpeedJudgement,
    quantity: Quantity,
    origin: Origin,
    margin: float,
    reason: str | None,
) -> Proposal | str:
    """Return a proposal, or why there is none."""
    if judgement.report_only is not None:
        return f"reported without a floor: {judgement.report_only}"
    if judgement.floor and judgement.floor.pinned:
        return f"pinned: {judgement.floor.reason}"
    interval, n = _measured(judgement)
    if interval is None:
        return _UNSUPPORTED[quantity]
    old = judgement.floor
    scale = 10 ** DIGITS[quantity]
    value = math.floor(interval.low * (1 - margin) * scale) / scale
    if old and value == old.value:
        return "the run supports the floor there is"
    if old and value < old.value and not reason:
        return (
            f"the run supports {value:g} and the floor is {old.value:g}; lowering it needs --reason"
        )
    why = reason or ("raised by a run" if old else "first measured by a run")
    fresh = Floor(
        family=old.family if old else judgement.cell.family,
        method=judgement.cell.method,
        quantity=quantity,
        k=old.k if old else judgement.cell.k,
        workload=old.workload if old else judgement.cell.workload,
        tier=old.tier if old else judgement.cell.tier,
        concurrency=_concurrency(judgement.cell, quantity, old),
        value=value,
        source=f"run {origin.run}",
        date=origin.date,
        hardware=origin.hardware,
        reason=why,
        n=n,
        launches=old.launches if old else LAUNCHES,
        history=(*old.history, Former(old.value, origin.date, why)) if old else (),
    )
    return Proposal(fresh, old)


_UNSUPPORTED = {
    Quantity.ACCEPTANCE_RATE: "not every prompt was measured; run with --no-early-stop",
    Quantity.ACCEPTANCE_LENGTH: "not every prompt was measured; run with --no-early-stop",
    Quantity.SPEEDUP: "fewer than two launches an arm were measured",
}


def _quantity(judgement: AcceptanceJudgement | SpeedJudgement) -> Quantity:
    if isinstance(judgement, SpeedJudgement):
        return Quantity.SPEEDUP
    return judgement.floor.quantity if judgement.floor else Quantity.ACCEPTANCE_RATE


def _measured(judgement: AcceptanceJudgement | SpeedJudgement) -> tuple[Interval | None, int]:
    """Return the interval that a floor can stand on, and the prompts or launches behind it."""
    if judgement.summary is None:
        return None, 0
    if isinstance(judgement, SpeedJudgement):
        return judgement.summary.interval, judgement.summary.launches
    if judgement.failed or judgement.sent < judgement.prompts:
        return None, 0
    whole = judgement.summary
    length = _quantity(judgement) is Quantity.ACCEPTANCE_LENGTH
    return (whole.length_mean if length else whole.rate_mean).interval, whole.requests


def _concurrency(cell: Cell, quantity: Quantity, old: Floor | None) -> int | None:
    if old:
        return old.concurrency
    # a healthy draft is accepted alike at any concurrency; the gain in speed is not
    return cell.concurrency if quantity is Quantity.SPEEDUP else None
