"""Shares of trials with their intervals, and the figures of a cell or of files made of them."""

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from specfloor.i18n import _
from specfloor.triage.standing import SPREAD
from specfloor.triage.tally import Tally

LEVEL = 0.99
"""Confidence of each interval by itself; several are looked at together."""
_Z = 2.576
"""The two-sided normal quantile of ``LEVEL``."""
FULL_DRAFTS = 0.9
"""Share of k × drafts that must have been drafted: a position that was not is not dead."""


class Share(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A share of some trials, with its interval at ``LEVEL``; all fractions."""

    value: float
    low: float
    high: float
    trials: int

    def __str__(self) -> str:
        """Return the share with its interval and what it rests on."""
        return _("{value:.3f} [{low:.3f}, {high:.3f}] of {trials:,}").format(
            value=self.value, low=self.low, high=self.high, trials=self.trials
        )


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A difference: its ends, in the unit of what differs."""

    low: float
    high: float


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Acceptance by position.

    ``whole`` is of draft tokens, ``positions[i]`` of drafts, ``after[i]`` of the drafts whose
    position before was accepted (``after[0]`` is ``positions[0]``); None is not known. ``full`` is
    whether the drafts were all of k tokens.
    """

    whole: Share
    positions: tuple[Share | None, ...] = ()
    after: tuple[Share | None, ...] = ()
    full: bool = True


class Trend(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Acceptance at the two ends of an order, as mean over ``requests`` at either end.

    ``fall`` is the interval of first minus last, with the domains of the requests held equal.
    ``ends`` are the typical places: numbers in the order, or tokens of the input.
    """

    first: float
    last: float
    fall: Range
    requests: int
    ends: tuple[float, float]


class Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a cell's figures show besides their mean.

    ``engines`` are empty unless there are several. A trend is None where it cannot be told.
    """

    profile: Profile
    engines: dict[str, Share] = {}
    over_time: Trend | None = None
    over_input: Trend | None = None


def share(hits: int, trials: int, spread: float = SPREAD) -> Share:
    """Return ``hits`` of ``trials`` with Wilson's interval, for tokens that come in requests.

    Errors are ``spread`` times those of independent trials.
    """
    if not trials:
        return Share(0.0, 0.0, 1.0, 0)
    n, p = trials / spread**2, hits / trials
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    reach = _Z / (1 + _Z**2 / n) * math.sqrt(p * (1 - p) / n + (_Z / (2 * n)) ** 2)
    return Share(p, max(0.0, middle - reach), min(1.0, middle + reach), trials)


def profile_of(tally: Tally) -> Profile:
    """Return the profile of counts that come without their requests."""
    drafts = tally.drafts or 0
    counts = tally.positions if drafts else ()
    shares = tuple(None if n is None else share(min(n, drafts), drafts) for n in counts)
    after = tuple(
        None if before is None or here is None else share(min(here, before), before)
        for before, here in pairwise(counts)
    )
    return Profile(
        whole=share(tally.accepted_tokens, tally.draft_tokens),
        positions=shares,
        after=(*shares[:1], *after),
        full=tally.draft_tokens >= FULL_DRAFTS * len(counts) * drafts,
    )


def fall_between(there: Share, here: Share) -> Range:
    """Return the interval of ``there`` − ``here``, from the intervals of two independent shares.

    Newcombe, R. G. (1998), "Interval estimation for the difference between independent
    proportions", Statistics in Medicine 17, method 10.
    """
    fall = there.value - here.value
    low = math.hypot(there.value - there.low, here.high - here.value)
    high = math.hypot(there.high - there.value, here.value - here.low)
    return Range(fall - low, fall + high)


def falls_of(here: Profile, there: Profile) -> tuple[Range | None, ...]:
    """Return how far each position fell from one profile to another."""
    return tuple(
        None if a is None or b is None else fall_between(a, b)
        for a, b in zip(there.positions, here.positions, strict=False)
    )


def falls_against(here: Profile, there: Sequence[float | None]) -> tuple[Range | None, ...]:
    """Return how far each position fell from figures that are given without their counts."""
    return tuple(
        None if now is None or before is None else Range(before - now.high, before - now.low)
        for now, before in zip(here.positions, there, strict=False)
    )
