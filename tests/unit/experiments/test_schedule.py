"""The sweep over k and the schedule made of it, on servers that answer by a law."""

import msgspec
import pytest

from specfloor.catalog.model import Knobs
from specfloor.cells import OFF, Arm
from specfloor.experiments.schedule import FIELD, KSchedule
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import Notice
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, catalog
from tests.unit.experiments.bench_double import LawBench, asked, experiment_of

LARGE = msgspec.structs.replace(CELL, k=4)


def k_at(concurrency, overrides, k):
    """Return the k in effect: that of the schedule where there is one."""
    for first, last, scheduled in overrides.speculative.get(FIELD, ()):
        if first <= concurrency <= last:
            return min(k, scheduled)
    return k


def law(key, overrides, concurrency):
    """Large k pays at a small batch, small k at a larger one, none at the largest."""
    k = k_at(concurrency, overrides, key.arm.k)
    return 0.01 * {1: (10, 7, 5), 4: (10, 6, 9), 16: (10, 11, 14)}[concurrency][(0, 2, 4).index(k)]


def slow_schedule(key, overrides, concurrency):
    return law(key, overrides, concurrency) * (1.3 if overrides.speculative else 1.0)


def schedule(seconds, **options):
    bench = LawBench(seconds, scatter=0.003, most=16, **options)
    return asked(KSchedule(), LARGE, bench), bench


def test_it_emits_a_schedule_the_engine_takes_and_applies_it():
    said, bench = schedule(law)
    assert said.verdict is Verdict.PASS
    assert said.detail.schedule == ((1, 2, 4), (3, 8, 2), (9, 1 << 20, 0))
    assert f'"{FIELD}": [[1, 2, 4], [3, 8, 2], [9, 1048576, 0]]' in said.reason
    assert "k = 0 is not spec-off" in said.reason
    applied = [(key, overrides) for key, _, overrides in bench.launches if overrides.speculative]
    assert [key.arm for key, _ in applied] == [Arm("mtp", 4)] * 2
    assert applied[0][1].speculative == {FIELD: [[1, 2, 4], [3, 8, 2], [9, 1 << 20, 0]]}


def test_every_k_and_the_off_arm_in_rounds_of_changing_direction():
    _, bench = schedule(law)
    swept = [key.arm for key, _, _ in bench.launches if experiment_of(key) == "sweep"]
    arms = [OFF, Arm("mtp", 2), Arm("mtp", 4)]
    assert swept == [*arms, *arms[::-1]]


def test_a_schedule_that_is_slower_fails():
    said, _ = schedule(slow_schedule)
    assert said.verdict is Verdict.FAIL
    assert said.findings == (Finding.SPEED_REGRESSION_ACCEPT_OK,)
    assert "slower than the best fixed k: +30" in said.reason


def test_an_engine_that_gave_the_schedule_up():
    lost = Notice("schedule_lost", "Disabling num_speculative_tokens_per_batch_size")
    said, _ = schedule(law, said={"schedule": {"notices": (lost,)}})
    assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.CONFIG_NOT_IN_EFFECT,))


def test_an_engine_that_refuses_the_schedule():
    said, _ = schedule(
        law, faults=tuple(f"cpu-2.0-glm_9_1_tiny-mtp4-schedule-code-off-c1-{i}" for i in range(2))
    )
    assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.START_FAIL,))
    assert FIELD in said.reason


def test_nothing_measured():
    bench = LawBench(law)
    said = KSchedule().judge(bench.index, LARGE, bench.catalog, None, None)
    assert said.verdict is Verdict.NO_DATA


@pytest.mark.parametrize(
    ("release", "serve", "why"),
    [
        ({"vllm": "0.24.0"}, {}, None),
        ({"vllm": "0.23.0"}, {}, f"cpu-2.0 has no {FIELD}"),
        ({"vllm": "0.30.0", "knobs": Knobs(schedule="accepted")}, {}, f"cpu-2.0 has no {FIELD}"),
        ({"vllm": "0.20.0", "knobs": Knobs(schedule="supported")}, {}, None),
        ({"vllm": "0.30.0"}, {"--data-parallel-size": "2"}, "silently off with --data-parallel"),
    ],
)
def test_who_can_be_asked(release, serve, why):
    known = catalog()
    releases = {
        "cpu-2.0": msgspec.structs.replace(known.releases["cpu-2.0"], **release),
    }
    family = msgspec.structs.replace(known.families[CELL.family], serve=serve)
    known = msgspec.structs.replace(known, releases=releases, families={family.name: family})
    found = KSchedule().why_not(CELL, known)
    assert found is None if why is None else why in found
