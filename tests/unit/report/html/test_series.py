"""What is drawn: running means, shares, quantiles, and fewer points where there are many."""

import pytest

from specfloor.report.html.series import MOST_POINTS, quantile, running_mean, shares, thinned


def test_a_running_mean_begins_with_what_there_is():
    assert running_mean([1, 3, 5, 7], window=2) == [1, 2, 4, 6]


def test_few_points_stay():
    assert thinned([1, 2], [3, 4]) == ((1, 2), (3, 4))


def test_many_points_are_thinned_with_their_ends():
    x, y = thinned(range(1000), range(1000, 2000))
    assert len(x) == len(y) == MOST_POINTS
    assert (x[0], x[-1], y[0], y[-1]) == (0, 999, 1000, 1999)
    assert all(b - a == 1000 for a, b in zip(x, y, strict=True))


def test_shares_rise_to_one():
    assert shares([3.0, 1.0, 2.0, 2.0]) == ((1.0, 2.0, 2.0, 3.0), (0.25, 0.5, 0.75, 1.0))


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 5), (0.9, 9), (0.91, 10), (1.0, 10)])
def test_quantiles_are_values_that_were_measured(share, value):
    assert quantile(range(10, 0, -1), share) == value
