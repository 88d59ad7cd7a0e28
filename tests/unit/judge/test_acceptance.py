"""The verdict on an acceptance floor, both ways, with what is said about it."""

import msgspec
import numpy as np
import pytest

from benchmarks.statistics.draws import Law, requests
from specfloor.errors import UsageError
from specfloor.judge.acceptance import AcceptanceTest, Floor, judge_acceptance
from specfloor.judge.verdict import AcceptanceVerdict, Verdict
from specfloor.signals.counts import DraftCounts, RequestCounts, Rung
from specfloor.triage.findings import Finding


def drawn(mean, n, seed=1, **law):
    return requests(Law(mean, 0.05, **law), n, np.random.default_rng(seed))


def flat(rate, n, drafted=300):
    kept = round(rate * drafted)
    return [
        RequestCounts(f"p{i}", "code", DraftCounts(drafted // 3, drafted, kept)) for i in range(n)
    ]


FLOOR = Floor(value=0.6, population=160)


@pytest.mark.parametrize("floor", [FLOOR, Floor(value=0.6), Floor(value=2.8, unit="length", k=3)])
@pytest.mark.parametrize(
    ("mean", "verdict", "finding"),
    [
        (0.85, Verdict.PASS, Finding.EXPECTED),
        (0.5, Verdict.FAIL, Finding.ACCEPT_REGRESSION),
    ],
)
def test_clear_cases(floor, mean, verdict, finding):
    judged = judge_acceptance(drawn(mean, 60), floor, rung=Rung.STREAM)
    assert judged.verdict is verdict
    assert judged.findings == (finding,)
    assert judged.decided_at < 30
    assert judged.still_needed is None
    assert judged.rung is Rung.STREAM
    low, high = judged.mean.interval.low, judged.mean.interval.high
    assert low < judged.mean.value < high
    assert (high <= floor.value) == (verdict is Verdict.FAIL)
    assert (low >= floor.least) == (verdict is Verdict.PASS)
    assert judged.pooled.interval is None


def test_undecided_says_how_many_more():
    judged = judge_acceptance(drawn(0.77, 6), FLOOR)
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert judged.findings == (Finding.INCONCLUSIVE,)
    assert 0 < judged.still_needed <= 154
    assert f"about {judged.still_needed} more requests" in judged.reason
    assert "6 of 160 prompts" in judged.reason


def test_more_requests_than_said_do_decide():
    first = judge_acceptance(drawn(0.8, 6, seed=4), Floor(value=0.6))
    assert first.verdict is Verdict.INCONCLUSIVE
    later = judge_acceptance(drawn(0.8, 6 + 3 * first.still_needed, seed=4), Floor(value=0.6))
    assert later.verdict is not Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("rate", "verdict"), [(0.60, Verdict.PASS), (0.59, Verdict.FAIL)])
def test_a_complete_set_is_never_inconclusive(rate, verdict):
    judged = judge_acceptance(flat(rate, 12), Floor(value=0.6, population=12))
    assert judged.verdict is verdict
    assert not judged.stopped_early
    assert judged.pooled.interval is not None
    assert "the whole set" in judged.reason


def test_no_data_never_passes():
    assert judge_acceptance([], FLOOR).verdict is Verdict.NO_DATA
    silent = [RequestCounts(f"p{i}", "code", DraftCounts()) for i in range(160)]
    judged = judge_acceptance(silent, FLOOR)
    assert judged.verdict is Verdict.NO_DATA
    assert judged.findings == (Finding.NO_DATA,)
    assert "160 requests drafted" in judged.reason


def test_requests_without_drafts_carry_no_rate():
    silent = [RequestCounts(f"s{i}", "code", DraftCounts()) for i in range(20)]
    judged = judge_acceptance([*silent, *drawn(0.85, 60)], FLOOR)
    assert judged.verdict is Verdict.PASS
    assert judged.n == 60
    assert judged.summary.without_drafts == 20


@pytest.mark.parametrize(
    ("rate", "drafted", "finding"),
    [
        (0.0, 300, Finding.ACCEPT_ZERO),
        (0.01, 300, Finding.ACCEPT_ZERO),
        (0.03, 300, Finding.ACCEPT_REGRESSION),
        (0.0, 30, Finding.ACCEPT_REGRESSION),
    ],
)
def test_a_dead_draft_is_told_from_a_poor_one(rate, drafted, finding):
    judged = judge_acceptance(flat(rate, 8, drafted), FLOOR)
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (finding,)


def test_a_rate_near_zero_that_scatters_is_not_called_dead():
    mixed = [*flat(0.0, 8), RequestCounts("x", "code", DraftCounts(100, 300, 45))]
    assert judge_acceptance(mixed, FLOOR).findings == (Finding.ACCEPT_REGRESSION,)


def test_too_good_is_no_pass():
    judged = judge_acceptance(flat(1.0, 20), FLOOR)
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.SUSPICIOUS_ACCEPTANCE,)
    assert "too good" in judged.reason


@pytest.mark.parametrize(("rate", "target"), [(0.97, False), (1.0, True)])
def test_good_with_a_reason_passes(rate, target):
    judged = judge_acceptance(flat(rate, 20), FLOOR, draft_is_target=target)
    assert judged.verdict is Verdict.PASS
    assert judged.findings == (Finding.EXPECTED,)


def test_perfection_over_few_drafts_waits():
    few = judge_acceptance(flat(1.0, 10, drafted=30), FLOOR)
    assert few.verdict is Verdict.INCONCLUSIVE
    assert "nearly perfect" in few.reason
    assert few.still_needed == 24
    enough = judge_acceptance(flat(1.0, 10 + few.still_needed, drafted=30), FLOOR)
    assert enough.findings == (Finding.SUSPICIOUS_ACCEPTANCE,)


@pytest.mark.parametrize(
    ("looping", "requests_", "suspicious"), [(0, 30, False), (3, 30, False), (4, 30, True)]
)
def test_looping_texts_are_no_pass(looping, requests_, suspicious):
    judged = judge_acceptance(drawn(0.85, requests_), FLOOR, looping=looping)
    assert judged.verdict is (Verdict.FAIL if suspicious else Verdict.PASS)
    assert (Finding.SUSPICIOUS_ACCEPTANCE in judged.findings) is suspicious
    assert judged.looping == looping


def test_two_loops_in_a_handful_are_not_yet_a_finding():
    assert judge_acceptance(drawn(0.9, 10), FLOOR, looping=2).verdict is Verdict.PASS


def test_loops_beside_a_regression_are_both_said():
    judged = judge_acceptance(drawn(0.5, 30), FLOOR, looping=9)
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.ACCEPT_REGRESSION, Finding.SUSPICIOUS_ACCEPTANCE)
    assert "9 texts repeat themselves" in judged.reason
    assert "too good" not in judged.reason


def test_stopping_live_is_judging_the_record():
    measured = drawn(0.83, 160, seed=9)
    test = AcceptanceTest(FLOOR)
    sent = []
    for request in measured:
        sent.append(request)
        if test.observe(request) is not None:
            break
    assert len(sent) < 160
    judged = judge_acceptance(sent, FLOOR)
    assert judged.verdict is test.verdict
    assert judged.decided_at == len(sent)


def test_answers_that_come_after_the_decision_do_not_undo_it():
    first = judge_acceptance(drawn(0.5, 30), Floor(value=0.6))
    late = judge_acceptance([*drawn(0.5, 30), *flat(0.98, 100)], Floor(value=0.6))
    assert late.verdict is first.verdict is Verdict.FAIL
    assert late.decided_at == first.decided_at
    assert late.mean.interval.low < late.mean.interval.high


def test_length_floor_scales_and_margin_is_of_the_length():
    floor = Floor(value=3.0, unit="length", k=3)
    assert floor.score(3.0) == pytest.approx(2 / 3)
    assert floor.least == pytest.approx(2.85)
    judged = judge_acceptance(drawn(0.85, 60), floor)
    assert judged.mean.value == pytest.approx(1 + 3 * judged.summary.rate_mean.value)
    assert "acceptance length" in judged.reason


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"alpha": 0.0}, "--alpha"),
        ({"beta": 1.0}, "--beta"),
        ({"margin": 1.5}, "--margin"),
        ({"margin": float("nan")}, "--margin"),
        ({"value": 1.2}, "between 0 and 1"),
        ({"value": 0.0}, "between 0 and 1"),
        ({"value": 4.5, "unit": "length", "k": 3}, "between 1 and 4"),
        ({"value": 1.03, "unit": "length", "k": 3}, "smaller --margin"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence(fields, said):
    with pytest.raises(UsageError, match=said) as caught:
        Floor(**{"value": 0.6} | fields)
    assert "\n" not in str(caught.value)


def test_a_prompt_of_a_set_comes_once():
    twice = [*flat(0.7, 2), *flat(0.7, 2)]
    with pytest.raises(ValueError, match="twice"):
        judge_acceptance(twice, FLOOR)
    assert judge_acceptance(twice, Floor(value=0.6)).n == 4


def test_the_same_records_give_the_same_bytes():
    encoded = {
        msgspec.json.encode(judge_acceptance(drawn(0.77, 50), FLOOR, looping=1)) for _ in range(3)
    }
    assert len(encoded) == 1
    assert msgspec.json.decode(encoded.pop(), type=AcceptanceVerdict).n == 50
