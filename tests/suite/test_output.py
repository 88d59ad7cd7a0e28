"""Is the text still right?"""

import pytest

from specfloor.cells import Cell


@pytest.mark.experiment("output")
def test_output(cell: Cell, judgements, hold):
    hold(judgements.experiment("output", cell))
