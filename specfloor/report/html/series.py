"""From records to what is drawn: pure functions of a cell's evidence."""

import math
import statistics
from collections.abc import Iterable, Sequence

import msgspec

from specfloor.judge.evidence import ArmEvidence, Block
from specfloor.judge.times import Clock, times_of_arms
from specfloor.runs.records import RequestRecord
from specfloor.signals.choose import choose
from specfloor.signals.counts import RequestCounts

WINDOW = 10
"""Requests in a running mean: enough to see a fall, few enough to see when."""
MOST_POINTS = 160
"""Points in one drawing; more are no longer told apart, and a page has a size to keep."""


class Rated(msgspec.Struct, frozen=True):
    """A request and what it drafted and accepted."""

    request: RequestRecord
    counts: RequestCounts

    @property
    def rate(self) -> float:
        """Accepted over drafted tokens; only requests that drafted are kept."""
        return self.counts.counts.accepted / self.counts.counts.drafted


def rated(block: Block, *, k: int, drafts_k: bool) -> list[Rated]:
    """Return the requests of a block whose drafts are known, in the order they were sent."""
    signals = choose(block.requests, block.counters, k=k, drafts_k=drafts_k)
    good = (request for request in block.requests if request.ok)
    found = zip(good, signals.requests, strict=False)
    pairs = [Rated(request, counts) for request, counts in found if counts.counts.drafted]
    return sorted(pairs, key=lambda pair: pair.request.started_s)


def running_mean(values: Sequence[float], window: int = WINDOW) -> list[float]:
    """Return the mean of each value and up to ``window`` − 1 before it."""
    return [
        statistics.fmean(values[max(0, end - window) : end]) for end in range(1, len(values) + 1)
    ]


def thinned(
    x: Sequence[float], y: Sequence[float], most: int = MOST_POINTS
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return at most ``most`` points, evenly taken, the first and last among them."""
    n = len(x)
    if n <= most:
        return tuple(x), tuple(y)
    taken = [round(i * (n - 1) / (most - 1)) for i in range(most)]
    return tuple(x[i] for i in taken), tuple(y[i] for i in taken)


def shares(values: Iterable[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return sorted values and the share of all at or under each."""
    ordered = sorted(values)
    n = len(ordered)
    return thinned(ordered, [(i + 1) / n for i in range(n)])


def quantile(values: Sequence[float], share: float) -> float:
    """Return the least value that ``share`` of all are at or under: an order statistic."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def first_token_times(arms: Iterable[ArmEvidence]) -> list[float]:
    """Return the seconds to the first token of the requests with natural stops."""
    return [
        request.first_token_s
        for arm in arms
        if arm.natural
        for request in arm.natural.requests
        if request.ok and request.first_token_s is not None
    ]


def token_times(arms: Iterable[ArmEvidence], clock: Clock) -> list[float]:
    """Return the seconds per output token of the requests of forced length."""
    return times_of_arms(arms, clock)
