import msgspec
import pytest

from specfloor.signals.counts import DraftCounts
from specfloor.signals.stream import counts_of_request, steps_of_request
from specfloor.signals.unreadable import Reason
from tests.unit.signals.builders import request


def test_each_chunk_after_the_first_is_a_step():
    read = counts_of_request(request(tokens=(1, 4, 1, 2, 4)), 3, drafts_k=True)
    assert read.counts == DraftCounts(4, 12, 7, (3, 2, 2))
    assert read.accepted_by_step == (3, 0, 1, 3)
    assert read.drafted_by_step == (3, 3, 3, 3)


def test_what_was_drafted_is_not_guessed():
    record = request(tokens=(1, 4, 1, 2))
    assert counts_of_request(record, 3, drafts_k=False).reason is Reason.DRAFTS_UNKNOWN
    steps = steps_of_request(record, 3)
    assert (steps.accepted, steps.tokens) == (4, (4, 1, 2))
    assert steps.length == pytest.approx(7 / 3)


@pytest.mark.parametrize("tokens", [(1, 4, 5, 2), (1, 14), (2, 3, 1)])
def test_merged_chunks_are_not_steps(tokens):
    record = request(tokens=tokens)
    assert steps_of_request(record, 3).reason is Reason.MERGED_CHUNKS
    assert counts_of_request(record, 3, drafts_k=True).reason is Reason.MERGED_CHUNKS


def test_the_largest_step_is_not_merged():
    assert steps_of_request(request(tokens=(1, 5)), 4).tokens == (5,)


def test_a_lone_token_is_no_step():
    read = counts_of_request(request(tokens=(1,)), 3, drafts_k=True)
    assert read.counts == DraftCounts(0, 0, 0, ())
    assert steps_of_request(request(tokens=(1,)), 3).length is None


def test_chunks_that_do_not_add_up_to_the_usage_are_not_used():
    record = msgspec.structs.replace(request(tokens=(1, 4, 2)), completion_tokens=9)
    read = steps_of_request(record, 3)
    assert read.reason is Reason.INCONSISTENT
    assert "7 tokens of 9" in read.sentence
    unknown = msgspec.structs.replace(record, completion_tokens=None)
    assert steps_of_request(unknown, 3).tokens == (4, 2)


def test_unknown_counts_and_failed_requests_have_a_reason():
    assert steps_of_request(request(), 3).reason is Reason.ABSENT
    assert steps_of_request(request(tokens=(1, 2), error="gone"), 3).reason is Reason.FAILED
