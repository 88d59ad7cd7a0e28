"""Speed by launches: what one launch cannot say, and what several can."""

import math

import msgspec
import numpy as np
import pytest
from scipy import stats

from specfloor.errors import UsageError
from specfloor.judge.speed import (
    LaunchTimes,
    abba,
    judge_speed,
    launches_needed,
    summarize_speed,
)
from specfloor.judge.verdict import Verdict
from specfloor.triage.findings import Finding

PROMPTS = 20


def launched(speedup, launches, sd=0.02, seed=1, drift=0.0):
    rng = np.random.default_rng(seed)
    repeats = {False: 0, True: 0}
    found = []
    for place, on in enumerate(abba(launches)):
        luck = math.exp(rng.normal(0, sd) + drift * place)
        times = luck * 0.04 / (speedup if on else 1) * np.exp(rng.normal(0, 0.02, PROMPTS))
        found.append(LaunchTimes(on, repeats[on], {f"p{i}": float(t) for i, t in enumerate(times)}))
        repeats[on] += 1
    return found


@pytest.mark.parametrize(
    ("speedup", "verdict", "finding"),
    [
        (1.9, Verdict.PASS, Finding.EXPECTED),
        (0.9, Verdict.FAIL, Finding.SPEED_REGRESSION),
        (1.3, Verdict.INCONCLUSIVE, Finding.INCONCLUSIVE),
    ],
)
def test_three_launches_an_arm(speedup, verdict, finding):
    judged = judge_speed(launched(speedup, 3), 1.3)
    assert judged.verdict is verdict
    assert judged.findings == (finding,)
    assert judged.launches == 3
    assert judged.summary.speedup == pytest.approx(speedup, rel=0.1)
    assert (judged.launches_needed or 4) > 3


def test_one_launch_decides_nothing_and_says_what_would():
    judged = judge_speed(launched(5.0, 1), 1.3)
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert judged.launches_needed == 2
    assert judged.summary.interval is None
    assert judged.summary.scatter_from == "prior"
    assert judged.summary.supposed_interval.low < 5 < judged.summary.supposed_interval.high
    assert "one launch per arm cannot show" in judged.reason
    noisy = judge_speed(launched(1.5, 1), 1.3, scatter=0.2)
    assert noisy.launches_needed > 10


def test_a_speedup_at_the_floor_asks_for_more_than_can_be_had():
    judged = judge_speed(launched(1.0, 2, sd=0.3, seed=3), 0.99)
    assert judged.verdict is Verdict.INCONCLUSIVE
    if judged.launches_needed is None:
        assert "more than 200 launches" in judged.reason
    assert launches_needed(0.001, 0.2) is None


@pytest.mark.parametrize(
    ("speedup", "floor", "scatter", "needed"),
    [
        (1.9, 1.3, 0.01, 2),
        (1.9, 1.3, 0.03, 2),
        (1.1, 1.0, 0.03, 4),
        (1.9, 1.3, 0.15, 6),
        (1.9, 1.3, 0.20, 8),
        (1.1, 1.0, 0.15, 55),
        (1.1, 1.0, 0.20, 97),
    ],
)
def test_launches_needed(speedup, floor, scatter, needed):
    distance = math.log(speedup / floor)
    assert launches_needed(distance, scatter) == needed
    assert launches_needed(-distance, scatter) == needed


def test_so_many_launches_do_tell():
    passed = [
        judge_speed(launched(1.1, 4, sd=0.03, seed=s), 1.0).verdict is Verdict.PASS
        for s in range(200)
    ]
    assert np.mean(passed) > 0.88


def test_undecided_launches_never_ask_for_as_few():
    undecided = [
        judged
        for seed in range(80)
        for judged in (judge_speed(launched(1.45, 2, sd=0.03, seed=seed), 1.3),)
        if judged.verdict is Verdict.INCONCLUSIVE
    ]
    assert len(undecided) > 10
    assert min(judged.launches_needed for judged in undecided) == 3


def test_interval_is_t_over_pairs_of_launches():
    found = launched(1.5, 4)
    summary = summarize_speed(found)
    logs = [math.log(w.speedup) for w in summary.within]
    low, high = stats.t.interval(0.90, 3, np.mean(logs), stats.sem(logs))
    assert summary.interval.low == pytest.approx(math.exp(low))
    assert summary.interval.high == pytest.approx(math.exp(high))
    assert summary.scatter == pytest.approx(np.std(logs, ddof=1) / 2**0.5)


def test_many_prompts_in_a_launch_do_not_stand_for_launches():
    summary = summarize_speed(launched(1.0, 2, sd=0.15, seed=5))
    within = summary.within[0].interval
    assert within.high - within.low < summary.interval.high - summary.interval.low
    assert "within launches only" in within.method


def test_abba():
    assert abba(1) == (False, True)
    assert abba(3) == (False, True, True, False, False, True)
    assert sum(abba(5)) == 5


def test_a_drift_favours_neither_arm():
    steady = summarize_speed(launched(1.0, 4, sd=0)).speedup
    drifting = summarize_speed(launched(1.0, 4, sd=0, drift=0.02)).speedup
    assert drifting == pytest.approx(steady, rel=1e-9)


def test_both_factors_are_told():
    found = launched(1.5, 2, sd=0)
    judged = judge_speed(found, 1.2, length=2.4)
    assert judged.summary.step_cost == pytest.approx(2.4 / judged.summary.speedup)
    assert "acceptance length 2.40 over a step cost ratio of" in judged.reason
    measured = [
        msgspec.structs.replace(
            launch,
            seconds_per_step={
                p: t * (2.2 if launch.speculates else 1)
                for p, t in launch.seconds_per_token.items()
            },
        )
        for launch in found
    ]
    summary = summarize_speed(measured, length=2.4)
    assert summary.step_cost == pytest.approx(2.2 / summary.speedup)
    assert summarize_speed(found).step_cost is None


def test_a_dearer_step_is_told_from_a_broken_draft():
    slow = launched(0.8, 3)
    assert judge_speed(slow, 1.2, acceptance=Verdict.PASS).findings == (
        Finding.SPEED_REGRESSION_ACCEPT_OK,
    )
    assert judge_speed(slow, 1.2, acceptance=Verdict.FAIL).findings == (Finding.SPEED_REGRESSION,)


def test_no_data_never_passes():
    assert judge_speed([], 1.2).verdict is Verdict.NO_DATA
    off_only = [launch for launch in launched(1.5, 2) if not launch.speculates]
    assert judge_speed(off_only, 1.2).verdict is Verdict.NO_DATA
    strangers = [LaunchTimes(False, 0, {"a": 0.1}), LaunchTimes(True, 0, {"b": 0.1})]
    assert judge_speed(strangers, 1.2).verdict is Verdict.NO_DATA


def test_only_shared_prompts_count():
    pair = [LaunchTimes(False, 0, {"a": 0.2, "b": 9.0}), LaunchTimes(True, 0, {"a": 0.1})]
    summary = summarize_speed(pair)
    assert summary.speedup == pytest.approx(2)
    assert summary.within[0].prompts == 1
    assert summary.within[0].interval is None


def test_what_cannot_be():
    with pytest.raises(UsageError, match="--alpha"):
        judge_speed(launched(1.5, 2), 1.2, alpha=0)
    with pytest.raises(UsageError, match="must be positive"):
        judge_speed(launched(1.5, 2), 0)
    with pytest.raises(ValueError, match="both repeat 0"):
        judge_speed([*launched(1.5, 1), *launched(1.5, 1)], 1.2)
    with pytest.raises(ValueError, match="not positive"):
        judge_speed([LaunchTimes(False, 0, {"a": 0.0}), LaunchTimes(True, 0, {"a": 1.0})], 1.2)


def test_the_same_records_give_the_same_bytes():
    encoded = {msgspec.json.encode(judge_speed(launched(1.5, 3), 1.2)) for _ in range(3)}
    assert len(encoded) == 1
