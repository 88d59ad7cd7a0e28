"""How large a batch speculation pays in, and which k pays at which batch."""

import pytest

from specfloor.cells import Cell


@pytest.mark.experiment("flip")
def test_flip_point(cell: Cell, judgements, hold):
    hold(judgements.experiment("flip", cell))


@pytest.mark.experiment("schedule")
def test_schedule(cell: Cell, judgements, hold):
    hold(judgements.experiment("schedule", cell))
