"""The speculative configuration that was asked for, and the one in effect."""

import pytest

from specfloor.cells import OFF
from specfloor.judge.configuration import judge_configuration
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import CountersRecord
from specfloor.signals.counts import DraftCounts
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, both_arms, catalog, evidence, fault, forced, launch, natural

ON = CELL.arm


def judge(*records):
    return judge_configuration(evidence(*records), catalog().release(CELL.release))


def run(*, on=None, off=None, block=None):
    """Return a judgement of two arms whose launches say ``on`` and ``off``."""
    return judge(
        launch(OFF, **off or {}),
        launch(ON, **on or {}),
        *(natural(ON) if block is None else block),
    )


def test_another_vllm_than_the_release_pairs_with():
    judged = run(on={"version": "1.0"}, off={"version": "2.0"})
    assert judged.findings == (Finding.CONFIG_NOT_IN_EFFECT,)
    assert judged.reason == "vLLM of the mtp3 arm: asked for 2.0, found 1.0"


@pytest.mark.parametrize("version", ["2.0", "2.0+empty", "2.0.dev3+gabc", None, "main"])
def test_the_vllm_of_the_release_or_one_that_does_not_say(version):
    assert run(on={"version": version}, off={"version": version}).verdict is Verdict.PASS


def no_drafts():
    """Return a block whose steps draft nothing although the series are there."""
    sent, *requests = natural(ON, per_request=False, counted=False)
    nothing = CountersRecord(sent.launch, sent.block, {"0": DraftCounts()})
    return [sent, *requests, nothing]


def test_everything_as_asked():
    judged = run()
    assert judged.verdict is Verdict.PASS
    assert judged.findings == (Finding.EXPECTED,)
    assert all(check.holds for check in judged.checks)
    assert "1200 tokens in 400 steps" in judged.reason
    assert judged.logs == (launch(ON).log, launch(OFF).log)


@pytest.mark.parametrize(
    ("on", "reason"),
    [
        (
            {"resolved_method": "ngram"},
            "method in the engine's log: asked for mtp, found ngram",
        ),
        (
            {"speculative_config": "None", "resolved_method": None, "resolved_k": None},
            "method in the engine's log: asked for mtp, found none",
        ),
        (
            {"resolved_k": 1},
            "num_speculative_tokens in the engine's log: asked for 3, found 1",
        ),
        (
            {"speculation_series": ()},
            "series about drafts in /metrics: asked for some, found none",
        ),
    ],
)
def test_another_configuration_than_asked_for(on, reason):
    judged = run(on=on)
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.CONFIG_NOT_IN_EFFECT,)
    assert judged.reason == reason


def test_every_difference_is_said():
    judged = run(on={"resolved_method": "eagle", "resolved_k": 2})
    assert "found eagle" in judged.reason
    assert "found 2" in judged.reason


@pytest.mark.parametrize("spelled", ["MTP", "mtp"])
def test_the_method_may_be_spelled_otherwise(spelled):
    assert run(on={"resolved_method": spelled}).verdict is Verdict.PASS


def test_no_drafts_although_all_else_is_right():
    judged = run(block=no_drafts())
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.CONFIG_NOT_IN_EFFECT,)
    assert "drafts after the first requests: asked for more than 0 tokens" in judged.reason
    assert "found 0 tokens in 0 steps" in judged.reason


def test_an_off_arm_that_drafts():
    judged = run(off={"speculation_series": ("vllm:spec_decode_num_drafts",)})
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.CONFIG_NOT_IN_EFFECT,)
    assert judged.reason == "series about drafts on the off arm: asked for none, found 1 series"


SILENT = {
    "version": None,
    "speculative_config": None,
    "resolved_method": None,
    "resolved_k": None,
    "speculation_series": None,
}


def test_what_nothing_speaks_to_neither_passes_nor_fails():
    judged = run(on=SILENT, off=SILENT)
    assert judged.verdict is Verdict.PASS
    assert [check.what for check in judged.checks if check.holds] == [
        "drafts after the first requests"
    ]
    assert [check.holds for check in judged.checks].count(None) == 6
    found = [check.found for check in judged.checks if check.what.startswith("series")]
    assert found == ["no metrics", "no metrics"]


def test_per_request_objects_tell_of_drafts_without_counters():
    judged = run(on=SILENT, block=natural(ON, counted=False))
    assert judged.verdict is Verdict.PASS
    judged = run(on=SILENT, block=natural(ON, counted=False, accepted=(0,) * 10))
    assert judged.verdict is Verdict.PASS


def test_a_block_for_speed_tells_of_drafts_too():
    sent, *_ = forced(ON)
    counted = CountersRecord(sent.launch, sent.block, {"0": DraftCounts(4, 12, 5)})
    assert run(block=[*forced(ON), counted]).verdict is Verdict.PASS


@pytest.mark.parametrize(
    "block",
    [
        [],
        natural(ON, failed=range(40), counted=False),
        natural(ON, per_request=False, counted=False),
    ],
)
def test_drafts_that_nobody_could_see_are_no_data(block):
    judged = run(on=SILENT, block=block)
    assert judged.verdict is Verdict.NO_DATA
    assert judged.findings == (Finding.NO_DATA,)


def test_counters_around_each_request_are_not_those_of_the_block():
    sent, *requests, block = natural(ON)
    one = CountersRecord(sent.launch, sent.block, {"0": DraftCounts(1, 3, 0)}, index=0)
    assert "1200 tokens in 400 steps" in run(block=[sent, *requests, one, block]).reason


def test_counters_with_a_problem_tell_nothing():
    sent, *requests = natural(ON, per_request=False, counted=False)
    reset = CountersRecord(sent.launch, sent.block, {}, problem="the server restarted")
    assert run(on=SILENT, block=[sent, *requests, reset]).verdict is Verdict.NO_DATA


def test_a_server_that_did_not_start():
    judged = judge(launch(OFF), fault(Finding.START_FAIL, ON, cause="no memory", evidence="a.log"))
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.START_FAIL,)
    assert judged.reason == "it was a START_FAIL. The log says: no memory"


def test_a_server_that_was_not_asked_for():
    for records in ((), (launch(OFF),)):
        judged = judge(*records)
        assert judged.verdict is Verdict.NO_DATA
        assert judged.reason == "the server with speculation on was not started"


def test_a_server_that_died_before_it_drafted():
    judged = judge(
        launch(OFF),
        launch(ON),
        *natural(ON, answered=0, counted=False),
        fault(Finding.CRASH, ON),
    )
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.CRASH,)


def test_a_server_that_died_after_it_drafted_had_its_configuration():
    records = [*both_arms(), fault(Finding.CRASH, ON)]
    assert judge(*records).verdict is Verdict.PASS


def test_without_an_off_arm_the_on_arm_is_judged():
    judged = judge(fault(Finding.START_FAIL, OFF), launch(ON), *natural(ON))
    assert judged.verdict is Verdict.PASS
