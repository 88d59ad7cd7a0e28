"""Order statistics: the least number, the coverage and the joined interval."""

import math

import numpy as np
import pytest
from scipy import stats

from specfloor.judge.quantiles import Quantile, least_requests, log_ratio_reach, quantile

ALPHA = 0.05


@pytest.mark.parametrize(("p", "least"), [(0.99, 368), (0.9, 36), (0.5, 6), (0.01, 368)])
def test_how_many_requests_bound_a_quantile(p, least):
    assert least_requests(p, ALPHA) == least
    bounds = [quantile(range(1, n + 1), p, ALPHA) for n in (least - 1, least)]
    assert [found.low is None for found in bounds] == [True, False]


def test_the_estimate_does_not_wait_for_the_bounds():
    assert quantile([3.0], 0.99, ALPHA) == Quantile(1, 3.0)
    assert quantile([], 0.99, ALPHA) is None


@pytest.mark.parametrize("n", [368, 700, 2000])
@pytest.mark.parametrize("p", [0.5, 0.99])
def test_each_end_misses_at_most_as_often_as_it_may(n, p):
    # exact: the i-th from below is over the quantile with a binomial chance
    found = quantile(range(1, n + 1), p, ALPHA)
    over = stats.binom.cdf(int(found.low) - 1, n, p)
    under = stats.binom.sf(int(found.high) - 1, n, p)
    assert over <= ALPHA / 2
    assert under <= ALPHA / 2
    # and no narrower interval would do
    assert stats.binom.cdf(int(found.low), n, p) > ALPHA / 2
    assert stats.binom.sf(int(found.high) - 2, n, p) > ALPHA / 2


def test_a_joined_interval_is_as_wide_as_both_make_it():
    one, other = Quantile(400, 4.0, 2.0, 8.0), Quantile(400, 1.0, 0.5, 2.0)
    down, up = log_ratio_reach(one, other)
    assert (down, up) == pytest.approx((math.log(2) * math.sqrt(2),) * 2)
    assert log_ratio_reach(one, Quantile(3, 1.0)) is None


def test_a_joined_interval_covers_the_ratio():
    rng = np.random.default_rng(11)
    truth, missed = math.log(1.5), [0, 0]
    for _ in range(400):
        one, other = (
            quantile(scale * np.exp(rng.normal(0, 0.4, 500)), 0.99, ALPHA) for scale in (1.5, 1.0)
        )
        middle = math.log(one.value / other.value)
        down, up = log_ratio_reach(one, other)
        missed[0] += middle - down > truth
        missed[1] += middle + up < truth
    assert max(missed) / 400 <= 0.05
