"""The chips of npu-smi as people read them."""

import msgspec
import pytest

from specfloor.triage.devices import device_tables
from specfloor.triage.files import triage
from specfloor.triage.given import Given, GivenFile
from specfloor.triage.report import as_markdown, as_text
from tests.unit.triage.builders import DEAD, case_text, log


def reported(folder, **texts):
    """Return the report on texts, by name."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return triage(Given(tuple(GivenFile(f"{name}.txt") for name in texts)), folder)


def rows(text):
    """Return the cells of the lines about chips."""
    lines = (line.split() for line in text.splitlines())
    return [line for line in lines if len(line) > 7 and line[0].isdigit() and line[1].isdigit()]


def test_a_chip_has_a_line_with_its_health_memory_load_heat_and_processes(tmp_path):
    text = as_text(reported(tmp_path, npu=case_text("npu_smi", "a2-shared-host", "npu-smi.txt")))
    assert "npu-smi 25.0.rc1.1 shows 3 chips" in text
    assert "device_count" not in text
    assert rows(text) == [
        ["0", "0", "OK", "3,400", "/", "65,536", "0", "41", "-"],
        ["1", "0", "OK", "58,211", "/", "65,536", "12", "47", "7001,", "7044"],
        ["2", "0", "OK", "34,100", "/", "65,536", "44", "38", "9120"],
    ]


def test_it_is_a_table_of_markdown_too(tmp_path):
    report = reported(tmp_path, npu=case_text("npu_smi", "a2-shared-host", "npu-smi.txt"))
    lines = [line for line in as_markdown(report).splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 3
    assert lines[0].split("|")[1].strip() == "NPU"


def test_a_card_of_two_chips_has_two_lines_beside_a_log_too(tmp_path):
    table = case_text("npu_smi", "a3-wide-table", "npu-smi.txt")
    report = reported(tmp_path, npu=table, server=log(4, counts=lambda *_: DEAD))
    assert [row[:2] for row in rows(as_text(report))] == [
        ["0", "0"],
        ["0", "1"],
        ["1", "0"],
        ["1", "1"],
    ]


def test_an_error_has_no_table(tmp_path):
    report = reported(tmp_path, npu=case_text("npu_smi", "dcmi-init-failure", "npu-smi.txt"))
    assert list(device_tables(report.extract, "simple")) == []


@pytest.mark.parametrize(("chips", "more"), [(16, None), (20, "and 4 more chips")])
def test_what_is_not_known_is_a_question_mark_and_many_are_cut(chips, more, tmp_path):
    table = case_text("npu_smi", "a2-shared-host", "npu-smi.txt")
    extract = reported(tmp_path, npu=table).extract
    (first, *_) = msgspec.to_builtins(extract["devices"])
    bare = dict.fromkeys(first) | {"npu": 0, "chip": 0, "health": ""}
    processes = [{"npu": 0, "chip": 0, "pid": pid} for pid in range(101, 106)]
    found = list(device_tables({"devices": [bare] * chips, "processes": processes}, "plain"))
    lines = found[0].splitlines()[1:]
    assert len(lines) == 16
    assert lines[0].split() == ["0", "0", "?", "?", "?", "?", "101,", "102,", "103", "+2"]
    assert [line.partition(" (")[0] for line in found[1:]] == ([more] if more else [])
