"""From the judgements of a run to a diagnosis."""

import json

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.host.npu_smi import Device
from specfloor.judge.run import CellResult
from specfloor.ledger import read_ledger
from specfloor.ledger.model import Facet
from specfloor.runs.records import CountersRecord, HostFlag, HostSampleRecord, Purpose
from specfloor.signals.counts import DraftCounts
from specfloor.triage.chain import diagnose
from specfloor.triage.diagnosis import Confidence, Diagnosis, Stage
from specfloor.triage.findings import Finding
from specfloor.triage.live import diagnose_run, facts_of, hosts_of
from tests.unit.builders import (
    CELL,
    both_arms,
    catalog,
    fault,
    floor,
    info,
    judged,
    launch,
    natural,
    report_only,
)

ON = CELL.arm
NATURAL = [Purpose.NATURAL]
HALF = (3, 0, 0, 1, 0, 1, 0, 1, 0, 0)
"""A good third of what a good request accepts."""
FLOORS = (floor(0.6), report_only("speedup"))
MACHINE = info().environment


def diagnosed(records, *entries, cell=CELL, cells=(CELL,), purposes=tuple(Purpose), **more):
    result = judged(records, *(entries or FLOORS), cells=cells, purposes=purposes)
    environment = more.pop("environment", MACHINE)
    return diagnose_run(result, environment, catalog(), read_ledger(), **more).get(cell)


def stages(diagnosis):
    return list(dict.fromkeys(link.stage for link in diagnosis.links))


def test_a_healthy_run_has_no_diagnosis():
    assert diagnosed(both_arms()) is None


def test_a_dead_draft_with_healthy_answers():
    diagnosis = diagnosed(both_arms(on={"accepted": (0,) * 10}))
    assert stages(diagnosis) == [Stage.ACCEPTANCE, Stage.UNKNOWN]
    first = diagnosis.links[0]
    assert first.finding is Finding.ACCEPT_ZERO
    assert "of 1,200 draft tokens" in first.evidence[0]
    assert [text.partition(":")[0] for text in diagnosis.exonerated] == [
        "the configuration",
        "the target and the devices under it",
    ]
    assert diagnosis.ledger == "the ledger is about vLLM-Ascend and does not cover cpu-2.0"
    assert "tox -e cpu -- --release cpu-2.0 --family glm-9.1-tiny" in first.next[1].command


def test_a_configuration_that_is_not_in_effect_comes_after_the_acceptance():
    records = [
        launch(OFF),
        *natural(),
        launch(ON, resolved_k=1),
        *natural(ON, accepted=HALF),
    ]
    diagnosis = diagnosed(records, purposes=NATURAL)
    assert stages(diagnosis)[:2] == [Stage.ACCEPTANCE, Stage.CONFIGURATION]
    assert diagnosis.causes[0].finding is Finding.CONFIG_NOT_IN_EFFECT
    assert diagnosis.causes[0].confidence is Confidence.SHOWN


def test_speed_lost_with_healthy_acceptance_is_the_step():
    diagnosis = diagnosed(both_arms(launches=3), floor(0.6), floor(4.0, "speedup"))
    assert stages(diagnosis) == [Stage.STEP_COST]
    assert diagnosis.links[0].evidence[0].startswith("speedup 3.10 is acceptance length 3.05")
    assert diagnosis.exonerated[0] == (
        "the draft: acceptance_rate 0.683 (mean over requests) holds the floor 0.6"
    )


def test_a_crash_of_both_arms_exonerates_speculation():
    records = [fault(Finding.CRASH, OFF), fault(Finding.CRASH, ON)]
    diagnosis = diagnosed(records)
    assert [link.finding for link in diagnosis.links] == [Finding.CRASH, Finding.BASELINE_INVALID]
    assert diagnosis.exonerated[0] == "speculation: a launch without it failed too"


def test_a_broken_off_arm_is_no_baseline():
    records = [fault(Finding.START_FAIL, OFF), launch(ON), *natural(ON)]
    diagnosis = diagnosed(records, floor(0.6), floor(1.1, "speedup"))
    assert [link.finding for link in diagnosis.links] == [Finding.BASELINE_INVALID]


def test_one_dead_engine_is_named():
    counts = {"0": DraftCounts(400, 1200, 800), "1": DraftCounts(400, 1200, 4)}
    records = [
        msgspec.structs.replace(r, by_engine=counts)
        if isinstance(r, CountersRecord) and r.launch.endswith("mtp3-0")
        else r
        for r in both_arms(on={"accepted": HALF})
    ]
    diagnosis = diagnosed(records)
    first = diagnosis.links[0]
    assert first.finding is Finding.TOPOLOGY
    assert "1 accepts 0.003" in first.sentence
    assert "data_parallel_rank" in first.next[0].command


def test_tiers_are_compared():
    on = msgspec.structs.replace(CELL, tier="on")
    entries = (floor(0.6, tier="off"), floor(0.6, tier="on"))
    well = [launch(OFF), *natural(), *natural(cell=on), launch(ON), *natural(ON)]
    dead = natural(ON, cell=on, accepted=(0, 1, 0, 0, 0, 0, 0, 0, 1, 0))
    diagnosis = diagnosed([*well, *dead], *entries, cell=on, cells=(CELL, on), purposes=NATURAL)
    assert any("only with tier on: on accepts 0.0" in line for line in diagnosis.links[0].evidence)
    both = [launch(OFF), *natural(), *natural(cell=on), launch(ON), *dead]
    both += natural(ON, accepted=(0, 1, 0, 0, 0, 0, 0, 0, 1, 0))
    diagnosis = diagnosed(both, *entries, cell=on, cells=(CELL, on), purposes=NATURAL)
    assert any("also without tier on" in line for line in diagnosis.links[0].evidence)


def run_with(flags, accepted):
    argv = ("python", *flags)
    records = [launch(OFF), *natural(), launch(ON, argv=argv), *natural(ON, accepted=accepted)]
    return judged(records, *FLOORS, purposes=NATURAL)


@pytest.mark.parametrize(
    ("accepted", "only"), [((3, 2, 3, 0, 1, 3, 2, 3, 3, 1), True), (HALF, False)]
)
def test_a_run_beside_without_the_graph(accepted, only):
    here, eager = run_with((), HALF), run_with(("--enforce-eager",), accepted)
    (cell,) = here.cells
    facts = facts_of(cell, MACHINE, catalog(), siblings=here.cells, beside=eager.cells)
    (contrast,) = facts.contrasts
    assert (contrast.facet, contrast.only) == (Facet.GRAPH, only)
    (first, *_) = diagnose(facts, read_ledger()).links
    assert str(contrast) in first.evidence
    assert any("PIECEWISE" in step.command for step in first.next) is only


def test_a_run_beside_that_differs_in_more_tells_nothing():
    here = run_with(("--async-scheduling",), HALF)
    other = run_with(("--enforce-eager", "--no-async-scheduling"), HALF)
    facts = facts_of(here.cells[0], MACHINE, catalog(), beside=other.cells)
    assert facts.contrasts == ()


def sample(launch_key, health):
    device = Device(0, 0, "910B3", health, None, 90.0, 40, 50, None, None, 10, 100)
    return HostSampleRecord(launch_key, 1.0, 0.1, devices=(device,))


@pytest.mark.parametrize(("health", "blamed"), [("OK", False), ("Alarm", True)])
def test_samples_of_the_devices_come_last(health, blamed):
    records = both_arms(on={"accepted": HALF})
    hosts = hosts_of([sample(launch(ON).key.id, health) for _ in range(3)])
    diagnosis = diagnosed(records, hosts=hosts)
    assert (Stage.HOST in stages(diagnosis)) is blamed
    assert any(text.startswith("the devices:") for text in diagnosis.exonerated) is not blamed


def test_flags_of_the_environment_are_possible_causes():
    flags = (
        HostFlag("variable_not_read", "0.23.0 does not read VLLM_ASCEND_X"),
        HostFlag("device_unwell", "NPU 3 is unwell"),
    )
    machine = msgspec.structs.replace(MACHINE, flags=flags)
    diagnosis = diagnosed(both_arms(on={"accepted": HALF}), environment=machine)
    assert [link.stage for link in diagnosis.causes] == [
        Stage.CONFIGURATION,
        Stage.HOST,
        Stage.UNKNOWN,
    ]


def test_a_diagnosis_of_a_cell_alone_needs_nothing_else():
    (cell,) = judged(both_arms(on={"accepted": HALF}), *FLOORS, purposes=NATURAL).cells
    alone = CellResult(cell.cell, None, cell.acceptance, None)
    facts = facts_of(alone, MACHINE, catalog())
    assert facts.in_effect is None
    assert facts.conclusions[0].finding is Finding.ACCEPT_REGRESSION


def test_it_is_json():
    diagnosis = diagnosed(both_arms(on={"accepted": (0,) * 10}))
    text = msgspec.json.encode(diagnosis)
    assert json.loads(text)["cell"]["family"] == CELL.family
    assert msgspec.json.decode(text, type=Diagnosis) == diagnosis
