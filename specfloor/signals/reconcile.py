"""Whether the rungs that are there together agree, and what explains it when they differ.

Known differences, seen on vLLM 0.32:

- Counters and the per-request object count drafts accepted past ``max_tokens`` or the end of
  sequence, which the stream never shows (63 against 59 on one 96-token request). Only the last step
  of a request can be cut, so the stream can lack at most k tokens a request.
- Steps that draft nothing (n-gram and suffix methods find no match) are chunks of one token in the
  stream and no steps for the counters.
- Steps merge into one chunk when the server's output queue or the client falls behind (seen on busy
  hosts: 2 of 576 steps).
- Failed requests are in the counters only.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum

import msgspec

from specfloor.i18n import N_, _, ended
from specfloor.runs.records import RequestRecord
from specfloor.signals import per_request, stream
from specfloor.signals.counts import DraftCounts, RequestCounts, Rung, pooled
from specfloor.signals.stream import StreamSteps
from specfloor.signals.unreadable import Reason, Unreadable

# Rung B takes a step without a draft for a draft of k, and merged steps for one. Either biases its
# rate by about its share of the steps; the margin of an acceptance floor is 5 % by default, so one
# part in a hundred stays well inside it.
TOLERATED_SHARE = 0.01


class Agreement(IntEnum):
    """How well two rungs agree, best first."""

    AGREES = 0
    EXPLAINED = 1
    """They differ by a known gap, whose size is stated."""
    DISAGREES = 2
    UNUSABLE = 3
    """The stream's chunks hold several steps each, so it tells nothing of them."""


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two rungs over the same requests.

    ``better`` is the rung that would be believed. ``gap_tokens`` are accepted tokens the other
    rung lacks, ``gap_requests`` how many requests they come from where that can be told.
    """

    better: Rung
    other: Rung
    agreement: Agreement
    sentence: str
    gap_tokens: int = 0
    gap_requests: int | None = None


class Reconciliation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All comparisons that a block allows; none when only one rung is there."""

    comparisons: tuple[Comparison, ...] = ()

    @property
    def agreement(self) -> Agreement | None:
        """The worst of the comparisons; None when there was nothing to compare."""
        return max((c.agreement for c in self.comparisons), default=None)

    @property
    def sentence(self) -> str:
        """What the comparisons say, for a report."""
        return " ".join(ended(c.sentence) for c in self.comparisons) or (
            _("Only one kind of evidence is there, so nothing checks it.")
        )

    def disagrees(self, rung: Rung) -> bool:
        """Whether ``rung`` is contradicted by a better one."""
        against = [c.agreement for c in self.comparisons if c.other is rung]
        return any(agreement >= Agreement.DISAGREES for agreement in against)

    @property
    def consistent(self) -> bool | None:
        """Whether everything that can be compared agrees; None when nothing can.

        A stream whose chunks were merged is no witness against the other rungs.
        """
        merged = any(c.agreement is Agreement.UNUSABLE for c in self.comparisons)
        usable = [c for c in self.comparisons if not (merged and c.other is Rung.STREAM)]
        return all(c.agreement < Agreement.DISAGREES for c in usable) if usable else None


def reconcile(
    records: Sequence[RequestRecord], counters: DraftCounts | None, *, k: int, drafts_k: bool
) -> Reconciliation:
    """Compare the rungs of one block.

    Args:
        records: all requests of the block, failed ones too.
        counters: what the counters gained over the block, summed over engines; None without.
        k: ``num_speculative_tokens``.
        drafts_k: whether every step of the method drafts exactly k tokens.
    """
    good = [record for record in records if record.ok]
    failed = len(records) - len(good)
    told = _all_readable([per_request.counts_of_request(record) for record in good])
    streamed = _all_steps([stream.steps_of_request(record, k) for record in good])
    comparisons = []
    if told and isinstance(streamed, list):
        comparisons.append(_told_and_streamed(told, streamed, k, drafts_k))
    if told and counters is not None:
        comparisons.append(_told_and_counted(pooled(c.counts for c in told), counters, failed))
    if isinstance(streamed, list) and counters is not None:
        comparisons.append(
            _streamed_against(
                Rung.COUNTERS, counters, streamed, k=k, drafts_k=drafts_k, failed=failed
            )
        )
    if isinstance(streamed, Unreadable) and streamed.reason is Reason.MERGED_CHUNKS:
        better = Rung.PER_REQUEST if told else Rung.COUNTERS
        comparisons.append(
            Comparison(
                better,
                Rung.STREAM,
                Agreement.UNUSABLE,
                _("The stream cannot be used: {sentence}").format(sentence=streamed.sentence),
            )
        )
    return Reconciliation(tuple(comparisons))


def _all_readable(found: list[RequestCounts | Unreadable]) -> list[RequestCounts] | None:
    readable = [one for one in found if isinstance(one, RequestCounts)]
    return readable if readable and len(readable) == len(found) else None


def _all_steps(found: list[StreamSteps | Unreadable]) -> list[StreamSteps] | Unreadable | None:
    """Return the steps of all requests, or the first reason why one has none; None without any."""
    for one in found:
        if isinstance(one, Unreadable):
            return one
    return [one for one in found if isinstance(one, StreamSteps)] or None


def _told_and_streamed(
    told: list[RequestCounts], streamed: list[StreamSteps], k: int, drafts_k: bool
) -> Comparison:
    pairs = [(one.counts, steps) for one, steps in zip(told, streamed, strict=True)]
    cuts = [counts.accepted - steps.accepted for counts, steps in pairs]
    merged = [max(0, counts.steps - len(steps.tokens)) for counts, steps in pairs]
    if odd := sum(not -m <= cut <= k for cut, m in zip(cuts, merged, strict=True)):
        return Comparison(
            Rung.PER_REQUEST,
            Rung.STREAM,
            Agreement.DISAGREES,
            _(
                "For {odd} of {pairs} requests the stream and the per-request object "
                "differ by more accepted tokens than a cut last step explains"
            ).format(odd=odd, pairs=len(pairs)),
        )
    return _streamed_against(
        Rung.PER_REQUEST,
        pooled(counts for counts, _ in pairs),
        streamed,
        k=k,
        drafts_k=drafts_k,
        cut=sum(cut > 0 for cut in cuts),
    )


def _told_and_counted(told: DraftCounts, counted: DraftCounts, failed: int) -> Comparison:
    mine = (told.steps, told.drafted, told.accepted)
    theirs = (counted.steps, counted.drafted, counted.accepted)
    numbers = _("{} steps, {} drafted, {} accepted against {}, {}, {}").format(*mine, *theirs)
    if mine == theirs:
        agreement = Agreement.AGREES
        sentence = _("The per-request objects add up to the counters")
    elif failed and all(a <= b for a, b in zip(mine, theirs, strict=True)):
        agreement = Agreement.EXPLAINED
        sentence = _(
            "The counters hold more than the per-request objects ({numbers}): "
            "they also count {failed} failed request(s)"
        ).format(numbers=numbers, failed=failed)
    else:
        agreement = Agreement.DISAGREES
        sentence = _(
            "The per-request objects do not add up to the counters ({numbers}): "
            "other traffic on the server, or counters that lag"
        ).format(numbers=numbers)
    return Comparison(Rung.PER_REQUEST, Rung.COUNTERS, agreement, sentence)


def _streamed_against(
    better: Rung,
    counts: DraftCounts,
    streamed: list[StreamSteps],
    *,
    k: int,
    drafts_k: bool,
    failed: int = 0,
    cut: int | None = None,
) -> Comparison:
    """Compare the stream with the counts of a better rung over the same requests."""
    name = _(_NAMES[better])
    steps = sum(len(one.tokens) for one in streamed)
    undrafted = steps - counts.steps
    gap = counts.accepted - sum(one.accepted for one in streamed)
    merged = max(0, -undrafted, -gap)
    most = k * len(streamed)
    short = k * steps - counts.drafted if drafts_k else 0

    def verdict(agreement: Agreement, sentence: str) -> Comparison:
        return Comparison(
            better,
            Rung.STREAM,
            agreement,
            _("{name} hold {sentence}").format(name=name, sentence=sentence),
            gap,
            cut,
        )

    if failed and gap >= 0 and (undrafted < 0 or gap > most):
        return verdict(
            Agreement.EXPLAINED,
            _(
                "{undrafted} steps and {gap} accepted tokens more than the stream: "
                "they also count {failed} failed request(s)"
            ).format(undrafted=-undrafted, gap=gap, failed=failed),
        )
    if merged > TOLERATED_SHARE * steps:
        # the object is the request's own, so nothing else explains a difference from it
        alone = better is Rung.PER_REQUEST
        return verdict(
            Agreement.UNUSABLE if alone else Agreement.DISAGREES,
            _(
                "{steps} steps and {accepted} accepted tokens against {seen} and "
                "{kept} in the stream: chunks were merged, or others used the "
                "server"
            ).format(
                steps=counts.steps,
                accepted=counts.accepted,
                seen=steps,
                kept=counts.accepted - gap,
            ),
        )
    if gap > most:
        return verdict(
            Agreement.DISAGREES,
            _(
                "{gap} accepted tokens more than the stream, and cut last steps of "
                "{streamed} requests explain at most {most}"
            ).format(gap=gap, streamed=len(streamed), most=most),
        )
    if abs(short) > TOLERATED_SHARE * k * steps:
        return verdict(
            Agreement.DISAGREES,
            _("{drafted} drafted tokens, the stream {steps} steps of {k}").format(
                drafted=counts.drafted, steps=steps, k=k
            ),
        )
    ends = (
        _("the ends of {streamed} answers").format(streamed=len(streamed))
        if cut is None
        else _("{cut} answers' ends").format(cut=cut)
    )
    if reasons := list(_explanations(gap, ends, undrafted=undrafted, merged=merged, short=short)):
        return verdict(
            Agreement.EXPLAINED,
            _("against the stream {reasons}").format(reasons=_(" and ").join(reasons)),
        )
    return verdict(Agreement.AGREES, _("what the stream shows, to the token"))


def _explanations(gap: int, ends: str, *, undrafted: int, merged: int, short: int) -> Iterator[str]:
    """Yield what explains each difference that is no disagreement."""
    if gap > 0:
        yield _("{gap} accepted tokens more, cut off at {ends}").format(gap=gap, ends=ends)
    if undrafted > 0:
        yield _("{undrafted} steps fewer, which drafted nothing").format(undrafted=undrafted)
    if merged:
        yield _("at least {merged} steps that share a chunk with another").format(merged=merged)
    if short and not undrafted:
        yield _("{short} drafted tokens fewer").format(short=short)


_NAMES = {Rung.PER_REQUEST: N_("The per-request objects"), Rung.COUNTERS: N_("The counters")}
