"""The target accepts as many of the draft's tokens as it should."""

import pytest

from specfloor.cells import Cell


@pytest.mark.core
@pytest.mark.measures("natural")
def test_acceptance(cell: Cell, judgements, hold):
    hold(judgements.acceptance(cell))
