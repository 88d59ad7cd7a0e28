"""A token takes less time with speculation than without."""

import pytest

from fixtures.measurements import RECORDED
from specfloor.cells import Cell


@pytest.mark.core
@pytest.mark.measures("natural", "forced")
def test_speedup(cell: Cell, judgements, hold):
    hold(judgements.speed(cell))


@pytest.mark.core
@pytest.mark.measures("natural", "forced")
@pytest.mark.benchmark(timer=RECORDED)
@pytest.mark.parametrize("arm", ["off", "on"])
def test_time_per_token(cell: Cell, arm: str, replay):
    replay(cell, arm)
