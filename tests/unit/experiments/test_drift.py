"""A soak from a launch to a verdict, on servers that answer by a law."""

import hashlib
import sys

import msgspec
import pytest

from specfloor.catalog.model import Signals
from specfloor.experiments.drift import PREFIX_CACHING, AcceptanceDrift
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import EngineSettings, RequestRecord
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, RULE
from tests.unit.experiments.answers_double import PROMPTS, Answer, AnswersBench
from tests.unit.experiments.bench_double import asked, experiment_of

STEPS = 12
WARM_UP = len(PROMPTS)


def law(rate=lambda number: 0.7):
    """Return answers whose steps are accepted in full with a chance that may change."""

    def answers(key, block, number, prompt):
        drawn = hashlib.sha256(f"{prompt.id} {number}".encode()).digest()
        at = rate(number - WARM_UP) + 0.02 * (int(prompt.id[1:]) % 5 - 2)
        steps = tuple(3 if drawn[i] < 256 * at else 0 for i in range(STEPS))
        return Answer(steps, prompt_tokens=10 + 5 * int(prompt.id[1:]))

    return answers


def soak(answers, **options):
    bench = AnswersBench(answers, **options)
    return asked(AcceptanceDrift(), CELL, bench), bench


class TestMeasuring:
    def test_one_launch_with_prefix_caching_on(self):
        _, bench = soak(law(), soak_s=400)
        ((key, plans, overrides),) = bench.launches
        assert (key.arm, experiment_of(key)) == (CELL.arm, "drift")
        assert overrides.serve == {PREFIX_CACHING: ""}
        warm_up, *parts = plans.items()
        assert (warm_up[0].label, warm_up[1].duration_s) == ("warm-up", None)
        assert [plan.duration_s for _, plan in parts] == [50.0] * 8
        assert {block.concurrency for block in plans} == {4}
        # the same prompts in orders of their own, so that no prompt comes more often than others
        assert {frozenset(plan.prompts) for _, plan in parts} == {frozenset(PROMPTS)}
        assert len({plan.prompts for _, plan in parts}) == 8

    def test_a_soak_of_so_many_requests(self):
        said, bench = soak(law(), soak_requests=1200)
        _, *parts = bench.launches[0][1].values()
        assert [len(plan.prompts) for plan in parts] == [150] * 8
        assert {plan.duration_s for plan in parts} == {None}
        assert bench.lines == ["drift: a soak of 1200 requests in 8 parts"]
        assert said.verdict is Verdict.PASS

    def test_one_at_a_time_where_responses_do_not_count(self):
        bench = AnswersBench(law(), soak_s=80)
        release = bench.catalog.release(CELL.release)
        older = msgspec.structs.replace(release, signals=Signals(token_ids=True, counters=True))
        bench.catalog = msgspec.structs.replace(bench.catalog, releases={older.name: older})
        AcceptanceDrift().measure(bench, CELL)
        assert {block.concurrency for block in bench.launches[0][1]} == {1}


class TestJudging:
    def test_no_drift(self):
        said, _ = soak(law(), soak_s=1200)
        assert (said.verdict, said.findings) == (Verdict.PASS, (Finding.EXPECTED,))
        assert said.detail.onset is None
        assert "a fall by 5% is excluded" in said.reason
        over, lengths = said.tables
        assert len(over.rows) == 8
        assert over.columns[-1] == "to"
        assert [row[0] for row in lengths.rows] == [
            *("10 to 55", "60 to 105", "110 to 155", "160 to 205")
        ]
        assert [curve.name for curve in said.curves] == ["mean over requests"]

    def test_a_step_is_found_where_it_is(self):
        said, _ = soak(law(lambda number: 0.7 if number < 500 else 0.5), soak_s=1200)
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.ACCEPT_DRIFT,))
        assert said.detail.onset.number == pytest.approx(501, rel=0.05)
        assert said.detail.onset.at_s == said.detail.onset.number - 1
        assert f"at once from request {said.detail.onset.number} on" in said.reason
        assert "min into the soak" in said.reason

    def test_a_decay_is_found_where_it_begins(self):
        said, _ = soak(law(lambda n: 0.75 - 0.5 * max(0, n - 600) / 600), soak_s=1200)
        assert said.findings == (Finding.ACCEPT_DRIFT,)
        assert said.detail.onset.kind == "ramp"
        assert said.detail.onset.number == pytest.approx(601, rel=0.1)

    def test_the_verdict_needs_no_library(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ruptures", None)
        said, _ = soak(law(lambda number: 0.7 if number < 500 else 0.5), soak_s=1200)
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.ACCEPT_DRIFT,))
        assert "that needs ruptures, which is not here" in said.reason

    def test_too_short_a_soak(self):
        said, _ = soak(law(), soak_s=80)
        assert (said.verdict, said.findings) == (*(Verdict.INCONCLUSIVE, (Finding.INCONCLUSIVE,)),)
        assert "times as long" in said.reason

    def test_a_stall_after_drift_is_a_hang_with_the_last_healthy_time(self):
        answers = law(lambda number: 0.7 if number < 300 else 0.4)
        said, _ = soak(answers, soak_s=1200, hangs_at=WARM_UP + 900)
        assert said.verdict is Verdict.FAIL
        assert said.findings == (Finding.HANG, Finding.ACCEPT_DRIFT)
        assert said.detail.last_healthy_s == pytest.approx(899.9)
        assert "the last full answer ended 15.0 min into the soak" in said.reason
        assert "Until then: acceptance fell" in said.reason

    def test_a_stall_without_drift_is_a_hang_alone(self):
        said, _ = soak(law(), soak_s=1200, hangs_at=WARM_UP + 900)
        assert said.findings == (Finding.HANG,)

    def test_a_hang_before_the_soak(self):
        said, _ = soak(law(), hangs_at=3)
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.HANG,))

    def test_a_draft_that_is_dead_from_the_start_has_not_drifted(self):
        said, _ = soak(law(lambda number: -1.0), soak_s=400)
        assert said.findings == (Finding.ACCEPT_ZERO,)

    def test_engines_are_shown_apart(self):
        said, _ = soak(law(), soak_s=400, engines=("0", "1"))
        assert said.tables[0].columns[-2:] == ("engine 0", "engine 1")
        assert [curve.name for curve in said.curves] == [
            *("mean over requests", "engine 0", "engine 1")
        ]

    def test_caching_that_is_not_in_effect_is_said(self):
        said, _ = soak(law(), soak_s=400, said={"settings": EngineSettings(prefix_caching=False)})
        assert "prefix caching is off, although it was asked for" in said.reason

    def test_many_failures_do_not_pass(self):
        _, bench = soak(law(), soak_s=1200)
        found = type(bench.index)()
        for place, record in enumerate(bench.records):
            fails = isinstance(record, RequestRecord) and place % 10 == 0
            found.add(msgspec.structs.replace(record, error="HTTP 500") if fails else record)
        said = AcceptanceDrift().judge(found, CELL, bench.catalog, None, RULE)
        assert said.verdict is Verdict.INCONCLUSIVE
        assert "too many for the rest to pass" in said.reason

    def test_nothing_measured(self):
        bench = AnswersBench(law())
        said = AcceptanceDrift().judge(bench.index, CELL, bench.catalog, None, RULE)
        assert said.verdict is Verdict.NO_DATA
