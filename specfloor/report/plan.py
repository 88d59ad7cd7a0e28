"""A plan in words, before anything is started."""

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence

from tabulate import tabulate

from specfloor.cells import Cell
from specfloor.forecast import Forecast
from specfloor.i18n import _

SHOWN = 40
"""Cells, launches and refusals listed before the rest is only counted."""


def plan_lines(
    cells: Sequence[Cell], forecasts: Sequence[Forecast], refused: dict[Cell, str]
) -> list[str]:
    """Return the totals, the cells, the launches with their cost, and what cannot run and why."""
    lines = [
        _("specfloor: {cells} cells, {launches} launches{cost}").format(
            cells=len(cells), launches=len(forecasts), cost=_cost(forecasts)
        )
    ]
    lines += _first([_("  cell   {cell}").format(cell=cell.id) for cell in cells], _("cells"))
    lines += _first([_launch(one) for one in forecasts], _("launches"))
    if refused:
        lines.append(_("specfloor: {refused} cells cannot run here:").format(refused=len(refused)))
        lines += _first(_refusals(refused), _("reasons"))
    return lines


def plan_table(forecasts: Iterable[Forecast]) -> str:
    """Return one row a launch."""
    rows = [
        (
            one.launch.key.id,
            len(one.launch.blocks),
            one.cards or "-",
            duration(one.seconds),
            f"{one.npu_hours:.1f}" if one.cards else "-",
        )
        for one in forecasts
    ]
    return tabulate(
        rows,
        (_("launch"), _("blocks"), _("devices"), _("at most about"), _("NPU-hours")),
        disable_numparse=True,
    )


def refusal_table(refused: dict[Cell, str]) -> str:
    """Return one row a reason, with how many cells it keeps from running."""
    rows = [(reason, count) for reason, count in Counter(refused.values()).items()]
    return tabulate(rows, (_("cannot run here"), _("cells")), maxcolwidths=(90, None))


def duration(seconds: float) -> str:
    """Return a time to the minute: ``0:35``."""
    return str(datetime.timedelta(minutes=round(seconds / 60)))[:-3]


def _cost(forecasts: Sequence[Forecast]) -> str:
    if not forecasts:
        return ""
    hours = sum(one.npu_hours for one in forecasts)
    most = max(one.cards for one in forecasts)
    npus = (
        _(", {hours:.1f} NPU-hours on up to {most} devices").format(hours=hours, most=most)
        if most
        else ""
    )
    return _(", at most about {duration} h{npus}").format(
        duration=duration(sum(one.seconds for one in forecasts)), npus=npus
    )


def _launch(one: Forecast) -> str:
    devices = _(" on {cards} devices").format(cards=one.cards) if one.cards else ""
    return _("  launch {key}: {blocks} blocks of requests{devices}, about {duration} h").format(
        key=one.launch.key.id,
        blocks=len(one.launch.blocks),
        devices=devices,
        duration=duration(one.seconds),
    )


def _refusals(refused: dict[Cell, str]) -> list[str]:
    by_reason: dict[str, list[Cell]] = {}
    for cell, reason in refused.items():
        by_reason.setdefault(reason, []).append(cell)
    return [
        f"  {cells[0].id if len(cells) == 1 else _('{n} cells').format(n=len(cells))}: {reason}"
        for reason, cells in by_reason.items()
    ]


def _first(lines: list[str], what: str) -> list[str]:
    if len(lines) <= SHOWN:
        return lines
    return [
        *lines[:SHOWN],
        _("  … and {lines} more {what}").format(lines=len(lines) - SHOWN, what=what),
    ]
