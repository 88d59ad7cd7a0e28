"""The table of a run."""

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.report.table import HEADERS, tables
from specfloor.runs.records import CountersRecord, Purpose, RequestRecord
from specfloor.signals.counts import DraftCounts
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    CELL,
    both_arms,
    fault,
    floor,
    judged,
    launch,
    natural,
    report_only,
)

RELEASE = CELL.release
FLOORS = (floor(0.6), floor(1.3, "speedup"))


def rows(result, release=RELEASE):
    """Return the rows of a release's table, each from the column of the family on."""
    text = tables(result.cells, "plain")[release]
    header, *lines = text.splitlines()
    starts = [header.index(HEADERS[0])]
    for name in HEADERS[1:]:
        starts.append(header.index(name, starts[-1] + 1))
    cells = [
        [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        for line in lines
    ]
    assert all(len(row) == len(HEADERS) for row in cells)
    return cells


def test_one_domain_is_one_row():
    (row,) = rows(judged(both_arms(launches=3), *FLOORS))
    assert row[:7] == ["glm-9.1-tiny", "mtp", "3", "code", "code", "off", "1"]
    acceptance, least, length, speedup, least_speedup, verdict = row[7:]
    assert acceptance.startswith("0.683 [0.678, 0.689")
    assert least == "0.600"
    assert length.startswith("3.050 [")
    assert speedup.startswith("3.10 [3.")
    assert least_speedup == "1.30"
    assert verdict == "PASS"


def test_every_domain_has_a_row_below_that_of_the_whole():
    found = rows(judged(both_arms(on={"domains": ("code", "math")}), *FLOORS))
    assert [row[4] for row in found] == ["all", "code", "math"]
    assert all(row[:4] == found[0][:4] for row in found)
    # even prompts are of one domain and accept one token more
    assert [row[7].split()[0] for row in found] == ["0.683", "0.700", "0.667"]
    assert all(row[8:] == ["-"] * 5 for row in found[1:])


def test_a_domain_below_the_floor_is_marked():
    records = both_arms(on={"domains": ("code", "math"), "prompts": 400})
    found = rows(judged(records, floor(0.69), FLOORS[1]))
    assert [row[7].endswith(" below") for row in found] == [False, False, True]


def test_reported_without_a_floor():
    (row,) = rows(judged(both_arms(), purposes=[Purpose.FORCED]))
    assert row[7:] == ["-", "-", "-", "3.10", "-", "reported"]
    (row,) = rows(judged(both_arms()))
    assert row[8] == row[11] == "-"
    assert row[7].startswith("0.683 [")


def test_a_floor_of_the_length():
    entries = (floor(2.8, "acceptance_length"), report_only("speedup"))
    (row,) = rows(judged(both_arms(), *entries))
    assert row[7].startswith("0.683")
    assert row[8] == "2.800 length"


def test_no_data():
    (row,) = rows(judged([], *FLOORS))
    assert row[4] == "-"
    assert row[7:] == ["-", "0.600", "-", "-", "1.30", "NO_DATA"]


def test_one_launch_has_no_interval_of_speed():
    (row,) = rows(judged(both_arms(), *FLOORS))
    assert row[10] == "3.10"
    assert row[12] == "INCONCLUSIVE"


def test_a_fault():
    (row,) = rows(judged([launch(OFF), *natural(OFF), fault(Finding.START_FAIL, CELL.arm)]))
    assert row[-1] == "FAIL"


def test_only_the_total_of_a_block_is_known():
    cell = msgspec.structs.replace(CELL, concurrency=4)
    sent, *requests = natural(cell.arm, cell=cell, per_request=False, counted=False)
    requests = [msgspec.structs.replace(r, chunk_tokens=(), chunk_s=()) for r in requests]
    total = CountersRecord(sent.launch, sent.block, {"0": DraftCounts(300, 900, 600)})
    records = [launch(cell.arm, cell=cell), sent, *requests, total]
    (row,) = rows(judged(records, *FLOORS, purposes=[Purpose.NATURAL], cells=[cell]))
    assert row[7:] == ["-", "0.600", "-", "-", "-", "INCONCLUSIVE"]


def test_a_table_for_each_release_in_their_order():
    newer = CELL
    older = CELL.on_release("cpu-1.0")
    records = [*both_arms(), *both_arms(cell=older)]
    result = judged(records, *FLOORS, cells=[older, newer])
    assert list(tables(result.cells)) == ["cpu-1.0", "cpu-2.0"]
    assert len(rows(result, "cpu-1.0")) == len(rows(result, "cpu-2.0")) == 1
    assert tables([]) == {}


def slower(factor):
    """Return a cell's records with the requests of the arm that speculates that much slower."""
    return [
        msgspec.structs.replace(one, chunk_s=tuple(factor * s for s in one.chunk_s))
        if isinstance(one, RequestRecord) and "-mtp3-" in one.launch
        else one
        for one in both_arms()
    ]


def test_a_pass_on_acceptance_alone_that_does_not_pay_is_said():
    line = "1 cell passes on acceptance; its speed has no floor and is below 1: "
    table, said = tables(judged(slower(4), floor(0.6), report_only("speedup")).cells)[
        RELEASE
    ].split("\n\n")
    assert table.endswith("PASS")
    assert said == f"{line}{CELL.pair_id} 0.78"
    # it pays; it fails; its speed has a floor
    for records, entries in (
        (slower(1), (floor(0.6), report_only("speedup"))),
        (slower(4), (floor(0.9), report_only("speedup"))),
        (slower(4), (floor(0.6), floor(0.5, "speedup"))),
    ):
        assert "is below 1" not in tables(judged(records, *entries).cells)[RELEASE]


def test_several_that_do_not_pay_are_one_line():
    other = msgspec.structs.replace(CELL, workload="math")
    results = judged(slower(4), floor(0.6), report_only("speedup")).cells
    again = [msgspec.structs.replace(one, cell=other) for one in results]
    text = tables([*results, *again], "github")[RELEASE]
    assert text.count("\n\n") == 1
    said = text.splitlines()[-1]
    assert said.startswith("2 cells pass on acceptance; their speed has no floor and is below 1: ")
    assert said.endswith(f"{CELL.pair_id} 0.78, {other.pair_id} 0.78")


@pytest.mark.parametrize("style", ["simple", "github"])
def test_styles(style):
    text = tables(judged(both_arms(), *FLOORS).cells, style)[RELEASE]
    assert "acceptance (mean)" in text
    assert "length (pooled)" in text
    assert text.startswith("|") is (style == "github")
