"""What a panel may look at."""

from collections.abc import Callable, Iterable

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.judge.evidence import CellEvidence
from specfloor.judge.run import CellResult
from specfloor.report.html.model import Panel
from specfloor.runs.records import HostSampleRecord


class Context(msgspec.Struct, frozen=True):
    """One cell: what was said of it, its records, and the same cell at other concurrencies.

    ``siblings`` has the cell itself among them, by rising concurrency. ``host`` are the samples of
    the machine during its launches, in the order of time.
    """

    result: CellResult
    evidence: CellEvidence
    siblings: tuple[CellResult, ...]
    catalog: Catalog
    host: tuple[HostSampleRecord, ...] = ()

    @property
    def cell(self) -> Cell:
        """The cell."""
        return self.result.cell

    @property
    def drafts_k(self) -> bool:
        """Whether every step of the cell's method drafts exactly k tokens."""
        return method_of(self.catalog.family(self.cell.family), self.cell.arm).drafts_k


Source = Callable[[Context], Iterable[Panel]]
"""Makes the panels of one kind for a cell; none when the records do not hold what it shows."""
