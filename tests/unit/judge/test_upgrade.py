"""A release against another: what is the same, what is worse, and what cannot be compared."""

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.errors import UsageError
from specfloor.judge.baseline import read_baseline
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.upgrade import Side, judge_cell_upgrade
from specfloor.judge.verdict import Change, Verdict
from specfloor.runs.records import BlockRecord, RequestRecord, ToolCall
from specfloor.triage.findings import Finding
from tests.unit.builders import ACCEPTED, CELL, GLM, RULE, fault, launch, natural

OLD = CELL.on_release("cpu-1.0")
WORSE = tuple(max(0, n - 1) for n in ACCEPTED)


def side(cell, hardware="here", **block):
    records = [launch(OFF, cell=cell), launch(cell.arm, cell=cell)]
    records += natural(cell.arm, cell=cell, **block)
    return Side(RecordIndex(records).evidence(cell), hardware)


def upgrade(old, new):
    return judge_cell_upgrade(old, new, GLM, RULE, "cpu-1.0")


def test_the_same_acceptance_is_the_same():
    judged = upgrade(side(OLD), side(CELL))
    assert (judged.outcome, judged.verdict) == (Change.SAME, Verdict.PASS)
    assert judged.baseline == "cpu-1.0"
    assert len(judged.quantities) == 4


def test_less_acceptance_is_worse_and_fails():
    judged = upgrade(side(OLD), side(CELL, accepted=WORSE))
    assert (judged.outcome, judged.verdict) == (Change.WORSE, Verdict.FAIL)
    rate = judged.quantities[0].result
    assert rate.change < -0.2
    assert rate.interval.high < 0


def test_more_acceptance_is_better_and_passes():
    judged = upgrade(side(OLD, accepted=WORSE), side(CELL))
    assert (judged.outcome, judged.verdict) == (Change.BETTER, Verdict.PASS)


def test_texts_that_diverged_are_counted():
    judged = upgrade(side(OLD), side(CELL, text="another text of {}"))
    assert judged.quantities[0].diverged == 40


@pytest.mark.parametrize("more", [{"reasoning": "hm"}, {"tool_calls": (ToolCall("f", "{}"),)}])
def test_reasoning_and_calls_that_diverged_are_counted_too(more):
    records = [
        msgspec.structs.replace(r, **more) if isinstance(r, RequestRecord) else r
        for r in (launch(CELL.arm), *natural(CELL.arm))
    ]
    judged = upgrade(side(OLD), Side(RecordIndex(records).evidence(CELL), "here"))
    assert judged.quantities[0].diverged == 40


def test_other_hardware_is_refused_by_name():
    judged = upgrade(side(OLD, hardware="there"), side(CELL))
    assert judged.verdict is Verdict.NO_DATA
    assert judged.findings == (Finding.BASELINE_INVALID,)
    assert judged.refused == ("hardware was there and is here",)


@pytest.mark.parametrize(
    ("change", "clause"),
    [
        ({"sampling": {"temperature": 0.7}}, "sampling temperature was 0.0 and is 0.7"),
        ({"fingerprint": "other"}, "prompt set was f and is other"),
        ({"template": {"enable_thinking": True}}, "template enable_thinking was not set"),
    ],
)
def test_other_requests_are_refused_by_name(change, clause):
    records = [launch(CELL.arm), *natural(CELL.arm)]
    records = [
        msgspec.structs.replace(r, **change) if isinstance(r, BlockRecord) else r for r in records
    ]
    new = Side(RecordIndex(records).evidence(CELL), "here")
    assert clause in upgrade(side(OLD), new).reason


def test_another_acceptance_rule_is_refused():
    config = '{"method": "mtp", "rejection_sample_method": "block"}'
    argv = ("python", "--speculative-config", config)
    records = [launch(CELL.arm, argv=argv), *natural(CELL.arm)]
    new = Side(RecordIndex(records).evidence(CELL), "here")
    assert "rejection_sample_method was not set and is block" in upgrade(side(OLD), new).reason


@pytest.mark.parametrize("which", ["old", "new"])
def test_an_incomplete_side_shows_nothing(which):
    short = {"answered": 30}
    judged = upgrade(
        side(OLD, **(short if which == "old" else {})),
        side(CELL, **(short if which == "new" else {})),
    )
    assert judged.verdict is Verdict.NO_DATA
    wanted = Finding.BASELINE_INVALID if which == "old" else Finding.NO_DATA
    assert judged.findings == (wanted,)


def test_a_baseline_without_the_cell_is_no_baseline():
    judged = judge_cell_upgrade(None, side(CELL), GLM, RULE, "a run")
    assert judged.findings == (Finding.BASELINE_INVALID,)


def test_a_folder_that_is_no_run_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"run\.json"):
        read_baseline(tmp_path, [CELL])


def faulted(cell, finding, hardware="here"):
    records = [launch(OFF, cell=cell), fault(finding, cell.arm, cell=cell)]
    return Side(RecordIndex(records).evidence(cell), hardware)


@pytest.mark.parametrize("finding", [Finding.START_FAIL, Finding.CRASH, Finding.HANG])
def test_a_new_release_that_ends_with_a_fault_is_worse(finding):
    judged = upgrade(side(OLD), faulted(CELL, finding))
    assert (judged.outcome, judged.verdict) == (Change.WORSE, Verdict.FAIL)
    assert judged.findings == (finding,)
    assert judged.reason == f"every prompt was measured before, and now: it was a {finding}"


def test_a_fault_on_other_hardware_is_not_the_release_s():
    judged = upgrade(side(OLD), faulted(CELL, Finding.START_FAIL, "there"))
    assert (judged.outcome, judged.verdict) == (Change.INCONCLUSIVE, Verdict.NO_DATA)
    assert judged.refused == ("hardware was here and is there",)
    assert "it was a START_FAIL" in judged.reason


def test_a_fault_of_the_old_release_shows_nothing_of_the_new_one():
    judged = upgrade(faulted(OLD, Finding.START_FAIL), side(CELL))
    assert (judged.outcome, judged.verdict) == (Change.INCONCLUSIVE, Verdict.NO_DATA)
    assert "could not be measured: it was a START_FAIL" in judged.reason


@pytest.mark.parametrize(
    ("failed", "outcome"),
    [(range(2), Change.SAME), (range(3), Change.INCONCLUSIVE), (range(25), Change.INCONCLUSIVE)],
)
def test_prompts_that_fail_under_one_release_take_back_the_same(failed, outcome):
    judged = upgrade(side(OLD), side(CELL, failed=failed))
    assert judged.outcome is judged.quantities[0].outcome is outcome
    said = f"{len(failed)} of 40 prompts have an acceptance rate under one release only"
    assert (said in judged.reason) is (outcome is Change.INCONCLUSIVE)


def test_prompts_that_fail_do_not_excuse_a_worse_release():
    judged = upgrade(side(OLD), side(CELL, accepted=WORSE, failed=range(10)))
    assert judged.outcome is Change.WORSE
