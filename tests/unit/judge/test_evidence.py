"""What the records of a run hold about one cell, faults and gaps included."""

import msgspec

from specfloor.cells import OFF, Arm
from specfloor.judge.evidence import RecordIndex
from specfloor.runs.records import BlockKey, Phase, Purpose, SplitRecord
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    CELL,
    block_key,
    both_arms,
    evidence,
    fault,
    forced,
    key,
    launch,
    natural,
)

ON = CELL.arm
NATURAL, FORCED = Purpose.NATURAL, Purpose.FORCED


def test_a_healthy_run():
    found = evidence(*both_arms(launches=2), SplitRecord("x", Phase.START, 1.0))
    assert found.cell == CELL
    for arms, arm in ((found.on, ON), (found.off, OFF)):
        assert [one.key for one in arms] == [key(arm, 0), key(arm, 1)]
        assert [one.launch for one in arms] == [launch(arm, 0), launch(arm, 1)]
        assert [one.fault for one in arms] == [None, None]
        assert [one.natural is None for one in arms] == [False, True]
        assert all(one.forced and len(one.forced.requests) == 8 for one in arms)
    assert len(found.on[0].natural.counters) == 1
    assert found.off[0].natural.counters == ()
    assert found.on[0].natural.sent.prompts == 40


def test_nothing_measured():
    found = evidence()
    assert found.on == found.off == ()


def test_requests_are_in_the_seeded_order_and_not_in_that_of_their_end():
    sent, *requests = natural(ON, prompts=5, counted=False)
    found = evidence(launch(ON), sent, *reversed(requests))
    assert found.on[0].natural.requests == tuple(requests)


def test_other_cells_are_left_out():
    other = msgspec.structs.replace(CELL, workload="structured-output")
    busier = msgspec.structs.replace(CELL, concurrency=4)
    found = evidence(
        launch(ON),
        *natural(ON, prompts=3),
        *natural(ON, prompts=5, cell=other),
        *natural(ON, prompts=6, cell=busier),
        *both_arms(cell=msgspec.structs.replace(CELL, release="cpu-1.0")),
    )
    assert len(found.on[0].natural.requests) == 3
    assert found.off == ()


def test_another_k_is_another_arm():
    found = evidence(launch(Arm("mtp", 1)), launch(OFF))
    assert found.on == ()
    assert len(found.off) == 1


def test_a_launch_that_failed_to_start():
    (one,) = evidence(fault(Finding.START_FAIL, ON, cause="no memory")).on
    assert one.launch is None
    assert one.natural is one.forced is None
    assert one.fault.sentence == "it was a START_FAIL. The log says: no memory"
    assert one.broken_off(NATURAL) is one.broken_off(FORCED) is one.fault


def test_a_crash_in_the_middle_of_a_block():
    (one,) = evidence(launch(ON), *natural(ON, answered=3), fault(Finding.CRASH, ON)).on
    assert len(one.natural.requests) == 3
    assert one.natural.sent.prompts == 40
    assert one.broken_off(NATURAL) is one.broken_off(FORCED) is one.fault


def test_a_crash_on_the_last_request_of_a_block_breaks_it_off_too():
    records = natural(ON, prompts=5, failed=[4])
    (one,) = evidence(launch(ON), *records, fault(Finding.CRASH, ON)).on
    assert len(one.natural.requests) == 5
    assert one.broken_off(NATURAL) is one.fault


def test_a_block_that_ended_before_the_crash_has_lost_nothing():
    (one,) = evidence(
        launch(ON),
        *natural(ON),
        *forced(ON, answered=2),
        fault(Finding.CRASH, ON, since=FORCED),
    ).on
    assert one.broken_off(NATURAL) is None
    assert one.broken_off(FORCED) is one.fault
    elsewhere = BlockKey("structured-output", "off", 1, FORCED)
    (one,) = evidence(
        launch(ON), *natural(ON), *forced(ON), fault(Finding.CRASH, ON, lost=(elsewhere,))
    ).on
    assert one.fault is not None
    assert one.broken_off(NATURAL) is one.broken_off(FORCED) is None


def test_a_round_that_a_cell_has_no_part_in_costs_it_nothing():
    elsewhere = BlockKey("structured-output", "off", 1, FORCED)
    later = fault(Finding.START_FAIL, ON, 1, lost=(elsewhere,))
    _, one = evidence(*both_arms(), later).on
    assert one.fault is not None
    assert one.forced is None
    assert one.broken_off(FORCED) is None


def test_a_hang_in_a_later_round():
    found = evidence(*both_arms(), launch(ON, 1), fault(Finding.HANG, ON, 1, since=FORCED))
    first, second = found.on
    assert first.fault is None
    assert second.fault.finding is Finding.HANG
    assert second.forced is None
    assert len(found.off) == 1


def test_the_first_fault_of_a_launch_is_its_cause():
    first, second = fault(Finding.CRASH, ON), fault(Finding.HANG, ON)
    index = RecordIndex([first, second])
    assert index.fault(key(ON).id) is first
    assert index.fault(key(OFF).id) is None


def test_an_index_grows_with_the_run():
    index = RecordIndex()
    for record in both_arms():
        index.add(record)
    assert index.evidence(CELL) == evidence(*both_arms())


def test_the_blocks_of_a_run_in_their_order():
    records = [*both_arms(), *natural(ON, cell=msgspec.structs.replace(CELL, release="cpu-1.0"))]
    assert list(RecordIndex(records).blocks()) == [
        (key(arm), block_key(purpose)) for arm in (OFF, ON) for purpose in Purpose
    ]
