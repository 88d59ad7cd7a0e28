"""Rung A: the object ``metrics.speculative_decoding`` of a response (vLLM 0.29 and later).

Its histogram is by number accepted, not by position: entry j counts the steps that accepted exactly
j drafted tokens, so the steps that accepted position i are those of all entries above i.
"""

from itertools import accumulate

from specfloor.runs.records import PerRequestSpeculation, RequestRecord
from specfloor.signals.counts import DraftCounts, RequestCounts
from specfloor.signals.unreadable import Reason, Unreadable


def counts_of_request(record: RequestRecord) -> RequestCounts | Unreadable:
    """Return what the server says this request drafted and accepted.

    A step whose whole draft a grammar threw away drafted nothing and is no step here; only the
    ``detailed`` level of the server shows such steps.
    """
    if record.error is not None:
        return Unreadable(Reason.FAILED, f"request {record.index} failed: {record.error}")
    told = record.speculation
    if told is None:
        return Unreadable(
            Reason.ABSENT, f"the answer to request {record.index} has no per-request object"
        )
    if contradiction := _contradiction(told):
        return Unreadable(
            Reason.INCONSISTENT,
            f"the per-request object of request {record.index} contradicts itself: {contradiction}",
        )
    steps = [
        (accepted, drafted)
        for accepted, drafted in zip(
            told.per_step_accepted or (), told.per_step_drafted or (), strict=True
        )
        if drafted
    ]
    undrafted = len(told.per_step_drafted or ()) - len(steps)
    return RequestCounts(
        prompt_id=record.prompt_id,
        domain=record.domain,
        counts=DraftCounts(
            steps=told.num_spec_steps - undrafted,
            drafted=told.num_draft_tokens,
            accepted=told.num_accepted_draft_tokens,
            accepted_per_position=_tail_sums(told.acceptance_histogram),
        ),
        accepted_by_step=tuple(accepted for accepted, _ in steps),
        drafted_by_step=tuple(drafted for _, drafted in steps),
    )


def _tail_sums(histogram: tuple[int, ...]) -> tuple[int, ...]:
    """Return per position how many steps accepted it, from counts by number accepted."""
    return tuple(accumulate(reversed(histogram[1:])))[::-1]


def _contradiction(told: PerRequestSpeculation) -> str | None:
    steps = sum(told.acceptance_histogram)
    accepted = sum(j * count for j, count in enumerate(told.acceptance_histogram))
    if steps != told.num_spec_steps:
        return f"the histogram holds {steps} steps of {told.num_spec_steps}"
    if accepted != told.num_accepted_draft_tokens:
        return f"the histogram holds {accepted} of {told.num_accepted_draft_tokens} accepted tokens"
    if accepted > told.num_draft_tokens:
        return f"{accepted} tokens accepted of {told.num_draft_tokens} drafted"
    if told.per_step_accepted is not None:
        drafted = told.per_step_drafted or ()
        if len(told.per_step_accepted) != len(drafted):
            return (
                f"accepted tokens of {len(told.per_step_accepted)} steps "
                f"and drafted tokens of {len(drafted)}"
            )
        if (sum(told.per_step_accepted), sum(drafted)) != (accepted, told.num_draft_tokens):
            return "its steps do not add up to its totals"
    return None
