"""The instrument on real vLLM with a drafter whose acceptance is known."""

import itertools
from pathlib import Path

import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import Arm
from specfloor.engines.local import LocalEngines
from specfloor.judge.acceptance import Floor, judge_acceptance
from specfloor.judge.calibration import expected_rate
from specfloor.judge.paired import Quantity, judge_upgrade
from specfloor.judge.verdict import Change, Verdict
from specfloor.load.sets import Workloads
from specfloor.runs.records import LaunchKey
from specfloor.selfcheck import (
    DRAFTER,
    MEANS,
    SD,
    Check,
    K,
    halves_of,
    known_rate,
    set_drafter,
    with_calibrated_drafter,
)

ROOT = Path(__file__).parents[2]
TOKENS = 64
pytestmark = pytest.mark.engine


class Instrument:
    """An engine with the drafter, which has learned every prompt."""

    def __init__(self, check, engine, settings):
        self._check, self._engine, self._settings = check, engine, settings

    def signals(self, mean, noise):
        set_drafter(self._settings, mean=mean, sd=SD, seed=7, noise=noise)
        return self._check.send(self._engine)


@pytest.fixture(scope="module")
def instrument(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration")
    settings = folder / "drafter.json"
    catalog = load_catalog()
    family = catalog.family("glm_moe_tiny")
    able = with_calibrated_drafter(catalog, family, settings)
    workloads = Workloads(ROOT / "fixtures" / "workloads", 7)
    engines = LocalEngines(
        able,
        models=ROOT / "fixtures" / "models",
        cache=None,
        start_timeout_s=600,
        route=lambda _: None,
        say=print,
        tick=lambda *_: None,
    )
    check = Check(
        engines,
        release="cpu-0.32.0",
        family=able.families["glm_moe_tiny"],
        prompts=workloads.prompts(family.workload_set, "mixed"),
        template={"enable_thinking": False},
        folder=folder,
        settings=settings,
        tokens=TOKENS,
        seed=7,
        say=print,
    )
    key = LaunchKey("cpu-0.32.0", "glm_moe_tiny", Arm(DRAFTER.name, K))
    set_drafter(settings, mean=MEANS[0], sd=SD, seed=0)
    engines.prepare(key)
    with engines.start(key, folder / "engine.log") as engine:
        check.send(engine, tokens=TOKENS + K + 1)
        yield Instrument(check, engine, settings)


@pytest.mark.parametrize("mean", MEANS)
def test_a_known_acceptance_is_in_the_interval_and_the_rungs_agree(instrument, mean):
    known = known_rate(instrument.signals(mean, noise=11), expected_rate(mean, SD, K))
    assert known.holds, known


def test_a_drop_of_a_tenth_is_worse_and_fails(instrument):
    before = instrument.signals(0.75, noise=21).requests
    target = 0.9 * expected_rate(0.75, SD, K)
    lower = min(
        (m / 1000 for m in range(500, 750)), key=lambda m: abs(expected_rate(m, SD, K) - target)
    )
    after = instrument.signals(lower, noise=22).requests
    upgrade = judge_upgrade(before, after, Quantity.RATE)
    assert upgrade.outcome is Change.WORSE, upgrade.reason
    floor = Floor(value=expected_rate(0.75, SD, K), population=len(after))
    assert judge_acceptance(after, floor).verdict is Verdict.FAIL
    assert judge_acceptance(
        before, Floor(value=0.95 * floor.value, population=len(before))
    ).verdict is (Verdict.PASS)


def test_nothing_changed_is_never_better_or_worse(instrument):
    runs = [instrument.signals(0.75, noise=noise) for noise in range(31, 42)]
    assert all(halves_of(run).holds for run in runs)
    outcomes = [
        judge_upgrade(old.requests, new.requests, Quantity.RATE).outcome
        for old, new in itertools.pairwise(runs)
    ]
    assert len(outcomes) == 10
    assert not {Change.BETTER, Change.WORSE} & set(outcomes)
