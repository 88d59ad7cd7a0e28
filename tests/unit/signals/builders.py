"""Records for the tests of signals."""

from specfloor.runs.records import (
    BlockKey,
    CountersRecord,
    PerRequestSpeculation,
    Purpose,
    RequestRecord,
)
from specfloor.signals.counts import DraftCounts

BLOCK = BlockKey("copy", "off", 1, Purpose.NATURAL)


def request(index=0, tokens=(), *, told=None, error=None, domain="code"):
    """Return the record of a request whose chunks held ``tokens`` tokens."""
    return RequestRecord(
        launch="l",
        block=BLOCK,
        index=index,
        prompt_id=f"p{index}",
        domain=domain,
        started_s=float(index),
        first_token_s=0.1,
        finished_s=0.9,
        chunk_s=tuple(0.1 * i for i in range(len(tokens))),
        chunk_tokens=tuple(tokens),
        prompt_tokens=7,
        completion_tokens=sum(tokens),
        finish_reason=None if error else "length",
        text_sha256="",
        text="",
        speculation=told,
        error=error,
    )


def told(*accepted, k=3, detailed=False, drafted=None):
    """Return the per-request object of steps that accepted ``accepted`` tokens."""
    drafted = drafted or (k,) * len(accepted)
    return PerRequestSpeculation(
        num_spec_steps=len(accepted),
        num_draft_tokens=sum(drafted),
        num_accepted_draft_tokens=sum(accepted),
        num_spec_tokens=k,
        acceptance_histogram=tuple(accepted.count(j) for j in range(k + 1)),
        per_step_accepted=accepted if detailed else None,
        per_step_drafted=tuple(drafted) if detailed else None,
    )


def counters(counts=None, *, index=None, problem=None, **by_engine):
    """Return counters of one engine ``0``, or of those named."""
    found = by_engine or ({"0": counts} if counts is not None else {})
    return CountersRecord(launch="l", block=BLOCK, by_engine=found, index=index, problem=problem)


def counted(steps, accepted, k=3, drafted=None):
    return DraftCounts(steps, k * steps if drafted is None else drafted, accepted)
