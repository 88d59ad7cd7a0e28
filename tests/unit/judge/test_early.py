"""Stopping an arm once its acceptance is decided, in the seeded order and not of completion."""

from specfloor.judge.acceptance import Floor
from specfloor.judge.early import EarlyStop
from specfloor.runs.records import RequestRecord
from tests.unit.builders import CELL, natural

BAD = (0, 0, 1, 0, 0, 0, 0, 1, 0, 0)


def requests(**options):
    return [r for r in natural(CELL.arm, **options) if isinstance(r, RequestRecord)]


def early(value=0.6):
    return EarlyStop(Floor(value=value, population=40), draft_is_target=False)


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


def test_answers_that_do_not_count_measure_the_block_whole():
    assert stops_at(early(), requests(accepted=BAD, per_request=False)) is None


def test_a_dead_draft_is_measured_until_it_is_known_to_be_dead():
    dead = requests(accepted=(0,) * 10)
    drafted = stops_at(early(), dead) * 30
    assert drafted >= 300


def test_failed_requests_are_not_data():
    assert stops_at(early(), requests(accepted=BAD, failed=(0,))) is None
