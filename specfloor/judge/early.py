"""Stopping an arm as soon as its acceptance is decided."""

from specfloor.judge.acceptance import AcceptanceTest, Floor
from specfloor.runs.records import RequestRecord
from specfloor.signals import per_request, stream
from specfloor.signals.counts import RequestCounts


class EarlyStop:
    """Feeds an acceptance test with requests as they end, in the seeded order.

    A request that ends before an earlier one waits for it, since the order of completion favours
    short answers. A request whose counts cannot be read ends the attempt: the block is then
    measured whole.

    Args:
        floor: the floor and its rule.
        k: ``num_speculative_tokens``.
        drafts_k: whether every step drafts exactly k tokens.
        draft_is_target: whether perfect acceptance is expected.
    """

    def __init__(self, floor: Floor, *, k: int, drafts_k: bool, draft_is_target: bool) -> None:
        self._test = AcceptanceTest(floor, draft_is_target=draft_is_target)
        self._k = k
        self._drafts_k = drafts_k
        self._waiting: dict[int, RequestRecord] = {}
        self._next = 0
        self._possible = True

    def __call__(self, record: RequestRecord) -> bool:
        """Take one record and say whether the verdict stands."""
        self._waiting[record.index] = record
        while self._possible and (following := self._waiting.pop(self._next, None)):
            self._next += 1
            counts = self._counts(following)
            if counts is None:
                self._possible = False
            elif self._test.observe(counts) is not None:
                return True
        return False

    def _counts(self, record: RequestRecord) -> RequestCounts | None:
        told = per_request.counts_of_request(record)
        if isinstance(told, RequestCounts):
            return told
        streamed = stream.counts_of_request(record, self._k, self._drafts_k)
        return streamed if isinstance(streamed, RequestCounts) else None
