"""From options to a search, and from judgements to answers."""

import datetime
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from specfloor.bisect.asked import Asked, begin, ways_of
from specfloor.bisect.probe import answer_of, floor_from
from specfloor.bisect.search import Answer
from specfloor.catalog import load_catalog
from specfloor.commands.bisect import bisect
from specfloor.engines.routes import ImageRoute, PythonRoute
from specfloor.errors import UsageError
from specfloor.judge.cell import AcceptanceJudgement
from specfloor.judge.estimate import summarize_acceptance
from specfloor.judge.verdict import Verdict
from specfloor.ledger import read_ledger
from specfloor.signals.counts import DraftCounts, RequestCounts
from specfloor.triage.findings import Finding
from tests.unit.bisect.builders import CELL

LEDGER = read_ledger()
GLM = {"good": "0.18.0", "bad": "0.23.0", "family": "glm-5", "method": "mtp"}


def asked(**changes):
    return Asked(**(GLM | changes))


def test_options_become_a_question_with_its_line_and_prior():
    state, settings, site = begin(asked(alpha=0.01, tier="on"), LEDGER)
    question = state.question
    assert question.cell == CELL
    assert [c.name for c in question.candidates][:2] == ["0.18.0", "0.19.1rc1"]
    assert len(question.weights) == question.ends == 6
    assert len(set(question.weights)) > 1
    assert (question.alpha, settings.start_timeout_s) == (0.01, 2400)
    assert state.floor is None, "no floor is set for this family yet"
    assert site.catalog.family("glm-5")


def test_what_cannot_run_is_skipped_beforehand_with_the_reason():
    state, _, _ = begin(asked(good="0.13.0", family="glm-5.2", method="mtp"), LEDGER)
    skipped = [one for one in state.done if one.answer is Answer.SKIP]
    has = {m.name: m.releases for m in load_catalog().family("glm-5.2").methods}["mtp"]
    names = [c.name for c in state.question.candidates]
    assert {names[one.place] for one in skipped} == set(names) - set(has)
    assert "does not have mtp" in skipped[0].reason
    assert not sum(one.launches for one in skipped)


def test_a_family_with_floors_brings_its_own():
    options = {"good": "cpu-0.28.0", "bad": "cpu-0.32.0", "family": "glm_moe_tiny"}
    state, settings, _ = begin(asked(**options, method=None, workload="code"), LEDGER)
    assert state.floor is not None
    assert state.floor.workload == "code"
    assert settings.start_timeout_s == 600


def test_a_list_takes_its_own_names_and_the_release_they_are_like(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("0.18.0 image\nabc123 python:/opt/x\n")
    state, _, _ = begin(asked(good=None, bad=None, listed=path, taken_for="0.23.0"), LEDGER)
    first, second = state.question.candidates
    assert (first.name, first.release) == ("0.18.0", "0.18.0")
    assert (second.name, second.release) == ("abc123", "0.23.0")
    assert isinstance(second.route, PythonRoute)
    assert state.question.order == "as in list.txt"


def test_only_what_has_no_answer_has_to_be_within_reach():
    options = asked(
        good="0.13.0", family="glm-5.2", ways=("image", f"0.23.0=python:{sys.executable}")
    )
    state, settings, site = begin(options, LEDGER)
    ways = ways_of(state, settings, site)
    skipped = {state.question.candidates[one.place].name for one in state.done}
    names = [one.release.name for one in ways]
    assert skipped
    assert names == [c.name for c in state.question.candidates if c.name not in skipped]
    assert ways[0].route == ImageRoute()
    assert ways[-1].route == PythonRoute(Path(sys.executable))
    assert {one.cards for one in ways} == {site.catalog.family("glm-5.2").cards}


@pytest.mark.parametrize("way", [(), ("--engine", "image")])
def test_a_host_without_npus_is_told_before_any_launch_and_nothing_is_stored(
    typed, monkeypatch, tmp_path, way
):
    monkeypatch.setattr("specfloor.host.npu.has_npu", lambda: False)
    folder = tmp_path / "search"
    ends = ("--good", "0.18.0", "--bad", "0.23.0", "--family", "glm-5", "--into", folder)
    for _ in range(2):
        code, out, err = typed("bisect", *ends, *way)
        assert code == 4
        assert "no NPU was found on this host" in err
        assert out == ""
        assert not folder.exists()
    assert typed("bisect", *ends, *way, "--plan")[0] == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bad": None}, "--bad"),
        ({"taken_for": "0.23.0"}, "--as"),
        ({"attempts": 0}, "--attempts"),
        ({"margin": 1.5}, "--margin"),
        ({"method": "medusa"}, "leaves no cell"),
        ({"models": ("glm-5",)}, "--model"),
        ({"ways": ("ship:x",)}, "no way to reach"),
    ],
)
def test_options_that_cannot_be_are_refused(changes, said):
    with pytest.raises(UsageError, match=said):
        begin(asked(**changes), LEDGER)


def test_a_name_that_is_no_release_needs_one_it_is_like(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("abc123 venv\ndef456 venv\n")
    with pytest.raises(UsageError, match="say with --as"):
        begin(asked(good=None, bad=None, listed=path), LEDGER)


def test_the_plan_is_shown_and_nothing_is_started(tmp_path):
    folder = tmp_path / "search"
    options = ["--good", "0.18.0", "--bad", "0.23.0", "--family", "glm-5", "--method", "mtp"]
    shown = CliRunner().invoke(bisect, [*options, "--plan", "--into", str(folder)])
    assert shown.exception is None, shown.output
    assert "First 0.18.0; 3.7 launches in the mean, at most 4." in shown.output
    assert "33.1%" in shown.output
    assert not folder.exists()


def judgement(verdict, *findings, sent=40, failed=0, rates=()):
    requests = [
        RequestCounts(str(i), "code", DraftCounts(10, 30, round(30 * rate)))
        for i, rate in enumerate(rates)
    ]
    return AcceptanceJudgement(
        cell=CELL,
        verdict=verdict,
        findings=findings,
        reason="",
        floor=None,
        report_only=None,
        prompts=40,
        sent=sent,
        failed=failed,
        summary=summarize_acceptance(requests) if requests else None,
    )


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (judgement(Verdict.PASS, Finding.EXPECTED), Answer.GOOD),
        (judgement(Verdict.FAIL, Finding.ACCEPT_REGRESSION), Answer.BAD),
        (judgement(Verdict.FAIL, Finding.ACCEPT_ZERO), Answer.BAD),
        (judgement(Verdict.INCONCLUSIVE, Finding.INCONCLUSIVE), Answer.UNKNOWN),
        (judgement(Verdict.NO_DATA, Finding.NO_DATA), Answer.UNKNOWN),
        (judgement(Verdict.FAIL, Finding.SUSPICIOUS_ACCEPTANCE), Answer.UNKNOWN),
        (judgement(Verdict.FAIL, Finding.START_FAIL, sent=0), Answer.SKIP),
        (judgement(Verdict.FAIL, Finding.CRASH), Answer.SKIP),
        (judgement(Verdict.FAIL, Finding.HANG), Answer.SKIP),
        (judgement(Verdict.NO_DATA, Finding.NO_DATA, sent=0), Answer.SKIP),
    ],
)
def test_only_what_is_shown_of_the_draft_makes_a_release_good_or_bad(made, answer):
    assert answer_of(made) is answer


ORIGIN = {"margin": 0.05, "run": "r", "date": datetime.date(2026, 5, 1), "hardware": "none"}


def test_a_good_end_gives_what_it_reached_less_the_margin():
    rates = [0.7, 0.8, 0.9] * 13 + [0.8]
    made = judgement(None, Finding.EXPECTED, rates=rates)
    floor = floor_from(made, **ORIGIN)
    assert floor.value == 0.76
    assert (floor.family, floor.workload, floor.k, floor.n) == ("glm-5", "code", 3, 40)


@pytest.mark.parametrize(
    "made",
    [
        judgement(None, Finding.EXPECTED, rates=[0.8] * 40, failed=1),
        judgement(None, Finding.EXPECTED, rates=[0.8] * 30, sent=30),
        judgement(Verdict.FAIL, Finding.ACCEPT_ZERO, rates=[0.0] * 40),
        judgement(Verdict.NO_DATA, Finding.NO_DATA),
    ],
)
def test_a_good_end_that_is_not_whole_or_not_well_gives_no_floor(made):
    assert floor_from(made, **ORIGIN) is None
