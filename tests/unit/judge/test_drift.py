"""Drift within a soak: false alarms and misses by simulation, and where it began."""

import sys

import numpy as np
import pytest

from specfloor.errors import UsageError
from specfloor.judge import drift
from specfloor.judge.drift import Sample, judge_drift, pair_windows
from specfloor.judge.onset import locate_onset
from specfloor.judge.sequential import simulate
from specfloor.judge.verdict import Verdict

RULE = {"alpha": 0.05, "beta": 0.05, "margin": 0.05}
PROMPTS = 40


def soak(requests, seed=1, *, fall=lambda share: 0.0, spread=0.15, noise=0.05, level=0.7):
    """Return a soak whose acceptance is lower by ``fall`` of the share of it that is over."""
    random = np.random.default_rng(seed)
    own = np.clip(random.normal(level, spread, PROMPTS), 0.1, 0.95)
    rates = [
        own[i % PROMPTS] - fall(i / requests) + random.normal(0, noise) for i in range(requests)
    ]
    return [
        Sample(i + 1, 0.25 * i, f"p{i % PROMPTS}", float(np.clip(rate, 0, 1)))
        for i, rate in enumerate(rates)
    ]


def step(at, by):
    return lambda share: by if share >= at else 0.0


def ramp(at, to, by):
    return lambda share: by * min(1.0, max(0.0, (share - at) / (to - at)))


class TestPairs:
    def test_the_same_prompt_in_both_windows_each_request_once(self):
        samples = [Sample(i + 1, 0.0, f"p{i % 2}", i / 100) for i in range(12)]
        assert pair_windows(samples) == [(0.0, 0.08), (0.01, 0.09), (0.02, 0.1), (0.03, 0.11)]

    def test_a_prompt_of_one_window_alone_has_no_pair(self):
        samples = [Sample(i + 1, 0.0, f"p{i}", 0.5) for i in range(9)]
        assert pair_windows(samples) == []
        assert judge_drift(samples, **RULE).verdict is Verdict.NO_DATA

    def test_nothing(self):
        assert judge_drift([], **RULE).verdict is Verdict.NO_DATA


class TestVerdict:
    def test_no_drift_passes(self):
        found = judge_drift(soak(900), **RULE)
        assert found.verdict is Verdict.PASS
        assert found.pairs == 300
        assert abs(found.change) < 0.02

    def test_a_fall_fails(self):
        found = judge_drift(soak(900, fall=step(0.5, 0.1)), **RULE)
        assert found.verdict is Verdict.FAIL
        assert found.e_fell >= 20
        assert found.change == pytest.approx(-0.1 / 0.7, abs=0.02)

    def test_a_fall_shortly_before_the_end_fails(self):
        assert judge_drift(soak(900, fall=step(0.9, 0.3)), **RULE).verdict is Verdict.FAIL

    def test_a_fall_that_is_shown_to_be_less_than_the_margin_passes(self):
        found = judge_drift(soak(3000, fall=step(0.5, 0.014), noise=0.02), **RULE)
        assert found.verdict is Verdict.PASS
        assert found.e_fell >= 20
        assert found.change == pytest.approx(-0.02, abs=0.004)

    def test_a_rise_is_no_drift(self):
        assert judge_drift(soak(900, fall=step(0.5, -0.1)), **RULE).verdict is Verdict.PASS

    def test_too_short_a_soak_says_how_much_longer(self):
        found = judge_drift(soak(120), **RULE)
        assert found.verdict is Verdict.INCONCLUSIVE
        assert 1 < found.longer < 10

    def test_a_draft_that_accepts_nothing_does_not_pass(self):
        samples = [Sample(i + 1, 0.0, f"p{i % 4}", 0.0) for i in range(900)]
        assert judge_drift(samples, **RULE).verdict is Verdict.INCONCLUSIVE


def windows(seed, pairs, runs, fall, noise):
    """Return rates of both windows, runs × pairs; prompts differ, in every run others."""
    random = np.random.default_rng(seed)
    own = np.repeat(random.beta(7, 3, (runs, PROMPTS)), -(-pairs // PROMPTS), axis=1)[:, :pairs]
    own = random.permuted(own, axis=1)

    def drawn(level):
        if noise == 0:
            return level
        weight = np.clip(level * (1 - level) / noise**2 - 1, 0.5, None)
        return random.beta(level * weight + 1e-9, (1 - level) * weight + 1e-9)

    return drawn(own), drawn(own * (1 - fall))


@pytest.mark.parametrize("noise", [0.0, 0.03, 0.1, 0.25])
def test_error_rates(noise):
    runs = 2000
    low, far = drift.fall_bounds(0.05)
    first, last = windows(3, 300, runs, 0.0, noise)
    fell = simulate(drift.fall_scores(first, last), low, far, alpha=0.05, beta=0.05)
    assert (fell.decision == -1).mean() <= 0.055
    null, none = drift.hold_bounds(0.05)
    first, last = windows(4, 300, runs, 0.05, noise)
    held = simulate(drift.hold_scores(first, last, 0.05), none, null, alpha=0.05, beta=0.05)
    assert (held.decision == 1).mean() <= 0.055


@pytest.mark.parametrize(("fall", "noise", "least"), [(0.15, 0.1, 0.95), (0.1, 0.05, 0.95)])
def test_a_fall_is_found(fall, noise, least):
    low, far = drift.fall_bounds(0.05)
    first, last = windows(5, 300, 1000, fall, noise)
    fell = simulate(drift.fall_scores(first, last), low, far, alpha=0.05, beta=0.05)
    assert (fell.decision == -1).mean() >= least


def test_no_fall_passes_with_power():
    null, none = drift.hold_bounds(0.05)
    first, last = windows(6, 300, 1000, 0.0, 0.05)
    held = simulate(drift.hold_scores(first, last, 0.05), none, null, alpha=0.05, beta=0.05)
    assert (held.decision == 1).mean() >= 0.95


class TestOnset:
    @pytest.mark.parametrize("at", [0.3, 0.5, 0.7])
    @pytest.mark.parametrize("seed", range(2))
    def test_of_a_step(self, at, seed):
        found = locate_onset(soak(800, seed, fall=step(at, 0.2), noise=0.1))
        assert found.kind == "step"
        assert found.number == pytest.approx(800 * at, rel=0.03)
        assert found.at_s == 0.25 * (found.number - 1)

    @pytest.mark.parametrize(("at", "to"), [(0.4, 0.7), (0.3, 1.0), (0.6, 1.0)])
    def test_of_a_ramp(self, at, to):
        found = [
            locate_onset(soak(800, seed, fall=ramp(at, to, 0.4), noise=0.1)) for seed in range(4)
        ]
        assert {one.kind for one in found} == {"ramp"}
        errors = sorted(abs(one.number / (800 * at) - 1) for one in found)
        assert errors[len(errors) // 2] <= 0.06
        assert errors[-1] <= 0.15

    def test_what_rises_has_none(self):
        assert locate_onset(soak(800, fall=step(0.5, -0.2))) is None

    def test_too_few_requests(self):
        assert locate_onset(soak(30, fall=step(0.5, 0.2))) is None

    def test_without_ruptures_one_sentence_says_so(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ruptures", None)
        with pytest.raises(UsageError, match=r"specfloor\[changepoints\]"):
            locate_onset(soak(100))
