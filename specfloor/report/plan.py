"""A plan in words, before anything is started."""

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence

from tabulate import tabulate

from specfloor.cells import Cell
from specfloor.forecast import Forecast

SHOWN = 40
"""Cells, launches and refusals listed before the rest is only counted."""


def plan_lines(
    cells: Sequence[Cell], forecasts: Sequence[Forecast], refused: dict[Cell, str]
) -> list[str]:
    """Return the totals, the cells, the launches with their cost, and what cannot run and why."""
    lines = [f"specfloor: {len(cells)} cells, {len(forecasts)} launches{_cost(forecasts)}"]
    lines += _first([f"  cell   {cell.id}" for cell in cells], "cells")
    lines += _first([_launch(one) for one in forecasts], "launches")
    if refused:
        lines.append(f"specfloor: {len(refused)} cells cannot run here:")
        lines += _first(_refusals(refused), "reasons")
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
        ("launch", "blocks", "devices", "at most about", "NPU-hours"),
        disable_numparse=True,
    )


def refusal_table(refused: dict[Cell, str]) -> str:
    """Return one row a reason, with how many cells it keeps from running."""
    rows = [(reason, count) for reason, count in Counter(refused.values()).items()]
    return tabulate(rows, ("cannot run here", "cells"), maxcolwidths=(90, None))


def duration(seconds: float) -> str:
    """Return a time to the minute: ``0:35``."""
    return str(datetime.timedelta(minutes=round(seconds / 60)))[:-3]


def _cost(forecasts: Sequence[Forecast]) -> str:
    if not forecasts:
        return ""
    hours = sum(one.npu_hours for one in forecasts)
    most = max(one.cards for one in forecasts)
    npus = f", {hours:.1f} NPU-hours on up to {most} devices" if most else ""
    return f", at most about {duration(sum(one.seconds for one in forecasts))} h{npus}"


def _launch(one: Forecast) -> str:
    devices = f" on {one.cards} devices" if one.cards else ""
    return (
        f"  launch {one.launch.key.id}: {len(one.launch.blocks)} blocks of requests{devices}, "
        f"about {duration(one.seconds)} h"
    )


def _refusals(refused: dict[Cell, str]) -> list[str]:
    by_reason: dict[str, list[Cell]] = {}
    for cell, reason in refused.items():
        by_reason.setdefault(reason, []).append(cell)
    return [
        f"  {cells[0].id if len(cells) == 1 else f'{len(cells)} cells'}: {reason}"
        for reason, cells in by_reason.items()
    ]


def _first(lines: list[str], what: str) -> list[str]:
    if len(lines) <= SHOWN:
        return lines
    return [*lines[:SHOWN], f"  … and {len(lines) - SHOWN} more {what}"]
