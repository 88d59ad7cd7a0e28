"""Both error rates of the acceptance tests, simulated: red only beyond doubt."""

import numpy as np
import pytest

from benchmarks.statistics.draws import Law, rates
from benchmarks.statistics.report import exceeds
from specfloor.judge.sequential import simulate

RUNS = 2000
LAWS = (
    Law(0.8, 0.10),
    Law(0.7, 0.15, k=1, steps=4),
    Law(0.75, 0.05, k=7, steps=30),
    Law(0.8, 0.10, steps=30, block=10, block_sd=0.15),
)


def errors(law, population, *, alpha=0.05, beta=0.05):
    """False FAILs at the floor and false PASSes at the margin, of ``RUNS`` each."""
    rng = np.random.default_rng(17)
    if population:
        table = rates(law, (RUNS, population), rng)
        truth = table.mean(axis=1)
    else:
        pool = rates(law, 100_000, rng)
        table, truth = rng.choice(pool, (RUNS, 300)), pool.mean()
    levels = {"alpha": alpha, "beta": beta, "population": population}
    at_floor = simulate(table, truth, truth * 0.95, **levels).decision
    at_margin = simulate(table, truth / 0.95, truth, **levels).decision
    return int((at_floor < 0).sum()), int((at_margin > 0).sum()), at_floor, at_margin


@pytest.mark.parametrize("population", [None, 160], ids=["sampled", "fixed"])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.label)
def test_neither_error_exceeds_its_level(law, population):
    false_fail, false_pass, at_floor, at_margin = errors(law, population)
    assert not exceeds(false_fail, RUNS, 0.05)
    assert not exceeds(false_pass, RUNS, 0.05)
    if population:
        assert (at_floor != 0).all()
        assert (at_margin != 0).all()
    assert (at_floor > 0).mean() > 0.75 or law.k == 1
    assert (at_margin < 0).mean() > 0.75 or law.k == 1


def test_the_criterion_sees_a_test_that_errs_too_often():
    false_fail, false_pass, *_ = errors(LAWS[0], 160, alpha=0.25, beta=0.25)
    assert exceeds(false_fail, RUNS, 0.05)
    assert exceeds(false_pass, RUNS, 0.05)


def test_requests_needed_on_the_usual_law():
    table = rates(Law(0.8, 0.10), (RUNS, 160), np.random.default_rng(4))
    truth = table.mean(axis=1)
    medians = [
        float(
            np.median(simulate(table, f, f * 0.95, alpha=0.05, beta=0.05, population=160).requests)
        )
        for f in (truth, truth / 0.95, truth / 0.90)
    ]
    assert medians[0] <= 75
    assert medians[1] <= 65
    assert medians[2] <= 28
