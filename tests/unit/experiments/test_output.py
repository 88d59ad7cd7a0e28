"""The answers of three launches from prompts to a verdict, live and from records alone."""

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.experiments.output import Output
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import PromptsRecord, Record
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, RULE
from tests.unit.experiments.answers_double import PROMPTS, Answer, AnswersBench
from tests.unit.experiments.bench_double import asked

STEPS = (3, 2, 3, 1, 3, 2, 3, 3, 2, 3)


def law(*, on=lambda i: f"done {i}", off=lambda i: f"done {i}", again=None):
    def answers(key, block, number, prompt):
        told = on if key.arm.speculates else (again or off) if key.repeat else off
        return Answer(STEPS if key.arm.speculates else (), text=told(int(prompt.id[1:])))

    return answers


def output(answers, **options):
    bench = AnswersBench(answers, **options)
    return asked(Output(), CELL, bench), bench


def broken(i):
    return "what was the question" if i < 15 else f"done {i}"


class TestMeasuring:
    def test_off_on_and_off_again_are_sent_the_same(self):
        _, bench = output(law(), workloads=("output",))
        assert [(key.arm, key.repeat) for key, _, _ in bench.launches] == [
            *((OFF, 0), (CELL.arm, 0), (OFF, 1))
        ]
        blocks = [block for _, plans, _ in bench.launches for block in plans]
        assert len(set(blocks)) == 1
        assert (blocks[0].workload, blocks[0].concurrency) == ("output", 8)
        # thinking is no part of an answer
        assert {o.serve["--reasoning-parser"] for _, _, o in bench.launches} == {"glm45"}
        assert [line.partition(", about")[0] for line in bench.lines] == [
            "output: launch 1 of 3, off",
            "output: launch 2 of 3, mtp3",
            "output: launch 3 of 3, off again",
        ]

    def test_a_set_without_that_workload_is_sent_the_cells_own(self):
        _, bench = output(law())
        assert {block.workload for _, plans, _ in bench.launches for block in plans} == {"code"}

    def test_the_prompts_are_on_record_once(self):
        _, bench = output(law())
        (record,) = (r for r in bench.records if isinstance(r, PromptsRecord))
        assert record.prompts == PROMPTS


class TestJudging:
    def test_the_same_answers_pass(self):
        said, _ = output(law())
        assert (said.verdict, said.findings) == (Verdict.PASS, (Finding.EXPECTED,))
        assert "speculation breaks nothing" in said.reason
        (table,) = said.tables
        assert ("right answers", "40", "40", "40", "40") in [row[:5] for row in table.rows]

    def test_answers_that_speculation_breaks(self):
        said, _ = output(law(on=broken))
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.OUTPUT_BROKEN,))

    def test_an_off_arm_that_is_the_broken_one(self):
        said, _ = output(law(off=broken))
        assert said.verdict is Verdict.INCONCLUSIVE
        assert said.findings == (Finding.BASELINE_INVALID,)

    def test_an_off_arm_at_odds_with_itself_is_not_blamed_on_the_draft(self):
        said, _ = output(law(on=broken, again=broken))
        assert said.findings == (Finding.BASELINE_INVALID,)

    def test_a_stored_run_is_judged_by_its_records_alone(self):
        live, bench = output(law(on=broken))
        encoded = [msgspec.json.encode(record) for record in bench.records]
        stored = [msgspec.json.decode(line, type=Record) for line in encoded]
        again = Output().judge(RecordIndex(stored), CELL, bench.catalog, None, RULE)
        assert again == live

    def test_a_run_without_its_prompts_is_no_pass(self):
        _, bench = output(law())
        kept = [record for record in bench.records if not isinstance(record, PromptsRecord)]
        said = Output().judge(RecordIndex(kept), CELL, bench.catalog, None, RULE)
        assert said.verdict is Verdict.NO_DATA
        assert "does not hold the prompts" in said.reason

    def test_an_interrupted_run_is_judged_as_far_as_it_came(self):
        _, bench = output(law())
        first_two = [r for r in bench.records if "-off-output-1" not in _launch(r)]
        said = Output().judge(RecordIndex(first_two), CELL, bench.catalog, None, RULE)
        assert said.verdict is Verdict.PASS
        only_off = [r for r in first_two if "mtp3" not in _launch(r)]
        said = Output().judge(RecordIndex(only_off), CELL, bench.catalog, None, RULE)
        assert said.verdict is Verdict.NO_DATA

    @pytest.mark.parametrize("hangs_at", [None, 20])
    def test_an_arm_that_fails(self, hangs_at):
        options = (
            {"faults": ("cpu-2.0-glm_9_1_tiny-mtp3-output-code-off-c1-0",)}
            if hangs_at is None
            else {"hangs_at": hangs_at}
        )
        said, _ = output(law(), **options)
        assert said.verdict is Verdict.FAIL
        assert said.findings == (Finding.START_FAIL if hangs_at is None else Finding.HANG,)
        assert ("Until then: " in said.reason) is (hangs_at is not None)

    def test_an_off_arm_that_does_not_start_leaves_nothing_to_compare(self):
        faults = tuple(f"cpu-2.0-glm_9_1_tiny-off-output-code-off-c1-{i}" for i in range(2))
        said, _ = output(law(), faults=faults)
        assert said.verdict is Verdict.NO_DATA
        assert "With speculation off: it ended" in said.reason


def _launch(record):
    return record.key.id if hasattr(record, "key") else record.launch
