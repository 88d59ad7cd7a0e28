"""What a run leaves in the history, and what keeps runs on lines of their own."""

import msgspec
import pytest

from specfloor.history.entries import entries_of, line_of
from specfloor.judge.run import judge_stored
from specfloor.runs.records import BlockRecord, Environment
from specfloor.runs.store import read_run
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, both_arms, catalog, fault, launch, natural
from tests.unit.history.builders import store

OLD = CELL.on_release("cpu-1.0")


def entries(folder, records, **fields):
    run = read_run(store(folder, records, **fields))
    return entries_of(run, judge_stored(run, catalog()))


def changed(records, **fields):
    return [
        msgspec.structs.replace(r, **fields) if isinstance(r, BlockRecord) else r for r in records
    ]


def test_an_entry_has_both_quantities_and_the_verdict(tmp_path):
    (one,) = entries(tmp_path / "r1", both_arms(launches=2))
    assert (one.run, one.cell, one.verdict) == ("r1", CELL, "reported")
    assert one.acceptance.rate == pytest.approx(0.683, abs=1e-3)
    assert one.acceptance.low < one.acceptance.rate < one.acceptance.high
    assert (one.acceptance.requests, one.acceptance.rung) == (40, "A")
    assert one.speed.speedup == pytest.approx(3.1, abs=0.1)
    assert one.speed.launches == 2
    assert one.speed.off_s > one.speed.on_s
    assert line_of(CELL, one.acceptance) != line_of(CELL, one.speed)


def test_what_was_not_measured_is_in_no_line(tmp_path):
    (one,) = entries(tmp_path / "r1", [launch(CELL.arm), fault(Finding.CRASH, CELL.arm)])
    assert (one.verdict, one.acceptance, one.speed) == ("FAIL", None, None)
    assert "CRASH" in one.findings


def test_releases_and_rungs_that_count_alike_share_a_line(tmp_path):
    (new,) = entries(tmp_path / "new", both_arms())
    counted = [launch(CELL.arm, cell=OLD), *natural(CELL.arm, cell=OLD)]
    (old,) = entries(tmp_path / "old", counted, cells=(OLD,))
    assert line_of(CELL, new.acceptance) == line_of(OLD, old.acceptance)


def environment(cpu):
    return {"environment": Environment("3.11.7", "Linux", cpu, 2, 2**33, {})}


@pytest.mark.parametrize(
    ("records", "fields"),
    [
        (both_arms(), environment("another processor")),
        (changed(both_arms(), sampling={"temperature": 0.7}), {}),
        (changed(both_arms(), fingerprint="other"), {}),
        (changed(both_arms(), template={"enable_thinking": True}), {}),
        # the first eight of the prompts, by a verdict that stood
        (both_arms(on={"answered": 8}), {}),
        # chunks alone: the end of an answer is not in them
        (both_arms(on={"per_request": False, "counted": False}), {}),
        (
            [
                launch(CELL.arm, argv=("--speculative-config", '{"acceptance_method": "typical"}')),
                *natural(CELL.arm),
            ],
            {},
        ),
    ],
    ids=["hardware", "sampling", "prompts", "template", "early stop", "rung", "acceptance rule"],
)
def test_what_differs_keeps_runs_apart(tmp_path, records, fields):
    (one,) = entries(tmp_path / "one", both_arms())
    (other,) = entries(tmp_path / "other", records, **fields)
    assert line_of(CELL, one.acceptance) != line_of(CELL, other.acceptance)
