"""Effort tiers from a launch to a verdict, on servers that answer by a law."""

import msgspec
import pytest

from specfloor.experiments.base import arm_launch, cell_block
from specfloor.experiments.effort import Effort
from specfloor.experiments.thinking import REASONING_PARSER
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.verdict import Verdict
from specfloor.plan import Overrides
from specfloor.runs.records import Purpose, RequestRecord
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, RULE, catalog, floor, floors, report_only
from tests.unit.experiments.answers_double import Answer, AnswersBench
from tests.unit.experiments.bench_double import asked, experiment_of

GOOD, BAD = (3, 2, 3, 1, 3, 2, 3, 3, 2, 3, 3, 1, 2, 3), (1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0)
RENDERED = {"rendered": {"off": "a", "on": "b"}}


def vary(accepted, number):
    """Return steps that differ a little between requests."""
    return (max(0, accepted[0] - number % 2), *accepted[1:])


def law(*, on=GOOD, on_reasoning=GOOD, off=GOOD):
    def answers(key, block, number, prompt):
        if block.tier == "on":
            steps = vary(on_reasoning, number) + vary(on, number)
            return Answer(steps, thinking=len(on_reasoning))
        return Answer(vary(off, number))

    return answers


def effort(answers, *entries, **options):
    bench = AnswersBench(answers, **{"said": RENDERED} | options)
    return asked(Effort(), CELL, bench, *entries), bench


def test_one_launch_with_a_parser_and_a_block_a_tier():
    _, bench = effort(law())
    ((key, plans, overrides),) = bench.launches
    assert (key.arm, experiment_of(key)) == (CELL.arm, "effort")
    assert overrides.serve == {"--reasoning-parser": REASONING_PARSER}
    assert {b.tier: p.template for b, p in plans.items()} == {
        "off": {"enable_thinking": False},
        "on": {"enable_thinking": True},
    }


def test_tiers_that_hold_are_reported_by_part():
    said, _ = effort(law())
    assert said.verdict is None
    off, on = said.detail.tiers
    assert (off.thinking, on.thinking) == (0, 40)
    assert [part.part for part in off.parts] == ["whole", "answer"]
    assert [part.part for part in on.parts] == ["whole", "reasoning", "answer"]
    assert on.effect == "another prompt than off"
    (table,) = said.tables
    assert [(row[0], row[3]) for row in table.rows] == [
        *(("off", "whole"), ("", "answer"), ("on", "whole"), ("", "reasoning"), ("", "answer"))
    ]
    # steps of k = 3: tokens a step of the reasoning
    assert on.parts[1].total.length == pytest.approx(1 + (sum(GOOD) - 0.5) / len(GOOD))


def test_a_tier_whose_draft_collapsed_is_one_finding_with_its_name():
    said, _ = effort(law(on=BAD, on_reasoning=BAD))
    assert said.verdict is Verdict.FAIL
    assert said.findings == (Finding.ACCEPT_REGRESSION,)
    assert said.reason.startswith("tier on: acceptance collapsed to 0.06")
    assert said.reason.endswith("Tier off holds")


def test_a_collapse_in_the_reasoning_alone():
    said, _ = effort(law(on_reasoning=BAD))
    assert said.findings == (Finding.ACCEPT_REGRESSION,)
    assert "tier on: acceptance in its reasoning collapsed" in said.reason


def test_a_collapse_of_the_answers_after_thinking():
    said, _ = effort(law(on=BAD))
    assert "tier on: acceptance in its answer collapsed" in said.reason


def test_a_tier_that_drafts_somewhat_worse_is_none():
    said, _ = effort(law(on=tuple(max(0, a - 1) for a in GOOD)))
    assert said.verdict is None


def test_a_draft_that_is_dead_everywhere_is_not_blamed_on_a_tier():
    dead = (0,) * 10
    said, _ = effort(law(on=dead, on_reasoning=dead, off=dead))
    assert said.findings == (Finding.ACCEPT_ZERO,)
    assert "the tier is not what decides" in said.reason


def test_floors_of_tiers():
    entries = floor(0.75, tier="off"), floor(0.95, tier="on")
    said, _ = effort(law(), *entries)
    assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.ACCEPT_REGRESSION,))
    assert "tier on: expected an acceptance rate of at least 0.950" in said.reason
    assert "Tier off holds" in said.reason
    said, _ = effort(law(), floor(0.75, tier="off"), report_only(tier="on"))
    assert (said.verdict, said.findings) == (Verdict.PASS, (Finding.EXPECTED,))


def test_only_tiers_that_hold_are_said_to():
    # neither the floor nor a margin under it is excluded after so few requests
    bench = AnswersBench(law(on=BAD, on_reasoning=BAD), said=RENDERED)
    Effort().measure(bench, CELL)
    few = [r for r in bench.records if not _is_late(r)]
    entries = floors(floor(0.78, tier="off"))
    said = Effort().judge(RecordIndex(few), CELL, bench.catalog, entries, RULE)
    assert said.verdict is Verdict.FAIL
    assert "tier off: expected an acceptance rate of at least 0.780" in said.reason
    assert "hold" not in said.reason.partition("tier on")[2]


def _is_late(record):
    return isinstance(record, RequestRecord) and record.block.tier == "off" and record.index > 9


def test_a_tier_that_is_not_in_effect():
    same = {"rendered": {"off": "a", "on": "a"}}
    said, _ = effort(law(), said=same)
    assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.CONFIG_NOT_IN_EFFECT,))
    assert "tier on: it is not in effect: it was sent the prompt of off" in said.reason


def test_without_rendered_prompts_their_tokens_tell():
    def longer(key, block, number, prompt):
        return Answer(vary(GOOD, number), prompt_tokens=9 if block.tier == "on" else 7)

    said, _ = effort(longer, said={})
    assert said.detail.tiers[0].effect == "other numbers of prompt tokens than on"


def test_an_engine_that_refuses_the_parser():
    said, _ = effort(law(), faults=("cpu-2.0-glm_9_1_tiny-mtp3-effort-code-off-c1-0",))
    assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.START_FAIL,))


def test_an_engine_that_hangs_in_the_second_tier_is_judged_until_then():
    said, _ = effort(law(), hangs_at=60)
    assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.HANG,))
    assert "Until then: tier off: acceptance 0.7" in said.reason


def test_a_tier_that_was_not_sent_is_no_pass():
    said, bench = effort(law(), floor(0.75))
    assert said.verdict is Verdict.PASS
    bench = AnswersBench(law(), said=RENDERED)
    key, block = arm_launch(CELL, CELL.arm, "effort", 0), cell_block(CELL, Purpose.NATURAL, 1)
    bench.launch(key, {block: bench.block_plan(key, block)}, Overrides())
    said = Effort().judge(*(bench.index, CELL, bench.catalog), floors(floor(0.75)), RULE)
    assert said.verdict is Verdict.NO_DATA
    assert "Not measured: on" in said.reason


def test_nothing_measured():
    bench = AnswersBench(law())
    said = Effort().judge(bench.index, CELL, bench.catalog, floors(), RULE)
    assert said.verdict is Verdict.NO_DATA


def test_who_can_be_asked():
    known = catalog()
    assert Effort().why_not(CELL, known) is None
    small = msgspec.structs.replace(CELL, family="small")
    assert Effort().why_not(small, known) == "small has one effort tier only"
