"""Rung B: the token counts of streamed chunks.

A chunk is one step: its tokens are the accepted drafts and the one token that the target adds. The
first chunk is the token of the prefill and no step. The last chunk may be cut by ``max_tokens`` or
the end of sequence, so this rung can count up to k accepted tokens a request fewer than the
engine. Chunks merge when a client or the server's own output queue falls behind; a merge that
stays within k + 1 tokens cannot be seen here, only in the reconciliation with the counters. Some
servers leave out chunks that their reasoning or tool parsers swallow (vllm-project/vllm issues
27482 and 28246); then the chunks do not add up to the usage, and are not used.
"""

import msgspec

from specfloor.i18n import _
from specfloor.runs.records import RequestRecord
from specfloor.runs.spoken import spoken
from specfloor.signals.counts import RequestCounts, counts_of_steps
from specfloor.signals.unreadable import Reason, Unreadable


class StreamSteps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tokens of each step of one request, in order, with those that drafted nothing."""

    tokens: tuple[int, ...]

    @property
    def accepted(self) -> int:
        """Drafted tokens that were kept and sent."""
        return sum(self.tokens) - len(self.tokens)

    @property
    def length(self) -> float | None:
        """Mean tokens a step; None without steps.

        It is the acceptance length where every step drafts, and below it where some do not.
        """
        return sum(self.tokens) / len(self.tokens) if self.tokens else None


def steps_of_request(record: RequestRecord, k: int) -> StreamSteps | Unreadable:
    """Return the steps that the chunks of a request show; a step drafts up to ``k`` tokens."""
    if record.error is not None:
        return Unreadable(
            Reason.FAILED,
            _("request {index} failed: {error}").format(
                index=record.index, error=spoken(record.error)
            ),
        )
    if not record.chunk_tokens:
        return Unreadable(
            Reason.ABSENT,
            _("the chunks of request {index} do not say how many tokens they hold").format(
                index=record.index
            ),
        )
    shown = sum(record.chunk_tokens)
    if record.completion_tokens not in (None, shown):
        return Unreadable(
            Reason.INCONSISTENT,
            _("the chunks of request {index} show {shown} tokens of {completion_tokens}").format(
                index=record.index, shown=shown, completion_tokens=record.completion_tokens
            ),
        )
    first, *rest = record.chunk_tokens
    if first > 1:
        return Unreadable(
            Reason.MERGED_CHUNKS,
            _("the first chunk of request {index} holds {first} tokens, a prefill gives 1").format(
                index=record.index, first=first
            ),
        )
    if (largest := max(rest, default=0)) > k + 1:
        return Unreadable(
            Reason.MERGED_CHUNKS,
            _("a chunk of request {index} holds {largest} tokens, a step at most {k}").format(
                index=record.index, largest=largest, k=k + 1
            ),
        )
    return StreamSteps(tuple(rest))


def counts_of_request(record: RequestRecord, k: int, drafts_k: bool) -> RequestCounts | Unreadable:
    """Return what the chunks of a request say it drafted and accepted.

    Args:
        record: the request.
        k: ``num_speculative_tokens``.
        drafts_k: whether every step of the method drafts exactly k tokens; otherwise the answer is
            ``DRAFTS_UNKNOWN``, and ``steps_of_request`` still gives what was accepted.
    """
    steps = steps_of_request(record, k)
    if isinstance(steps, Unreadable):
        return steps
    if not drafts_k:
        return Unreadable(
            Reason.DRAFTS_UNKNOWN,
            _(
                "chunks show what was accepted but not what was drafted: steps of "
                "this method draft between 0 and {k} tokens"
            ).format(k=k),
        )
    accepted = tuple(tokens - 1 for tokens in steps.tokens)
    drafted = (k,) * len(accepted)
    return RequestCounts(
        prompt_id=record.prompt_id,
        domain=record.domain,
        counts=counts_of_steps(accepted, drafted),
        accepted_by_step=accepted,
        drafted_by_step=drafted,
    )
