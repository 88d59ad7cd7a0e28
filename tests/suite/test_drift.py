"""Does acceptance hold over a long run, and for long prompts?"""

import pytest

from specfloor.cells import Cell


@pytest.mark.experiment("drift")
def test_drift(cell: Cell, judgements, hold):
    hold(judgements.experiment("drift", cell))
