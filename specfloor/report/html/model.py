"""What the page says, before it is drawn: frozen structs of text and numbers, and no markup."""

from enum import StrEnum
from typing import Literal

import msgspec

from specfloor.triage.diagnosis import Diagnosis


class Standing(StrEnum):
    """How a cell or run stands: a verdict, or measured without a floor; values are CSS classes."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NO_DATA = "no-data"
    REPORTED = "reported"


class Role(StrEnum):
    """What a mark in a drawing stands for; values are CSS classes of the legend."""

    ON = "on"
    OFF = "off"
    REFERENCE = "reference"
    FLOOR = "floor"
    QUIET = "quiet"


class Level(msgspec.Struct, frozen=True):
    """A line across a drawing, with its name; ``role`` FLOOR is what must be reached."""

    label: str
    value: float
    role: Role = Role.FLOOR


class Dot(msgspec.Struct, frozen=True):
    """One row of :class:`Dots`; ``low`` and ``high`` are the ends of an interval, if it has one.

    ``text`` is what is written at the end of the row.
    """

    label: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None
    role: Role = Role.ON


class Dots(msgspec.Struct, frozen=True, tag=True):
    """Named values under each other on one scale.

    The scale spans rows and levels. ``base`` draws each row as a bar from there; ``log`` makes the
    scale logarithmic, with base 2.
    """

    title: str
    rows: tuple[Dot, ...]
    levels: tuple[Level, ...] = ()
    base: float | None = None
    log: bool = False


class Series(msgspec.Struct, frozen=True):
    """One line or cloud of :class:`Lines`; ``low`` and ``high`` are empty or as long as ``y``."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    role: Role = Role.ON
    style: Literal["line", "points", "both", "steps"] = "line"
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


class Lines(msgspec.Struct, frozen=True, tag=True):
    """Values over a common x axis.

    ``ticks`` fixes the ticks of x, ``span`` its ends, ``limits`` those of y. ``doubling`` makes x
    logarithmic, with base 2 and ticks at the values.
    """

    title: str
    x_label: str
    series: tuple[Series, ...]
    levels: tuple[Level, ...] = ()
    ticks: tuple[float, ...] = ()
    limits: tuple[float, float] | None = None
    span: tuple[float, float] | None = None
    doubling: bool = False


Chart = Dots | Lines


class Table(msgspec.Struct, frozen=True):
    """A table of text; ``numeric`` are the indexes of columns of numbers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()


class Panel(msgspec.Struct, frozen=True):
    """One thing that is shown of a cell: a sentence or two, and a drawing or a table.

    ``notes`` are further lines under it, in small print. ``wide`` takes the whole width, ``folded``
    shows the title alone until it is asked for.
    """

    title: str
    prose: str
    charts: tuple[Chart, ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()
    wide: bool = False
    folded: bool = False


class Said(msgspec.Struct, frozen=True):
    """One judgement of a cell in words; the reason is empty where a panel lists it."""

    what: str
    standing: Standing
    findings: tuple[str, ...]
    reason: str


class Command(msgspec.Struct, frozen=True):
    """A command to copy, and what it does."""

    label: str
    text: str


class Link(msgspec.Struct, frozen=True):
    """A file of the run, relative to the page."""

    href: str
    what: str


class CellView(msgspec.Struct, frozen=True):
    """Everything shown of one cell.

    ``anchor`` is unique on the page. ``drawn`` is False where the page has no room for the
    drawings. ``open`` is whether it is shown at once. ``diagnosis`` is
    the chain from the findings to causes, where something does not hold.
    """

    anchor: str
    name: str
    release: str
    family: str
    conditions: tuple[tuple[str, str], ...]
    standing: Standing
    said: tuple[Said, ...]
    panels: tuple[Panel, ...]
    commands: tuple[Command, ...]
    evidence: tuple[Link, ...]
    open: bool
    diagnosis: Diagnosis | None = None
    drawn: bool = True


class Value(msgspec.Struct, frozen=True):
    """A cell of the sortable table: the text, and what it sorts by (None sorts last)."""

    text: str
    key: float | str | None
    detail: str = ""


class Column(msgspec.Struct, frozen=True):
    """A column of the sortable table; ``strip`` has the drawing of the interval in it."""

    label: str
    numeric: bool = False
    strip: bool = False


class Strip(msgspec.Struct, frozen=True):
    """A rate with its interval and floor, each a share of the drawing's width."""

    value: float
    low: float | None
    high: float | None
    floor: float | None


class Row(msgspec.Struct, frozen=True):
    """One cell in the sortable table; ``rank`` orders verdicts, the worst first."""

    anchor: str
    release: str
    family: str
    standing: Standing
    rank: int
    findings: tuple[str, ...]
    values: tuple[Value, ...]
    strip: Strip | None = None


class Square(msgspec.Struct, frozen=True):
    """One family on one release: the worst of its cells, and how many stand how."""

    release: str
    standing: Standing | None
    rank: int | None
    counts: tuple[tuple[Standing, int], ...]
    anchor: str | None


class MatrixRow(msgspec.Struct, frozen=True):
    """One family, one square a release, in the order of the page's releases."""

    family: str
    squares: tuple[Square, ...]


class Trouble(msgspec.Struct, frozen=True):
    """A cell that does not hold, for the top of the page: what is said first of it.

    ``cause`` is the surest cause that is known, if any is.
    """

    anchor: str
    name: str
    standing: Standing
    findings: tuple[str, ...]
    what: str
    reason: str
    cause: str


class Page(msgspec.Struct, frozen=True):
    """A whole page."""

    run: str
    started: str
    hardware: str
    standing: Standing
    answer: str
    warnings: tuple[str, ...]
    counts: tuple[tuple[Standing, int], ...]
    troubles: tuple[Trouble, ...]
    releases: tuple[str, ...]
    families: tuple[str, ...]
    matrix: tuple[MatrixRow, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    cells: tuple[CellView, ...]
    environment: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    launches: Table
    files: tuple[Link, ...]
