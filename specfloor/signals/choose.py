"""The best evidence a block of requests has."""

from collections.abc import Sequence

import msgspec

from specfloor.i18n import _
from specfloor.runs.records import CountersRecord, RequestRecord
from specfloor.runs.spoken import spoken
from specfloor.signals import counters, per_request, stream
from specfloor.signals.counts import DraftCounts, RequestCounts, Rung, pooled
from specfloor.signals.reconcile import Reconciliation, reconcile
from specfloor.signals.unreadable import Unreadable


class BlockSignals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one block drafted and accepted, and how well that is known.

    ``requests`` are the requests that succeeded, in the seeded order; they are empty when only the
    total of the block is known (rung C at a concurrency above 1), which carries no interval.
    ``rung`` and ``total`` are None when nothing is known; ``gaps`` says, one sentence each, why a
    rung was not used.
    """

    rung: Rung | None
    requests: tuple[RequestCounts, ...]
    total: DraftCounts | None
    reconciliation: Reconciliation
    gaps: tuple[str, ...] = ()


def choose(
    records: Sequence[RequestRecord],
    scraped: Sequence[CountersRecord],
    *,
    k: int,
    drafts_k: bool,
) -> BlockSignals:
    """Return the counts of one block from the best rung that all its requests have.

    The per-request object comes first. The counters around each request (concurrency 1) come next:
    they count the same drafts, where the stream lacks those that the end of an answer cut off,
    which on answers of 11 to 30 tokens took 171 accepted tokens for 144 (vLLM 0.32, k = 3). Then
    the stream, unless the counters contradict it; then the counters around the block. A stream
    alone that shows nothing accepted is no evidence: a server that drafts nothing looks the same.

    Args:
        records: the requests of one block of one launch, in any order, failed ones too.
        scraped: the counters of the same block and launch.
        k: ``num_speculative_tokens``.
        drafts_k: whether every step of the method drafts exactly k tokens.
    """
    records = sorted(records, key=lambda record: record.index)
    if k < 1:
        raise ValueError("an arm without speculation has nothing to choose from")
    good = [record for record in records if record.ok]
    around_block = _around_block(scraped)
    agreed = reconcile(records, around_block, k=k, drafts_k=drafts_k)
    gaps = [spoken(record.problem) for record in scraped if record.index is None and record.problem]

    told = [per_request.counts_of_request(record) for record in good]
    if found := _all(told, gaps):
        return BlockSignals(Rung.PER_REQUEST, found, _sum(found), agreed, tuple(gaps))
    streamed = [stream.counts_of_request(record, k, drafts_k) for record in good]
    if found := _around_requests(good, scraped, streamed):
        return BlockSignals(Rung.COUNTERS, found, _sum(found), agreed, tuple(gaps))
    found = _all(streamed, gaps)
    if agreed.disagrees(Rung.STREAM):
        gaps.append(agreed.sentence)
    elif found and around_block is None and not _sum(found).accepted:
        gaps.append(
            _("every chunk holds one token and no counters tell whether anything was drafted")
        )
    elif found:
        return BlockSignals(Rung.STREAM, found, _sum(found), agreed, tuple(gaps))
    if around_block is not None:
        return BlockSignals(Rung.COUNTERS, (), around_block, agreed, tuple(gaps))
    return BlockSignals(None, (), None, agreed, tuple(gaps))


def _all(read: Sequence[RequestCounts | Unreadable], gaps: list[str]) -> tuple[RequestCounts, ...]:
    """Return the counts of all requests, or none and the first reason."""
    for one in read:
        if isinstance(one, Unreadable):
            gaps.append(one.sentence)
            return ()
    return tuple(one for one in read if isinstance(one, RequestCounts))


def _around_block(scraped: Sequence[CountersRecord]) -> DraftCounts | None:
    for record in scraped:
        if record.index is None and not record.problem:
            return counters.total(record.by_engine)
    return None


def _around_requests(
    good: Sequence[RequestRecord],
    scraped: Sequence[CountersRecord],
    streamed: Sequence[RequestCounts | Unreadable],
) -> tuple[RequestCounts, ...]:
    """Return the counters around each request; nothing when one request has none."""
    gained = {
        record.index: counters.total(record.by_engine)
        for record in scraped
        if record.index is not None and not record.problem
    }
    found = []
    for record, shown in zip(good, streamed, strict=True):
        counts = gained.get(record.index)
        if counts is None:
            return ()
        accepted, drafted = _steps(counts, shown)
        found.append(RequestCounts(record.prompt_id, record.domain, counts, accepted, drafted))
    return tuple(found)


def _steps(
    counts: DraftCounts, shown: RequestCounts | Unreadable
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the steps of a request, accepted and drafted, where stream and counters tell them.

    They do when both have the same steps and drafts; what the stream lacks belongs to the last.
    """
    if isinstance(shown, Unreadable) or not shown.accepted_by_step:
        return (), ()
    *before, last = shown.accepted_by_step
    last += counts.accepted - shown.counts.accepted
    same = (counts.steps, counts.drafted) == (shown.counts.steps, shown.counts.drafted)
    if not same or not shown.accepted_by_step[-1] <= last <= shown.drafted_by_step[-1]:
        return (), ()
    return (*before, last), shown.drafted_by_step


def _sum(requests: Sequence[RequestCounts]) -> DraftCounts:
    return pooled(request.counts for request in requests)
