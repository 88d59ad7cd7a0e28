from hypothesis import given, settings
from hypothesis import strategies as st

from specfloor.signals.counts import DraftCounts, RequestCounts, counts_of_steps, pooled

steady = settings(derandomize=True, deadline=None)
steps = st.lists(st.tuples(st.integers(0, 4), st.just(4)), max_size=30)


def of(pairs):
    return counts_of_steps(tuple(a for a, _ in pairs), tuple(d for _, d in pairs))


@steady
@given(steps, steps)
def test_counts_add_up_like_their_steps(left, right):
    assert of(left) + of(right) == of(left + right)


@steady
@given(steps)
def test_positions_sum_to_accepted_and_never_rise(pairs):
    counts = of(pairs)
    assert sum(counts.accepted_per_position) == counts.accepted
    assert list(counts.accepted_per_position) == sorted(counts.accepted_per_position, reverse=True)


def test_counts_are_added_before_they_are_divided():
    total = pooled([DraftCounts(1, 3, 3), DraftCounts(9, 27, 0)])
    assert total.rate == 0.1
    assert total.length == 1.3


def test_no_data_is_none():
    assert DraftCounts().rate is None
    assert DraftCounts().length is None
    assert pooled([]) == DraftCounts()


def test_positions_of_different_k_add_up():
    assert (DraftCounts(2, 2, 1, (1,)) + DraftCounts(1, 3, 2, (1, 1, 0))) == DraftCounts(
        3, 5, 3, (2, 1, 0)
    )


def test_unknown_positions_stay_unknown():
    assert (DraftCounts(2, 6, 4, (2, 2, 0)) + DraftCounts(1, 3, 1)).accepted_per_position == ()


def test_the_head_of_a_request():
    request = RequestCounts("p", "code", of([(3, 3), (0, 3)]), (3, 0), (3, 3))
    assert request.head(1) == DraftCounts(1, 3, 3, (1, 1, 1))
    assert RequestCounts("p", "code", DraftCounts(2, 6, 3)).head(1) is None
