"""The flip point from launches to verdict, on servers that answer by a law."""

import math

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.experiments.flip import FlipPoint
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import EngineSettings
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, floor
from tests.unit.experiments.bench_double import LawBench, arms_in_order, asked

ON = CELL.arm


def falling(flip):
    """Return times with which the speedup falls from 2 at concurrency 1 to 1 at ``flip``."""

    def seconds(key, overrides, concurrency):
        base = 0.01 * (1 + 0.1 * concurrency)
        if not key.arm.speculates:
            return base
        return base / 2 ** (1 - math.log2(concurrency) / math.log2(flip))

    return seconds


def flip(seconds, *entries, **options):
    bench = LawBench(seconds, scatter=0.002, **options)
    return asked(FlipPoint(), CELL, bench, *entries), bench


class TestMeasuring:
    def test_both_arms_in_rounds_of_changing_direction(self):
        _, bench = flip(falling(12), size="full")
        assert arms_in_order(bench, "flip") == [OFF, ON, OFF, ON]
        assert [key.repeat for key, _, _ in bench.launches] == [0, 0, 1, 1, 2, 2]

    def test_the_first_round_takes_powers_of_two_and_later_ones_the_bracket_too(self):
        _, bench = flip(falling(12), size="full", most=32)
        first, later = ([block.concurrency for block in bench.launches[i][1]] for i in (0, -1))
        assert first == [1, 2, 4, 8, 16, 32]
        assert set(first) < set(later)
        assert all(8 < n < 16 for n in set(later) - set(first))

    def test_both_sides_of_a_capture_size(self):
        settings = EngineSettings(capture_sizes=(4, 40, 4000))
        _, bench = flip(falling(12), most=32, said={"flip": {"settings": settings}})
        later = {block.concurrency for block in bench.launches[-1][1]}
        # a graph of 40 tokens holds ten requests of k + 1 = 4
        assert {10, 11} <= later
        assert max(later) == 32

    def test_more_requests_than_are_in_flight(self):
        _, bench = flip(falling(12), most=8)
        (sent,) = {
            bench.index.block(key, block).sent.prompts
            for key, blocks, _ in bench.launches
            for block in blocks
            if block.concurrency == 8
        }
        assert sent == 24


class TestJudging:
    def test_a_flip(self):
        said, _ = flip(falling(12), most=32)
        assert said.findings == (Finding.BATCH_FLIP,)
        assert said.verdict is None
        assert said.detail.flip.low < 12 < said.detail.flip.high
        assert "acceptance is flat" in said.reason
        assert "not the draft decides" in said.reason
        (table,) = said.tables
        assert [row[0] for row in table.rows][:4] == ["1", "2", "4", "8"]

    def test_no_flip(self):
        said, _ = flip(falling(4000), most=32)
        assert "pays at every concurrency up to 32" in said.reason
        assert said.findings == (Finding.EXPECTED,)

    def test_always_slower(self):
        said, _ = flip(lambda key, *_: 0.02 if key.arm.speculates else 0.01, most=8)
        assert "slower at every concurrency from 1" in said.reason

    def test_a_draft_that_gets_worse_with_the_batch_is_said(self):
        said, _ = flip(
            falling(12), most=32, accepted=lambda key, concurrency: 0.9 / concurrency**0.3
        )
        assert not said.detail.acceptance_flat
        assert "look at the draft before the batch" in said.reason

    @pytest.mark.parametrize(
        ("least", "verdict"),
        [(4, Verdict.PASS), (200, Verdict.FAIL), (12, Verdict.INCONCLUSIVE)],
    )
    def test_a_floor_of_the_flip(self, least, verdict):
        said, _ = flip(falling(12), floor(least, "flip_concurrency"), most=32)
        assert said.verdict is verdict
        assert f"the flip from {least} on: {verdict}" in said.reason

    @pytest.mark.parametrize(("value", "verdict"), [(1.3, Verdict.PASS), (1.5, Verdict.FAIL)])
    def test_a_floor_of_the_speedup_at_a_concurrency(self, value, verdict):
        said, _ = flip(falling(12), floor(value, "speedup", concurrency=4), most=32)
        assert said.verdict is verdict

    def test_a_floor_for_every_concurrency_is_another_tests(self):
        said, _ = flip(falling(12), floor(1.99, "speedup"), most=32)
        assert said.verdict is None

    def test_nothing_measured(self):
        bench = LawBench(falling(12))
        said = FlipPoint().judge(bench.index, CELL, bench.catalog, None, None)
        assert said.verdict is Verdict.NO_DATA

    def test_an_arm_that_does_not_start(self):
        said, _ = flip(
            falling(12),
            faults=tuple(f"cpu-2.0-glm_9_1_tiny-mtp3-flip-code-off-c1-{i}" for i in range(3)),
        )
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.START_FAIL,))

    def test_a_cell_of_another_workload_is_measured_and_judged_by_itself(self):
        faults = tuple(f"cpu-2.0-glm_9_1_tiny-mtp3-flip-code-off-c1-{i}" for i in range(3))
        bench = LawBench(falling(12), scatter=0.002, most=32, faults=faults)
        assert asked(FlipPoint(), CELL, bench).findings == (Finding.START_FAIL,)
        other = msgspec.structs.replace(CELL, workload="math")
        said = asked(FlipPoint(), other, bench)
        assert said.detail.flip.answer == "flip"
        assert Finding.START_FAIL not in said.findings

    def test_a_round_that_broke_off_is_said_and_the_rest_judged(self):
        said, _ = flip(
            falling(12), most=32, faults=("cpu-2.0-glm_9_1_tiny-off-flip-code-off-c1-1",)
        )
        assert said.detail.flip.answer == "flip"
        assert "A launch ended early: it ended" in said.reason
