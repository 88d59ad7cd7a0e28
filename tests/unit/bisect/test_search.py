"""The search: the cheapest order of launches, whatever the prior, and what it names."""

import functools
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specfloor.bisect.search import (
    Answer,
    Contradiction,
    Range,
    Tree,
    next_probe,
    range_of,
)

GOOD, BAD, SKIP, UNKNOWN = Answer

WEIGHTS = st.lists(st.integers(1, 50), min_size=1, max_size=9)


def least_launches(weights, measured=(False, False)):
    """Σ weight × launches of the best of all orders, by trying every one."""
    n = len(weights)

    @functools.cache
    def best(low, high, low_known, high_known):
        total = sum(weights[low:high])
        if high - low == 1:
            return total * ((not low_known) + (not high_known))
        ways = [
            best(low, m, low_known, True) + best(m, high, True, high_known)
            for m in range(low + 1, high)
        ]
        # an end may be launched first just as well
        if not low_known:
            ways.append(best(low, high, True, high_known))
        if not high_known:
            ways.append(best(low, high, low_known, True))
        return total + min(ways)

    return best(0, n, *measured)


def search(weights, first_bad, *, cannot=(), answers=None):
    """Walk to the end with truthful answers; return the answers in their order."""
    answers = dict(answers or {})
    while probe := next_probe(weights, answers):
        assert probe.place not in answers, "nothing is asked twice"
        truth = GOOD if probe.place < first_bad else BAD
        answers[probe.place] = SKIP if probe.place in cannot else truth
    return answers


@settings(max_examples=150, deadline=None)
@given(WEIGHTS)
def test_no_order_of_launches_has_a_lower_mean(weights):
    n = len(weights)
    taken = sum(w * len(search(weights, k)) for k, w in enumerate(weights, 1))
    assert taken == pytest.approx(least_launches(weights))
    assert next_probe(weights, {}).expected == pytest.approx(taken / sum(weights))
    assert next_probe(weights, {}).worst == max(len(search(weights, k)) for k in range(1, n + 1))


@settings(max_examples=100, deadline=None)
@given(WEIGHTS, st.booleans(), st.booleans())
def test_ends_that_were_measured_before_are_not_launched_again(weights, low, high):
    n = len(weights)
    known = ({0: GOOD} if low else {}) | ({n: BAD} if high else {})
    taken = sum(
        w * (len(search(weights, k, answers=known)) - len(known)) for k, w in enumerate(weights, 1)
    )
    assert taken == pytest.approx(least_launches(weights, (low, high)))


@settings(max_examples=150, deadline=None)
@given(WEIGHTS, st.data())
def test_what_is_named_was_measured_and_is_right(weights, data):
    n = len(weights)
    first_bad = data.draw(st.integers(1, n))
    answers = search(weights, first_bad)
    assert range_of(n, answers) == Range(first_bad - 1, first_bad)
    assert answers[first_bad - 1] is GOOD
    assert answers[first_bad] is BAD


@settings(max_examples=200, deadline=None)
@given(WEIGHTS, st.data())
def test_skips_leave_the_least_range_that_the_rest_allows(weights, data):
    n = len(weights)
    first_bad = data.draw(st.integers(1, n))
    cannot = data.draw(st.sets(st.integers(0, n)))
    found = range_of(n, search(weights, first_bad, cannot=cannot))
    able = [place for place in range(n + 1) if place not in cannot]
    assert found.low == max((p for p in able if p < first_bad), default=0)
    assert found.high == min((p for p in able if p >= first_bad), default=n)
    assert first_bad in found.first_bad


def test_an_answer_that_does_not_tell_is_never_taken_for_one():
    """INCONCLUSIVE is no reason to go one way or the other."""
    probe = next_probe([1, 1, 1, 1], {2: UNKNOWN})
    assert range_of(4, {2: UNKNOWN}) == Range(0, 4)
    assert probe.place in (1, 3)
    assert not UNKNOWN.tells
    assert not SKIP.tells


def test_a_likely_release_is_asked_first():
    # the fault most likely began with 7: the two launches that say so come first
    assert next_probe([1, 1, 1, 1, 1, 1, 50, 1], {}).place in (6, 7)
    assert len(search([1, 1, 1, 1, 1, 1, 50, 1], 7)) == 2
    assert len(search([1] * 8, 7)) == 3


def test_ends_that_are_not_what_they_were_said_to_be_end_the_search():
    with pytest.raises(Contradiction) as bad:
        range_of(4, {0: BAD})
    assert (bad.value.place, bad.value.answer) == (0, BAD)
    with pytest.raises(Contradiction):
        next_probe([1, 1], {1: GOOD, 2: GOOD})


def test_a_fault_before_the_good_end_is_found_out():
    with pytest.raises(Contradiction):
        search([1] * 6, 0)


def test_every_place_has_to_be_possible():
    with pytest.raises(ValueError, match="above 0"):
        next_probe([1, 0, 1], {})


def with_skips(weights, chance):
    """Mean launches of this rule, and of the best there is, when releases may not run.

    Each release that is launched turns out not to run with ``chance``, independently. The best is
    found over every state there is: the range and what is known not to run.
    """
    n, total = len(weights), sum(weights)

    def left(low, high, out):
        return [m for m in range(low + 1, high) if m not in out]

    @functools.cache
    def rule(low, high, out):
        places = left(low, high, out)
        if not places:
            return 0.0
        known = {0: GOOD, n: BAD, low: GOOD, high: BAD} | dict.fromkeys(out, SKIP)
        return after(rule, low, high, out, next_probe(weights, known).place)

    @functools.cache
    def best(low, high, out):
        places = left(low, high, out)
        return min((after(best, low, high, out, m) for m in places), default=0.0)

    def after(value, low, high, out, m):
        here, below = sum(weights[low:high]), sum(weights[low:m])
        inside = frozenset(x for x in out if low < x < high)
        return (
            1
            + chance * value(low, high, inside | {m})
            + (1 - chance)
            * (
                below / here * value(low, m, frozenset(x for x in inside if x < m))
                + (1 - below / here) * value(m, high, frozenset(x for x in inside if x > m))
            )
        )

    assert total > 0
    return rule(0, n, frozenset()), best(0, n, frozenset())


def test_when_releases_may_not_run_the_rule_is_near_the_best():
    draw = random.Random(6)
    gaps = []
    for chance in (0.05, 0.2, 0.4):
        for _ in range(12):
            weights = [draw.choice((1, 1, 1, 2, 5, 20)) for _ in range(8)]
            ours, least = with_skips(weights, chance)
            gaps.append(ours / least - 1)
            assert ours >= least - 1e-9
    assert max(gaps) < 0.05
    assert sum(gaps) / len(gaps) < 0.02


def plain_bisection(n, first_bad):
    """Launches of halving between trusted ends, with the same check of ends that are named."""
    low, high, launches = 0, n, 0
    while high - low > 1:
        middle = (low + high) // 2
        launches += 1
        low, high = (middle, high) if middle < first_bad else (low, middle)
    return launches + (low == 0) + (high == n)


def test_never_more_launches_in_the_mean_than_halving():
    draw = random.Random(7)
    saved = []
    for _ in range(40):
        n = draw.randrange(2, 40)
        weights = [draw.choice((1, 1, 1, 1, 3, 10, 40)) for _ in range(n)]
        halving = sum(w * plain_bisection(n, k) for k, w in enumerate(weights, 1)) / sum(weights)
        ours = next_probe(weights, {}).expected
        assert ours <= halving + 1e-9
        saved.append(halving - ours)
    assert sum(saved) / len(saved) > 0.5


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=24))
def test_bounds_on_the_roots_lose_nothing(weights):
    @functools.cache
    def plain(i, j):
        if j - i == 1:
            return 0
        return sum(weights[i:j]) + min(plain(i, m) + plain(m, j) for m in range(i + 1, j))

    assert Tree(weights).cost == pytest.approx(plain(0, len(weights)))


def test_a_long_line_is_planned_in_a_moment():
    weights = [1 + (i * 7919) % 13 for i in range(400)]
    probe = next_probe(weights, {})
    assert 0 < probe.place < 400
    assert probe.worst >= probe.expected > 7


def test_the_words_of_answers_are_those_of_the_state_file():
    assert [str(answer) for answer in Answer] == ["good", "bad", "skip", "unknown"]
    assert list(itertools.compress(Answer, [a.tells for a in Answer])) == [GOOD, BAD]
