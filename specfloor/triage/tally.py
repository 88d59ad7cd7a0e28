"""Counts as files give them: some of them unknown, and unknown never 0."""

from collections.abc import Iterable
from typing import Self

import msgspec
from msgspec import UNSET, UnsetType

from specfloor.signals.counts import DraftCounts


class Totals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts and what follows from them, in the names of the JSON that triage prints.

    Rates are fractions. ``per_position`` and ``emitted_tokens`` are left out where the evidence has
    none; None is a value that is not known.
    """

    drafts: int | None
    draft_tokens: int | None
    accepted_tokens: int | None
    acceptance_rate: float | None
    acceptance_length: float | None
    per_position: tuple[float | None, ...] | UnsetType = UNSET
    emitted_tokens: int | UnsetType = UNSET


class Tally(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was drafted and accepted over some drafts.

    ``positions[i]`` counts the drafts accepted at position i, None where that position has no
    evidence; empty where none has. ``drafts`` is None where the evidence does not say it.
    ``emitted_tokens`` is V0's: the tokens that came out, with which its acceptance length is
    defined, since its accepted tokens include those after a rejection.
    """

    drafts: int | None
    draft_tokens: int
    accepted_tokens: int
    positions: tuple[int | None, ...] = ()
    emitted_tokens: int | None = None

    def __add__(self, other: Self) -> Self:
        """Add counts; what only one side knows of is unknown in the sum."""
        return type(self)(
            _plus(self.drafts, other.drafts),
            self.draft_tokens + other.draft_tokens,
            self.accepted_tokens + other.accepted_tokens,
            _add_positions(self.positions, other.positions),
            _plus(self.emitted_tokens, other.emitted_tokens),
        )

    def __sub__(self, other: Self) -> Self:
        """Subtract counters of the same engine, the earlier from the later; no positions."""
        return type(self)(
            _minus(self.drafts, other.drafts),
            self.draft_tokens - other.draft_tokens,
            self.accepted_tokens - other.accepted_tokens,
            emitted_tokens=_minus(self.emitted_tokens, other.emitted_tokens),
        )

    @classmethod
    def of(cls, counts: DraftCounts) -> Self:
        """Return the counts of a rung as a tally."""
        return cls(counts.steps, counts.drafted, counts.accepted, counts.accepted_per_position)

    @property
    def rate(self) -> float | None:
        """Acceptance rate, a fraction; None without draft tokens."""
        return self.accepted_tokens / self.draft_tokens if self.draft_tokens else None

    @property
    def length(self) -> float | None:
        """Acceptance length; None where the drafts are not known."""
        if not self.drafts:
            return None
        if self.emitted_tokens is not None:
            return self.emitted_tokens / self.drafts
        return 1 + self.accepted_tokens / self.drafts

    @property
    def per_position(self) -> tuple[float | None, ...]:
        """Share of the drafts accepted at each position; empty without positions or drafts."""
        if not self.drafts:
            return ()
        return tuple(None if n is None else n / self.drafts for n in self.positions)

    def totals(self) -> Totals:
        """Return the counts and what follows from them."""
        return Totals(
            drafts=self.drafts,
            draft_tokens=self.draft_tokens,
            accepted_tokens=self.accepted_tokens,
            acceptance_rate=self.rate,
            acceptance_length=self.length,
            per_position=self.per_position or UNSET,
            emitted_tokens=UNSET if self.emitted_tokens is None else self.emitted_tokens,
        )


def total(tallies: Iterable[Tally | None]) -> Tally | None:
    """Return the sum of those that are not None: counts are added before anything is divided."""
    found: Tally | None = None
    for tally in tallies:
        if tally is not None:
            found = tally if found is None else found + tally
    return found


def totals_of(tally: Tally | None) -> Totals | None:
    """Return the totals of a tally; None, not zeros, where there is no evidence."""
    return None if tally is None else tally.totals()


def _plus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _minus(late: int | None, early: int | None) -> int | None:
    return None if late is None or early is None else late - early


def _add_positions(
    mine: tuple[int | None, ...], theirs: tuple[int | None, ...]
) -> tuple[int | None, ...]:
    if not mine or not theirs:
        return ()
    longest = max(len(mine), len(theirs))
    padded = [p + (0,) * (longest - len(p)) for p in (mine, theirs)]
    return tuple(_plus(a, b) for a, b in zip(*padded, strict=True))
