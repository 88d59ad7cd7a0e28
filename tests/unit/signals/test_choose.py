import pytest

from specfloor.signals.choose import choose
from specfloor.signals.counts import DraftCounts, Rung
from specfloor.signals.reconcile import Agreement
from tests.unit.signals.builders import counted, counters, request, told


def test_the_object_comes_first():
    records = [request(1, (1, 1), told=told(3)), request(0, (1, 4), told=told(3))]
    found = choose(records, [counters(counted(2, 6))], k=3, drafts_k=True)
    assert found.rung is Rung.PER_REQUEST
    assert [r.prompt_id for r in found.requests] == ["p0", "p1"]
    assert found.total == DraftCounts(2, 6, 6, (2, 2, 2))
    assert found.reconciliation.agreement is Agreement.EXPLAINED
    assert found.gaps == ()


def test_the_stream_comes_next_when_the_counters_bear_it_out():
    records = [request(0, (1, 4)), request(1, (1, 1))]
    found = choose(records, [counters(counted(2, 4))], k=3, drafts_k=True)
    assert found.rung is Rung.STREAM
    assert found.total == DraftCounts(2, 6, 3, (1, 1, 1))
    assert found.reconciliation.agreement is Agreement.EXPLAINED


def test_the_stream_alone_is_used_when_it_shows_acceptance():
    records = [request(0, (1, 4)), request(1, (1, 1))]
    found = choose(records, [], k=3, drafts_k=True)
    assert found.rung is Rung.STREAM
    assert found.reconciliation.agreement is None


@pytest.mark.parametrize("scraped", [[], [counters()], [counters(problem="/metrics is away")]])
def test_a_stream_without_acceptance_is_no_evidence_of_drafts(scraped):
    records = [request(0, (1, 1, 1)), request(1, (1, 1))]
    found = choose(records, scraped, k=3, drafts_k=True)
    assert (found.rung, found.requests, found.total) == (None, (), None)
    assert any("no counters" in gap for gap in found.gaps)


def test_zero_acceptance_is_a_measurement_when_counters_show_drafts():
    records = [request(0, (1, 1, 1)), request(1, (1, 1))]
    found = choose(records, [counters(counted(3, 0))], k=3, drafts_k=True)
    assert found.rung is Rung.STREAM
    assert found.total.rate == 0.0


def test_counters_without_drafts_contradict_the_stream():
    records = [request(0, (1, 1, 1)), request(1, (1, 1))]
    found = choose(records, [counters(counted(0, 0))], k=3, drafts_k=True)
    assert found.rung is Rung.COUNTERS
    assert found.total.rate is None


def test_a_stream_that_the_counters_contradict_gives_way_to_them():
    records = [request(0, (1, 4, 2)), request(1, (1, 3))]
    per_request = [counters(counted(3, 4), index=0), counters(counted(2, 1), index=1)]
    found = choose(records, [*per_request, counters(counted(5, 5))], k=3, drafts_k=True)
    assert found.rung is Rung.COUNTERS
    assert [r.counts.accepted for r in found.requests] == [4, 1]
    assert found.reconciliation.disagrees(Rung.STREAM)

    found = choose(records, [counters(counted(5, 5))], k=3, drafts_k=True)
    assert any("merged" in gap for gap in found.gaps)
    assert (found.rung, found.requests) == (Rung.COUNTERS, ())
    assert found.total == counted(5, 5)


def test_methods_with_drafts_of_any_length_take_the_counters_of_each_request():
    records = [request(0, (1, 1, 4)), request(1, (1, 1))]
    scraped = [
        counters(counted(1, 3), index=0),
        counters(counted(0, 0), index=1),
        counters(counted(1, 3)),
    ]
    found = choose(records, scraped, k=3, drafts_k=False)
    assert found.rung is Rung.COUNTERS
    assert [r.counts for r in found.requests] == [counted(1, 3), counted(0, 0)]
    assert found.reconciliation.agreement is Agreement.EXPLAINED


def test_counters_of_each_request_come_before_the_stream_and_take_its_steps():
    # The stream lacks 2 accepted tokens that max_tokens cut off the second request.
    records = [request(0, (1, 4, 2)), request(1, (1, 1, 2))]
    around = [counters(counted(2, 4), index=0), counters(counted(2, 3), index=1)]
    found = choose(records, [*around, counters(counted(4, 7))], k=3, drafts_k=True)
    assert found.rung is Rung.COUNTERS
    assert [r.counts.accepted for r in found.requests] == [4, 3]
    assert [r.accepted_by_step for r in found.requests] == [(3, 1), (0, 3)]
    assert found.requests[1].drafted_by_step == (3, 3)
    assert found.reconciliation.agreement is Agreement.EXPLAINED


@pytest.mark.parametrize(
    "gained",
    [
        counted(3, 3),  # a step that shares a chunk
        counted(2, 3, drafted=5),  # a shorter draft
        counted(2, 0),  # fewer accepted tokens than the stream
        counted(2, 5),  # more than the last step can have lost
    ],
)
def test_steps_are_unknown_when_the_stream_does_not_match_the_counters(gained):
    found = choose([request(0, (1, 1, 2))], [counters(gained, index=0)], k=3, drafts_k=True)
    assert found.rung is Rung.COUNTERS
    assert found.requests[0].counts == gained
    assert found.requests[0].accepted_by_step == ()


def test_counters_of_some_requests_are_not_those_of_all():
    records = [request(0, (1, 1, 4)), request(1, (1, 1))]
    scraped = [counters(counted(1, 3), index=0), counters(problem="reset", index=1)]
    found = choose(records, scraped, k=3, drafts_k=False)
    assert found.rung is None
    found = choose(records, [*scraped, counters(counted(1, 3))], k=3, drafts_k=False)
    assert (found.rung, found.requests) == (Rung.COUNTERS, ())


def test_the_object_must_be_there_for_all_requests():
    records = [request(0, (1, 4), told=told(3)), request(1, (1, 3))]
    assert choose(records, [], k=3, drafts_k=True).rung is Rung.STREAM


def test_failed_requests_are_left_out():
    records = [request(0, (1, 4), told=told(3)), request(1, (1, 2), error="gone")]
    found = choose(records, [], k=3, drafts_k=True)
    assert [r.prompt_id for r in found.requests] == ["p0"]


def test_counters_add_up_over_engines():
    scraped = [counters(**{"0": counted(1, 3), "1": counted(4, 2)})]
    assert choose([], scraped, k=3, drafts_k=True).total == counted(5, 5)


def test_nothing_is_nothing():
    found = choose([], [], k=3, drafts_k=True)
    assert (found.rung, found.requests, found.total) == (None, (), None)


def test_an_arm_without_speculation_is_a_mistake():
    with pytest.raises(ValueError, match="without speculation"):
        choose([], [], k=0, drafts_k=True)
