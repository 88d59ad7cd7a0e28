"""Quantiles of waiting times, with intervals that suppose nothing of their law."""

import functools
import math
from collections.abc import Sequence

import msgspec
import numpy as np
from scipy import stats


class Quantile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A quantile of ``n`` times in seconds; without bounds where too few times bound it."""

    n: int
    value: float
    low: float | None = None
    high: float | None = None


def least_requests(p: float, alpha: float) -> int:
    """Return how many requests bound the quantile ``p`` from both sides at level 1 − alpha.

    Of fewer, even the least and the greatest are too likely to lie on one side of it: 368 for P99
    at 95 %, 6 for P50.
    """
    return math.ceil(math.log(alpha / 2) / math.log(max(p, 1 - p)))


def quantile(seconds: Sequence[float], p: float, alpha: float) -> Quantile | None:
    """Return the quantile ``p`` with its two-sided interval from order statistics; None of nothing.

    The interval holds at 1 − alpha for independent times of any law. The estimate is the
    median-unbiased one of Hyndman and Fan (type 8).
    """
    n = len(seconds)
    if n == 0:
        return None
    value = float(np.quantile(seconds, p, method="median_unbiased"))
    if n < least_requests(p, alpha):
        return Quantile(n, value)
    ordered = np.sort(seconds)
    low, high = _places(n, p, alpha)
    return Quantile(n, value, float(ordered[low]), float(ordered[high]))


@functools.cache
def _places(n: int, p: float, alpha: float) -> tuple[int, int]:
    """Return which of n ascending values bound the quantile, counted from 0."""
    below = stats.binom.cdf(np.arange(n), n, p)
    # the i-th from below is over the quantile with chance P(fewer than i below it)
    low = int(np.searchsorted(below, alpha / 2, side="right")) - 1
    return low, int(np.searchsorted(below, 1 - alpha / 2, side="left"))


def log_ratio_reach(one: Quantile, other: Quantile) -> tuple[float, float] | None:
    """Return how far down and up the log of ``one`` over ``other`` may be off; None when unbounded.

    Both intervals are joined as Zou and Donner (2008) do it (MOVER), which supposes that the times
    of both are independent; those of the same requests rise and fall together, and then the
    interval is too wide rather than too narrow.
    """
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    down = math.hypot(math.log(one.value / one.low), math.log(other.high / other.value))
    up = math.hypot(math.log(one.high / one.value), math.log(other.value / other.low))
    return down, up
