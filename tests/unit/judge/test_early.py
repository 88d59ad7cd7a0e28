"""Stopping an arm once its acceptance is decided, in the seeded order and not of completion."""

from specfloor.judge.acceptance import Floor
from specfloor.judge.early import EarlyStop
from specfloor.runs.records import RequestRecord
from tests.unit.builders import CELL, natural

BAD = (0, 0, 1, 0, 0, 0, 0, 1, 0, 0)


def requests(**options):
    return [r for r in natural(CELL.arm, **options) if isinstance(r, RequestRecord)]


def early(value=0.6, drafts_k=True):
    floor = Floor(value=value, population=40)
    return EarlyStop(floor, k=3, drafts_k=drafts_k, draft_is_target=False)


def stops_at(stop, records):
    return next((i for i, record in enumerate(records, 1) if stop(record)), None)


def test_a_bad_draft_is_found_long_before_the_last_prompt():
    assert stops_at(early(), requests(accepted=BAD)) < 20


def test_a_draft_at_the_floor_does_not_stop_at_once():
    assert stops_at(early(0.7), requests()) is None or stops_at(early(0.7), requests()) > 5


def test_requests_that_end_early_wait_for_their_turn():
    in_order = requests(accepted=BAD)
    needed = stops_at(early(), in_order)
    first, *rest = in_order
    # the first prompt's answer is the longest: nothing can be said until it is there
    assert stops_at(early(), [*rest[:30], first]) == 31
    assert needed < 31


def test_counts_that_cannot_be_read_measure_the_block_whole():
    unreadable = requests(accepted=BAD, per_request=False)
    assert stops_at(early(drafts_k=False), unreadable) is None


def test_failed_requests_are_not_data():
    assert stops_at(early(), requests(accepted=BAD, failed=(0,))) is None
