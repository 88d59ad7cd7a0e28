"""How counts stand to an expected acceptance: below it, within its scatter, too few to tell."""

import math
from enum import Enum

import msgspec

from specfloor.triage.tally import Tally

ZERO_RATE = 0.02
"""As in ``specfloor.judge.acceptance``: a draft that knows nothing guesses a common token now and
then, one that works accepts tens of percent."""
ZERO_TOKENS = 300
"""Draft tokens below which a rate near zero is not yet called dead; as there."""
ZERO_FIRST = 0.05
"""Acceptance of position 0 from which the draft is alive, whatever the rate over a large k says."""
PERFECT_RATE = 0.99
"""As in ``specfloor.judge.acceptance``: no draft but the target itself keeps this up."""
PERFECT_TOKENS = 1000
"""As there."""
TOLERANCE = 0.05
"""Fall below a baseline that is still taken for scatter when the user names none, as a fraction."""
UNSEEN = 0.03
"""Over the tolerance: a pass needs a sample that would have shown a fall of both together, 8 points
with the default, which is the least that is called a regression in the field."""
LEAST_TOKENS = ZERO_TOKENS
"""Draft tokens below which nothing is called healthy: they may be those of one lucky request."""
SPREAD = 2.0
"""Tokens of one request are alike, so errors are larger than those of independent tokens: 3–7 times
within one workload of few requests, 2 as the least over the traffic of a log."""
_Z = 1.96
"""The two-sided normal quantile of 95 %."""


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The acceptance to compare with, and where it is from; rates are fractions.

    ``model`` and ``version`` are those it was measured on, where known; ``tally`` the counts it is
    from, where it was measured beside.
    """

    source: str
    rate: float
    tolerance: float = TOLERANCE
    k: int | None = None
    length: float | None = None
    positions: tuple[float | None, ...] = ()
    model: str | None = None
    version: str | None = None
    tally: Tally | None = None


class Standing(Enum):
    """How counts stand to what is expected."""

    BELOW = "below"
    WITHIN = "within"
    UNSURE = "unsure"


def is_zero(tally: Tally) -> bool:
    """Whether drafts were made and next to none was kept."""
    if tally.rate is None or tally.draft_tokens < ZERO_TOKENS or tally.rate >= ZERO_RATE:
        return False
    first = tally.per_position[0] if tally.per_position else None
    return first is None or first < ZERO_FIRST


def standing_of(tally: Tally, expected: Expected) -> Standing:
    """Compare by rate and, where both have one, by length: damage to one count shows in either."""
    if tally.rate is None:
        return Standing.UNSURE
    falls = [expected.rate - tally.rate]
    k = expected.k or len(tally.positions)
    if expected.length and tally.length and k and tally.emitted_tokens is None:
        falls.append((expected.length - tally.length) / k)
    error = half_width(tally, expected.rate)
    # a position has fewer trials than the whole, and one of several falls further by chance
    slack = UNSEEN + half_width_of(tally.drafts or 0, expected.rate) - error
    for here, there in zip(tally.per_position, expected.positions, strict=False):
        if here is not None and there is not None:
            falls.append(there - here - slack)
    fall = max(falls)
    if fall > expected.tolerance and fall > error:
        return Standing.BELOW
    unseen = fall + error > expected.tolerance + UNSEEN
    return Standing.UNSURE if unseen or tally.draft_tokens < LEAST_TOKENS else Standing.WITHIN


def half_width(tally: Tally, rate: float) -> float:
    """Return half of a 95 % interval of the rate, for tokens that come in requests."""
    return half_width_of(tally.draft_tokens, rate)


def half_width_of(trials: int, rate: float) -> float:
    """Return the same for a number of trials."""
    if not trials:
        return 1.0
    rate = min(max(rate, 0.02), 0.98)
    return _Z * SPREAD * math.sqrt(rate * (1 - rate) / trials)
