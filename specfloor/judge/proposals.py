"""New floors from a run: raised by themselves, lowered only for a written reason."""

import datetime
import math

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.i18n import N_, _
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.floors import LAUNCHES, Floor, Floors, Former, Quantity, ReportOnly, Scope
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
    result: RunResult,
    floors: Floors,
    catalog: Catalog,
    *,
    origin: Origin,
    margin: float,
    reason: str | None = None,
) -> tuple[list[Proposal], list[Kept]]:
    """Return the floors that a run supports, and what stays as it is.

    A floor is the lower end of the interval less the margin. It needs a cell of which every prompt
    (acceptance) or at least two launches an arm (speed) were measured. Where several cells share a
    floor, it is what all of them support.

    Args:
        result: the judgements of the run.
        floors: the entries in force now, which may not be those the run was judged by.
        catalog: what floors can be about.
        origin: what the new floors say of themselves.
        margin: share of the lower end that is left as room.
        reason: why floors may be lowered, or given to what is only reported; without one floors
            only rise.
    """
    supported: dict[str, list[_Supported]] = {}
    kept: list[Kept] = []
    for cell in result.cells:
        for judgement in (cell.acceptance, cell.speed):
            if judgement is None:
                continue
            one = _support(judgement, floors, catalog, margin)
            if isinstance(one, Kept):
                kept.append(one)
            else:
                supported.setdefault(one.scope.where, []).append(one)
    proposals: list[Proposal] = []
    for group in supported.values():
        least = min(group, key=lambda one: one.value)
        decided = _decide(least, origin, reason)
        if isinstance(decided, str):
            kept += [Kept(one.cell, one.scope.quantity, decided) for one in group]
        else:
            proposals.append(decided)
    return proposals, kept


class _Supported(msgspec.Struct, frozen=True):
    """What one cell supports: the scope of the floor it would have, and its value."""

    cell: Cell
    scope: Scope
    value: float
    n: int
    entry: Floor | ReportOnly | None


def _support(
    judgement: AcceptanceJudgement | SpeedJudgement,
    floors: Floors,
    catalog: Catalog,
    margin: float,
) -> _Supported | Kept:
    """Return what a judgement supports, or why it supports nothing."""
    cell, family = judgement.cell, catalog.family(judgement.cell.family)
    speed = isinstance(judgement, SpeedJudgement)
    entry = (
        floors.of(cell, Quantity.SPEEDUP, family) if speed else floors.of_acceptance(cell, family)
    )
    quantity = entry.quantity if entry else _quantity(judgement)
    if not isinstance(entry, Floor) and family.floors_of:
        return Kept(
            cell,
            quantity,
            _("{family} has the floors of {floors_of}").format(
                family=family.name, floors_of=family.floors_of
            ),
        )
    if not isinstance(entry, Floor) and cell.k not in method_of(family, cell.arm).k:
        return Kept(cell, quantity, _("the catalogue does not have k={k} for it").format(k=cell.k))
    interval, n = _measured(judgement, quantity)
    if interval is None:
        return Kept(cell, quantity, _(_UNSUPPORTED[quantity]))
    scale = 10 ** DIGITS[quantity]
    value = math.floor(interval.low * (1 - margin) * scale) / scale
    scope = entry if isinstance(entry, Floor) else _scope_of(cell, quantity)
    return _Supported(cell, scope, value, n, entry)


def _scope_of(cell: Cell, quantity: Quantity) -> Scope:
    """Return the scope of a cell's first floor.

    A healthy draft is accepted alike at any concurrency; the gain in speed is not.
    """
    return Scope(
        family=cell.family,
        method=cell.method,
        quantity=quantity,
        k=cell.k,
        workload=cell.workload,
        tier=cell.tier,
        concurrency=cell.concurrency if quantity is Quantity.SPEEDUP else None,
    )


def _decide(least: _Supported, origin: Origin, reason: str | None) -> Proposal | str:
    """Return a proposal, or why there is none."""
    old = least.entry if isinstance(least.entry, Floor) else None
    if isinstance(least.entry, ReportOnly) and not reason:
        return _("reported without a floor ({reason}); giving it one needs --reason").format(
            reason=least.entry.reason
        )
    if old and old.pinned:
        return _("pinned: {reason}").format(reason=old.reason)
    if old and least.value == old.value:
        return _("the run supports the floor there is")
    if old and least.value < old.value and not reason:
        return _(
            "the run supports {least:g} and the floor is {old:g}; lowering it needs --reason"
        ).format(least=least.value, old=old.value)
    why = reason or (N_("raised by a run") if old else N_("first measured by a run"))
    scope = {name: getattr(least.scope, name) for name in Scope.__struct_fields__}
    fresh = Floor(
        **scope,
        value=least.value,
        source=f"run {origin.run}",
        date=origin.date,
        hardware=origin.hardware,
        reason=why,
        n=least.n,
        launches=old.launches if old else LAUNCHES,
        history=(*old.history, Former(old.value, origin.date, why)) if old else (),
    )
    return Proposal(fresh, old)


_UNSUPPORTED = {
    Quantity.ACCEPTANCE_RATE: N_("not every prompt was measured; run with --no-early-stop"),
    Quantity.ACCEPTANCE_LENGTH: N_("not every prompt was measured; run with --no-early-stop"),
    Quantity.SPEEDUP: N_("fewer than two launches an arm were measured"),
}


def _quantity(judgement: AcceptanceJudgement | SpeedJudgement) -> Quantity:
    """Return what a judgement without an entry is about."""
    if isinstance(judgement, SpeedJudgement):
        return Quantity.SPEEDUP
    return Quantity.ACCEPTANCE_RATE


def _measured(
    judgement: AcceptanceJudgement | SpeedJudgement, quantity: Quantity
) -> tuple[Interval | None, int]:
    """Return the interval that a floor can stand on, and the prompts or launches behind it."""
    if judgement.summary is None:
        return None, 0
    if isinstance(judgement, SpeedJudgement):
        return judgement.summary.interval, judgement.summary.launches
    if judgement.failed or judgement.sent < judgement.prompts:
        return None, 0
    whole = judgement.summary
    length = quantity is Quantity.ACCEPTANCE_LENGTH
    return (whole.length_mean if length else whole.rate_mean).interval, whole.requests
