"""Which cells an experiment is asked of."""

from collections.abc import Iterable

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.experiments.base import Experiment


def questions(
    cells: Iterable[Cell], experiment: Experiment, catalog: Catalog
) -> tuple[tuple[Cell, ...], dict[Cell, str]]:
    """Return the cells that an experiment is asked of, and why it is not asked of others.

    Of cells that differ only in what the experiment varies anyway, the first stands for all.
    """
    asked: dict[Cell, Cell] = {}
    left_out: dict[Cell, str] = {}
    for cell in cells:
        if reason := experiment.why_not(cell, catalog):
            left_out[cell] = reason
            continue
        blank = {field: type(getattr(cell, field))() for field in experiment.varies}
        asked.setdefault(msgspec.structs.replace(cell, **blank), cell)
    return tuple(asked.values()), left_out
