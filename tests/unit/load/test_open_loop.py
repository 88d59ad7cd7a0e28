"""Arrivals and blends: what a seed fixes, and that they are what they are called."""

import itertools

import numpy as np
import pytest
from scipy import stats

from specfloor.load.open_loop import OpenLoop, blend, poisson
from specfloor.load.workload import Message, Prompt


def prompts(kind, count):
    return [Prompt(f"{kind}{i}", "any", (Message("user", f"{i}"),)) for i in range(count)]


class TestPoisson:
    def test_gaps_are_exponential_with_the_mean_of_the_rate(self):
        gaps = np.diff((0.0, *poisson(4.0, 4000, seed=7).due_s))
        assert gaps.mean() == pytest.approx(0.25, rel=0.05)
        assert stats.kstest(gaps, "expon", args=(0, 0.25)).pvalue > 0.01

    def test_a_seed_gives_one_pattern_at_every_rate(self):
        slow, fast = poisson(1.0, 50, seed=3), poisson(5.0, 50, seed=3)
        assert slow.due_s == pytest.approx([5 * due for due in fast.due_s])
        assert poisson(1.0, 50, seed=4).due_s != slow.due_s

    @pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
    def test_a_rate_that_sends_nothing(self, rate):
        with pytest.raises(ValueError, match="sends nothing"):
            poisson(rate, 3, seed=1)

    def test_arrivals_are_ascending(self):
        with pytest.raises(ValueError, match="in their order"):
            OpenLoop(1.0, (1.0, 0.5))


class TestBlend:
    def test_so_many_of_each_class_in_an_order_of_the_seed(self):
        kinds = {"structured": prompts("s", 4), "open": prompts("o", 3)}
        mixed = blend(kinds, 10, seed=1)
        assert [p.domain for p in mixed].count("structured") == 10
        assert [p.domain for p in mixed].count("open") == 10
        assert mixed == blend(kinds, 10, seed=1)
        assert mixed != blend(kinds, 10, seed=2)
        runs = [len(list(group)) for _, group in itertools.groupby(p.domain for p in mixed)]
        assert len(runs) > 5

    def test_prompts_of_a_class_come_in_their_order_and_over_again(self):
        mixed = blend({"open": prompts("o", 3)}, 7, seed=1)
        assert [p.id for p in mixed] == ["o0", "o1", "o2", "o0", "o1", "o2", "o0"]

    def test_a_class_without_prompts(self):
        with pytest.raises(ValueError, match="no prompts for open"):
            blend({"open": [], "structured": prompts("s", 1)}, 2, seed=1)
