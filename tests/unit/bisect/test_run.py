"""The search as it runs: what is launched, kept and said, and how often it is wrong."""

import msgspec
import numpy as np
import pytest

from specfloor.bisect.report import Outcome, as_document, as_text, conclude
from specfloor.bisect.run import search, upcoming
from specfloor.bisect.search import Answer, next_probe
from specfloor.bisect.state import Done, resume, save
from specfloor.engines.routes import PythonRoute
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.judge.sequential import simulate
from specfloor.ledger import read_ledger
from tests.unit.bisect.builders import Bench, state_of, truth

GOOD, BAD, SKIP, UNKNOWN = Answer
NAMES = ("0.18.0", "0.19.1rc1", "0.20.2rc1", "0.21.0rc1", "0.22.1rc1", "0.23.0rc1", "0.23.0")
LEDGER = read_ledger()


def run(bench, state, kept=None):
    return search(state, bench, (kept if kept is not None else []).append, lambda _: None)


@pytest.mark.parametrize("first_bad", range(1, 7))
def test_the_first_bad_is_named_with_the_rows_between(first_bad, tmp_path):
    bench = Bench(truth(NAMES, first_bad))
    ended = run(bench, state_of(NAMES))
    found = conclude(ended, LEDGER)
    assert (found.outcome, found.exit_code) == (Outcome.FOUND, Exit.HOLDS)
    assert found.last_good == NAMES[first_bad - 1]
    assert found.first_bad == (NAMES[first_bad],)
    assert (found.ledger.old, found.ledger.new) == NAMES[first_bad - 1 : first_bad + 1]
    text = as_text(ended, found, tmp_path)
    assert f"{NAMES[first_bad]} is the first bad, {NAMES[first_bad - 1]} the last good" in text
    assert "The ledger ends with 2026-10-13" in text
    assert as_document(ended, found)["launches"] == len(bench.launched) <= 4


def test_rows_of_the_ledger_that_begin_there_are_named():
    names = ("0.13.0rc1", "0.14.0rc1", "0.15.0rc1", "0.16.0rc1", "0.17.0rc1")
    ended = run(Bench(truth(names, 3)), state_of(names))
    found = conclude(ended, LEDGER)
    assert found.first_bad == ("0.16.0rc1",)
    assert "10878" in {change.row.id for change in found.ledger.lost}


def test_everything_done_is_kept_at_once_and_a_search_goes_on_from_any_point(tmp_path):
    fresh = state_of(NAMES)
    kept = [fresh]
    ended = run(Bench(truth(NAMES, 4)), fresh, kept)
    assert kept[-1] == ended
    assert len(kept) == len(ended.done) + 1
    for stopped in kept:
        save(stopped, tmp_path)
        again = Bench(truth(NAMES, 4))
        assert run(again, resume(fresh, tmp_path)) == ended
        assert len(again.launched) == len(ended.done) - len(stopped.done)


def test_a_folder_with_another_search_or_another_file_is_refused(tmp_path):
    save(state_of(NAMES), tmp_path)
    with pytest.raises(UsageError, match="differs in margin, seed"):
        resume(state_of(NAMES, margin=0.1, seed=2), tmp_path)
    (tmp_path / "bisect.json").write_text("{}")
    with pytest.raises(UsageError, match="cannot be taken up again"):
        resume(state_of(NAMES), tmp_path)


def test_paths_of_interpreters_come_back_from_the_file(tmp_path):
    state = state_of(NAMES)
    first, *rest = state.question.candidates
    route = PythonRoute(tmp_path / "python")
    question = msgspec.structs.replace(
        state.question, candidates=(msgspec.structs.replace(first, route=route), *rest)
    )
    state = msgspec.structs.replace(state, question=question)
    save(state, tmp_path)
    assert resume(state, tmp_path) == state


def test_without_a_floor_the_good_end_is_first_and_the_forecast_counts_it():
    bench = Bench(truth(NAMES, 2))
    state = state_of(NAMES, floor=None)
    with_floor = next_probe(state.question.weights, {0: GOOD})
    assert upcoming(state).place == 0
    assert upcoming(state).expected == 1 + with_floor.expected
    ended = run(bench, state)
    assert bench.launched[0] == NAMES[0]
    assert ended.floor is not None
    assert conclude(ended, LEDGER).first_bad == (NAMES[2],)


@pytest.mark.parametrize("answer", [SKIP, BAD, UNKNOWN])
def test_a_good_end_that_gives_no_floor_ends_the_search(answer):
    bench = Bench({NAMES[0]: [answer]})
    found = conclude(run(bench, state_of(NAMES, floor=None)), LEDGER)
    assert (found.outcome, found.exit_code) == (Outcome.OPEN, Exit.UNDECIDED)
    assert "gave no floor" in found.sentence
    assert set(bench.launched) == {NAMES[0]}


def test_what_did_not_decide_is_launched_again_and_then_left_open():
    told = truth(NAMES, 4) | {NAMES[3]: [UNKNOWN, GOOD]}
    bench = Bench(told)
    assert conclude(run(bench, state_of(NAMES)), LEDGER).first_bad == (NAMES[4],)
    assert bench.launched.count(NAMES[3]) == 2
    bench = Bench(truth(NAMES, 4) | {NAMES[3]: [UNKNOWN]})
    found = conclude(run(bench, state_of(NAMES)), LEDGER)
    assert bench.launched.count(NAMES[3]) == 2
    assert (found.last_good, found.first_bad) == (NAMES[2], (NAMES[3], NAMES[4]))
    assert found.exit_code is Exit.UNDECIDED
    assert f"{NAMES[3]} told nothing" in found.sentence


def test_an_end_that_cannot_be_measured_is_said_to_be_taken_on_trust():
    found = conclude(run(Bench(truth(NAMES, 1) | {NAMES[0]: [SKIP]}), state_of(NAMES)), LEDGER)
    assert found.first_bad == (NAMES[1],)
    assert found.exit_code is Exit.UNDECIDED
    assert f"{NAMES[0]} could not be measured" in found.sentence


def test_when_nothing_runs_the_search_ends_after_two_launches():
    bench = Bench({name: [SKIP] for name in NAMES})
    found = conclude(run(bench, state_of(NAMES)), LEDGER)
    assert len(bench.launched) == 2
    assert bench.launched[1] == NAMES[0]
    assert found.exit_code is Exit.UNDECIDED
    assert "the good end among them (it is skip)" in found.sentence


def test_where_the_good_end_runs_a_first_skip_costs_its_launch_and_no_more():
    bench = Bench(truth(NAMES, 2) | {NAMES[3]: [SKIP]})
    state = state_of(NAMES, weights=[1, 1, 9, 9, 1, 1])
    assert conclude(run(bench, state), LEDGER).first_bad == (NAMES[2],)
    assert bench.launched[:2] == [NAMES[3], NAMES[0]]
    assert len(bench.launched) == len(set(bench.launched))


def test_a_good_end_that_is_known_not_to_run_stops_nothing():
    known = Done(place=0, answer=SKIP, reason="not for this hardware")
    bench = Bench(truth(NAMES, 5) | {NAMES[2]: [SKIP], NAMES[3]: [SKIP]})
    found = conclude(run(bench, state_of(NAMES).with_done(known)), LEDGER)
    assert found.first_bad == (NAMES[5],)
    assert found.last_good == NAMES[4]


@pytest.mark.parametrize(("first_bad", "said"), [(0, "is bad"), (7, "is good")])
def test_ends_are_checked_before_they_are_named(first_bad, said):
    found = conclude(run(Bench(truth(NAMES, first_bad)), state_of(NAMES)), LEDGER)
    assert (found.outcome, found.exit_code) == (Outcome.CONTRADICTED, Exit.FAILS)
    assert said in found.sentence
    assert found.ledger is None


def test_what_is_known_not_to_run_is_never_launched(tmp_path):
    skip = Done(place=3, answer=SKIP, reason="no such method")
    state = state_of(NAMES).with_done(skip)
    bench = Bench(truth(NAMES, 5))
    ended = run(bench, state)
    assert NAMES[3] not in bench.launched
    assert ended.launches == len(bench.launched)
    text = as_text(ended, conclude(ended, LEDGER), tmp_path)
    assert "no such method [not launched]" in text


def test_no_search_spends_more_than_its_alpha():
    for answers in (truth(NAMES, 3), truth(NAMES, 3) | {n: [UNKNOWN] for n in NAMES[1:5]}):
        bench = Bench(answers)
        run(bench, state_of(NAMES))
        assert min(bench.shares) > 0
        assert sum(bench.shares) < 1
    # as long as nothing is skipped, every launch has the same part
    bench = Bench(truth(NAMES, 3))
    run(bench, state_of(NAMES))
    assert max(bench.shares) <= 1.5 * min(bench.shares)


RUNS, PROMPTS, FLOOR, MARGIN = 400, 40, 0.8, 0.05


def simulated(first_bad, *, good, bad, alpha=0.05, population=PROMPTS):
    """Return the share of searches over nine releases that are wrong, and that stay open.

    Every release is a set of prompts with a mean of its own; which come first is left to chance.
    """
    rng = np.random.default_rng(20260601)
    names = [f"r{place}" for place in range(9)]
    means = np.array([good] * first_bad + [bad] * (9 - first_bad))
    scores = rng.beta(6, 1.5, (RUNS, 9, PROMPTS))
    scores = np.clip(scores - scores.mean(axis=2, keepdims=True) + means[:, None], 0, 1)
    fresh = state_of(names, attempts=1)
    share = 1 / (upcoming(fresh).worst + 1)
    decisions = simulate(
        scores.reshape(-1, PROMPTS),
        FLOOR,
        FLOOR * (1 - MARGIN),
        alpha=alpha * share,
        beta=alpha * share,
        population=population,
    ).decision.reshape(RUNS, 9)
    words = {1: [GOOD], -1: [BAD], 0: [UNKNOWN]}
    found = [
        conclude(
            run(Bench({n: words[int(d)] for n, d in zip(names, row, strict=True)}), fresh), LEDGER
        )
        for row in decisions
    ]
    wrong = sum(names[first_bad] not in one.first_bad for one in found)
    return wrong / RUNS, sum(one.outcome is Outcome.OPEN for one in found) / RUNS


@pytest.mark.parametrize("first_bad", [1, 4, 8])
def test_a_search_is_wrong_no_oftener_than_alpha_in_the_hardest_case(first_bad):
    # the good ones reach the floor by a hair, the bad ones miss what a PASS excludes by one
    wrong, still_open = simulated(first_bad, good=FLOOR, bad=FLOOR * (1 - MARGIN))
    assert wrong <= 0.05
    assert still_open == 0
    # the simulation can tell: with ten times the level more are wrong
    assert simulated(first_bad, good=FLOOR, bad=FLOOR * (1 - MARGIN), alpha=0.5)[0] > 0.05


@pytest.mark.parametrize("first_bad", [1, 4, 8])
def test_a_plain_fall_is_found_every_time(first_bad):
    assert simulated(first_bad, good=0.84, bad=0.7) == (0, 0)


def test_prompts_that_are_too_few_leave_it_open_and_not_wrong():
    wrong, still_open = simulated(4, good=FLOOR, bad=FLOOR * (1 - MARGIN), population=None)
    assert wrong <= 0.05
    assert still_open > 0.9
