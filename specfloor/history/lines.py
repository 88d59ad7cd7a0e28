"""Entries as lines: one quantity of one cell under one set of conditions, over runs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from specfloor.history.entries import AcceptancePoint, Entry, SpeedPoint, line_of
from specfloor.i18n import N_


class Quantity(StrEnum):
    """What a line is about."""

    ACCEPTANCE = N_("acceptance rate (mean over requests)")
    SPEEDUP = N_("speedup (geometric mean over launches)")


class Spot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run on a line; ``n`` counts requests or pairs of launches.

    ``further`` are other figures of the same requests, by name, where the run has them.
    """

    started: str
    run: str
    release: str
    verdict: str
    value: float
    low: float | None
    high: float | None
    n: int
    further: dict[str, float]


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A quantity of a cell over runs, by their start.

    ``cell`` is the cell's id without its release, ``apart`` the conditions in which the line
    differs from others of the same cell and quantity.
    """

    id: str
    cell: str
    family: str
    method: str
    quantity: Quantity
    conditions: dict[str, str]
    apart: dict[str, str]
    spots: tuple[Spot, ...]


class Wanted(msgspec.Struct, frozen=True):
    """Which lines and runs are asked for; names as in the entries, None is every one."""

    family: str | None = None
    method: str | None = None
    release: str | None = None
    line: str | None = None


def lines_of(entries: Iterable[Entry], wanted: Wanted = Wanted()) -> tuple[Line, ...]:  # noqa: B008
    """Return the lines of entries, by cell, quantity and first run.

    Lines keep apart what they differ in even when ``wanted`` leaves only one of them.
    """
    spots: dict[tuple[str, Quantity, str], list[Spot]] = defaultdict(list)
    about: dict[tuple[str, Quantity, str], tuple[Entry, Mapping[str, str]]] = {}
    beside: dict[tuple[str, Quantity], list[Mapping[str, str]]] = defaultdict(list)
    for entry in entries:
        for quantity, point in _points(entry):
            key = (entry.cell.pair_id, quantity, line_of(entry.cell, point))
            if key not in about:
                about[key] = entry, point.conditions
                beside[key[:2]].append(point.conditions)
            if wanted.release in (None, entry.cell.release):
                spots[key].append(_spot(entry, point))
    found = []
    for key, (entry, under) in sorted(about.items(), key=lambda item: item[0][:2]):
        pair, quantity, name = key
        if (
            spots[key]
            and wanted.family in (None, entry.cell.family)
            and wanted.method in (None, entry.cell.method)
            and wanted.line in (None, name)
        ):
            found.append(
                Line(
                    name,
                    pair,
                    entry.cell.family,
                    entry.cell.method,
                    quantity,
                    dict(under),
                    _apart(under, beside[key[:2]]),
                    tuple(spots[key]),
                )
            )
    return tuple(found)


def _apart(under: Mapping[str, str], others: Iterable[Mapping[str, str]]) -> dict[str, str]:
    names = {name for other in others for name in {*other, *under}}
    differing = {
        name for name in names if any(other.get(name) != under.get(name) for other in others)
    }
    return {name: under.get(name, "not set") for name in sorted(differing)}


def _points(entry: Entry) -> Iterable[tuple[Quantity, AcceptancePoint | SpeedPoint]]:
    if entry.acceptance:
        yield Quantity.ACCEPTANCE, entry.acceptance
    if entry.speed:
        yield Quantity.SPEEDUP, entry.speed


def _spot(entry: Entry, point: AcceptancePoint | SpeedPoint) -> Spot:
    if isinstance(point, AcceptancePoint):
        value, n = point.rate, point.requests
        further: dict[str, float | None] = {"acceptance_length_pooled": point.length}
    else:
        value, n = point.speedup, point.launches
        further = {"off_s_per_token": point.off_s, "on_s_per_token": point.on_s}
    return Spot(
        entry.started,
        entry.run,
        entry.cell.release,
        entry.verdict,
        value,
        point.low,
        point.high,
        n,
        {name: figure for name, figure in further.items() if figure is not None},
    )
