"""The best k by concurrency, the schedule made of it, and how that schedule is held."""

import math

import numpy as np
import pytest

from specfloor.judge.schedule import OPEN_END, choose, hold, schedule_of
from specfloor.judge.verdict import Verdict

GRID = (1, 4, 16, 64)


def times(seconds, *, launches=3, scatter=0.0, seed=1):
    """Return log times by concurrency, from seconds by concurrency."""
    random = np.random.default_rng(seed)
    return {
        n: [math.log(value) + random.normal(0, scatter) for _ in range(launches)]
        for n, value in zip(GRID, seconds, strict=False)
    }


BY_K = {1: times((6, 6, 7, 9)), 3: times((4, 5, 8, 12))}
OFF = times((10, 10, 9, 8))


class TestChoosing:
    def test_the_least_time_wins_and_off_counts_as_none(self):
        choices = choose(BY_K, OFF)
        assert [(one.concurrency, one.k) for one in choices] == [(1, 3), (4, 3), (16, 1), (64, 0)]
        assert choices[0].over_off == pytest.approx(2.5)
        assert choices[0].seconds_per_token == pytest.approx(4)

    def test_without_an_off_arm(self):
        assert [one.k for one in choose(BY_K, {})] == [3, 3, 1, 1]

    def test_a_concurrency_that_one_k_lacks_is_left_out(self):
        short = {n: found for n, found in BY_K[1].items() if n < 64}
        assert [one.concurrency for one in choose({**BY_K, 1: short}, OFF)] == [1, 4, 16]
        assert choose({}, OFF) == ()

    def test_a_tie_takes_the_smaller_k(self):
        assert choose({3: times((5,)), 1: times((5,))}, {})[0].k == 1


class TestSchedule:
    def test_it_changes_half_way_and_has_an_open_end(self):
        assert schedule_of(choose(BY_K, OFF)) == ((1, 8, 3), (9, 32, 1), (33, OPEN_END, 0))

    def test_one_k_is_one_range(self):
        assert schedule_of(choose({3: BY_K[3]}, {})) == ((1, OPEN_END, 3),)

    def test_neighbours_leave_no_gap(self):
        near = {1: {1: [0.0], 2: [1.0]}, 2: {1: [1.0], 2: [0.0]}}
        assert schedule_of(choose(near, {})) == ((1, 1, 1), (2, OPEN_END, 2))

    def test_nothing_chosen(self):
        assert schedule_of(()) == ()


class TestHolding:
    def verdicts(self, change, scatter=0.005, **options):
        random = np.random.default_rng(7)
        best = {n: [math.log(5) + random.normal(0, scatter) for _ in range(3)] for n in GRID}
        other = {n: [math.log(9) + random.normal(0, scatter) for _ in range(3)] for n in GRID}
        applied = {
            n: [math.log(5) + change + random.normal(0, scatter) for _ in range(3)] for n in GRID
        }
        return {one.verdict for one in hold(applied, {3: best, 1: other}, alpha=0.05, **options)}

    def test_as_good(self):
        assert self.verdicts(0.0) == {Verdict.PASS}
        assert self.verdicts(-0.2) == {Verdict.PASS}

    def test_slower(self):
        assert self.verdicts(0.2) == {Verdict.FAIL}

    def test_too_much_scatter(self):
        assert Verdict.INCONCLUSIVE in self.verdicts(0.03, scatter=0.1)

    def test_it_names_the_best_k_and_the_change(self):
        (first, *_) = hold(times((5, 5, 5, 5)), BY_K, alpha=0.05)
        assert (first.concurrency, first.best_k) == (1, 3)
        assert first.change == pytest.approx(0.25)

    def test_single_launches_decide_nothing(self):
        held = hold(
            times((4, 4, 4, 4), launches=1), {3: times((4, 4, 4, 4), launches=1)}, alpha=0.05
        )
        assert {one.verdict for one in held} == {Verdict.INCONCLUSIVE}

    def test_error_rates(self):
        """A schedule at the margin passes, and one that is as good fails, at most at alpha."""
        passed = failed = 0
        for seed in range(600):
            random = np.random.default_rng(seed)

            def draw(mean, random=random):
                return {n: list(random.normal(mean, 0.03, 3)) for n in GRID}

            by_k = {2: draw(0.0), 4: draw(0.3)}
            passed += all(
                one.verdict is Verdict.PASS
                for one in hold(draw(math.log1p(0.05)), by_k, alpha=0.05)
            )
            failed += any(one.verdict is Verdict.FAIL for one in hold(draw(0.0), by_k, alpha=0.05))
        assert passed / 600 <= 0.05
        assert failed / 600 <= 0.05
