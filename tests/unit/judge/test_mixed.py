"""Arms under one load: what counts, what is said, and how often it is wrong."""

import math

import msgspec
import numpy as np
import pytest

from specfloor.judge.mixed import (
    BROKEN,
    MARGIN,
    Limit,
    Outcome,
    Served,
    capacity,
    compare,
    derived_limits,
    describe,
    served,
)
from specfloor.judge.times import Clock
from tests.unit.signals.builders import request

ALPHA = 0.05
LIMITS = (Limit("open", 0.5, 0.02),)


def rounds(rng, launches=1, each=400, *, scale=1.0, luck=0.03, **by_metric):
    """Return launches that scatter by ``luck``, of requests that scatter by 30 %."""
    base = {"TTFT": 0.2, "TPOT": 0.01, "end-to-end": 0.8}
    found = {}
    for repeat in range(launches):
        of_launch = math.exp(rng.normal(0, luck)) * scale
        times = np.exp(rng.normal(0, 0.3, (each, 3))) * of_launch
        found[repeat] = [
            Served(
                "open",
                {m: base[m] * t * by_metric.get(m, 1.0) for m, t in zip(base, row, strict=True)},
            )
            for row in times
        ]
    return found


def said(arm, other, *, margin=MARGIN, limits=LIMITS, load=0.7):
    found = compare(arm, other, limits, load=load, alpha=ALPHA, margin=margin)
    return {v.quantity: v for v in found}


class TestServing:
    def test_waiting_counts_from_when_it_was_due(self):
        made = msgspec.structs.replace(
            request(0, (1, 2, 3)),
            started_s=10.4, due_s=10.0, first_token_s=0.2, finished_s=1.0,
            chunk_s=(0.2, 0.6, 1.0), domain="open",
        )  # fmt: skip
        one = served(made, Clock.AFTER_FIRST)
        assert one.seconds == {
            "TTFT": pytest.approx(0.6),
            "TPOT": pytest.approx(0.8 / 5),
            "end-to-end": pytest.approx(1.4),
        }
        assert (one.kind, one.late_s) == ("open", pytest.approx(0.4))

    def test_a_failed_request_has_no_time_and_is_not_in_time(self):
        made = msgspec.structs.replace(request(0, (1, 2)), error="no", domain="open")
        one = served(made, Clock.AFTER_FIRST)
        assert (one.ok, one.seconds) == (False, {})
        fine = Served("open", {"TTFT": 0.1, "TPOT": 0.01})
        arm = describe("off", {0: [one, fine]}, LIMITS, 3.0, ALPHA)
        assert (arm.requests, arm.failed, arm.in_time, arm.goodput_per_s) == (2, 1, 1, 1.5)

    def test_both_limits_are_to_be_kept(self):
        both = [
            Served("open", {"TTFT": ttft, "TPOT": tpot})
            for ttft, tpot in ((0.5, 0.02), (0.6, 0.01), (0.1, 0.03))
        ]
        assert describe("off", {0: both}, LIMITS, 1.0, ALPHA).in_time == 1

    def test_derived_limits_are_kept_by_95_percent_of_each(self):
        off = rounds(np.random.default_rng(1), each=1000)
        (limit,) = derived_limits(off)
        for metric, bound in (("TTFT", limit.ttft_s), ("TPOT", limit.tpot_s)):
            kept = np.mean([one.seconds[metric] <= bound for one in off[0]])
            assert kept == pytest.approx(0.95, abs=0.002)

    def test_capacity_is_over_the_whole_block(self):
        made = [
            msgspec.structs.replace(request(i, (1,)), started_s=float(i), finished_s=2.0)
            for i in range(9)
        ]
        assert capacity(made) == pytest.approx(9 / 10)
        assert capacity([msgspec.structs.replace(made[0], error="no")]) is None


class TestSaying:
    def test_fewer_than_bound_a_p99_say_how_many_more(self):
        rng = np.random.default_rng(1)
        found = said(rounds(rng, each=367), rounds(rng, each=400))
        assert found["P99 TTFT"].outcome is Outcome.TOO_FEW
        assert found["P99 TTFT"].requests_missing == 1
        assert found["P50 TPOT"].outcome is not Outcome.TOO_FEW
        assert found["goodput"].outcome is not Outcome.TOO_FEW

    def test_with_one_launch_its_luck_is_supposed(self):
        rng = np.random.default_rng(2)
        one = said(rounds(rng, each=4000), rounds(rng, each=4000))["P99 TTFT"]
        assert one.outcome is Outcome.UNDECIDED
        # of 4000 requests the quantile is known to a few percent; of a launch it is not
        assert math.log(one.high / one.ratio) > 1.96 * 0.35

    def test_near_its_capacity_more_is_supposed_of_what_waits(self):
        rng = np.random.default_rng(8)
        arm, other = rounds(rng), rounds(rng)
        far, near = said(arm, other, load=0.8), said(arm, other, load=0.9)
        wider = {q for q in far if near[q].high / near[q].low > far[q].high / far[q].low * 1.001}
        assert wider == {f"{p} {m}" for p in ("P50", "P99") for m in ("TTFT", "end-to-end")} | {
            "goodput"
        }
        # launches that are there show their own
        three = rounds(rng, 3), rounds(rng, 3)
        assert said(*three, load=0.8) == said(*three, load=0.9)

    def test_an_undecided_one_says_how_many_launches_would_do(self):
        rng = np.random.default_rng(3)
        one = said(rounds(rng, 3, luck=0.1), rounds(rng, 3, luck=0.1))["P99 TPOT"]
        assert one.outcome is Outcome.UNDECIDED
        assert 3 < one.launches_needed <= 50

    def test_ten_times_the_wait_with_the_same_pace_is_the_wait_alone(self):
        rng = np.random.default_rng(4)
        found = said(rounds(rng, TTFT=10.0), rounds(rng), margin=BROKEN)
        worse = {quantity for quantity, v in found.items() if v.outcome is Outcome.WORSE}
        assert worse == {"P50 TTFT", "P99 TTFT"}
        assert found["goodput"].ratio < 0.1

    def test_a_gain_of_goodput(self):
        rng = np.random.default_rng(5)
        limits = (Limit("open", 0.5, 0.009),)
        one = said(rounds(rng, TPOT=0.6), rounds(rng, TPOT=1.0), limits=limits)["goodput"]
        assert one.outcome is Outcome.BETTER
        assert one.ratio == pytest.approx(1.93, abs=0.3)

    def test_nothing_in_time_on_either_arm_is_no_pass(self):
        rng = np.random.default_rng(6)
        limits = (Limit("open", 1e-6, 1e-6),)
        one = said(rounds(rng, 3), rounds(rng, 3), limits=limits)["goodput"]
        assert (one.outcome, one.ratio) == (Outcome.UNDECIDED, None)

    def test_only_launches_that_both_arms_have_are_compared(self):
        rng = np.random.default_rng(7)
        arm, other = rounds(rng, 4), rounds(rng, 4)
        del other[2]
        assert said(arm, other) == said({n: arm[n] for n in (0, 1, 3)}, other)
        assert compare({0: arm[0]}, {1: arm[1]}, LIMITS, load=0.7, alpha=ALPHA) == ()


RUNS = 100


@pytest.fixture(scope="module")
def outcomes():
    """What is said of arms that are as long, the margin longer and twice as long."""

    def draw(scale, launches):
        rng = np.random.default_rng([9, launches, int(100 * scale)])
        each = 400 if launches < 3 else 130
        return [
            said(rounds(rng, launches, each, scale=scale), rounds(rng, launches, each), limits=())
            for _ in range(RUNS)
        ]

    scales = (1.0, 1 + MARGIN, 2.0)
    return {(scale, launches): draw(scale, launches) for scale in scales for launches in (1, 3)}


class TestErrorRates:
    """Seeded; the larger tables with queues are those of benchmarks.statistics.mixed."""

    @staticmethod
    def share(runs, quantity, outcome):
        return sum(run[quantity].outcome is outcome for run in runs) / RUNS

    @pytest.mark.parametrize("launches", [1, 3])
    @pytest.mark.parametrize("quantity", ["P99 TTFT", "P99 TPOT", "P99 end-to-end", "P50 TPOT"])
    def test_false_alarms_and_false_passes(self, outcomes, quantity, launches):
        same, margin = outcomes[1.0, launches], outcomes[1 + MARGIN, launches]
        assert self.share(same, quantity, Outcome.WORSE) <= 0.01
        assert self.share(same, quantity, Outcome.BETTER) <= 0.05
        # at the margin a pass is wrong, and so is worse than the margin
        passed = (Outcome.BETTER, Outcome.HOLDS)
        assert sum(self.share(margin, quantity, o) for o in passed) <= 0.05
        assert self.share(margin, quantity, Outcome.WORSE) <= 0.05

    def test_several_looks_at_arms_that_do_not_differ(self, outcomes):
        for launches in (1, 3):
            alarms = [
                any(v.outcome is Outcome.WORSE for v in run.values())
                for run in outcomes[1.0, launches]
            ]
            assert np.mean(alarms) <= 0.05

    def test_twice_as_long_is_found(self, outcomes):
        assert self.share(outcomes[2.0, 3], "P99 TPOT", Outcome.WORSE) >= 0.9
        assert self.share(outcomes[2.0, 1], "P99 TPOT", Outcome.WORSE) >= 0.9
