"""Two sequential tests of a mean, one against each side, that stop as soon as either is sure.

The score of a request lies in [0, 1]. Against "the mean is at least ``floor``" and against "the
mean is at most ``least``" a gambler bets on every request before seeing it; under the hypothesis
the wealth is a supermartingale that starts at 1, so it ever reaches 1/α with probability at most
α (Ville 1939), whatever the law of the scores. The bets follow Waudby-Smith & Ramdas, "Estimating
means of bounded random variables by betting" (JRSS B 2024): a mixture of bets that would grow
fastest if the truth lay one, two or four margins away. For a fixed set of prompts, tested in
random order without replacement, the hypothesis says what mean the remaining prompts must have,
and the bets are against that.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfloor.judge.verdict import Verdict

Floats = NDArray[np.float64]

PRIOR_SD = 0.15
"""Scatter of request rates supposed before any was seen; typical of mixed domains at k = 3."""
PRIOR_WEIGHT = 5.0
"""How many requests the supposed scatter counts for."""
MAX_STAKE = 0.9
"""Largest share of the wealth that one request can lose."""
BELOW: tuple[tuple[float, float], ...] = ((1.0, 0.5), (2.0, 0.3), (4.0, 0.2))
"""Bets for "below the floor" and their shares of the wealth: falls of one, two and four margins
(a broken draft falls far)."""
ABOVE: tuple[tuple[float, float], ...] = ((1.0, 0.7), (2.0, 0.3))
"""Bets for "above the least": being at the floor, or one margin over it."""
MOST_NEEDED = 10_000
"""Requests still needed of a sampled workload are not estimated beyond this."""
_TINY = 1e-9
"""Room for rounding where a hypothesis becomes impossible or a mean meets its floor exactly."""


class _Wager:
    """Log wealth of bets that the mean lies beyond ``null``, elementwise over many runs.

    ``sign`` is 1 for "below ``null``" and −1 for "above". ``null`` and ``gap`` broadcast to the
    shape of the runs.
    """

    def __init__(
        self,
        null: Floats,
        gap: Floats,
        sign: int,
        bets: tuple[tuple[float, float], ...],
    ) -> None:
        self._null, self._sign = null, sign
        self._bound = 1 - null if sign > 0 else null
        multiples, weights = np.transpose(bets)
        # Bets lead, runs follow: the long axis is the contiguous one.
        self._drifts = np.multiply.outer(multiples, gap)
        self._sum = np.zeros_like(gap)
        self._log = np.log(np.multiply.outer(weights, np.ones_like(gap)))

    def observe(
        self, scores: Floats, variance: Floats, left: int | None, population: int | None
    ) -> None:
        """Settle the bets on one score per run; NaN carries no score.

        ``left`` counts the prompts of a fixed set from this one on. Once even perfect ones could
        not restore the hypothesis it is impossible, and the wealth without end: so a set of which
        every prompt was tested is decided by its own mean.
        """
        z = np.where(np.isnan(scores), 0.0, self._sign * (scores - self._null))
        mean, drifts = np.zeros_like(z), self._drifts
        if left is not None and population is not None:
            mean = -self._sum / left
            drifts = drifts * (population / left)
        room = np.maximum(self._bound - mean, _TINY)
        stake = np.minimum(drifts / (variance + drifts**2), MAX_STAKE / room)
        self._log += np.log1p(-stake * (z - mean))
        self._sum = self._sum + z
        if left is not None:
            self._log[:, -self._sum > self._bound * (left - 1) + _TINY] = np.inf

    @property
    def log_wealth(self) -> Floats:
        return np.asarray(np.logaddexp.reduce(self._log), dtype=np.float64)


class _Past:
    """Running count, sum and variance of the scores seen, elementwise over many runs."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.rated = np.zeros(shape)
        self.total = np.zeros(shape)
        self._mean = np.zeros(shape)
        self._squares = np.zeros(shape)

    def observe(self, scores: Floats) -> None:
        rated = ~np.isnan(scores)
        x = np.where(rated, scores, self._mean)
        self.rated = self.rated + rated
        self.total = self.total + np.where(rated, scores, 0.0)
        delta = x - self._mean
        self._mean = self._mean + delta / np.maximum(self.rated, 1)
        self._squares = self._squares + delta * (x - self._mean)

    @property
    def variance(self) -> Floats:
        """The variance of past scores, drawn towards the supposed one."""
        return np.asarray(
            (PRIOR_WEIGHT * PRIOR_SD**2 + self._squares) / (PRIOR_WEIGHT + self.rated),
            dtype=np.float64,
        )


class _Runs:
    """Both wagers over many runs at once."""

    def __init__(self, floor: Floats, least: Floats, population: int | None, gap: Floats) -> None:
        self.population = population
        self.seen = 0
        self.past = _Past(floor.shape)
        self.below = _Wager(floor, gap, 1, BELOW)
        self.above = _Wager(least, gap, -1, ABOVE)

    def observe(self, scores: Floats) -> None:
        left = None if self.population is None else self.population - self.seen
        if left is not None and left < 1:
            raise ValueError(f"more scores than the {self.population} prompts of the set")
        for wager in (self.below, self.above):
            wager.observe(scores, self.past.variance, left, self.population)
        self.past.observe(scores)
        self.seen += 1

    @property
    def complete(self) -> bool:
        return self.seen == self.population


class SequentialTest:
    """The two tests on one stream of request scores, fed one at a time in the seeded order."""

    def __init__(
        self,
        floor: float,
        least: float,
        *,
        alpha: float,
        beta: float,
        population: int | None = None,
    ) -> None:
        """Start with no requests.

        Args:
            floor: the mean that must be held, a score in (0, 1).
            least: the mean that a PASS must exclude, below ``floor``, in (0, 1).
            alpha: chance of FAIL when the mean is at the floor or over it.
            beta: chance of PASS when the mean is at ``least`` or under it.
            population: the number of prompts of a fixed set tested without replacement, or None
                when the prompts are a sample of a workload without end.

        Raises:
            ValueError: the bounds are not 0 < least < floor < 1, or more scores come than prompts.
        """
        if not 0 < least < floor < 1:
            raise ValueError(f"need 0 < least < floor < 1, not least {least} and floor {floor}")
        self.floor, self.least, self.alpha, self.beta = floor, least, alpha, beta
        self._runs = _Runs(
            np.array([floor]), np.array([least]), population, np.array([floor - least])
        )
        self._crossed: Verdict | None = None
        self.decided_at: int | None = None

    def observe(self, score: float | None) -> Verdict | None:
        """Take the score of the next request and return the decision so far.

        None stands for a prompt of the set that carries no score (it made no draft): it counts
        towards the set, with a value that favours neither hypothesis.
        """
        self._runs.observe(np.array([math.nan if score is None else score]))
        if self._crossed is None:
            if self._runs.below.log_wealth[0] >= -math.log(self.alpha):
                self._crossed = Verdict.FAIL
            elif self._runs.above.log_wealth[0] >= -math.log(self.beta):
                self._crossed = Verdict.PASS
            if self._crossed is not None:
                self.decided_at = self.seen
        return self.decision

    @property
    def decision(self) -> Verdict | None:
        """PASS, FAIL, or None while neither is sure.

        A fixed set of which every prompt was tested is decided by its own mean, even where a wager
        had said otherwise before.
        """
        if self.complete and self.rated:
            return Verdict.PASS if self.mean >= self.floor - _TINY else Verdict.FAIL
        return self._crossed

    @property
    def seen(self) -> int:
        """Requests taken, with and without a score."""
        return self._runs.seen

    @property
    def rated(self) -> int:
        """Requests that carried a score."""
        return int(self._runs.past.rated[0])

    @property
    def complete(self) -> bool:
        """Whether every prompt of a fixed set was tested."""
        return self._runs.complete

    @property
    def mean(self) -> float:
        """The mean score so far; NaN before the first."""
        return float(self._runs.past.total[0]) / self.rated if self.rated else math.nan

    @property
    def log_e_below(self) -> float:
        """Log of E₁, the evidence that the mean is below the floor."""
        return float(self._runs.below.log_wealth[0])

    @property
    def log_e_above(self) -> float:
        """Log of E₂, the evidence that the mean is above ``least``."""
        return float(self._runs.above.log_wealth[0])

    def still_needed(self) -> int:
        """Return about how many more requests would decide, if the mean stays where it is.

        The nearer edge (floor or least) names the test that will decide; a mean between the two
        is taken as if it lay on that edge, since otherwise the answer is "for ever". The evidence
        still missing is divided by the growth of the best of the bets; a fixed set never needs more
        than the prompts it has left.
        """
        mean = self.mean if self.rated else self.floor
        variance = float(self._runs.past.variance[0])
        gap = self.floor - self.least
        if mean < (self.floor + self.least) / 2:
            distance, bets = max(self.floor - mean, gap), BELOW
            missing = -math.log(self.alpha) - self.log_e_below
        else:
            distance, bets = max(mean - self.least, gap), ABOVE
            missing = -math.log(self.beta) - self.log_e_above
        growth = 0.0
        for drift in (multiple * gap for multiple, _ in bets):
            stake = drift / (variance + drift**2)
            growth = max(growth, stake * distance - stake**2 * (variance + distance**2) / 2)
        population = self._runs.population
        left = MOST_NEEDED if population is None else population - self.seen
        # with hardly any scatter seen yet, no bet may grow
        return min(left, max(1, math.ceil(missing / growth))) if growth > 0 else left


class Outcomes(NamedTuple):
    """Decisions of many runs: 1 PASS, −1 FAIL, 0 none; and the requests each took."""

    decision: NDArray[np.int8]
    requests: NDArray[np.int64]


def simulate(
    scores: ArrayLike,
    floor: ArrayLike,
    least: ArrayLike,
    *,
    alpha: float,
    beta: float,
    population: int | None = None,
) -> Outcomes:
    """Run the tests of :class:`SequentialTest` on many streams at once.

    Args:
        scores: runs × requests; NaN where a request carries no score.
        floor: one number, or one per run.
        least: one number, or one per run.
        alpha: chance of FAIL at the floor.
        beta: chance of PASS at ``least``.
        population: prompts of the fixed set, or None.
    """
    table = np.asarray(scores, dtype=np.float64)
    runs, requests = table.shape
    floors, leasts = (
        np.broadcast_to(np.asarray(a, dtype=np.float64), (runs,)) for a in (floor, least)
    )
    both = _Runs(floors, leasts, population, floors - leasts)
    decision = np.zeros(runs, dtype=np.int8)
    when = np.full(runs, requests, dtype=np.int64)
    for i in range(requests):
        both.observe(table[:, i])
        open_ = decision == 0
        fails = open_ & (both.below.log_wealth >= -math.log(alpha))
        passes = open_ & ~fails & (both.above.log_wealth >= -math.log(beta))
        decision[fails], decision[passes] = -1, 1
        when[fails | passes] = i + 1
    return Outcomes(decision, when)


def invert(
    scores: Sequence[float | None],
    grid: ArrayLike,
    gap: float,
    *,
    alpha: float,
    beta: float,
    population: int | None = None,
) -> tuple[float, float]:
    """Return the ends of the interval of means that neither test rejects, at any time so far.

    Args:
        scores: in the seeded order; None carries no score.
        grid: the candidate means, ascending, in (0, 1); ends are rounded outwards to it.
        gap: floor minus least of the test that is inverted, for its bets.
        alpha: level of the upper end.
        beta: level of the lower end.
        population: prompts of the fixed set, or None.

    Returns:
        The lower and the upper end; 0 or 1 where the grid holds no rejected mean on that side.
    """
    means = np.asarray(grid, dtype=np.float64)
    runs = _Runs(means, means, population, np.full(means.shape, gap))
    highest_below, highest_above = (np.zeros(means.shape) for _ in range(2))
    for score in scores:
        runs.observe(np.full(means.shape, math.nan if score is None else score))
        highest_below = np.maximum(highest_below, runs.below.log_wealth)
        highest_above = np.maximum(highest_above, runs.above.log_wealth)
    # An end is the first mean beyond which every one is rejected: the sets need not be intervals.
    kept_high = np.flatnonzero(highest_below < -math.log(alpha))
    kept_low = np.flatnonzero(highest_above < -math.log(beta))
    high_at = kept_high[-1] + 1 if kept_high.size else 0
    low_at = kept_low[0] - 1 if kept_low.size else means.size - 1
    high = 1.0 if high_at == means.size else float(means[high_at])
    low = 0.0 if low_at < 0 else float(means[low_at])
    return low, high
