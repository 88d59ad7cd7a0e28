"""When a fall of acceptance began: located with ruptures (the extra ``changepoints``).

Two kinds of fall are tried: a step from one level to another, and a level from which a line falls,
to the end or to where something else begins. The one with the better Bayesian information
criterion is taken. Where a step is, ruptures says. Where a line leaves its level is too flat an
optimum for segments that are fitted each by itself, so ruptures gives the segments and the
continuous bend within them is fitted by least squares.
"""

import importlib
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from specfloor.errors import UsageError
from specfloor.i18n import N_, _
from specfloor.judge.drift import Sample

Floats = NDArray[np.float64]

BINS = 200
"""Mean rates that a soak is cut into: onsets are found to half a percent of it."""
LEAST = 5
"""Bins a segment has at least."""
LEAST_REQUESTS = 40
"""Requests below which there is nothing to locate."""

MISSING = N_(
    "its onset was not located: that needs ruptures, which is not here (pip "
    "install 'specfloor[changepoints]')"
)


class Onset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where acceptance begins to fall: the first request of it, and when that was sent.

    ``at_s`` is in seconds since the soak began; ``kind`` says how acceptance goes from there.
    """

    number: int
    at_s: float
    kind: Literal["step", "ramp"]


def locate_onset(samples: Sequence[Sample]) -> Onset | None:
    """Return where a fall began; None when no fall is to be seen, or in too few requests.

    Rates are taken as differences from the mean of their prompt, so that it does not matter which
    prompts come when.

    Args:
        samples: in the order they were sent, of a soak in which acceptance fell.

    Raises:
        UsageError: ruptures is not installed.
    """
    try:
        ruptures = importlib.import_module("ruptures")
    except ImportError:
        raise UsageError(_(MISSING)) from None
    if len(samples) < LEAST_REQUESTS:
        return None
    bins = np.array_split(_without_prompts(samples), min(BINS, len(samples) // 2))
    starts = [0, *itertools.accumulate(len(one) for one in bins)]
    means = np.array([one.mean() for one in bins])
    fits = [_step(ruptures, means), *(_ramp(ruptures, means, changes) for changes in (1, 2))]
    best = min(fits, key=lambda fit: fit.criterion)
    if not best.falls:
        return None
    first = samples[starts[best.start]]
    return Onset(first.number, first.at_s, best.kind)


class _Fit(msgspec.Struct, frozen=True):
    kind: Literal["step", "ramp"]
    start: int
    criterion: float
    falls: bool


def _without_prompts(samples: Sequence[Sample]) -> Floats:
    rates: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        rates[sample.prompt_id].append(sample.rate)
    means = {prompt: sum(found) / len(found) for prompt, found in rates.items()}
    return np.array([sample.rate - means[sample.prompt_id] for sample in samples])


def _criterion(squares: float, values: int, parameters: int) -> float:
    return values * math.log(max(squares, 1e-12) / values) + parameters * math.log(values)


def _step(ruptures: ModuleType, y: Floats) -> _Fit:
    found = ruptures.KernelCPD(kernel="linear", min_size=LEAST).fit(y[:, None]).predict(n_bkps=1)
    at = int(found[0])
    squares = float(y[:at].var() * at + y[at:].var() * (len(y) - at))
    falls = bool(y[at:].mean() < y[:at].mean())
    return _Fit("step", at, _criterion(squares, len(y), 3), falls)


def _ramp(ruptures: ModuleType, y: Floats, changes: int) -> _Fit:
    cost = _level_then_lines(ruptures, y)
    found = ruptures.Dynp(custom_cost=cost, min_size=LEAST, jump=1).fit(y[:, None])
    ends = [int(end) for end in found.predict(n_bkps=changes)]
    squares, start, slope = _bend(y[: ends[1]])
    squares += sum(cost.error(a, b) for a, b in itertools.pairwise(ends[1:]))
    # level, slope and bend, and of a further line its start, level and slope
    return _Fit("ramp", start, _criterion(squares, len(y), 3 * changes), slope < 0)


def _bend(y: Floats) -> tuple[float, int, float]:
    """Return where a line leaves a level, by least squares: the squares, the place, the slope."""
    t = np.arange(len(y), dtype=np.float64)
    level = np.ones_like(t)
    best = (math.inf, 0, 0.0)
    for start in range(1, len(y) - LEAST):
        columns = np.column_stack((level, np.maximum(0.0, t - start)))
        weights = np.linalg.lstsq(columns, y, rcond=None)[0]
        squares = float(np.sum((y - columns @ weights) ** 2))
        best = min(best, (squares, start, float(weights[1])))
    return best


def _level_then_lines(ruptures: ModuleType, y: Floats) -> Any:  # noqa: ANN401 - a class of ruptures
    """Return the cost of segments of which the first is a level and the others are lines."""
    t = np.arange(len(y), dtype=np.float64)
    sums = [np.concatenate(([0.0], np.cumsum(v))) for v in (y, y * y, t, t * t, t * y)]

    class LevelThenLines(ruptures.base.BaseCost):  # type: ignore[misc, name-defined]
        model = "level then lines"
        min_size = LEAST

        def fit(self, signal: Floats) -> "LevelThenLines":
            self.signal = signal
            return self

        def error(self, start: int, end: int) -> float:
            n = end - start
            sy, syy, st, stt, sty = (float(total[end] - total[start]) for total in sums)
            squares = syy - sy * sy / n
            if start == 0:
                return squares
            return squares - (sty - st * sy / n) ** 2 / (stt - st * st / n)

    return LevelThenLines()
