"""Where speculation stops paying: the answers there are, and how often the interval is right."""

import math

import numpy as np
import pytest

from specfloor.judge.flip import Speedup, find_flip, refine

GRID = (1, 2, 4, 8, 16, 32)


def falling(concurrency, flip):
    """Return the log speedup of a curve that falls through 0 at ``flip``."""
    return 0.25 * (math.log2(flip) - math.log2(concurrency))


def measured(curve, *, pairs=3, shared=0.0, own=0.0, seed=1, grid=GRID):
    """Return speedups of pairs of launches: luck that a pair shares, and that of each block."""
    random = np.random.default_rng(seed)
    found = []
    for repeat in range(pairs):
        luck = random.normal(0, shared)
        found += [Speedup(repeat, n, curve(n) + luck + random.normal(0, own or 1e-9)) for n in grid]
    return found


class TestAnswers:
    def test_a_flip(self):
        found = find_flip(measured(lambda n: falling(n, 11), own=0.01))
        assert found.answer == "flip"
        assert found.between == (8, 16)
        assert found.concurrency == pytest.approx(11, rel=0.05)
        assert found.low < 11 < found.high
        assert [at.concurrency for at in found.points] == list(GRID)
        assert found.cliff is None

    def test_no_flip_in_the_range(self):
        found = find_flip(measured(lambda n: falling(n, 400), own=0.01))
        assert (found.answer, found.concurrency, found.between) == ("no flip", None, None)
        assert (found.low, found.high) == (None, None)

    def test_slower_everywhere(self):
        found = find_flip(measured(lambda n: falling(n, 0.3), own=0.01))
        assert (found.answer, found.concurrency) == ("always slower", None)

    def test_scatter_that_allows_either(self):
        found = find_flip(measured(lambda _: 0.01, shared=0.1, own=0.05))
        assert found.answer == "undecided"
        assert (found.low, found.high) == (None, None)

    def test_a_step_is_an_interval(self):
        found = find_flip(
            measured(lambda n: 0.3 if n <= 8 else -0.3, own=0.01, grid=(1, 4, 8, 9, 16))
        )
        assert found.cliff == (8, 9)
        assert found.between == (8, 9)

    def test_a_curve_that_rises_is_made_to_fall(self):
        found = find_flip(measured(lambda n: 0.2 if n == 4 else 0.1 - 0.02 * n, own=0.001))
        fitted = [at.fitted for at in found.points]
        assert fitted == sorted(fitted, reverse=True)

    def test_a_single_pair_rests_on_the_supposed_scatter(self):
        wide = find_flip(measured(lambda n: falling(n, 11), pairs=1), scatter=0.1)
        narrow = find_flip(measured(lambda n: falling(n, 11), pairs=1), scatter=0.01)
        assert wide.low < narrow.low < 11 < narrow.high < wide.high

    def test_one_concurrency_has_an_answer_too(self):
        assert find_flip(measured(lambda _: 0.3, own=0.01, grid=(1,))).answer == "no flip"
        assert find_flip(measured(lambda _: -0.3, own=0.01, grid=(1,))).answer == "always slower"

    def test_nothing_measured(self):
        with pytest.raises(ValueError, match="no speedup"):
            find_flip([])

    def test_the_published_recipe(self):
        """Qwen3.8-2.4T with MTP, k = 1: +3.4 % at 1, -9 % at 128, -23 % at 256."""
        published = {1: 1.034, 128: 0.91, 256: 0.77}
        found = find_flip([Speedup(0, n, math.log(value)) for n, value in published.items()])
        crossing = 128 ** (math.log(1.034) / (math.log(1.034) - math.log(0.91)))
        assert found.between == (1, 128)
        assert found.concurrency == pytest.approx(crossing, rel=0.02)
        assert (found.low or 1) < crossing < found.high


def test_the_interval_holds_the_flip_as_often_as_it_says():
    """Scatter as on a shared machine, most of it a launch's own luck: the hardest case."""
    for shared, own in ((0.08, 0.02), (0.0, 0.05), (0.04, 0.04)):
        held = 0
        for seed in range(400):
            found = find_flip(measured(lambda n: falling(n, 11), shared=shared, own=own, seed=seed))
            held += (found.low or 0) <= 11 <= (found.high or math.inf)
        assert held / 400 >= 0.9, (shared, own, held)


def test_false_answers_are_rare():
    """Neither side is claimed of a curve that lies on 1 throughout."""
    answers = [
        find_flip(measured(lambda _: 0.0, shared=0.03, own=0.03, seed=seed)).answer
        for seed in range(400)
    ]
    assert sum(answer in ("no flip", "always slower") for answer in answers) / 400 <= 0.05


class TestRefining:
    def test_inside_the_bracket(self):
        assert refine(measured(lambda n: falling(n, 11), own=0.01), 3) == (10, 11, 13)

    def test_only_whole_numbers(self):
        assert refine(measured(lambda n: falling(n, 1.5), own=0.01), 3) == ()

    def test_nothing_without_a_crossing(self):
        assert refine(measured(lambda n: falling(n, 400), own=0.01), 3) == ()
        assert refine([], 3) == ()
