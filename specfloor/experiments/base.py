"""What an experiment is, what it may use, and what it says."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Arm, Cell
from specfloor.judge.cell import Rule
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.floors import Floors
from specfloor.judge.verdict import Verdict
from specfloor.load.sets import Workloads
from specfloor.measure import BlockPlan, Say
from specfloor.plan import Overrides
from specfloor.runs.records import BlockKey, LaunchKey, Purpose, variant_of
from specfloor.triage.findings import Finding

Size = Literal["small", "full"]
"""Minutes on a CPU, or as long as the question takes on NPUs."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an experiment measured, for people: ``rows`` as long as ``columns``; None is unknown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One point of a curve; ``low`` and ``high`` bound its interval where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Curve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a figure; curves with the same axes are drawn together."""

    name: str
    x_label: str
    y_label: str
    points: tuple[Point, ...]
    log_x: bool = False


class ExperimentJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an experiment says of a cell.

    ``verdict`` is None when it is only reported. ``detail`` is the experiment's own record, for
    the JSON file; ``tables`` and ``curves`` are what people are shown of it.
    """

    cell: Cell
    experiment: str
    verdict: Verdict | None
    findings: tuple[Finding, ...]
    reason: str
    detail: Any = None
    tables: tuple[Table, ...] = ()
    curves: tuple[Curve, ...] = ()
    logs: tuple[str, ...] = ()


class Bench(Protocol):
    """What an experiment measures with; everything it sends is recorded in the run."""

    @property
    def catalog(self) -> Catalog:
        """What is known of releases and families."""

    @property
    def workloads(self) -> Workloads:
        """The prompts and settings of workload sets."""

    @property
    def index(self) -> RecordIndex:
        """The records so far, those of the experiment itself among them."""

    @property
    def size(self) -> Size:
        """How much to measure."""

    def most_concurrent(self, cell: Cell, at_most: int) -> int:
        """Return the requests that may be in flight: as user, engine and size allow."""

    @property
    def utilisations(self) -> tuple[float, ...]:
        """Loads that were asked for, as shares of a capacity; empty leaves them to experiments."""

    @property
    def seed(self) -> int:
        """The seed of everything random."""

    @property
    def soak_s(self) -> float:
        """Seconds that a soak lasts."""

    @property
    def soak_requests(self) -> int | None:
        """Requests that a soak has; None where it has a time."""

    @property
    def say(self) -> Say:
        """Takes one line for the user."""

    def block_plan(self, launch: LaunchKey, block: BlockKey) -> BlockPlan:
        """Return what the suite itself would send for a block."""

    def launch(
        self, key: LaunchKey, plans: Mapping[BlockKey, BlockPlan], overrides: Overrides
    ) -> None:
        """Start one server and send it blocks in their order; a fault of it becomes a record."""


class Experiment(Protocol):
    """One question about a cell, answered with launches of its own."""

    @property
    def name(self) -> str:
        """How options, records and reports call it."""

    @property
    def varies(self) -> tuple[str, ...]:
        """The fields of a cell that it varies itself; cells that differ in nothing else are one."""

    def why_not(self, cell: Cell, catalog: Catalog) -> str | None:
        """Return why a cell cannot be asked this, in a sentence; None when it can."""

    def measure(self, bench: Bench, cell: Cell) -> None:
        """Run the launches that the question needs."""

    def judge(
        self, index: RecordIndex, cell: Cell, catalog: Catalog, floors: Floors, rule: Rule
    ) -> ExperimentJudgement:
        """Answer from records alone; NO_DATA when there are none."""


def arm_launch(cell: Cell, arm: Arm, experiment: str, repeat: int) -> LaunchKey:
    """Return the key of an experiment's launch of one arm of a cell."""
    return LaunchKey(cell.release, cell.family, arm, repeat, variant=variant_of(cell, experiment))


def cell_block(cell: Cell, purpose: Purpose, concurrency: int, label: str = "") -> BlockKey:
    """Return the key of a block of a cell's workload at a concurrency."""
    return BlockKey(cell.workload, cell.tier, concurrency, purpose, label)
