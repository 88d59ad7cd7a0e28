"""The sequential tests against the formulas written out, exact enumeration and their own dual."""

import itertools
import math

import numpy as np
import pytest

from specfloor.judge.sequential import SequentialTest, invert, simulate
from specfloor.judge.verdict import Verdict

FLOOR, LEAST = 0.6, 0.57


def wealth(rates, theta, gap, side, population):
    """One side's evidence after all ``rates``, in plain arithmetic from the definition."""
    bets = {"below": ((1, 0.5), (2, 0.3), (4, 0.2)), "above": ((1, 0.7), (2, 0.3))}[side]
    sign = 1 if side == "below" else -1
    bound = 1 - theta if side == "below" else theta
    products = [weight for _, weight in bets]
    for t, rate in enumerate(rates, start=1):
        past = rates[: t - 1]
        mean = sum(past) / len(past) if past else 0
        variance = (5 * 0.15**2 + sum((r - mean) ** 2 for r in past)) / (5 + len(past))
        left = population - t + 1 if population else None
        m = -sum(sign * (r - theta) for r in past) / left if left else 0.0
        g = gap * population / left if left else gap
        if m > bound:
            return math.inf
        for i, (c, _) in enumerate(bets):
            stake = min(c * g / (variance + (c * g) ** 2), 0.9 / (bound - m))
            products[i] *= 1 - stake * (sign * (rate - theta) - m)
    return sum(products)


@pytest.mark.parametrize("population", [None, 60])
@pytest.mark.parametrize("shift", [-0.1, 0.0, 0.05])
@pytest.mark.parametrize(("floor", "least"), [(FLOOR, LEAST), (0.9, 0.88), (0.2, 0.18)])
def test_wealth_is_the_formula(population, shift, floor, least):
    rng = np.random.default_rng(7)
    centre = floor + shift
    rates = list(rng.beta(centre * 8, (1 - centre) * 8, 25))
    test = SequentialTest(floor, least, alpha=0.05, beta=0.05, population=population)
    for n, rate in enumerate(rates, start=1):
        test.observe(rate)
        below = wealth(rates[:n], floor, floor - least, "below", population)
        above = wealth(rates[:n], least, floor - least, "above", population)
        assert math.exp(test.log_e_below) == pytest.approx(below, rel=1e-9)
        assert math.exp(test.log_e_above) == pytest.approx(above, rel=1e-9)


def fed(scores, **options):
    test = SequentialTest(FLOOR, LEAST, **{"alpha": 0.05, "beta": 0.05} | options)
    for score in scores:
        if test.observe(score) is not None and not test.complete:
            break
    return test


@pytest.mark.parametrize("population", [None, 120])
def test_many_runs_at_once_agree_with_one_at_a_time(population):
    rng = np.random.default_rng(3)
    table = rng.beta(6, 4, (60, 120))
    table[:20] *= 0.93
    table[rng.random(table.shape) < 0.1] = np.nan
    outcomes = simulate(table, FLOOR, LEAST, alpha=0.05, beta=0.1, population=population)
    codes = {Verdict.PASS: 1, Verdict.FAIL: -1, None: 0}
    for row, decision, requests in zip(table, *outcomes, strict=True):
        scores = [None if np.isnan(x) else float(x) for x in row]
        test = fed(scores, beta=0.1, population=population)
        assert codes[test.decision] == decision
        assert (test.decided_at or len(row)) == requests
    assert set(outcomes.decision) >= {1, -1}


@pytest.mark.parametrize(
    ("scores", "side"),
    [
        ((0.9, 0.8, 0.6, 0.4, 0.3), "below"),
        ((1.0, 1.0, 1.0, 0.0, 0.0), "below"),
        ((0.9, 0.8, 0.5, 0.41, 0.24), "above"),
        ((0.6, None, 0.9, 0.3, None, 0.6), "below"),
        ((0.57, None, 0.87, 0.27, None, 0.57), "above"),
    ],
)
def test_wealth_is_fair_over_every_order_of_a_set_on_the_edge(scores, side):
    rated = [s for s in scores if s is not None]
    edge = FLOOR if side == "below" else LEAST
    assert sum(rated) / len(rated) == pytest.approx(edge)
    for n in (3, 4):
        finals = []
        for order in itertools.permutations(scores):
            test = SequentialTest(FLOOR, LEAST, alpha=1e-9, beta=1e-9, population=len(scores))
            for score in order[:n]:
                test.observe(score)
            finals.append(math.exp(test.log_e_below if side == "below" else test.log_e_above))
        assert np.mean(finals) == pytest.approx(1, abs=1e-9)
        assert np.ptp(finals) > 0.01


def test_a_set_no_longer_able_to_hold_the_floor_fails_at_once():
    test = fed([0.0] * 5, population=7, alpha=1e-12)
    assert test.decision is Verdict.FAIL
    assert test.decided_at == 3  # three of seven at zero leave at most 4/7


def test_complete_sets_of_many_runs_are_decided_by_their_own_means():
    table = [[0.5, 0.61], [0.7, 0.5], [0.6, np.nan], [0.59, np.nan], [np.nan, np.nan]]
    outcomes = simulate(table, FLOOR, LEAST, alpha=1e-9, beta=1e-9, population=2)
    assert outcomes.decision.tolist() == [-1, 1, 1, -1, 0]


@pytest.mark.parametrize(
    ("mean", "verdict"),
    [(FLOOR, Verdict.PASS), (FLOOR - 1e-6, Verdict.FAIL), (FLOOR + 1e-6, Verdict.PASS)],
)
def test_a_complete_set_is_decided_by_its_own_mean(mean, verdict):
    spread = [mean + d for d in (-0.3, -0.1, 0.0, 0.1, 0.3)]
    test = SequentialTest(FLOOR, LEAST, alpha=0.001, beta=0.001, population=5)
    assert [test.observe(score) for score in spread][:4] == [None] * 4
    assert test.decision is verdict
    assert test.decided_at == 5


def test_a_complete_set_overrules_an_early_decision():
    scores = [0.05] * 4 + [0.75] * 36
    early = fed(scores[:6], population=40)
    assert early.decision is Verdict.FAIL
    late = SequentialTest(FLOOR, LEAST, alpha=0.05, beta=0.05, population=40)
    for score in scores:
        late.observe(score)
    assert late.decision is Verdict.PASS
    assert late.decided_at == early.decided_at


def test_prompts_without_a_score_decide_nothing():
    test = SequentialTest(FLOOR, LEAST, alpha=0.05, beta=0.05, population=3)
    assert [test.observe(None) for _ in range(3)] == [None] * 3
    assert math.isnan(test.mean)


@pytest.mark.parametrize(("centre", "verdict"), [(0.3, Verdict.FAIL), (0.9, Verdict.PASS)])
def test_a_clear_case_is_decided_on_few_requests(centre, verdict):
    rng = np.random.default_rng(1)
    test = fed(list(rng.normal(centre, 0.05, 40)))
    assert test.decision is verdict
    assert test.decided_at < 15


def test_stops_within_the_set():
    test = SequentialTest(FLOOR, LEAST, alpha=0.05, beta=0.05, population=2)
    test.observe(0.6)
    test.observe(0.6)
    with pytest.raises(ValueError, match="more scores than the 2 prompts"):
        test.observe(0.6)


@pytest.mark.parametrize(("floor", "least"), [(0.5, 0.5), (1.0, 0.9), (0.5, 0.0), (0.4, 0.5)])
def test_bounds_that_cannot_be(floor, least):
    with pytest.raises(ValueError, match="0 < least < floor < 1"):
        SequentialTest(floor, least, alpha=0.05, beta=0.05)


@pytest.mark.parametrize("population", [None, 160])
@pytest.mark.parametrize("centre", [0.45, 0.54, 0.57, 0.6, 0.66])
def test_inverted_interval_agrees_with_the_decision(population, centre):
    rng = np.random.default_rng(11)
    grid = np.union1d(np.arange(1, 500) / 500, (LEAST, FLOOR))
    seen = set()
    for _ in range(8):
        scores = list(rng.beta(centre * 10, (1 - centre) * 10, 70))
        test = fed(scores, population=population)
        low, high = invert(
            scores[: test.seen],
            grid,
            FLOOR - LEAST,
            alpha=0.05,
            beta=0.05,
            population=population,
        )
        assert low < test.mean < high
        assert (high <= FLOOR) == (test.decision is Verdict.FAIL)
        assert (low >= LEAST) == (test.decision is Verdict.PASS)
        seen.add(test.decision)
    assert seen


def test_inverted_interval_covers_the_truth():
    rng = np.random.default_rng(2)
    grid = np.arange(1, 200) / 200
    missed = 0
    for _ in range(150):
        low, high = invert(list(rng.beta(6, 4, 40)), grid, 0.03, alpha=0.05, beta=0.05)
        missed += not low < 0.6 < high
    assert missed <= 150 * 0.1


def test_needed_requests_are_about_what_it_takes():
    rng = np.random.default_rng(5)
    for centre in (0.5, 0.54, 0.6, 0.64):
        said, took = [], []
        for _ in range(40):
            scores = rng.beta(centre * 12, (1 - centre) * 12, 1500)
            test = SequentialTest(FLOOR, LEAST, alpha=0.05, beta=0.05)
            for score in scores[:8]:
                test.observe(score)
            if test.decision is not None:
                continue
            said.append(test.still_needed())
            for score in scores[8:]:
                if test.observe(score) is not None:
                    break
            took.append(test.seen - 8)
        assert 0.4 < np.median(said) / np.median(took) < 2.5


def test_a_set_needs_no_more_than_it_has_left():
    test = fed([0.59, 0.58, 0.6], population=10)
    assert test.still_needed() == 7
