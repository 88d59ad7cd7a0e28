"""Times of one request, and which of its times can be believed."""

import itertools
from collections.abc import Iterable
from enum import StrEnum

from specfloor.i18n import N_
from specfloor.judge.evidence import ArmEvidence, Block, CellEvidence
from specfloor.runs.records import RequestRecord

BURST_SHARE = 0.1
"""Share of chunks that come in one read with the chunk before, from which a stream says nothing of
its steps. A server that keeps up sends each step by itself; one whose event loop gets no processor
beside a small model sends dozens at once, up to a whole answer."""


class Clock(StrEnum):
    """What the time per output token of a request is taken over."""

    AFTER_FIRST = N_("from the first token to the last")
    WHOLE = N_("over the whole request")
    """The prompt's own time included; for streams in bursts, where the first token is late."""


def clock_for(requests: Iterable[RequestRecord]) -> Clock:
    """Return how requests are to be timed: the same way for all that are compared."""
    chunks = together = 0
    for request in requests:
        chunks += max(0, len(request.chunk_s) - 1)
        together += sum(a == b for a, b in itertools.pairwise(request.chunk_s))
    return Clock.WHOLE if together > BURST_SHARE * chunks else Clock.AFTER_FIRST


def clock_of_cell(evidence: CellEvidence) -> Clock:
    """Return how both arms of a cell are to be timed."""
    blocks = (arm.forced for arm in (*evidence.off, *evidence.on))
    return clock_for(request for block in blocks if block for request in block.requests)


def time_per_token(request: RequestRecord, clock: Clock) -> float | None:
    """Return the seconds per output token; None when they cannot be told."""
    if not request.ok or len(request.chunk_tokens) < 2:
        return None
    if clock is Clock.WHOLE:
        return request.chunk_s[-1] / sum(request.chunk_tokens)
    tokens = sum(request.chunk_tokens[1:])
    return (request.chunk_s[-1] - request.chunk_s[0]) / tokens if tokens else None


def time_per_step(request: RequestRecord, clock: Clock) -> float | None:
    """Return the seconds per target forward: every chunk is one, the first the prompt's."""
    if not request.ok or len(request.chunk_s) < 2:
        return None
    if clock is Clock.WHOLE:
        return request.chunk_s[-1] / len(request.chunk_s)
    return (request.chunk_s[-1] - request.chunk_s[0]) / (len(request.chunk_s) - 1)


def times_per_token(block: Block | None, clock: Clock) -> dict[str, float]:
    """Return the seconds per output token of each prompt of a block that tells them."""
    requests = block.requests if block else ()
    times = {request.prompt_id: time_per_token(request, clock) for request in requests}
    return {prompt: seconds for prompt, seconds in times.items() if seconds}


def times_of_arms(arms: Iterable[ArmEvidence], clock: Clock) -> list[float]:
    """Return the seconds per output token of every prompt of every launch of an arm."""
    return [s for arm in arms for s in times_per_token(arm.forced, clock).values()]
