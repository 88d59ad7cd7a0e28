"""Where a line steps from one level to another: a hint where to look, and never a verdict.

Segments are found by ruptures (the extra ``changepoints``): optimal partition by squared error with
a penalty per change. A change then has to be one of the medians of the segments too, so that a
single odd run makes none. Constants are set by simulation, see docs/history.md.
"""

import importlib
import itertools
import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from specfloor.errors import UsageError
from specfloor.i18n import N_, _

LEAST_RUNS = 6
"""Runs below which a line has no change points: two segments of three."""
SEGMENT = 3
"""Least runs between changes; so the last step shows with its third run."""
PENALTY = 8.0
"""Penalty per change, times the variance of a run and log n."""
SHIFT = 2.5
"""Least step between medians, times the standard deviation of a run."""
RESOLUTION = 0.005
"""Least standard deviation of a run supposed, as a share of the line's median: greedy decoding
repeats rates to the digit, and a step of a few tokens in one prompt is none of a release."""

MISSING = N_(
    "change points need ruptures, which is not here: pip install 'specfloor[changepoints]'"
)


class ChangePoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A step of a line. ``index`` is the first value of the new level; levels are medians."""

    index: int
    before: float
    after: float

    @property
    def relative(self) -> float:
        """The step as a share of the old level."""
        return self.after / self.before - 1 if self.before else math.inf


def change_points(values: Sequence[float]) -> tuple[ChangePoint, ...]:
    """Return where values step, in their order; none when there are fewer than ``LEAST_RUNS``.

    Raises:
        UsageError: ruptures is not installed.
    """
    try:
        ruptures = importlib.import_module("ruptures")
    except ImportError:
        raise UsageError(_(MISSING)) from None
    n = len(values)
    if n < LEAST_RUNS:
        return ()
    x = np.asarray(values, dtype=np.float64)
    sd = _scatter(x)
    if sd == 0:
        return ()
    found = ruptures.KernelCPD(kernel="linear", min_size=SEGMENT).fit((x / sd)[:, None])
    ends = [0, *map(int, found.predict(pen=PENALTY * math.log(n)))]
    while len(ends) > 2:
        levels = [float(np.median(x[a:b])) for a, b in itertools.pairwise(ends)]
        steps = [abs(b - a) for a, b in itertools.pairwise(levels)]
        least = min(range(len(steps)), key=steps.__getitem__)
        if steps[least] >= SHIFT * sd:
            return tuple(
                ChangePoint(ends[i + 1], levels[i], levels[i + 1]) for i in range(len(steps))
            )
        del ends[least + 1]
    return ()


def _scatter(x: NDArray[np.float64]) -> float:
    """Return the standard deviation of a run, from differences of neighbours.

    Those know nothing of levels, and the median of them nothing of a few steps.
    """
    median_step = float(np.median(np.abs(np.diff(x))))
    # the median of |N(0, 2σ²)| is 0.6745 · √2 · σ
    return max(median_step / (0.6745 * 2**0.5), RESOLUTION * abs(float(np.median(x))))
