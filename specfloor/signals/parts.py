"""The steps of an answer by what they wrote: the reasoning, or the answer proper.

A step belongs to the part in which it began, since that is the text its draft went on from. The
first token comes from the prefill and is of no step.
"""

import msgspec

from specfloor.runs.records import RequestRecord
from specfloor.signals.counts import DraftCounts, RequestCounts, counts_of_steps


class Parts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one request drafted and accepted in each part; a part without steps has no counts."""

    reasoning: DraftCounts
    answer: DraftCounts


def split_parts(record: RequestRecord, counts: RequestCounts) -> Parts | None:
    """Return the counts of a request by part; None where its steps cannot be told apart.

    They can when every step is known and, added up, they give the tokens that came: up to k
    accepted tokens more, where the answer ended inside a draft. Chunks that a server's parser
    swallows (the marks around the thinking) lie before the answer and count as reasoning.
    """
    accepted, drafted = counts.accepted_by_step, counts.drafted_by_step
    if record.completion_tokens is None or not record.chunk_tokens or not accepted:
        return None
    if record.reasoning and not record.reasoning_chunks:
        return None  # a record that does not say in which chunks
    made = 1 + sum(accepted) + len(accepted)
    if not 0 <= made - record.completion_tokens <= max(drafted):
        return None
    answered = sum(record.chunk_tokens[record.reasoning_chunks :])
    thought = record.completion_tokens - answered if record.reasoning_chunks else 0
    place, first = 1, len(accepted)
    for step, kept in enumerate(accepted):
        if place >= thought:
            first = step
            break
        place += kept + 1
    return Parts(
        reasoning=counts_of_steps(accepted[:first], drafted[:first]),
        answer=counts_of_steps(accepted[first:], drafted[first:]),
    )
