"""Did a reasoning-effort tier lose its acceptance?"""

import pytest

from specfloor.cells import Cell


@pytest.mark.experiment("effort")
def test_tiers(cell: Cell, judgements, hold):
    hold(judgements.experiment("effort", cell))
