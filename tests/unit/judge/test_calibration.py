"""What a drafter of known acceptance is known to be accepted at."""

import random

import pytest

from specfloor.judge.calibration import expected_rate


@pytest.mark.parametrize("sd", [0.0, 0.1])
@pytest.mark.parametrize("k", [1, 3, 7])
def test_the_expectation_is_that_of_the_draws(sd, k):
    mean, draw = 0.7, random.Random(5)
    weight = mean * (1 - mean) / sd**2 - 1 if sd else 0
    rates = []
    for _ in range(40_000):
        p = draw.betavariate(mean * weight, (1 - mean) * weight) if sd else mean
        rates.append(sum(p**j for j in range(1, k + 1)) / k)
    assert expected_rate(mean, sd, k) == pytest.approx(sum(rates) / len(rates), abs=2e-3)
