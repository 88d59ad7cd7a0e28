"""Rung A: the object ``metrics.speculative_decoding`` of a response (vLLM 0.29 and later).

Its histogram is by number accepted, not by position: entry j counts the steps that accepted exactly
j drafted tokens, so the steps that accepted position i are those of all entries above i.
"""

from itertools import accumulate

from specfloor.i18n import _
from specfloor.runs.records import PerRequestSpeculation, RequestRecord
from specfloor.runs.spoken import spoken
from specfloor.signals.counts import DraftCounts, RequestCounts
from specfloor.signals.unreadable import Reason, Unreadable


def counts_of_request(record: RequestRecord) -> RequestCounts | Unreadable:
    """Return what the server says this request drafted and accepted.

    A step whose whole draft a grammar threw away drafted nothing and is no step here; only the
    ``detailed`` level of the server shows such steps.
    """
    if record.error is not None:
        return Unreadable(
            Reason.FAILED,
            _("request {index} failed: {error}").format(
                index=record.index, error=spoken(record.error)
            ),
        )
    told = record.speculation
    if told is None:
        return Unreadable(
            Reason.ABSENT,
            _("the answer to request {index} has no per-request object").format(index=record.index),
        )
    if contradiction := _contradiction(told):
        return Unreadable(
            Reason.INCONSISTENT,
            _(
                "the per-request object of request {index} contradicts itself: {contradiction}"
            ).format(index=record.index, contradiction=contradiction),
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
        return _("the histogram holds {steps} steps of {num_spec_steps}").format(
            steps=steps, num_spec_steps=told.num_spec_steps
        )
    if accepted != told.num_accepted_draft_tokens:
        return _(
            "the histogram holds {accepted} of {num_accepted_draft_tokens} accepted tokens"
        ).format(accepted=accepted, num_accepted_draft_tokens=told.num_accepted_draft_tokens)
    if accepted > told.num_draft_tokens:
        return _("{accepted} tokens accepted of {num_draft_tokens} drafted").format(
            accepted=accepted, num_draft_tokens=told.num_draft_tokens
        )
    if told.per_step_accepted is not None:
        drafted = told.per_step_drafted or ()
        if len(told.per_step_accepted) != len(drafted):
            return _(
                "accepted tokens of {per_step_accepted} steps and drafted tokens of {drafted}"
            ).format(per_step_accepted=len(told.per_step_accepted), drafted=len(drafted))
        if (sum(told.per_step_accepted), sum(drafted)) != (accepted, told.num_draft_tokens):
            return _("its steps do not add up to its totals")
    return None
