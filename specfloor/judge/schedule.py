"""Which k pays at which batch size, and whether a schedule made of that is as good."""

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from scipy import stats

from specfloor.judge.verdict import MARGIN, Verdict

Schedule = tuple[tuple[int, int, int], ...]
"""The value of ``num_speculative_tokens_per_batch_size``: first and last batch size, both included,
and k. vLLM goes on with the last k beyond the last range."""

OPEN_END = 1 << 20
"""The last batch size of a schedule: more than any engine runs."""

Times = Mapping[int, Sequence[float]]
"""Log time per output token of each launch, by concurrency."""


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The k that takes least time at a concurrency; 0 where the off arm takes less than any.

    ``seconds_per_token`` is its geometric mean over launches, ``over_off`` the speedup over the off
    arm.
    """

    concurrency: int
    k: int
    seconds_per_token: float
    over_off: float | None


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A schedule against the best fixed k at one concurrency.

    ``change`` is the relative change of time per token (positive: slower), ``low`` and ``high`` its
    interval, simultaneous over concurrencies.
    """

    concurrency: int
    best_k: int
    change: float
    low: float
    high: float
    verdict: Verdict


def choose(by_k: Mapping[int, Times], off: Times) -> tuple[Choice, ...]:
    """Return the best k at each concurrency that every k was measured at.

    Args:
        by_k: the times of each k.
        off: those of the off arm; may be empty.
    """
    common = set.intersection(*(set(times) for times in by_k.values())) if by_k else set()
    chosen = []
    for concurrency in sorted(common):
        means = {k: float(np.mean(times[concurrency])) for k, times in by_k.items()}
        k, least = min(means.items(), key=lambda item: (item[1], item[0]))
        without = float(np.mean(off[concurrency])) if off.get(concurrency) else None
        if without is not None and without < least:
            k = 0
        over_off = math.exp(without - least) if without is not None else None
        chosen.append(Choice(concurrency, k, math.exp(least), over_off))
    return tuple(chosen)


def schedule_of(choices: Sequence[Choice]) -> Schedule:
    """Return the schedule that takes the best k at each measured concurrency.

    Between two concurrencies with different k the change is half way on the scale of log₂.
    """
    ranges: list[tuple[int, int, int]] = []
    first = 1
    for choice, following in itertools.pairwise(choices):
        if following.k != choice.k:
            last = max(choice.concurrency, math.isqrt(choice.concurrency * following.concurrency))
            last = min(last, following.concurrency - 1)
            ranges.append((first, last, choice.k))
            first = last + 1
    if choices:
        ranges.append((first, OPEN_END, choices[-1].k))
    return tuple(ranges)


def hold(
    scheduled: Times, by_k: Mapping[int, Times], *, alpha: float, margin: float = MARGIN
) -> tuple[Held, ...]:
    """Compare a schedule with the best fixed k at each concurrency.

    PASS where a loss of ``margin`` is excluded, FAIL where no loss at all is. The scatter of a
    launch is pooled over all arms at a concurrency, and the level shared over the concurrencies
    (Bonferroni). The best k is the best of several measured ones, so that its time is rather too
    short: that makes a PASS harder, not easier.
    """
    concurrencies = sorted(c for c in scheduled if all(c in times for times in by_k.values()))
    return tuple(
        _held(c, scheduled[c], {k: times[c] for k, times in by_k.items()}, level, margin)
        for c in concurrencies
        for level in (alpha / len(concurrencies),)
    )


def _held(
    concurrency: int,
    scheduled: Sequence[float],
    by_k: Mapping[int, Sequence[float]],
    alpha: float,
    margin: float,
) -> Held:
    best_k, best = min(by_k.items(), key=lambda item: (float(np.mean(item[1])), item[0]))
    groups = [np.asarray(group) for group in (scheduled, *by_k.values())]
    freedom = sum(len(group) - 1 for group in groups)
    change = float(np.mean(scheduled) - np.mean(best))
    if freedom == 0:
        return Held(concurrency, best_k, math.expm1(change), -1.0, math.inf, Verdict.INCONCLUSIVE)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    error = math.sqrt(squares / freedom * (1 / len(scheduled) + 1 / len(best)))
    reach = float(stats.t.ppf(1 - alpha, freedom)) * error
    low, high = change - reach, change + reach
    if high <= math.log1p(margin):
        verdict = Verdict.PASS
    else:
        verdict = Verdict.FAIL if low > 0 else Verdict.INCONCLUSIVE
    return Held(concurrency, best_k, math.expm1(change), math.expm1(low), math.expm1(high), verdict)
