"""A run from its plan to its verdicts, with engines that start nothing."""

import json

import msgspec
import pytest

from specfloor import measure
from specfloor.cells import OFF, Cell
from specfloor.engines.routes import UrlRoute
from specfloor.errors import UsageError
from specfloor.experiments.base import ExperimentJudgement, arm_launch, cell_block
from specfloor.experiments.registry import EXPERIMENTS
from specfloor.judge.run import Wanted, judge_stored
from specfloor.judge.verdict import Verdict
from specfloor.load.client import Counting
from specfloor.measure import Fault
from specfloor.plan import Overrides
from specfloor.runs.records import Phase, Purpose, RequestRecord
from specfloor.runs.store import read_run
from specfloor.session import Session, Split, on_this_host, rounds_of
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    CELL,
    GLM,
    SMALL,
    catalog,
    evidence,
    floor,
    floors,
    forced,
    key,
    natural,
    report_only,
    settings,
)
from tests.unit.engines_double import Doubles

NATURAL, FORCED = Purpose.NATURAL, Purpose.FORCED
ON = CELL.arm
SPEED_FLOOR = floor(1.3, "speedup", workload="code")
SMALL_CELL = Cell("cpu-1.0", SMALL.name, "ngram", 4, "rewrite", "none", 1)
PROMPTS = 12


@pytest.fixture
def workloads(tmp_path):
    """Write workload sets for the small catalogue and return their folder."""
    for family in (GLM, SMALL):
        folder = tmp_path / "workloads" / family.workload_set
        folder.mkdir(parents=True)
        lines = []
        for workload in family.workloads:
            prompts = [
                {"id": f"p{i}", "domain": "code", "messages": [{"role": "user", "content": str(i)}]}
                for i in range(PROMPTS)
            ]
            (folder / f"{workload}.jsonl").write_text("\n".join(map(json.dumps, prompts)))
            lines += [f'["{workload}"]', 'about = "x"', "max_tokens = 90", "forced_tokens = 60"]
            lines += ["forced_prompts = 8"]
        (folder / "workloads.toml").write_text("\n".join(lines))
    return tmp_path / "workloads"


@pytest.fixture
def make(workloads):
    def make(*entries, cells=(CELL,), purposes=tuple(Purpose), **asked):
        return Session(
            settings(workloads_dir=workloads, **asked),
            catalog(),
            floors(*entries),
            [Wanted(cell, frozenset(purposes)) for cell in cells],
        )

    return make


@pytest.fixture
def doubles(monkeypatch):
    found = Doubles()
    monkeypatch.setattr(measure, "run_block", found.run_block)
    return found


def healthy(block):
    """Return what a healthy server gives for a block of ``CELL``."""
    arm = ON if "mtp" in block.launch else OFF
    repeat = int(block.launch.rpartition("-")[2])
    if block.key.purpose is NATURAL:
        return natural(arm, prompts=PROMPTS)[1:]
    return forced(arm, repeat, step_s=0.02 + 0.0002 * repeat)[1:]


class TestRounds:
    def rounds(self, *entries, cells=(CELL,), purposes=frozenset(Purpose), asked=None, **options):
        wanted = [Wanted(cell, frozenset(purposes)) for cell in cells]
        return rounds_of(wanted, catalog(), floors(*entries), settings(launches=asked, **options))

    def test_a_floor_of_speed_asks_for_its_launches(self):
        assert self.rounds(SPEED_FLOOR) == {CELL: 3}
        assert self.rounds(floor(1.3, "speedup", launches=5)) == {CELL: 5}
        assert self.rounds(SPEED_FLOOR, asked=2) == {CELL: 2}
        assert self.rounds(SPEED_FLOOR, asked=1) == {CELL: 1}

    def test_without_a_floor_it_takes_one_or_what_the_user_asks_for(self):
        elsewhere = report_only("speedup", family="another")
        for entries in ((), (floor(0.5), report_only("speedup")), (elsewhere,)):
            assert self.rounds(*entries) == {CELL: 1}
            assert self.rounds(*entries, asked=4) == {CELL: 4}

    def test_a_server_of_somebody_else_is_one_launch_however_often_it_is_asked(self):
        there = {"routes": {"": UrlRoute(on="http://h:1")}}
        assert self.rounds(SPEED_FLOOR, **there) == {CELL: 1}
        assert self.rounds(SPEED_FLOOR, asked=4, **there) == {CELL: 1}

    def test_each_cell_by_itself(self):
        other = msgspec.structs.replace(CELL, workload="structured-output")
        second = floor(1.1, "speedup", workload=other.workload, launches=4)
        first = floor(1.3, "speedup", workload=CELL.workload)
        assert self.rounds(first, second, cells=(CELL, other)) == {CELL: 3, other: 4}


class TestCheck:
    def test_all_is_there(self, make):
        make(floor(), report_only("speedup")).check()

    def test_a_workload_without_prompts(self, make, workloads):
        (workloads / "glm" / "code.jsonl").unlink()
        with pytest.raises(UsageError, match=r"workload .*code\.jsonl cannot be read"):
            make().check()

    def test_a_workload_without_settings(self, make, workloads):
        path = workloads / "glm" / "workloads.toml"
        path.write_text(path.read_text().replace('"code"', '"coed"'))
        with pytest.raises(UsageError, match=r"no settings for the workload code; add \[code\]"):
            make().check()

    def test_only_what_is_planned_is_read(self, make, workloads):
        (workloads / "small" / "workloads.toml").unlink()
        make().check()
        with pytest.raises(UsageError, match=r"workloads\.toml cannot be read"):
            make(cells=(CELL, SMALL_CELL)).check()

    def test_a_floor_that_cannot_be_judged(self, make):
        """A length of more than k + 1 tokens: every run would fail."""
        with pytest.raises(UsageError, match="must lie between 1 and 4, not be 5"):
            make(floor(5.0, "acceptance_length"), report_only("speedup")).check()
        with pytest.raises(UsageError, match="give a smaller --margin"):
            make(floor(1.2, "acceptance_length"), margin=0.5).check()


class TestBlocks:
    def plan_of(self, session, cell, arm, purpose, workload=None):
        block = measure.BlockKey(cell.workload, cell.tier, cell.concurrency, purpose)
        return session.block_plan(key(arm, cell=cell), block)

    def test_the_same_prompts_in_the_same_order_for_both_arms(self, make):
        session = make()
        on, off = (self.plan_of(session, CELL, arm, NATURAL) for arm in (ON, OFF))
        assert on.prompts == off.prompts
        assert len(on.prompts) == PROMPTS
        assert on.template == {"enable_thinking": False}
        reseeded = self.plan_of(make(seed=2), CELL, ON, NATURAL)
        assert reseeded.prompts != on.prompts
        assert set(reseeded.prompts) == set(on.prompts)

    def test_speed_takes_the_first_of_them(self, make):
        session = make()
        whole = self.plan_of(session, CELL, ON, NATURAL).prompts
        assert self.plan_of(session, CELL, ON, FORCED).prompts == whole[:8]

    def test_counters_are_read_around_each_request_where_responses_do_not_count(self, make):
        per_request = msgspec.structs.replace(SMALL_CELL, release="cpu-2.0")
        busy = msgspec.structs.replace(SMALL_CELL, concurrency=4)
        mtp = CELL.on_release("cpu-1.0")
        session = make(cells=(CELL, SMALL_CELL, per_request, busy, mtp))

        def counting(cell, arm, purpose=NATURAL):
            return self.plan_of(session, cell, arm, purpose).counting

        assert counting(SMALL_CELL, SMALL_CELL.arm) is Counting.PER_REQUEST
        assert counting(SMALL_CELL, SMALL_CELL.arm, FORCED) is Counting.PER_BLOCK
        assert counting(per_request, SMALL_CELL.arm) is Counting.PER_BLOCK
        assert counting(busy, SMALL_CELL.arm) is Counting.PER_BLOCK
        assert counting(mtp, ON) is Counting.PER_REQUEST
        assert counting(CELL, ON) is Counting.PER_BLOCK
        assert counting(SMALL_CELL, OFF) is Counting.NEVER

    def test_a_release_without_token_ids_is_asked_for_usage_in_every_chunk(self, make):
        known = catalog()
        session = make(cells=(CELL, CELL.on_release("0.5.0")))
        assert not known.releases["0.5.0"].signals.token_ids
        assert not self.plan_of(session, CELL, ON, NATURAL).continuous_usage
        assert self.plan_of(session, CELL.on_release("0.5.0"), ON, NATURAL).continuous_usage


class TestRun:
    def test_before_it_begins(self, make):
        session = make()
        assert not session.is_open
        with pytest.raises(RuntimeError, match="has not begun"):
            _ = session.folder
        with pytest.raises(RuntimeError, match="has not begun"):
            session.close(complete=True)

    @pytest.fixture
    def opened(self, make, doubles, tmp_path):
        begun = []

        def opened(*entries, **options):
            session = make(*entries, **options)
            session.open(
                tmp_path / "r1",
                "2026-05-01T10:00:00+00:00",
                on_this_host(doubles, lambda _: None),
                lambda _: None,
            )
            begun.append(session)
            return session

        doubles.requests = healthy
        yield opened
        for session in begun:
            session.close(complete=False)

    def test_from_plan_to_verdict(self, opened, doubles):
        session = opened(floor(0.5), SPEED_FLOOR)
        session.measure(CELL, NATURAL)
        assert session.book.acceptance(CELL).verdict is Verdict.PASS
        session.measure(CELL, FORCED)
        assert session.book.speed(CELL).verdict is Verdict.PASS
        session.close(complete=True)
        assert [call for call in doubles.calls if call.startswith("start")] == [
            f"start {launch.key.id}" for launch in session.plan.launches
        ]
        assert [cell.verdict for cell in session.result().cells] == [Verdict.PASS]
        assert session.info.complete

    def test_the_stored_run_says_the_same(self, opened):
        session = opened(floor(0.8), SPEED_FLOOR)
        session.measure(CELL, FORCED)
        session.close(complete=False)
        run = read_run(session.folder)
        assert run.info.environment == session.info.environment
        assert not run.info.complete
        assert run.info.run == "r1"
        assert run.info.settings["selection"]["platform"] == "cpu"
        assert isinstance(run.info.settings["workloads_dir"], str)
        stored, live = judge_stored(run, catalog()), session.result()
        assert msgspec.json.encode(stored) == msgspec.json.encode(live)

    def test_what_was_not_measured_is_no_data(self, opened):
        other = msgspec.structs.replace(CELL, workload="structured-output")
        session = opened(cells=(CELL, other), purposes=[NATURAL])
        session.close(complete=False)
        assert {cell.verdict for cell in session.result().cells} == {Verdict.NO_DATA}

    def test_a_fault_ends_in_the_verdict(self, opened, doubles):
        doubles.on_start[key(ON).id] = Fault(Finding.START_FAIL, "it ended", "no memory")
        session = opened(floor(0.5), SPEED_FLOOR)
        session.measure(CELL, FORCED)
        (cell,) = session.result().cells
        assert {judgement.verdict for judgement in cell.judgements} == {Verdict.FAIL}
        assert {judgement.findings[0] for judgement in cell.judgements} == {Finding.START_FAIL}

    def test_times_per_token_of_every_launch(self, opened):
        session = opened(floor(0.5), SPEED_FLOOR)
        session.measure(CELL, FORCED)
        on, off = (session.times_per_token(CELL, on=on) for on in (True, False))
        assert len(on) == len(off) == 3 * 8
        assert sum(off) == pytest.approx(3.1 * sum(on), rel=0.01)

    def test_where_the_time_went(self, opened):
        session = opened()
        session.measure(CELL, NATURAL)
        split = session.split()
        # as the double says: two launches, two blocks each, 2.5 s a block
        assert split.generation_s == pytest.approx(10.0)
        assert split.start_s >= 0
        # and what a test spends on an engine by itself is not the harness's
        session.spend(Phase.START, 100.0)
        assert session.split().start_s == pytest.approx(split.start_s + 100.0)

    def test_an_arm_stops_early_once_its_acceptance_is_decided(self, opened):
        session = opened(floor(0.2), report_only("speedup"))
        session.measure(CELL, NATURAL)
        whole = opened_requests(session)
        assert whole[False] == PROMPTS
        assert whole[True] < PROMPTS
        assert session.book.acceptance(CELL).verdict is Verdict.PASS

    @pytest.mark.parametrize(
        ("method", "k", "whole"), [("draft_model", 2, False), ("mtp", 3, True)]
    )
    def test_perfection_ends_an_arm_early_only_where_the_draft_is_the_target(
        self, opened, doubles, method, k, whole
    ):
        cell = msgspec.structs.replace(CELL, method=method, k=k)
        doubles.requests = lambda block: natural(
            OFF if "-off-" in block.launch else cell.arm,
            accepted=(k,) * 10,
            vary=False,
            prompts=PROMPTS,
            cell=cell,
        )[1:]
        entries = floor(0.2, method=method), report_only("speedup", method=method)
        session = opened(*entries, cells=(cell,), purposes=[NATURAL])
        session.measure(cell, NATURAL)
        assert (opened_requests(session, cell)[True] == PROMPTS) is whole

    @pytest.mark.parametrize(
        ("entries", "options"),
        [
            ([floor(0.2), report_only("speedup")], {"early_stop": False}),
            ([report_only(), report_only("speedup")], {}),
            # a comparison needs the same prompts on each release
            ([floor(0.2), report_only("speedup")], {"cells": (CELL, CELL.on_release("cpu-1.0"))}),
        ],
    )
    def test_or_is_measured_whole(self, opened, entries, options):
        session = opened(*entries, **options)
        session.measure(CELL, NATURAL)
        assert opened_requests(session) == {True: PROMPTS, False: PROMPTS}


class Steady:
    """An experiment of two launches of the on arm, one with a schedule."""

    name = "steady"
    varies = ("workload", "concurrency")

    def why_not(self, cell, catalog):
        return None

    def measure(self, bench, cell):
        block = cell_block(cell, NATURAL, 2, "first")
        for repeat, overrides in enumerate((Overrides(), Overrides({"schedule": [[1, 2, 2]]}))):
            launch = arm_launch(cell, ON, self.name, repeat)
            bench.launch(launch, {block: bench.block_plan(launch, block)}, overrides)

    def judge(self, index, cell, catalog, floors, rule):
        sent = index.block(
            arm_launch(cell, ON, self.name, 1), cell_block(cell, NATURAL, 2, "first")
        )
        said = Verdict.PASS if sent and len(sent.requests) == PROMPTS else Verdict.NO_DATA
        return ExperimentJudgement(cell, self.name, said, (), "counted")


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({"experiments": "small"}, 120),
        ({"experiments": "full"}, 3600),
        ({"experiments": "small", "soak_min": 0.5}, 30),
    ],
)
def test_a_soak_is_as_long_as_asked_or_as_its_size(make, options, seconds):
    assert make(**options).soak_s == seconds


class TestExperiments:
    @pytest.fixture
    def session(self, make, doubles, tmp_path, monkeypatch):
        monkeypatch.setitem(EXPERIMENTS, Steady.name, Steady())
        doubles.requests = lambda block: [
            msgspec.structs.replace(record, launch=block.launch, block=block.key)
            for record in natural(ON, prompts=PROMPTS)
            if isinstance(record, RequestRecord)
        ]
        session = make(purposes=[])
        session.wanted[:] = [Wanted(CELL, frozenset(), (Steady.name,))]
        folder = tmp_path / "r1"
        session.open(folder, "2026-05-01T10:00:00+00:00", on_this_host(doubles, print), print)
        yield session
        session.close(complete=True)

    def test_it_is_measured_once_with_launches_of_its_own(self, session, doubles):
        for _ in range(2):
            assert session.experiment(Steady.name, CELL).verdict is Verdict.PASS
        first, second = (arm_launch(CELL, ON, Steady.name, repeat).id for repeat in (0, 1))
        assert [call for call in doubles.calls if "start" in call] == [
            f"start {first}",
            f"start {second}",
        ]
        assert doubles.overrides == {
            first: Overrides(),
            second: Overrides({"schedule": [[1, 2, 2]]}),
        }
        assert {block.key.label for block in doubles.blocks} == {"first"}

    def test_the_stored_run_says_the_same(self, session):
        session.experiment(Steady.name, CELL)
        stored = judge_stored(read_run(session.folder), catalog())
        assert stored == session.result()
        (said,) = stored.cells[0].experiments
        assert said.verdict is Verdict.PASS
        assert stored.cells[0].acceptance is None

    def test_one_that_was_not_measured_is_no_data(self, session):
        assert session.result().cells[0].verdict is Verdict.NO_DATA


def opened_requests(session, cell=CELL):
    """Return how many requests with natural stops an arm of a cell got, by whether it drafts."""
    found = evidence(*read_run(session.folder).records, cell=cell)
    return {
        arm[0].key.arm.speculates: sum(
            isinstance(request, RequestRecord) for request in arm[0].natural.requests
        )
        for arm in (found.on, found.off)
    }


class TestSplit:
    def test_the_rest_is_the_harness(self):
        split = Split(wall_s=100.0, install_s=50.0, start_s=20.0, generation_s=25.0)
        assert split.harness_s == pytest.approx(5.0)
        assert split.harness_share == pytest.approx(0.1)

    def test_phases_that_overlap_the_end_leave_nothing(self):
        assert Split(wall_s=1.0, install_s=0.0, start_s=2.0, generation_s=0.0).harness_s == 0.0
        assert Split(wall_s=0.0, install_s=0.0, start_s=0.0, generation_s=0.0).harness_share == 0.0
