"""What a release is compared with: another release of the same run, or a stored run."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from specfloor.cells import Cell
from specfloor.errors import UsageError
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.upgrade import Side, is_complete
from specfloor.runs.records import Environment, cell_of
from specfloor.runs.store import Run, read_run


class Baseline(msgspec.Struct, frozen=True):
    """The older side of a comparison: ``cells`` maps what two releases share to its cell."""

    name: str
    index: RecordIndex
    cells: dict[str, Cell]
    hardware: str

    def compares(self, cell: Cell) -> bool:
        """Whether ``cell`` is to be compared: its own side is no upgrade."""
        return self.cells.get(cell.pair_id) != cell

    def side(self, cell: Cell) -> Side | None:
        """Return the evidence to compare ``cell`` with; None when there is none."""
        old = self.cells.get(cell.pair_id)
        return Side(self.index.evidence(old), self.hardware) if old else None


def hardware_class(environment: Environment) -> str:
    """Return what must be equal for times and tokens of two runs to be comparable."""
    if environment.accelerators:
        counts = Counter(environment.accelerators)
        return ", ".join(f"{n} × {name}" for name, n in sorted(counts.items()))
    return f"{environment.cpu}, {environment.cores} cores"


def baseline_of_run(run: Run) -> Baseline:
    """Return a stored run as a baseline; of several releases in it the first counts."""
    index = RecordIndex(run.records)
    cells: dict[str, Cell] = {}
    for launch, block in index.blocks():
        if launch.arm.speculates:
            cell = cell_of(launch, block)
            cells.setdefault(cell.pair_id, cell)
    return Baseline(run.info.run, index, cells, hardware_class(run.info.environment))


def baseline_of_release(
    release: str, index: RecordIndex, cells: Iterable[Cell], hardware: str
) -> Baseline:
    """Return one release of a run as the baseline of the others."""
    own = {cell.pair_id: cell for cell in cells if cell.release == release}
    return Baseline(release, index, own, hardware)


def read_baseline(folder: Path, cells: Iterable[Cell]) -> Baseline:
    """Read the run that ``cells`` are to be compared with.

    Raises:
        UsageError: the folder is no run, the run did not come to its end, or it has none of the
            cells.
    """
    run = read_run(folder)
    if not run.info.complete:
        raise UsageError(
            f"the baseline {folder} did not come to its end and cannot be compared with; "
            "name a complete run"
        )
    baseline = baseline_of_run(run)
    shared = [cell for cell in cells if cell.pair_id in baseline.cells]
    if not shared:
        raise UsageError(
            f"the baseline {folder} has none of the cells of this run; "
            f"it has: {', '.join(sorted(baseline.cells)) or 'none'}"
        )
    sides = [side for cell in shared if (side := baseline.side(cell))]
    if not any(is_complete(side.evidence.on) for side in sides):
        raise UsageError(
            f"the baseline {folder} stopped early in every cell and cannot be compared with; "
            "measure one with --no-early-stop"
        )
    return baseline
