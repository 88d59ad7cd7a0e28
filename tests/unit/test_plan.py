"""From a selection to cells, and from cells to launches."""

import itertools
import random

import msgspec
import pytest

from specfloor.cells import OFF, Arm, Cell
from specfloor.errors import UsageError
from specfloor.plan import Demand, Selection, plan_launches, select_cells
from specfloor.runs.records import LaunchKey, Purpose
from tests.unit.builders import BIG, CELL, DRIFTED, GLM, SMALL, block_key, catalog

NATURAL, FORCED = Purpose.NATURAL, Purpose.FORCED
MTP3, MTP1, DRAFT2 = Arm("mtp", 3), Arm("mtp", 1), Arm("draft_model", 2)


def ids(**selection):
    return [cell.id for cell in select_cells(catalog(), Selection(**selection))]


def test_with_nothing_named_the_default_set():
    assert ids() == [
        "cpu-2.0-glm_9_1_tiny-mtp3-code-off-c1",
        "cpu-2.0-glm_9_1_tiny-mtp3-structured_output-off-c1",
        "cpu-2.0-small-ngram4-rewrite-none-c1",
    ]
    assert ids(platform="ascend") == [
        "0.5.0-big-mtp3-code-off-c1",
        "0.5.0-big-mtp3-structured_output-off-c1",
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("cpu-1.0", "glm-9.1-tiny", "draft-model", "structured-output"),
        ("cpu_1_0", "GLM_9_1_TINY", "draft_model", "structured_output"),
        ("cpu-1.0", "glm_tiny", "Draft-Model", "Structured-Output"),
    ],
)
def test_either_spelling_and_aliases_are_taken(names):
    release, family, method, workload = names
    found = ids(
        releases=(release,),
        families=(family,),
        methods=(method,),
        workloads=(workload,),
        tiers=("ON",),
        concurrencies=(4,),
    )
    assert found == ["cpu-1.0-glm_9_1_tiny-draft_model2-structured_output-on-c4"]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"releases": ("cpu-9",)}, r"unknown release 'cpu-9'; known here: 0\.5\.0, cpu-1\.0"),
        ({"families": ("glm5",)}, "unknown family 'glm5'; known here: big, glm-9"),
        ({"methods": ("eagle",)}, "--method eagle leaves no cell"),
        ({"workloads": ("coed",)}, "--workload coed leaves no cell"),
        ({"tiers": ("high",)}, "--tier high leaves no cell"),
        ({"families": ("big",)}, "--family big leaves no cell"),
        ({"families": ("glm-tiny", "small"), "methods": ("mtp",)}, "--family small leaves no cell"),
        ({"releases": ("cpu-2.0", "0.5.0"), "families": ("small",)}, r"--release 0\.5\.0 leaves"),
        ({"methods": ("mtp", "egle3")}, "--method egle3 leaves no cell"),
    ],
)
def test_a_name_that_leaves_no_cell_is_an_error(selection, message):
    with pytest.raises(UsageError, match=message):
        ids(**selection)


def test_a_platform_without_a_core_family_leaves_no_cell():
    with pytest.raises(UsageError, match="the selection leaves no cell to run"):
        select_cells(catalog(DRIFTED), Selection())


def test_releases_keep_the_order_given_and_the_first_is_the_baseline():
    cells = select_cells(catalog(), Selection(releases=("cpu-1.0", "cpu-2.0")))
    assert list(dict.fromkeys(cell.release for cell in cells)) == ["cpu-1.0", "cpu-2.0"]


def test_what_is_named_twice_counts_once():
    found = ids(
        releases=("cpu-2.0", "cpu_2_0"),
        families=("glm-tiny", "glm-9.1-tiny"),
        methods=("mtp", "MTP"),
        spec_tokens=(2, 2),
        workloads=("code", "code"),
        tiers=("off", "off"),
        concurrencies=(1, 1),
    )
    assert found == ["cpu-2.0-glm_9_1_tiny-mtp2-code-off-c1"]


def test_naming_a_family_or_method_brings_it_in_though_it_is_not_core():
    assert {cell.split("-")[2] for cell in ids(families=("glm-drifted",))} == {"glm_drifted"}
    assert {cell.split("-")[3] for cell in ids(methods=("draft_model",))} == {"draft_model2"}


@pytest.mark.parametrize(
    ("core", "found"), [((False, True), "draft_model2"), ((False, False), "mtp3")]
)
def test_the_core_methods_of_a_family_or_its_first(core, found):
    methods = [
        msgspec.structs.replace(method, core=is_core)
        for method, is_core in zip(GLM.methods, core, strict=True)
    ]
    family = msgspec.structs.replace(GLM, methods=tuple(methods))
    cells = select_cells(catalog(family), Selection(workloads=("code",)))
    assert [cell.arm.label for cell in cells] == [found]


def test_any_k_and_concurrency_may_be_asked_for():
    found = ids(families=("small",), spec_tokens=(7, 2), concurrencies=(16, 1))
    assert [cell.partition("ngram")[2] for cell in found] == [
        "7-rewrite-none-c16",
        "7-rewrite-none-c1",
        "2-rewrite-none-c16",
        "2-rewrite-none-c1",
    ]


def cell(arm=MTP3, family=GLM, workload="code", concurrency=1, release="cpu-2.0"):
    tier = next(iter(family.tiers))
    return Cell(release, family.name, arm.method, arm.k, workload, tier, concurrency)


def plan_of(wanted, rounds=1):
    return plan_launches(Demand(one, frozenset(purposes), rounds) for one, purposes in wanted)


def order(plan):
    return [(launch.key.arm.label, launch.key.repeat) for launch in plan.launches]


def test_methods_share_the_off_arm():
    plan = plan_of([(cell(arm), {NATURAL}) for arm in (MTP3, MTP1, DRAFT2)])
    assert order(plan) == [("off", 0), ("mtp3", 0), ("mtp1", 0), ("draft_model2", 0)]
    assert all(launch.blocks == (block_key(NATURAL),) for launch in plan.launches)


def test_releases_and_families_share_nothing():
    cells = [cell(), cell(family=DRIFTED), cell(release="cpu-1.0")]
    plan = plan_of([(one, {NATURAL}) for one in cells])
    assert [launch.key for launch in plan.launches] == [
        LaunchKey(one.release, one.family, arm) for one in cells for arm in (OFF, MTP3)
    ]


def test_rounds_run_in_abba_order():
    wanted = [(cell(arm), {FORCED}) for arm in (MTP3, MTP1)]
    plan = plan_of(wanted, 3)
    assert order(plan) == [
        ("off", 0),
        ("mtp3", 0),
        ("mtp1", 0),
        ("mtp1", 1),
        ("mtp3", 1),
        ("off", 1),
        ("off", 2),
        ("mtp3", 2),
        ("mtp1", 2),
    ]


def test_natural_blocks_come_first_and_only_in_the_first_round():
    both = {NATURAL, FORCED}
    wanted = [(cell(), both), (cell(workload="structured-output"), both)]
    plan = plan_of(wanted, 2)
    first, *later = (launch.blocks for launch in plan.launches if launch.key.arm == MTP3)
    assert [(block.workload, block.purpose) for block in first] == [
        ("code", NATURAL),
        ("structured-output", NATURAL),
        ("code", FORCED),
        ("structured-output", FORCED),
    ]
    assert later == [first[2:]]


def test_an_arm_that_measures_no_speed_starts_in_the_first_round_only():
    plan = plan_of([(cell(), {FORCED}), (cell(MTP1), {NATURAL})], 2)
    assert order(plan) == [("off", 0), ("mtp3", 0), ("mtp1", 0), ("mtp3", 1), ("off", 1)]


def test_only_what_asks_for_more_rounds_is_sent_again():
    again = cell(workload="structured-output")
    once = Demand(cell(), frozenset({FORCED}))
    plan = plan_launches([once, Demand(again, frozenset(Purpose), 2)])
    assert order(plan) == [("off", 0), ("mtp3", 0), ("mtp3", 1), ("off", 1)]
    assert plan.launches[-1].blocks == (block_key(FORCED, again),)


def test_both_arms_always_get_the_same_blocks():
    plan = plan_of([(cell(), {NATURAL}), (cell(concurrency=4), {FORCED})])
    off, on = plan.launches
    assert off.blocks == on.blocks
    assert {block.concurrency for block in off.blocks} == {1, 4}


def test_each_arm_starts_once_a_round_whatever_the_order_of_the_cells():
    wanted = [
        (cell(arm, concurrency=c, workload=w), {purpose})
        for arm, c, w, purpose in itertools.product(
            (MTP3, MTP1, DRAFT2), (1, 4), GLM.workloads, Purpose
        )
    ]
    wanted.append((cell(Arm("ngram", 4), family=SMALL, workload="rewrite"), {FORCED}))
    rng = random.Random(7)
    expected = None
    for _ in range(20):
        rng.shuffle(wanted)
        plan = plan_of(wanted, 2)
        keys = [launch.key for launch in plan.launches]
        assert len(set(keys)) == len(keys)
        sent = {launch.key: frozenset(launch.blocks) for launch in plan.launches}
        expected = expected or sent
        assert sent == expected
    assert len(expected) == 2 * (4 + 2)


def test_the_last_launch_a_cell_waits_for():
    plan = plan_of(
        [(cell(), {NATURAL, FORCED}), (cell(MTP1), {NATURAL, FORCED})],
        2,
    )
    assert order(plan)[:4] == [("off", 0), ("mtp3", 0), ("mtp1", 0), ("mtp1", 1)]
    assert plan.last_launch(cell(), NATURAL) == 1
    assert plan.last_launch(cell(MTP1), NATURAL) == 2
    # the off arm of the second round comes last
    assert plan.last_launch(cell(), FORCED) == plan.last_launch(cell(MTP1), FORCED) == 5


def test_a_cell_does_not_wait_for_another_release_or_family():
    cells = [cell(), cell(family=DRIFTED), cell(release="cpu-1.0")]
    plan = plan_of([(one, {NATURAL}) for one in cells])
    assert [plan.last_launch(one, NATURAL) for one in cells] == [1, 3, 5]


def test_nothing_wanted_starts_nothing():
    assert plan_launches([]).launches == ()


def test_the_families_of_another_platform_are_left_out():
    found = select_cells(catalog(), Selection(releases=("0.5.0", "cpu-2.0")))
    assert {(one.release, one.family) for one in found} == {
        ("0.5.0", BIG.name),
        ("cpu-2.0", GLM.name),
        ("cpu-2.0", SMALL.name),
    }
    assert CELL in found
