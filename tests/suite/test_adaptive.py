"""Whether verification that follows the load protects those who wait under mixed load."""

import pytest

from specfloor.cells import Cell


@pytest.mark.experiment("adaptive")
def test_adaptive_verification(cell: Cell, judgements, hold):
    hold(judgements.experiment("adaptive", cell))
