"""The speculative configuration that was asked for is the one in effect."""

import pytest

from specfloor.cells import Cell


@pytest.mark.core
@pytest.mark.measures("natural")
def test_configuration(cell: Cell, judgements, hold):
    hold(judgements.configuration(cell))
