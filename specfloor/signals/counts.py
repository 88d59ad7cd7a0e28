"""Counts of drafted and accepted tokens, and how they add up."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Self

import msgspec

_Count = Annotated[int, msgspec.Meta(ge=0)]


class Rung(StrEnum):
    """Where counts come from, best first."""

    PER_REQUEST = "A"
    """The per-request object of the response (vLLM 0.29 and later)."""
    STREAM = "B"
    """Streamed chunks: the tokens of one step, so tokens − 1 were accepted."""
    COUNTERS = "C"
    """Differences of ``/metrics`` counters around a block of requests."""
    LOG = "D"
    """The engine's own acceptance log line."""


class DraftCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts over some steps; a step is one target forward that verified a draft.

    ``accepted`` excludes the bonus token. ``accepted_per_position[i]`` is the number of steps that
    accepted at least i + 1 drafted tokens; it is empty where the evidence has no positions.
    """

    steps: _Count = 0
    drafted: _Count = 0
    accepted: _Count = 0
    accepted_per_position: tuple[_Count, ...] = ()

    def __add__(self, other: Self) -> Self:
        """Add counts; positions survive only when both sides that have steps have them."""
        if not self.steps:
            return other
        if not other.steps:
            return self
        mine, theirs = self.accepted_per_position, other.accepted_per_position
        positions: tuple[int, ...] = ()
        if mine and theirs:
            longest = max(len(mine), len(theirs))
            padded = [p + (0,) * (longest - len(p)) for p in (mine, theirs)]
            positions = tuple(a + b for a, b in zip(*padded, strict=True))
        return type(self)(
            self.steps + other.steps,
            self.drafted + other.drafted,
            self.accepted + other.accepted,
            positions,
        )

    @property
    def rate(self) -> float | None:
        """Acceptance rate, accepted over drafted; None without drafts."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def length(self) -> float | None:
        """Acceptance length, 1 + accepted over steps (the bonus token counts); None without."""
        return 1 + self.accepted / self.steps if self.steps else None


def pooled(counts: Iterable[DraftCounts]) -> DraftCounts:
    """Return the sum: counts are added before anything is divided."""
    total = DraftCounts()
    for one in counts:
        total = total + one
    return total


class RequestCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one request drafted and accepted: the unit of every acceptance statement.

    ``accepted_by_step`` and ``drafted_by_step`` are the ordered steps, one entry each, empty where
    the rung does not give them.
    """

    prompt_id: str
    domain: str
    counts: DraftCounts
    accepted_by_step: tuple[int, ...] = ()
    drafted_by_step: tuple[int, ...] = ()

    def head(self, steps: int) -> DraftCounts | None:
        """Return the counts of the first ``steps`` steps; None when steps are not known."""
        if not self.accepted_by_step:
            return None
        return counts_of_steps(self.accepted_by_step[:steps], self.drafted_by_step[:steps])


def counts_of_steps(accepted: tuple[int, ...], drafted: tuple[int, ...]) -> DraftCounts:
    """Return the counts of ordered steps (accepted and drafted tokens, one entry a step)."""
    longest = max(drafted, default=0)
    positions = tuple(sum(1 for a in accepted if a > i) for i in range(longest))
    return DraftCounts(len(accepted), sum(drafted), sum(accepted), positions)
