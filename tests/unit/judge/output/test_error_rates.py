"""False alarms and misses of the paired tests, simulated: red only beyond doubt."""

import numpy as np
import pytest

from benchmarks.statistics.report import exceeds
from specfloor.judge.output.agreement import Parting
from specfloor.judge.output.checks import LOSS_ALLOWED, compare_outcomes
from specfloor.judge.output.paired import Pairs, pair
from specfloor.judge.output.verdict import Check

ALPHA = BETA = 0.05
RUNS = 250
EVERY = (Check.ANSWER, Check.JSON, Check.TEXT, Check.LOOPS, Check.ENDING)


def draws(rng, prompts, scatter, lost=0.0, launches=3):
    """Outcomes of launches that are good at each prompt with a chance of its own.

    ``scatter`` is the share of prompts that are a toss-up; the first launch loses ``lost`` of what
    it would have been good at.
    """
    chance = rng.choice([0.5, 1.0, 0.0], (1, prompts), p=[scatter, 0.9 - scatter, 0.1])
    good = rng.random((launches, prompts)) < chance
    good[0] &= rng.random(prompts) >= lost
    return [{str(i): bool(g) for i, g in enumerate(row)} for row in good]


def run(rng, prompts, *, scatter, lost=0.0, broken="on", launches=3):
    """The results of all checks, each with outcomes of its own."""
    drawn = {check: draws(rng, prompts, scatter, lost, launches) for check in EVERY}
    order = range(launches) if broken == "on" else (1, 0, *range(2, launches))
    outcomes = [{check: drawn[check][i] for check in EVERY} for i in order]
    return compare_outcomes(outcomes, (), alpha=ALPHA, beta=BETA)


@pytest.mark.parametrize("launches", [2, 3])
@pytest.mark.parametrize(("prompts", "scatter"), [(20, 0.3), (40, 0.1), (100, 0.5)])
def test_no_more_false_alarms_than_alpha(prompts, scatter, launches):
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(RUNS):
        checks, unlike = run(rng, prompts, scatter=scatter, launches=launches)
        alarms += bool(unlike) or any(check.worse for check in checks)
    assert not exceeds(alarms, RUNS, ALPHA)


@pytest.mark.parametrize("broken", ["on", "off"])
@pytest.mark.parametrize(
    ("prompts", "lost", "power"), [(20, 0.6, 0.8), (40, 0.4, 0.9), (100, 0.2, 0.9)]
)
def test_a_broken_arm_is_found_whichever_it_is(prompts, lost, power, broken):
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(RUNS):
        checks, _ = run(rng, prompts, scatter=0.05, lost=lost, broken=broken, launches=2)
        found += checks[0].worse == broken
        assert all(check.worse in (None, broken) for check in checks)
    assert not exceeds(RUNS - found, RUNS, 1 - power)


@pytest.mark.parametrize("prompts", [20, 25, 32, 40, 60, 120])
@pytest.mark.parametrize("scatter", [0.0, 0.05, 0.2])
def test_a_loss_as_large_as_allowed_is_seldom_excluded(prompts, scatter):
    """What both arms toss up adds to what the on arm loses."""
    rng = np.random.default_rng(5)
    passed, runs = 0, 4000
    toss = rng.random((runs, prompts)) < scatter
    off = np.where(toss, rng.random((runs, prompts)) < 0.5, True)
    kept = np.where(toss, rng.random((runs, prompts)) < 0.5, True)
    # the expected loss is the same share of what the off arm is good at
    on = kept & (rng.random((runs, prompts)) >= LOSS_ALLOWED)
    outcomes = np.stack([(on & off), (~on & off), (on & ~off)]).sum(axis=2).T
    for (both, lost, gained), times in zip(
        *np.unique(outcomes, axis=0, return_counts=True), strict=True
    ):
        pairs = Pairs(int(both), int(lost), int(gained), prompts - int(both + lost + gained))
        allowed = LOSS_ALLOWED * (both + lost) / prompts
        passed += times * (pairs.loss_at_most(BETA) < allowed)
    assert not exceeds(int(passed), runs, BETA)


def test_a_sound_arm_passes_mostly():
    rng = np.random.default_rng(6)
    passed = 0
    for _ in range(RUNS):
        outcomes = [dict.fromkeys(EVERY, one) for one in draws(rng, 40, 0.02, launches=2)]
        checks, _ = compare_outcomes(outcomes, (), alpha=ALPHA, beta=BETA)
        passed += all(check.excluded for check in checks)
    assert passed > 0.75 * RUNS


@pytest.mark.parametrize(("hazard", "alarmed"), [(0.003, False), (0.02, False), (0.4, True)])
def test_partings_by_near_ties_raise_no_alarm_and_wrong_tokens_do(hazard, alarmed):
    """Near ties part a text with the same small chance at every token; the off arm has none."""
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(RUNS):
        at = rng.geometric(hazard, 40) - 1
        between = [Parting(str(i), int(p), "tokens") for i, p in enumerate(at)]
        late = {str(i): bool(p >= 8) for i, p in enumerate(at)}
        outcomes = [{Check.PARTING: late}, {}, {Check.PARTING: dict.fromkeys(late, True)}]
        (check,), _ = compare_outcomes(outcomes, between, alpha=ALPHA, beta=BETA)
        alarms += check.worse == "on"
    assert alarms > 0.99 * RUNS if alarmed else not exceeds(alarms, RUNS, ALPHA)


def test_mcnemar_is_the_exact_one():
    pairs = Pairs(both=20, lost=8, gained=1, neither=3)
    assert pairs.p_first_worse == pytest.approx(10 / 512)
    assert pairs.p_second_worse == pytest.approx(511 / 512)
    assert Pairs(20, 0, 0, 0).p_first_worse == 1
    assert Pairs(0, 5, 0, 0).loss_at_most(0.05) >= 1
    assert pair({"a": True, "b": False, "c": True}, {"a": True, "b": True, "d": True}) == Pairs(
        both=1, lost=1, gained=0, neither=0
    )
