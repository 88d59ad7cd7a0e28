"""Stopping an arm as soon as its acceptance is decided."""

from specfloor.judge.acceptance import ZERO_DRAFTED, ZERO_RATE, AcceptanceTest, Floor
from specfloor.runs.records import RequestRecord
from specfloor.signals import per_request
from specfloor.signals.counts import DraftCounts, RequestCounts


class EarlyStop:
    """Feeds an acceptance test with requests as they end, in the seeded order.

    A request that ends before an earlier one waits for it, since the order of completion favours
    short answers. Only the counts of the response itself are used, as in the verdict: a request
    without them ends the attempt, and the block is measured whole.

    Args:
        floor: the floor and its rule.
        draft_is_target: whether perfect acceptance is expected.
    """

    def __init__(self, floor: Floor, *, draft_is_target: bool) -> None:
        self._test = AcceptanceTest(floor, draft_is_target=draft_is_target)
        self._total = DraftCounts()
        self._waiting: dict[int, RequestRecord] = {}
        self._next = 0
        self._possible = True

    def __call__(self, record: RequestRecord) -> bool:
        """Take one record and say whether the verdict stands."""
        self._waiting[record.index] = record
        while self._possible and (following := self._waiting.pop(self._next, None)):
            self._next += 1
            counts = per_request.counts_of_request(following)
            if isinstance(counts, RequestCounts):
                self._total += counts.counts
                self._test.observe(counts)
            else:
                self._possible = False
        return self._possible and self._test.verdict is not None and not self._may_be_dead

    @property
    def _may_be_dead(self) -> bool:
        """Whether a draft looks dead and a few more requests would show that it is."""
        total = self._total
        return total.accepted < ZERO_RATE * total.drafted and total.drafted < ZERO_DRAFTED
