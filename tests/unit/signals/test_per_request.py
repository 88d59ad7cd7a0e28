import msgspec
import pytest

from specfloor.signals.counts import DraftCounts
from specfloor.signals.per_request import counts_of_request
from specfloor.signals.unreadable import Reason, Unreadable
from tests.unit.signals.builders import request, told


def test_the_histogram_is_by_number_accepted_and_not_by_position():
    # Two steps accepted nothing, three accepted 1, two accepted 2, five accepted all 3.
    object_ = told(*[0] * 2, *[1] * 3, *[2] * 2, *[3] * 5)
    assert object_.acceptance_histogram == (2, 3, 2, 5)
    read = counts_of_request(request(told=object_))
    assert read.counts == DraftCounts(12, 36, 22, (10, 7, 5))
    assert read.counts.length == pytest.approx(34 / 12)
    assert (read.prompt_id, read.domain) == ("p0", "code")
    assert read.accepted_by_step == ()


def test_the_detailed_level_gives_the_steps():
    read = counts_of_request(request(told=told(3, 0, 2, detailed=True)))
    assert read.accepted_by_step == (3, 0, 2)
    assert read.drafted_by_step == (3, 3, 3)
    assert read.head(2) == DraftCounts(2, 6, 3, (1, 1, 1))


def test_a_step_whose_draft_was_thrown_away_is_no_step():
    read = counts_of_request(request(told=told(2, 0, 1, drafted=(3, 0, 3), detailed=True)))
    assert read.counts == DraftCounts(2, 6, 3, (2, 1, 0))
    assert read.accepted_by_step == (2, 1)


def test_a_request_without_drafts_has_counts_and_no_rate():
    read = counts_of_request(request(told=told()))
    assert read.counts == DraftCounts(0, 0, 0, (0, 0, 0))
    assert read.counts.rate is None


@pytest.mark.parametrize(
    "change",
    [
        {"num_spec_steps": 4},
        {"num_accepted_draft_tokens": 4},
        {"num_draft_tokens": 2},
        {"per_step_drafted": (3, 3)},
        {"per_step_drafted": (3, 3, 1)},
        {"per_step_accepted": (3, 1, 2)},
    ],
)
def test_an_object_that_contradicts_itself_is_not_used(change):
    object_ = msgspec.structs.replace(told(3, 0, 2, detailed=True), **change)
    read = counts_of_request(request(told=object_))
    assert isinstance(read, Unreadable)
    assert read.reason is Reason.INCONSISTENT


def test_no_object_and_a_failed_request_have_a_reason():
    assert counts_of_request(request(tokens=(1, 2))).reason is Reason.ABSENT
    assert counts_of_request(request(told=told(1), error="gone")).reason is Reason.FAILED
