import pytest

from specfloor.signals.counts import DraftCounts, Rung
from specfloor.signals.reconcile import Agreement, Comparison, Reconciliation, reconcile
from tests.unit.signals.builders import counted, request, told

AGREES, EXPLAINED, DISAGREES, UNUSABLE = Agreement


def three(records, counters=None, *, k=3, drafts_k=True):
    """Return the agreement of each pair of rungs, and the whole."""
    found = reconcile(records, counters, k=k, drafts_k=drafts_k)
    return {(c.better.value + c.other.value): c.agreement for c in found.comparisons}, found


def test_all_agree():
    records = [
        request(0, (1, 4, 1, 2), told=told(3, 0, 1)),
        request(1, (1, 3), told=told(2)),
    ]
    pairs, found = three(records, counted(4, 6))
    assert pairs == {"AB": AGREES, "AC": AGREES, "CB": AGREES}
    assert found.agreement is AGREES


def test_drafts_cut_off_at_the_end_are_explained_with_their_number():
    # The engine accepted 3 in the last step of the first request; max_tokens left room for 1 + 0.
    records = [
        request(0, (1, 4, 1, 1), told=told(3, 0, 3)),
        request(1, (1, 3), told=told(2)),
    ]
    pairs, found = three(records, counted(4, 8))
    assert pairs == {"AB": EXPLAINED, "AC": AGREES, "CB": EXPLAINED}
    told_streamed = found.comparisons[0]
    assert (told_streamed.gap_tokens, told_streamed.gap_requests) == (3, 1)
    assert "3 accepted tokens more" in found.sentence
    assert not found.disagrees(Rung.STREAM)


def test_the_figures_of_a_real_request():
    # One request of 96 tokens on vLLM 0.32: 63 accepted by the counters, 59 in the stream.
    tokens = (1, *[8] * 8, *[1] * 27, 4)
    steps = len(tokens) - 1
    assert (sum(tokens), sum(tokens) - 1 - steps) == (96, 59)
    pairs, found = three([request(0, tokens)], counted(steps, 63, k=7), k=7)
    assert pairs == {"CB": EXPLAINED}
    assert found.comparisons[0].gap_tokens == 4


@pytest.mark.parametrize(("extra", "agreement"), [(-1, DISAGREES), (6, EXPLAINED), (7, DISAGREES)])
def test_the_gap_has_bounds_both_ways(extra, agreement):
    records = [request(0, (1, 2, 1)), request(1, (1, 1, 2))]
    pairs, found = three(records, counted(4, 2 + extra))
    assert pairs == {"CB": agreement}
    assert found.disagrees(Rung.STREAM) is (agreement is DISAGREES)


@pytest.mark.parametrize(
    ("object_", "agreement"),
    [
        (told(3, 0, 1, 2), UNUSABLE),  # a step more than chunks: two steps share one
        (told(0, 0, 0), DISAGREES),  # the stream shows more accepted tokens than the engine
    ],
)
def test_a_request_that_differs_by_more_than_a_cut_is_not_believed(object_, agreement):
    pairs, found = three([request(0, (1, 4, 1, 2), told=object_)])
    assert pairs == {"AB": agreement}
    assert found.disagrees(Rung.STREAM)
    assert not found.disagrees(Rung.PER_REQUEST)


def test_a_gap_is_judged_per_request_and_not_in_the_sum():
    # +3 and −3 cancel in the sum; neither is a cut last step of both requests.
    records = [
        request(0, (1, 1, 1), told=told(3, 0)),
        request(1, (1, 4, 4), told=told(3, 0)),
    ]
    assert three(records)[0] == {"AB": DISAGREES}


def test_merges_that_no_chunk_shows_are_found_by_the_steps():
    pairs, found = three([request(0, (1, 2, 3))], counted(4, 1))
    assert pairs == {"CB": DISAGREES}
    assert "merged" in found.sentence


def test_few_merges_are_explained_and_many_disagree():
    # 200 steps accepted 1 token each; some neighbours share a chunk, which then looks like one step
    # with an accepted token more.
    def streamed(merges):
        return [request(0, (1, *[4] * merges, *[2] * (200 - 2 * merges)))]

    pairs, found = three(streamed(1), counted(200, 200))
    assert pairs == {"CB": EXPLAINED}
    assert "at least 1 steps that share a chunk" in found.sentence
    assert three(streamed(5), counted(200, 200))[0] == {"CB": DISAGREES}
    objects = [request(0, (1, 4, *[2] * 198), told=told(*[1] * 200))]
    assert three(objects, counted(200, 200))[0] == {"AB": EXPLAINED, "AC": AGREES, "CB": EXPLAINED}


def test_merges_show_in_the_tokens_where_steps_without_a_draft_hide_them():
    # Of 300 steps 200 drafted nothing; two of those share a chunk, as if a token was accepted.
    records = [request(0, (1, 2, *[1] * 198, *[2] * 100))]
    pairs, found = three(records, counted(100, 100), drafts_k=False)
    assert pairs == {"CB": EXPLAINED}
    assert "at least 1 steps that share a chunk" in found.sentence
    records = [request(0, (1, *[2] * 10, *[1] * 180, *[2] * 100))]
    assert three(records, counted(100, 100), drafts_k=False)[0] == {"CB": DISAGREES}


def test_merged_chunks_are_named():
    records = [request(0, (1, 2)), request(1, (1, 9))]
    pairs, found = three(records, counted(5, 5))
    assert pairs == {"CB": UNUSABLE}
    assert "request 1 holds 9 tokens" in found.sentence


def test_steps_without_a_draft_are_explained_where_the_method_has_them():
    records = [request(0, (1, 1, 1, 4, 2, 1), told=told(3, 1))]
    pairs, found = three(records, counted(2, 4), drafts_k=False)
    assert pairs == {"AB": EXPLAINED, "AC": AGREES, "CB": EXPLAINED}
    assert "3 steps fewer, which drafted nothing" in found.sentence


def test_many_steps_without_a_draft_disagree_where_every_step_should_draft():
    records = [request(0, (1, 1, 1, 4, 2, 1))]
    pairs, found = three(records, counted(2, 4))
    assert pairs == {"CB": DISAGREES}
    assert "6 drafted tokens, the stream 5 steps of 3" in found.sentence


def test_few_steps_without_a_draft_are_explained():
    records = [request(0, (1, *[2] * 200))]
    assert three(records, counted(199, 200))[0] == {"CB": EXPLAINED}
    assert three(records, counted(190, 200))[0] == {"CB": DISAGREES}


def test_shorter_drafts_than_k_disagree():
    records = [request(0, (1, *[2] * 10))]
    assert three(records, counted(10, 10, drafted=20))[0] == {"CB": DISAGREES}
    assert three(records, counted(10, 10, drafted=20), drafts_k=False)[0] == {"CB": AGREES}


def test_other_traffic_disagrees_with_the_objects():
    records = [request(0, (1, 4), told=told(3))]
    pairs, found = three(records, counted(5, 9))
    assert pairs["AC"] is DISAGREES
    assert "other traffic" in found.sentence
    assert not found.disagrees(Rung.PER_REQUEST)


def test_failed_requests_are_in_the_counters_only():
    records = [request(0, (1, 4), told=told(3)), request(1, (1, 2), error="gone")]
    pairs, found = three(records, counted(3, 5))
    assert pairs == {"AB": AGREES, "AC": EXPLAINED, "CB": EXPLAINED}
    assert "1 failed request(s)" in found.sentence
    assert three(records[:1], counted(3, 5))[0]["AC"] is DISAGREES
    assert three(records, counted(1, 2))[0]["AC"] is DISAGREES


def test_one_rung_alone_has_nothing_to_agree_with():
    for records, counters in (
        ([request(0, (1, 4))], None),
        ([request(0, told=told(3))], None),
        ([request(0)], counted(1, 3)),
        ([], DraftCounts()),
        ([], None),
    ):
        _, found = three(records, counters)
        assert (found.agreement, found.comparisons) == (None, ())
        assert "nothing checks it" in found.sentence


def test_an_object_that_some_requests_lack_is_not_compared():
    records = [request(0, (1, 4), told=told(3)), request(1, (1, 4))]
    assert three(records, counted(2, 6))[0] == {"CB": AGREES}


def test_a_stream_of_merged_chunks_is_no_witness_against_the_others():
    def compared(better, other, agreement):
        return Comparison(better, other, agreement, "they were compared")

    merged = compared(Rung.PER_REQUEST, Rung.STREAM, UNUSABLE)
    counted = compared(Rung.PER_REQUEST, Rung.COUNTERS, AGREES)
    against_stream = compared(Rung.COUNTERS, Rung.STREAM, DISAGREES)
    assert Reconciliation((merged, counted, against_stream)).consistent is True
    assert Reconciliation((merged, counted)).disagrees(Rung.STREAM)
    wrong = compared(Rung.PER_REQUEST, Rung.COUNTERS, DISAGREES)
    assert Reconciliation((merged, wrong)).consistent is False
    assert Reconciliation((counted, against_stream)).consistent is False
    assert Reconciliation((merged,)).consistent is None
    assert Reconciliation().consistent is None
