"""Floors: the least a cell must reach, and where each figure comes from."""

import datetime
import functools
import itertools
import tomllib
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.model import Family
from specfloor.cells import Cell, slug
from specfloor.errors import UsageError
from specfloor.i18n import _

ANY = "*"
"""In a floor's workload or tier: every one."""


LAUNCHES = 3
"""Launches an arm that judge a speedup where a floor says no other number: with two, the interval
over launches is too wide for anything but a very large gain."""


class Quantity(StrEnum):
    """What a floor bounds from below, and its unit."""

    ACCEPTANCE_RATE = "acceptance_rate"
    """Accepted over drafted tokens, a fraction."""
    ACCEPTANCE_LENGTH = "acceptance_length"
    """Tokens per step, bonus token included."""
    SPEEDUP = "speedup"
    """Time per output token, off over on."""
    FLIP_CONCURRENCY = "flip_concurrency"
    """Requests in flight at which the speedup falls to 1."""


_ACCEPTANCE = (Quantity.ACCEPTANCE_RATE, Quantity.ACCEPTANCE_LENGTH)


class Scope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which cells an entry is about. ``concurrency`` unset means every one."""

    family: str
    method: str
    quantity: Quantity
    k: int | None = None
    workload: str = ANY
    tier: str = ANY
    concurrency: int | None = None

    def covers(self, cell: Cell, family: str, quantity: Quantity) -> bool:
        """Whether this entry is about ``quantity`` of ``cell``, whose floors are ``family``'s."""
        return (
            self.quantity is quantity
            and slug(self.family) == slug(family)
            and slug(self.method) == slug(cell.method)
            and self.k in (None, cell.k)
            and self.workload in (ANY, cell.workload)
            and self.tier in (ANY, cell.tier)
            and self.concurrency in (None, cell.concurrency)
        )

    def overlaps(self, other: "Scope") -> bool:
        """Whether some cell is one of both, whatever the quantities."""
        return (
            slug(self.family) == slug(other.family)
            and slug(self.method) == slug(other.method)
            and (self.k is None or other.k in (None, self.k))
            and (self.workload == ANY or other.workload in (ANY, self.workload))
            and (self.tier == ANY or other.tier in (ANY, self.tier))
            and (self.concurrency is None or other.concurrency in (None, self.concurrency))
        )

    def within(self, other: "Scope") -> bool:
        """Whether every cell of this entry is one of ``other``, whatever the quantities."""
        return (
            self.overlaps(other)
            and other.k in (None, self.k)
            and other.workload in (ANY, self.workload)
            and other.tier in (ANY, self.tier)
            and other.concurrency in (None, self.concurrency)
        )

    @property
    def where(self) -> str:
        """The entry as a message names it."""
        k = _("any k") if self.k is None else f"k={self.k}"
        at = (
            ""
            if self.concurrency is None
            else _(", concurrency {concurrency}").format(concurrency=self.concurrency)
        )
        return _(
            "{quantity} of {family} {method} {k}, workload {workload}, tier {tier}{at}"
        ).format(
            quantity=self.quantity,
            family=self.family,
            method=self.method,
            k=k,
            workload=self.workload,
            tier=self.tier,
            at=at,
        )


class Former(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value a floor once had, and why it no longer has it."""

    value: float
    until: datetime.date
    reason: str


class Floor(Scope, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The least value of a quantity, with where it comes from.

    ``n`` is the number of prompts (for acceptance) or launches an arm (for speed) behind it;
    ``launches`` how many launches an arm judge a floor of the speedup when the user asks for none.
    A ``pinned`` floor is a decision for every machine, and no run moves it.
    """

    value: float
    source: str
    date: datetime.date
    hardware: str
    reason: str
    n: int
    launches: int = LAUNCHES
    pinned: bool = False
    history: tuple[Former, ...] = ()


class ReportOnly(Scope, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A quantity that is measured and reported without a floor, and why."""

    reason: str


class _FloorsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    floor: tuple[Floor, ...] = ()
    report_only: tuple[ReportOnly, ...] = ()


class Floors(msgspec.Struct, frozen=True, dict=True):
    """All entries in force."""

    floors: tuple[Floor, ...]
    report_only: tuple[ReportOnly, ...]

    @property
    def entries(self) -> Sequence[Floor | ReportOnly]:
        """Every entry, floors first."""
        return (*self.floors, *self.report_only)

    def of(self, cell: Cell, quantity: Quantity, family: Family) -> Floor | ReportOnly | None:
        """Return the entry for ``quantity`` of ``cell``: a floor before a ``report_only``."""
        name = family.floors_of or family.name
        about = self._by_subject.get((slug(name), slug(cell.method), quantity), ())
        return next((entry for entry in about if entry.covers(cell, name, quantity)), None)

    @functools.cached_property
    def _by_subject(self) -> dict[tuple[str, str, Quantity], list[Floor | ReportOnly]]:
        found: dict[tuple[str, str, Quantity], list[Floor | ReportOnly]] = {}
        for entry in self.entries:
            subject = slug(entry.family), slug(entry.method), entry.quantity
            found.setdefault(subject, []).append(entry)
        return found

    def of_acceptance(self, cell: Cell, family: Family) -> Floor | ReportOnly | None:
        """Return the entry for the acceptance of ``cell``, as a rate or as a length."""
        rate = self.of(cell, Quantity.ACCEPTANCE_RATE, family)
        length = self.of(cell, Quantity.ACCEPTANCE_LENGTH, family)
        return (
            length if isinstance(length, Floor) and not isinstance(rate, Floor) else rate or length
        )


def read_floors_in(folder: Path) -> Floors:
    """Read the floor files of a folder; see :func:`read_floors` for what is raised."""
    return read_floors(sorted(folder.glob("*.toml")))


def read_floors(paths: Iterable[Path]) -> Floors:
    """Read floor files.

    Raises:
        UsageError: a file cannot be read, an entry is not of its shape, a value is out of range,
            two floors or two ``report_only`` are about the same cells, or a floor leaves a
            ``report_only`` no cell.
    """
    floors: list[Floor] = []
    report_only: list[ReportOnly] = []
    for path in paths:
        entries = _read(path)
        floors += entries.floor
        report_only += entries.report_only
    for floor in floors:
        _check_value(floor)
    # acceptance has one floor, of the rate or of the length
    _check_apart(
        floors,
        "floors",
        lambda entry: "acceptance" if entry.quantity in _ACCEPTANCE else entry.quantity,
    )
    _check_apart(report_only, "report_only", lambda entry: entry.quantity)
    for entry in report_only:
        for floor in floors:
            if entry.quantity is floor.quantity and entry.within(floor):
                raise UsageError(
                    f"the report_only for the {entry.where} is never used: a floor is set for the "
                    f"{floor.where}"
                )
    return Floors(tuple(floors), tuple(report_only))


def _read(path: Path) -> _FloorsFile:
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(data, _FloorsFile)
    except OSError as error:
        raise UsageError(f"floor file {path} cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"floor file {path}: {error}") from None


def _check_apart(entries: Sequence[Scope], kind: str, subject: Callable[[Scope], object]) -> None:
    """Raise UsageError when two entries say something of one subject of one cell.

    Which of them counts must be plain.
    """
    for one, other in itertools.combinations(entries, 2):
        if subject(one) == subject(other) and one.overlaps(other):
            same = one.where == other.where
            raise UsageError(
                f"two {kind} for the {one.where}; keep one"
                if same
                else f"two {kind} share cells, the {one.where} and the {other.where}; part them"
            )


def _check_value(floor: Floor) -> None:
    least, most = {
        Quantity.ACCEPTANCE_RATE: (0.0, 1.0),
        Quantity.ACCEPTANCE_LENGTH: (1.0, float("inf")),
        Quantity.SPEEDUP: (0.0, float("inf")),
        Quantity.FLIP_CONCURRENCY: (0.0, float("inf")),
    }[floor.quantity]
    if not least < floor.value < most:
        raise UsageError(
            f"the floor {floor.value} for the {floor.where} is outside ({least:g}, {most:g})"
        )


def check_floors(floors: Floors, catalog: Catalog, cells: Sequence[Cell]) -> None:
    """Check that no floor is idle and no cell is without one.

    Args:
        floors: the entries in force.
        catalog: what the entries may be about.
        cells: the cells about to be judged.

    Raises:
        UsageError: an entry can never apply to a cell of the catalogue, or a cell has neither a
            floor nor a ``report_only`` with its reason for acceptance or for speed.
    """
    for entry in floors.entries:
        _check_used(entry, catalog)
    for cell in cells:
        family = catalog.families[cell.family]
        if floors.of_acceptance(cell, family) is None:
            raise UsageError(_missing(cell, Quantity.ACCEPTANCE_RATE))
        if floors.of(cell, Quantity.SPEEDUP, family) is None:
            raise UsageError(_missing(cell, Quantity.SPEEDUP))


def _missing(cell: Cell, quantity: Quantity) -> str:
    return (
        f"no floor for the {quantity} of {cell.id}; add a [[floor]] or a [[report_only]] with its "
        f"reason to a file in fixtures/floors"
    )


def _check_used(entry: Floor | ReportOnly, catalog: Catalog) -> None:
    families = {slug(family.name): family for family in catalog.families.values()}
    family = families.get(slug(entry.family))
    if family is None:
        raise UsageError(f"the floor for the {entry.where} names a family that is not known")
    if family.floors_of:
        raise UsageError(
            f"the floor for the {entry.where} is never used: {family.name} has the floors of "
            f"{family.floors_of}"
        )
    method = family.method(entry.method)
    if (
        method is None
        or entry.k not in (None, *method.k)
        or entry.workload not in (ANY, *family.workloads, *family.more_workloads)
        or entry.tier not in (ANY, *family.tiers)
    ):
        raise UsageError(
            f"the floor for the {entry.where} is never used: no cell of the catalogue is like that"
        )
