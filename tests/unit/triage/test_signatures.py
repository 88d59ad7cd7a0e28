"""Signatures: what each shape is called, and how often chance is called one (seeded)."""

import numpy as np
import pytest

from specfloor.ledger.model import Signature
from specfloor.triage.shares import (
    Figures,
    Range,
    Share,
    Trend,
    fall_between,
    falls_against,
    falls_of,
    profile_of,
    share,
)
from specfloor.triage.signatures import dead_positions, needs, odd_ones, seen_in
from specfloor.triage.tally import Tally

RUNS = 200
ZERO, ALL, LATER = Signature.ZERO, Signature.ALL_POSITIONS, Signature.LATER_POSITIONS


def tally(*shares, drafts=4000):
    """Return counts with these shares of the drafts accepted by position."""
    counts = tuple(round(drafts * one) for one in shares)
    return Tally(drafts, drafts * len(counts), sum(counts), counts)


def seen(now, *, floor=None, before=None):
    profile = profile_of(now)
    falls = falls_of(profile, profile_of(before)) if before else ()
    return [one.signature for one in seen_in(Figures(profile), floor=floor, falls=falls)]


HEALTHY = tally(0.87, 0.70, 0.52)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (tally(0.01, 0.0, 0.0), [ZERO]),
        (tally(0.55, 0.30, 0.15), [ALL]),
        (tally(0.87, 0.45, 0.20), [LATER]),
        (tally(0.87, 0.002, 0.0), [LATER]),
        (tally(1.0, 1.0, 0.999), [Signature.TOO_GOOD]),
        (tally(0.87, 0.70, 0.52), []),
        (tally(0.865, 0.69, 0.51), []),
        # a first position that may have fallen, or not, is neither
        (tally(0.82, 0.50, 0.25, drafts=400), []),
    ],
)
def test_shapes_against_a_healthy_profile(now, expected):
    assert seen(now, before=HEALTHY) == expected


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (tally(0.30, 0.12, 0.05), [ALL]),
        (tally(0.88, 0.30, 0.05), [LATER]),
        (tally(0.27, 0.0), []),
        (tally(0.87, 0.70, 0.52), []),
        # fades as drafts do
        (tally(0.86, 0.62, 0.40, 0.22, 0.12, 0.06, 0.03), []),
    ],
)
def test_shapes_against_a_floor_alone(now, expected):
    assert seen(now, floor=0.6) == (expected or ([ALL] if now.rate < 0.2 else []))


@pytest.mark.parametrize("profile", [(0.85, 0.46, 0.19), (0.68, 0.40, 0.18)])
def test_the_steepest_healthy_profiles_bear_no_signature(profile):
    """Those that vLLM-Ascend's own tests hold Qwen3-Next and Qwen3-8B to."""
    healthy = tally(*profile)
    assert seen(healthy) == []
    assert seen(healthy, floor=0.95 * healthy.rate) == []


def test_drafts_that_copy_rise_and_bear_no_signature():
    copying = tally(0.50, 0.46, 0.43, 0.40)
    assert seen(copying, floor=0.5) == []


def test_positions_that_break_off_show_without_anything_expected():
    assert seen(tally(0.27, 0.0)) == [LATER]
    assert dead_positions(profile_of(tally(0.27, 0.0))) == (1,)
    # drafts that were not all of k tokens leave later positions without a chance
    short = Tally(4000, 4400, 1080, (1080, 0))
    assert seen(short) == []


def test_few_drafts_are_called_nothing():
    assert seen(Tally(13, 40, 0, (0, 0, 0))) == []
    assert seen(tally(0.6, 0.0, drafts=40)) == []


def test_figures_given_without_counts_are_taken_as_they_are():
    falls = falls_against(profile_of(tally(0.5, 0.3)), (0.87, None))
    assert falls[0].low == pytest.approx(0.37, abs=0.05)
    assert falls[1] is None


def trend(first, last, low, high):
    return Trend(first, last, Range(low, high), 20, (10.0, 30.0))


@pytest.mark.parametrize(
    ("time", "length", "expected"),
    [
        (trend(0.8, 0.3, 0.4, 0.6), None, [Signature.DECAYS]),
        (None, trend(0.8, 0.3, 0.4, 0.6), [Signature.LONG_INPUT]),
        # a quarter of the first value is not excluded
        (trend(0.8, 0.6, 0.1, 0.3), trend(0.8, 0.7, -0.1, 0.3), []),
        (trend(0.3, 0.8, -0.6, -0.4), None, []),
    ],
)
def test_trends(time, length, expected):
    figures = Figures(profile_of(HEALTHY), over_time=time, over_input=length)
    assert [one.signature for one in seen_in(figures)] == expected


def test_an_engine_is_odd_when_no_mix_of_requests_explains_it():
    well = share(2000, 3000)
    assert odd_ones({"0": well, "1": well, "2": share(600, 3000)}).keys() == {"2"}
    assert odd_ones({"0": well, "1": share(1400, 3000)}) == {}
    assert odd_ones({"0": well, "1": share(1, 20)}) == {}
    assert odd_ones({"0": share(0, 3000), "1": share(0, 3000)}) == {}


def test_shares_and_their_differences_hold_what_they_say():
    assert share(0, 0) == Share(0.0, 0.0, 1.0, 0)
    here = share(300, 1000, spread=1.0)
    assert here.low < 0.3 < here.high
    assert (here.high - here.low) * 2 == pytest.approx(
        share(300, 1000, spread=2.0).high - share(300, 1000, spread=2.0).low, rel=0.02
    )
    fall = fall_between(share(700, 1000), share(500, 1000))
    assert fall.low < 0.2 < fall.high


def simulated(rng, chances, requests=40, steps=50, scatter=0.12):
    """Return counts of requests whose chances scatter: tokens of one request are alike."""
    k = len(chances)
    counts = np.zeros(k, dtype=int)
    for _ in range(requests):
        own = np.clip(np.asarray(chances) * (1 + rng.normal(0, scatter)), 0, 1)
        kept = np.cumprod(rng.random((steps, k)) < own, axis=1)
        counts += kept.sum(axis=0)
    drafts = requests * steps
    return Tally(drafts, drafts * k, int(counts.sum()), tuple(map(int, counts)))


def called(chances, before, seed, **kind):
    """Return how often each signature is called, as shares of the runs."""
    rng = np.random.default_rng(seed)
    names = [
        tuple(seen(simulated(rng, chances, **kind), before=simulated(rng, before, **kind)))
        for _ in range(RUNS)
    ]
    return {name: names.count(name) / RUNS for name in set(names)}


CHANCES = (0.87, 0.82, 0.78)


@pytest.mark.parametrize("kind", [{}, {"requests": 12}, {"scatter": 0.2}])
def test_health_is_seldom_called_a_loss(kind):
    found = called(CHANCES, CHANCES, 1, **kind)
    assert found[()] >= 0.95


@pytest.mark.parametrize(
    ("chances", "signature"),
    [
        ((0.87, 0.45, 0.45), LATER),
        ((0.60, 0.82, 0.78), ALL),
        ((0.01, 0.3, 0.3), ZERO),
        ((0.5, 0.4, 0.3), ALL),
    ],
)
def test_losses_are_called_what_they_are(chances, signature):
    # at 2,000 drafts a first position is called as it was in four of five cases only
    found = called(chances, CHANCES, 2, requests=80)
    assert found.get((signature,), 0) >= 0.9
    others = {ZERO, ALL, LATER} - {signature}
    assert sum(share for names, share in found.items() if others & set(names)) <= 0.02


def test_without_a_profile_a_floor_calls_no_healthy_draft_ill():
    rng = np.random.default_rng(3)
    drafts = [simulated(rng, CHANCES) for _ in range(RUNS)]
    wrong = sum(bool(seen(one, floor=0.6)) for one in drafts)
    assert wrong <= 0.02 * RUNS
    fading = [simulated(rng, (0.86, 0.72, 0.65, 0.60, 0.55)) for _ in range(RUNS)]
    assert sum(bool(seen(one)) for one in fading) <= 0.02 * RUNS
    broken = [simulated(rng, (0.87, 0.25, 0.25)) for _ in range(RUNS)]
    assert sum(seen(one, floor=0.6) == [LATER] for one in broken) >= 0.9 * RUNS


def wholes(rng, *chances):
    return [profile_of(simulated(rng, one)).whole for one in chances]


def test_what_a_loss_needs_is_seldom_told_wrongly():
    rng = np.random.default_rng(4)
    broken = (0.6, 0.7, 0.7)
    both = [needs(*wholes(rng, broken, broken)) for _ in range(RUNS)]
    assert both.count(True) <= 0.02 * RUNS
    assert both.count(False) >= 0.8 * RUNS
    only = [needs(*wholes(rng, broken, CHANCES)) for _ in range(RUNS)]
    assert only.count(True) >= 0.95 * RUNS
    assert only.count(False) == 0


def test_engines_are_seldom_called_odd_by_chance():
    rng = np.random.default_rng(5)

    def odd(*chances):
        return odd_ones(dict(zip("01234567", wholes(rng, *chances), strict=True))).keys()

    alike = [odd(*[CHANCES] * 8) for _ in range(RUNS // 4)]
    assert sum(map(bool, alike)) == 0
    # requests of one engine may be harder to draft for
    harder = [odd((0.7, 0.7, 0.7), *[CHANCES] * 7) for _ in range(RUNS // 4)]
    assert sum(map(bool, harder)) <= 0.02 * len(harder)
    ill = [odd((0.3, 0.3, 0.3), *[CHANCES] * 7) == {"0"} for _ in range(RUNS // 4)]
    assert sum(ill) >= 0.95 * len(ill)
