"""Floors from a run: they rise by themselves and fall only for a reason."""

import datetime
import errno
from pathlib import Path

import msgspec
import pytest

from specfloor.errors import UsageError
from specfloor.judge.floors import Quantity, read_floors
from specfloor.judge.floors_file import write_floors
from specfloor.judge.proposals import Origin, propose
from tests.unit.builders import (
    CELL,
    DRIFTED,
    both_arms,
    catalog,
    floor,
    floors,
    judged,
    report_only,
)

ORIGIN = Origin("20270101-120000", datetime.date(2027, 1, 1), "two cores")


def proposed(*entries, records=None, reason=None, margin=0.05, now=None):
    result = judged(records or both_arms(launches=3), *entries)
    return propose(
        result,
        now or floors(*entries),
        catalog(),
        origin=ORIGIN,
        margin=margin,
        reason=reason,
    )


def test_a_floor_rises_to_the_lower_end_less_the_margin():
    low = judged(both_arms(), floor(0.5)).cells[0].acceptance.summary.rate_mean.interval.low
    (raised,), _ = proposed(floor(0.5), report_only("speedup"))
    assert 0.5 < raised.new.value <= low * 0.95 < raised.new.value + 0.001
    assert raised.new.history[-1].value == 0.5
    assert (raised.new.n, raised.new.source) == (40, "run 20270101-120000")


def test_a_floor_is_lowered_only_for_a_reason_which_stays_in_it():
    nothing, kept = proposed(floor(0.69), report_only("speedup"))
    assert not nothing
    assert "lowering it needs --reason" in kept[0].why
    (lowered, _), _ = proposed(floor(0.69), report_only("speedup"), reason="the prompts changed")
    assert lowered.new.value < 0.69
    assert lowered.new.reason == lowered.new.history[-1].reason == "the prompts changed"


def test_a_floor_that_rose_since_the_run_is_not_lowered_by_it():
    now = floors(floor(0.69), report_only("speedup"))
    nothing, kept = proposed(floor(0.5), report_only("speedup"), now=now)
    assert not nothing
    assert "lowering it needs --reason" in kept[0].why


def test_cells_that_share_a_floor_get_what_all_of_them_support():
    other = msgspec.structs.replace(CELL, workload="structured-output")
    worse = (2, 1, 3, 0, 1, 2, 2, 3, 2, 1)
    records = [*both_arms(launches=1), *both_arms(on={"accepted": worse}, cell=other)[1:]]
    wide = floor(0.2, workload="*")
    result = judged(records, wide, report_only("speedup"), cells=(CELL, other))
    proposals, _ = propose(
        result, floors(wide, report_only("speedup")), catalog(), origin=ORIGIN, margin=0.05
    )
    (raised,) = proposals
    lows = [cell.acceptance.summary.rate_mean.interval.low for cell in result.cells]
    assert raised.new.value <= min(lows) * 0.95 < raised.new.value + 0.001
    assert raised.new.workload == "*"


def test_two_concurrencies_of_one_cell_make_one_floor():
    wide = msgspec.structs.replace(CELL, concurrency=4)
    records = [*both_arms(), *both_arms(cell=wide)[1:]]
    elsewhere = report_only("speedup", family="another")
    result = judged(records, elsewhere, cells=(CELL, wide))
    proposals, _ = propose(result, floors(elsewhere), catalog(), origin=ORIGIN, margin=0.05)
    rates = [p.new for p in proposals if p.new.quantity is Quantity.ACCEPTANCE_RATE]
    assert len(rates) == 1


def test_a_k_that_the_catalogue_lacks_gets_no_floor():
    deep = msgspec.structs.replace(CELL, k=9)
    elsewhere = report_only("speedup", family="another")
    result = judged(both_arms(cell=deep), elsewhere, cells=(deep,))
    nothing, kept = propose(result, floors(elsewhere), catalog(), origin=ORIGIN, margin=0.05)
    assert not nothing
    assert "k=9" in kept[0].why


def test_a_family_with_the_floors_of_another_gets_none():
    drifted = msgspec.structs.replace(CELL, family=DRIFTED.name)
    elsewhere = report_only("speedup", family="another")
    result = judged(both_arms(cell=drifted), elsewhere, cells=(drifted,))
    nothing, kept = propose(result, floors(elsewhere), catalog(), origin=ORIGIN, margin=0.05)
    assert not nothing
    assert "has the floors of" in kept[0].why


def test_a_run_that_stopped_early_supports_no_floor():
    short = both_arms(on={"answered": 20}, launches=3)
    nothing, kept = proposed(floor(0.5), report_only("speedup"), records=short)
    assert not nothing
    assert "--no-early-stop" in kept[0].why


def test_failed_requests_support_no_floor():
    nothing, _ = proposed(
        floor(0.5), report_only("speedup"), records=both_arms(on={"failed": (3,)}, launches=3)
    )
    assert not nothing


def test_one_pair_of_launches_supports_no_floor_of_the_speedup():
    records = both_arms(launches=1)
    nothing, kept = proposed(report_only(), floor(1.2, "speedup"), records=records)
    assert not nothing
    assert {one.quantity for one in kept} == {Quantity.ACCEPTANCE_RATE, Quantity.SPEEDUP}


def test_what_is_reported_without_a_floor_stays_so_without_a_reason():
    nothing, kept = proposed(report_only(), report_only("speedup"))
    assert not nothing
    assert "nothing to go by yet" in kept[0].why
    proposals, _ = proposed(report_only(), report_only("speedup"), reason="measured at last")
    assert [p.new.quantity for p in proposals] == ["acceptance_rate", "speedup"]


def test_a_pinned_floor_stays():
    nothing, kept = proposed(floor(0.2, pinned=True), report_only("speedup"))
    assert not nothing
    assert kept[0].why == "pinned: it was reached"


def test_a_cell_without_an_entry_gets_a_floor():
    proposals, _ = proposed(report_only("speedup", family="another"))
    rate, speedup = (proposal.new for proposal in proposals)
    assert (rate.k, rate.workload, rate.tier, rate.concurrency) == (3, "code", "off", None)
    assert speedup.concurrency == CELL.concurrency
    assert speedup.launches == 3


FILE = """\
# measured on a quiet machine
[[floor]]
family = "glm-9.1-tiny"  # the tiny one
method = "mtp"
quantity = "acceptance_rate"
value = 0.5
source = "a run"
date = 2026-05-01
hardware = "two cores"
reason = "it was reached"
n = 40

[[report_only]]
family = "glm-9.1-tiny"
method = "mtp"
quantity = "speedup"
reason = "too small"
"""


def test_writing_keeps_what_people_wrote(tmp_path):
    path = tmp_path / "cpu.toml"
    path.write_text(FILE)
    proposals, _ = proposed(*read_floors([path]).entries)
    assert write_floors(proposals, [path], path) == [path]
    text = path.read_text()
    assert "# measured on a quiet machine" in text
    assert "# the tiny one" in text
    (written,) = read_floors([path]).floors
    assert written == proposals[0].new


def test_writing_twice_keeps_the_whole_history(tmp_path):
    path = tmp_path / "cpu.toml"
    path.write_text(FILE)
    proposals, _ = proposed(*read_floors([path]).entries)
    write_floors(proposals, [path], path)
    lowered, _ = proposed(
        *read_floors([path]).entries, margin=0.2, reason="a quieter machine is gone"
    )
    write_floors(lowered[:1], [path], path)
    (written,) = read_floors([path]).floors
    assert [former.value for former in written.history] == [0.5, proposals[0].new.value]


@pytest.mark.parametrize("content", [b"root:x:0", b"\xff"])
def test_a_file_that_is_no_toml_is_said_and_left_as_it_is(content, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    proposals, _ = proposed(report_only("speedup", family="another"))
    with pytest.raises(UsageError, match=r"floor file .*mine\.toml is not TOML"):
        write_floors(proposals, [], path)
    assert path.read_bytes() == content


def test_a_floor_file_that_cannot_be_written_keeps_its_floors(tmp_path, monkeypatch):
    path = tmp_path / "cpu.toml"
    path.write_text(FILE)
    proposals, _ = proposed(*read_floors([path]).entries)

    def full(self, data):
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError, match=r"cannot be written .No space left"):
        write_floors(proposals, [path], path)
    assert path.read_text() == FILE


def test_a_new_floor_starts_a_file(tmp_path):
    path = tmp_path / "fresh.toml"
    proposals, _ = proposed(report_only("speedup", family="another"))
    write_floors(proposals, [], path)
    assert read_floors([path]).floors == tuple(proposal.new for proposal in proposals)
    assert "\n\n[[floor]]" in path.read_text()


@pytest.mark.parametrize("margin", [0.01, 0.1])
def test_the_margin_is_what_is_left_as_room(margin):
    (raised,), _ = proposed(floor(0.2), report_only("speedup"), margin=margin)
    assert raised.new.value < 0.7 * (1 - margin)
