"""The concurrency at which speculation stops paying, from speedups at several concurrencies."""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from specfloor.judge.speed import LAUNCH_SD
from specfloor.judge.verdict import ALPHA, Interval, check_level

Floats = NDArray[np.float64]

Answer = Literal["flip", "no flip", "always slower", "undecided"]
"""``flip``: it pays at the least concurrency and loses at the greatest; ``no flip``: it pays at
all of them; ``always slower``: at none; ``undecided``: the scatter of launches allows several."""

_GRID = 2001
"""Points at which the curve is read between the least and the greatest concurrency: less than one
percent apart over 1 … 256."""


class Speedup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The speedup inside one pair of launches at one concurrency, as a natural logarithm."""

    repeat: int
    concurrency: int
    log_speedup: float


class At(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all pairs say at one concurrency; ``fitted`` is the speedup on the falling curve."""

    concurrency: int
    pairs: int
    speedup: float
    interval: Interval
    fitted: float


class Flip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where speculation stops paying.

    ``concurrency`` is where the fitted curve crosses 1 and ``between`` the measured concurrencies
    around it; None where it does not. ``low`` and ``high`` bound the crossing at ``level``: None
    at an end means that the measured range does not bound it there. ``cliff`` names two
    neighbouring concurrencies between which the speedup falls by more than chance, where they are
    so near that the flip is a step and no point.
    """

    answer: Answer
    concurrency: float | None
    between: tuple[int, int] | None
    low: float | None
    high: float | None
    level: float
    points: tuple[At, ...]
    cliff: tuple[int, int] | None = None


def find_flip(
    speedups: Sequence[Speedup], *, alpha: float = ALPHA, scatter: float = LAUNCH_SD
) -> Flip:
    """Find the concurrency at which the speedup crosses 1, with an interval over launches.

    The means at each concurrency are made to fall by isotonic regression over log₂ concurrency,
    since a batch that grows only makes drafts dearer, and joined by straight lines. The scatter of
    pairs of launches is pooled over concurrencies, with the degrees of freedom of the pairs alone:
    what one server has of luck, all its blocks share. The interval holds every concurrency at which
    a speedup of 1 is not rejected at ``alpha``; a bootstrap over the usual three launches would be
    too narrow (benchmarks/statistics/flip.py).

    Args:
        speedups: at least at one concurrency, of one pair of launches or more.
        alpha: one minus the level of the interval.
        scatter: of the log time of one launch, supposed where a single pair cannot show it.

    Raises:
        ValueError: there is no speedup at all.
    """
    check_level("--alpha", alpha)
    if not speedups:
        raise ValueError("no speedup was measured at any concurrency")
    at: dict[int, list[float]] = {
        one.concurrency: [] for one in sorted(speedups, key=lambda one: one.concurrency)
    }
    for one in speedups:
        at[one.concurrency].append(one.log_speedup)
    counts = np.array([len(found) for found in at.values()], dtype=float)
    means = np.array([float(np.mean(found)) for found in at.values()])
    spread, quantile = _spread(list(at.values()), alpha, scatter)
    fitted = np.asarray(optimize.isotonic_regression(means, weights=counts, increasing=False).x)
    x = np.log2(list(at))
    reach = quantile * spread / np.sqrt(counts)
    method = "t over pairs of launches, scatter pooled over concurrencies"
    points = tuple(
        At(
            concurrency,
            int(n),
            math.exp(mean),
            Interval(math.exp(mean - r), math.exp(mean + r), 1 - alpha, method),
            math.exp(fit),
        )
        for concurrency, n, mean, r, fit in zip(at, counts, means, reach, fitted, strict=True)
    )
    grid = np.linspace(x[0], x[-1], _GRID) if len(x) > 1 else x
    curve, band = np.interp(grid, x, fitted), np.interp(grid, x, reach)
    low, high = _bounds(grid, curve, band)
    crossing = _crossing(grid, curve)
    return Flip(
        answer=_answer(curve - band, curve + band),
        concurrency=crossing,
        between=_between(list(at), fitted),
        low=low,
        high=high,
        level=1 - alpha,
        points=points,
        cliff=_cliff(list(at), means, spread * quantile * np.sqrt(1 / counts)),
    )


def _spread(groups: Sequence[Sequence[float]], alpha: float, scatter: float) -> tuple[float, float]:
    """Return the standard deviation of one pair's log speedup, and the quantile to take of it."""
    repeated = [np.asarray(group) for group in groups if len(group) > 1]
    if not repeated:
        return math.sqrt(2) * scatter, float(stats.norm.ppf(1 - alpha / 2))
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in repeated)
    freedom = sum(len(group) - 1 for group in repeated)
    pairs = max(len(group) for group in repeated)
    return math.sqrt(squares / freedom), float(stats.t.ppf(1 - alpha / 2, pairs - 1))


def _bounds(grid: Floats, curve: Floats, band: Floats) -> tuple[float | None, float | None]:
    """Return the ends of the region where a crossing is not rejected, None where it is open."""
    may_be_lost, may_be_won = curve - band <= 0, curve + band >= 0
    low = None if may_be_lost[0] else _first(grid, may_be_lost)
    high = None if may_be_won[-1] else _first(grid, ~may_be_won)
    return low, high


def _first(grid: Floats, where: NDArray[np.bool_]) -> float | None:
    found = np.flatnonzero(where)
    return float(2 ** grid[found[0]]) if found.size else None


def _crossing(grid: Floats, curve: Floats) -> float | None:
    if curve[0] <= 0 or curve[-1] > 0:
        return None
    return _first(grid, curve <= 0)


def _answer(lower: Floats, upper: Floats) -> Answer:
    if lower[-1] > 0:
        return "no flip"
    if upper[0] < 0:
        return "always slower"
    return "flip" if lower[0] > 0 and upper[-1] < 0 else "undecided"


def _between(concurrencies: Sequence[int], fitted: Floats) -> tuple[int, int] | None:
    lost = np.flatnonzero(fitted <= 0)
    if not lost.size or lost[0] == 0:
        return None
    return concurrencies[lost[0] - 1], concurrencies[lost[0]]


def _cliff(concurrencies: Sequence[int], means: Floats, reach: Floats) -> tuple[int, int] | None:
    """Return the neighbours, one request apart, between which the speedup falls through 1."""
    for i in range(len(means) - 1):
        near = concurrencies[i + 1] - concurrencies[i] == 1 and concurrencies[i] > 1
        fall = means[i] - means[i + 1]
        if near and means[i] > 0 >= means[i + 1] and fall > math.hypot(reach[i], reach[i + 1]):
            return concurrencies[i], concurrencies[i + 1]
    return None


def refine(speedups: Sequence[Speedup], most: int) -> tuple[int, ...]:
    """Return further concurrencies worth measuring: inside the bracket, halving it twice.

    ``most`` bounds how many. Empty when nothing crosses, or the bracket holds no further whole
    number.
    """
    if not speedups:
        return ()
    between = find_flip(speedups).between
    if between is None:
        return ()
    low, high = between
    inner = np.unique(np.round(np.geomspace(low, high, 5)[1:-1]).astype(int))
    return tuple(int(n) for n in inner if low < n < high)[:most]
