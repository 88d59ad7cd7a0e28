"""Launches run once, in order, and what happens to them is on record."""

import contextlib
import time

import pytest

from specfloor import measure
from specfloor.cells import OFF
from specfloor.judge.evidence import RecordIndex
from specfloor.load.client import Counting, Ending
from specfloor.load.open_loop import OpenLoop
from specfloor.load.settings import WorkloadSettings
from specfloor.load.workload import Message, Prompt, fingerprint
from specfloor.measure import BlockPlan, Fault, Job, Jobs, Measurement, Timeouts
from specfloor.plan import Demand, plan_launches
from specfloor.runs.records import (
    BlockRecord,
    FindingRecord,
    HostSampleRecord,
    LaunchRecord,
    Phase,
    PromptsRecord,
    Purpose,
    RequestRecord,
    SplitRecord,
)
from specfloor.triage.findings import Finding
from tests.unit import engines_double
from tests.unit.builders import CELL, block_key, key, launch, natural
from tests.unit.engines_double import Doubles

NATURAL, FORCED = Purpose.NATURAL, Purpose.FORCED
PROMPTS = tuple(Prompt(f"p{i}", "code", (Message("user", f"do {i}"),)) for i in range(4))
OFF0, ON0, OFF1, ON1 = (key(arm, repeat).id for repeat in (0, 1) for arm in (OFF, CELL.arm))
PLAN = plan_launches([Demand(CELL, frozenset(Purpose), rounds=2)])


@pytest.fixture
def doubles(monkeypatch):
    found = Doubles()
    monkeypatch.setattr(measure, "run_block", found.run_block)
    return found


@pytest.fixture
def measured(tmp_path, doubles):
    """Return a maker of measurements, whose records and lines it keeps."""

    def make(plan=PLAN, stop_rule=lambda *_: None, host_period_s=0.0, **planned):
        records, lines = [], []
        measurement = Measurement(
            engines=doubles,
            sink=records.append,
            folder=tmp_path,
            timeouts=Timeouts(11.0, 7.0),
            seed=42,
            say=lines.append,
            clock_zero=time.perf_counter(),
            host_period_s=host_period_s,
        )
        sent = BlockPlan(
            PROMPTS,
            WorkloadSettings("x", max_tokens=90, forced_tokens=60, forced_prompts=2, top_p=0.9),
            {"enable_thinking": True},
            Counting.PER_BLOCK,
            continuous_usage=True,
            **planned,
        )
        jobs = Jobs(
            [
                Job(
                    launch,
                    (sent,) * len(launch.blocks),
                    tuple(stop_rule(launch.key, block) for block in launch.blocks),
                    f"[{number}/{len(plan.launches)}] {launch.key.id}",
                )
                for number, launch in enumerate(plan.launches, 1)
            ],
            measurement,
        )
        jobs.records, jobs.lines = records, lines
        return jobs

    return make


def of(measurement, kind):
    return [record for record in measurement.records if isinstance(record, kind)]


def finding(measurement):
    (record,) = of(measurement, FindingRecord)
    return record


def started(doubles):
    return [call.removeprefix("start ") for call in doubles.calls if call.startswith("start ")]


class TestOrder:
    def test_every_launch_runs_once_in_the_order_of_the_plan(self, measured, doubles):
        measurement = measured()
        measurement.run_through(3)
        assert doubles.calls == [
            *(f"prepare {OFF0}", f"start {OFF0}", "send code natural", "send code forced"),
            *(f"stop {OFF0}", f"prepare {ON0}", f"start {ON0}", "send code natural"),
            *("send code forced", f"stop {ON0}"),
            *(f"prepare {ON1}", f"start {ON1}", "send code forced", f"stop {ON1}"),
            *(f"prepare {OFF1}", f"start {OFF1}", "send code forced", f"stop {OFF1}"),
        ]
        measurement.run_through(3)
        assert len(started(doubles)) == 4

    def test_no_further_than_asked(self, measured, doubles):
        measurement = measured()
        measurement.run_through(1)
        assert started(doubles) == [OFF0, ON0]
        measurement.run_through(0)
        assert started(doubles) == [OFF0, ON0]
        measurement.run_through(2)
        assert started(doubles) == [OFF0, ON0, ON1]


class TestRecords:
    def test_a_launch_then_its_blocks_then_its_requests(self, measured, doubles):
        made = [r for r in natural(prompts=3) if not isinstance(r, BlockRecord)]
        doubles.requests = lambda block: made if block.key.purpose is NATURAL else []
        measurement = measured()
        measurement.run_through(0)
        kinds = [type(r) for r in measurement.records if not isinstance(r, SplitRecord)]
        assert kinds == [LaunchRecord, BlockRecord, *[RequestRecord] * 3, BlockRecord]
        assert of(measurement, RequestRecord) == made

    def test_what_was_sent_is_on_record(self, measured):
        measurement = measured()
        measurement.run_through(0)
        first, second = of(measurement, BlockRecord)
        assert (first.launch, first.block, first.prompts) == (OFF0, block_key(NATURAL), 4)
        assert first.fingerprint == fingerprint(PROMPTS)
        assert first.seed == 42
        assert first.template == {"enable_thinking": True}
        assert first.sampling | {"max_tokens": 90, "ignore_eos": False} == first.sampling
        assert first.sampling | {"temperature": 0.0, "top_p": 0.9, "seed": 42} == first.sampling
        assert second.sampling == first.sampling | {"max_tokens": 60, "ignore_eos": True}

    def test_the_client_gets_what_is_on_record(self, measured, doubles):
        measurement = measured()
        measurement.run_through(0)
        sent = doubles.blocks[0]
        assert (sent.launch, sent.key, sent.prompts) == (OFF0, block_key(NATURAL), PROMPTS)
        assert (sent.request_timeout_s, sent.stall_s) == (11.0, 7.0)
        assert sent.counting is Counting.PER_BLOCK
        assert sent.continuous_usage
        assert sent.template == {"enable_thinking": True}

    def test_prompts_are_on_record_once_where_answers_are_judged(self, measured):
        measurement = measured(keep_prompts=True)
        measurement.run_through(1)
        (record,) = of(measurement, PromptsRecord)
        assert record == PromptsRecord(OFF0, fingerprint(PROMPTS), PROMPTS)
        assert RecordIndex(measurement.records).prompts(record.fingerprint) == PROMPTS

    def test_a_duration_is_on_record_and_reaches_the_client(self, measured, doubles):
        doubles.requests = lambda _: natural(prompts=6)[1:]
        measurement = measured(duration_s=30.0)
        measurement.run_through(0)
        assert {record.duration_s for record in of(measurement, BlockRecord)} == {30.0}
        assert {block.duration_s for block in doubles.blocks} == {30.0}
        assert measurement.lines[-1] == "    code off c1 forced: 6 of 6 requests in 2.0 s"

    def test_the_rate_of_an_open_loop_is_on_record_and_reaches_the_client(self, measured, doubles):
        loop = OpenLoop(2.5, (0.0, 0.1, 0.2, 0.3))
        measurement = measured(open_loop=loop)
        measurement.run_through(0)
        assert {record.rate_per_s for record in of(measurement, BlockRecord)} == {2.5}
        assert {block.open_loop for block in doubles.blocks} == {loop}

    def test_a_launch_knows_its_log(self, measured, tmp_path):
        measurement = measured()
        measurement.run_through(0)
        (record,) = of(measurement, LaunchRecord)
        assert (tmp_path / record.log).read_text() == "a log\n"
        assert record.started_s > 0

    def test_where_the_time_went(self, measured):
        measurement = measured()
        measurement.run_through(0)
        splits = of(measurement, SplitRecord)
        assert {split.launch for split in splits} == {OFF0}
        assert [split.phase for split in splits] == [
            *(Phase.INSTALL, Phase.START, Phase.GENERATION, Phase.GENERATION, Phase.START)
        ]
        assert [split.seconds for split in splits if split.phase is Phase.GENERATION] == [2.5, 2.5]
        assert all(split.seconds >= 0 for split in splits)

    def test_a_line_for_each_phase(self, measured, doubles):
        doubles.requests = lambda _: natural(prompts=3, failed=[1])[1:]
        measurement = measured()
        measurement.run_through(0)
        assert measurement.lines == [
            f"[1/4] {OFF0}: starting",
            f"[1/4] {OFF0}: healthy after 2 s",
            "    code off c1 natural: 2 of 4 requests in 2.0 s",
            "    code off c1 forced: 2 of 4 requests in 2.0 s",
        ]


class TestStopping:
    def test_a_rule_ends_its_block_and_nothing_else(self, measured, doubles):
        made = [r for r in natural(CELL.arm, prompts=6) if isinstance(r, RequestRecord)]
        doubles.requests = lambda block: made

        def rule_for(launched, block):
            if launched.arm.speculates and block.purpose is NATURAL:
                return lambda record: record.index == 2
            return None

        measurement = measured(stop_rule=rule_for)
        measurement.run_through(1)
        assert len(of(measurement, RequestRecord)) == 6 + 6 + 3 + 6
        assert not of(measurement, FindingRecord)


class TestFaults:
    def test_a_server_that_does_not_start(self, measured, doubles):
        doubles.on_start[ON0] = Fault(Finding.START_FAIL, "it ended", "no memory")
        measurement = measured()
        measurement.run_through(3)
        assert finding(measurement) == FindingRecord(
            *(ON0, Finding.START_FAIL, "it ended", "no memory", f"engines/{ON0}.log"),
            lost=(block_key(NATURAL), block_key(FORCED)),
        )
        # the same arm is not tried again, the other goes on
        assert started(doubles) == [OFF0, ON0, OFF1]
        assert measurement.lines[-5:-3] == [
            f"[2/4] {ON0}: START_FAIL: it ended",
            f"[3/4] {ON1}: skipped, this arm did not start before",
        ]

    def test_other_arms_and_families_go_on(self, measured, doubles):
        other = CELL.on_release("cpu-1.0")
        plan = plan_launches(Demand(cell, frozenset({NATURAL})) for cell in (CELL, other))
        doubles.on_start[OFF0] = Fault(Finding.START_FAIL, "it ended")
        measurement = measured(plan)
        measurement.run_through(3)
        assert started(doubles) == [launch.key.id for launch in plan.launches]
        assert [record.key.id for record in of(measurement, LaunchRecord)] == [
            launch.key.id for launch in plan.launches[1:]
        ]

    def test_what_cannot_be_prepared_has_no_log(self, measured, doubles):
        doubles.on_prepare[OFF0] = Fault(Finding.START_FAIL, "no such package")
        measurement = measured()
        measurement.run_through(0)
        assert finding(measurement).evidence is None
        assert started(doubles) == []
        assert [split.phase for split in of(measurement, SplitRecord)] == [Phase.INSTALL]

    def test_the_time_of_a_start_that_failed_is_no_time_of_the_harness(self, measured, doubles):
        doubles.on_start[OFF0] = Fault(Finding.START_FAIL, "it ended")
        measurement = measured()
        measurement.run_through(0)
        phases = [split.phase for split in of(measurement, SplitRecord)]
        assert phases == [Phase.INSTALL, Phase.START]

    @pytest.mark.parametrize(
        ("ending", "finding_"), [(Ending.CRASHED, Finding.CRASH), (Ending.HUNG, Finding.HANG)]
    )
    def test_a_server_that_fails_in_a_block(self, measured, doubles, ending, finding_):
        made = [r for r in natural(prompts=3, failed=[2]) if isinstance(r, RequestRecord)]
        doubles.requests = lambda _: made
        doubles.on_send[f"{ON0} code natural"] = ending
        measurement = measured()
        measurement.run_through(2)
        # nothing measured is lost, what was to follow is not sent, the server is stopped
        assert len(of(measurement, RequestRecord)) == 3 * 4
        assert finding(measurement) == FindingRecord(
            *(ON0, finding_, f"it {ending}", None, f"engines/{ON0}.log"),
            lost=(block_key(NATURAL), block_key(FORCED)),
        )
        sends = doubles.calls[doubles.calls.index(f"start {ON0}") :]
        assert sends[:3] == [f"start {ON0}", "send code natural", f"stop {ON0}"]
        assert doubles.patience_s == 7.0
        # the next round starts the arm again
        assert started(doubles) == [OFF0, ON0, ON1]

    def test_the_diagnosis_knows_better(self, measured, doubles):
        doubles.on_send[f"{OFF0} code forced"] = Ending.HUNG
        doubles.on_diagnose[OFF0] = Fault(Finding.CRASH, "the engine ended", "no memory")
        measurement = measured()
        measurement.run_through(0)
        record = finding(measurement)
        assert (record.finding, record.message) == (Finding.CRASH, "the engine ended")
        assert record.cause == "no memory"
        # the block before it has lost nothing
        assert record.lost == (block_key(FORCED),)

    def test_a_block_that_stopped_as_asked_is_no_fault(self, measured, doubles):
        doubles.on_send[f"{OFF0} code natural"] = Ending.STOPPED
        measurement = measured()
        measurement.run_through(0)
        assert not of(measurement, FindingRecord)
        assert len(of(measurement, BlockRecord)) == 2


class TestInterruption:
    @pytest.mark.parametrize("where", ["start", "send"])
    def test_the_server_is_stopped_and_not_started_again(self, measured, doubles, where):
        if where == "start":
            doubles.on_start[OFF0] = KeyboardInterrupt()
        else:
            doubles.on_send[f"{OFF0} code natural"] = KeyboardInterrupt()
        measurement = measured()
        with pytest.raises(KeyboardInterrupt):
            measurement.run_through(3)
        assert doubles.running is None
        assert not of(measurement, FindingRecord)
        measurement.run_through(1)
        assert started(doubles) == [OFF0, ON0]

    def test_a_programming_error_is_not_taken_for_a_fault(self, measured, doubles):
        doubles.on_send[f"{OFF0} code natural"] = ZeroDivisionError()
        measurement = measured()
        with pytest.raises(ZeroDivisionError):
            measurement.run_through(0)
        assert doubles.running is None

    def test_time_until_then_is_counted(self, measured, doubles):
        doubles.on_send[f"{OFF0} code natural"] = KeyboardInterrupt()
        measurement = measured()
        with contextlib.suppress(KeyboardInterrupt):
            measurement.run_through(0)
        phases = [split.phase for split in of(measurement, SplitRecord)]
        assert phases == [Phase.INSTALL, Phase.START, Phase.START]


def test_a_fault_is_an_exception_with_its_words():
    fault = Fault(Finding.HANG, "no answer", "a cause")
    assert str(fault) == "no answer"
    assert (fault.finding, fault.message, fault.cause) == (Finding.HANG, "no answer", "a cause")


class TestHost:
    @pytest.fixture(autouse=True)
    def samplers(self, monkeypatch):
        """Let the sampler take one sample a launch, handed over when it is drained."""
        made = []

        class Sampler:
            def __init__(self, sink, launch, *, clock, period_s):
                made.append((launch, period_s))
                sample = HostSampleRecord(launch, round(clock(), 3), 0.0)
                self.drain = lambda: sink(sample)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.drain()

        monkeypatch.setattr(measure, "HostSampler", Sampler)
        return made

    def test_each_launch_is_sampled_and_handed_over_block_by_block(self, measured, samplers):
        measurement = measured(host_period_s=5.0)
        measurement.run_through(0)
        assert samplers == [(OFF0, 5.0)]
        kinds = [
            type(r) for r in measurement.records if isinstance(r, BlockRecord | HostSampleRecord)
        ]
        assert kinds == [BlockRecord, HostSampleRecord] * 2 + [HostSampleRecord]

    def test_this_machine_says_nothing_of_a_server_started_elsewhere(
        self, measured, samplers, monkeypatch
    ):
        monkeypatch.setattr(engines_double, "launch", lambda *a: launch(*a, argv=()))
        measured(host_period_s=5.0).run_through(0)
        assert samplers == [(OFF0, 0.0)]
