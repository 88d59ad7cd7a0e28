"""A new release accepts as much as the old one did, on the same prompts.

Runs where there is something to compare with: several releases, or ``--baseline RUN``.
"""

import pytest

from specfloor.cells import Cell


@pytest.mark.core
@pytest.mark.upgrade
@pytest.mark.measures("natural")
def test_upgrade(cell: Cell, judgements, hold):
    hold(judgements.upgrade(cell))
