"""Runs on disk: written line by line, and read back whatever happened to the writer."""

import json

import msgspec
import pytest

from specfloor.errors import UsageError
from specfloor.host.npu_smi import Device, Process
from specfloor.runs.records import (
    BlockKey,
    CountersRecord,
    HostSampleRecord,
    Phase,
    ProcessorSample,
    Purpose,
    SplitRecord,
)
from specfloor.runs.store import INFO, RECORDS, SCHEMA, RunWriter, read_run
from specfloor.signals.counts import DraftCounts
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, both_arms, fault, info

SPLITS = tuple(SplitRecord(f"launch {n}", Phase.START, n / 10) for n in range(3))


@pytest.fixture
def folder(tmp_path):
    with RunWriter(tmp_path / "reports" / "r1", info()) as writer:
        for record in SPLITS:
            writer.append(record)
    return writer.folder


def test_what_was_written_is_read_back(tmp_path):
    records = (
        *both_arms(),
        *SPLITS,
        fault(Finding.HANG, CELL.arm, cause='好 é \u2028 "', evidence="engines/x.log"),
    )
    with RunWriter(tmp_path / "r", info()) as writer:
        for record in records:
            writer.append(record)
    run = read_run(tmp_path / "r")
    assert run.records == records
    assert run.info == info()
    assert not run.truncated


def test_every_record_is_on_disk_before_the_next(tmp_path):
    writer = RunWriter(tmp_path / "r", info())
    assert read_run(writer.folder).records == ()
    for number, record in enumerate(SPLITS, 1):
        writer.append(record)
        assert read_run(writer.folder).records == SPLITS[:number]
    writer.close()


def test_a_run_is_complete_only_when_it_says_so(tmp_path):
    with RunWriter(tmp_path / "a", info()):
        pass
    assert not read_run(tmp_path / "a").info.complete
    with RunWriter(tmp_path / "b", info()) as writer:
        writer.complete()
    assert read_run(tmp_path / "b").info == info(complete=True)
    assert {path.name for path in (tmp_path / "b").iterdir()} == {INFO, RECORDS}


def test_records_outlive_an_exception(tmp_path):
    def measure():
        with RunWriter(tmp_path / "r", info()) as writer:
            writer.append(SPLITS[0])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        measure()
    assert read_run(tmp_path / "r").records == SPLITS[:1]


def test_a_folder_that_holds_a_run_is_left_alone(folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(UsageError, match=r"r1 already holds a run; name another folder"):
        RunWriter(folder, info(run="r2"))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_a_last_line_that_was_cut_off_is_left_out(folder, cut):
    path = folder / RECORDS
    path.write_bytes(path.read_bytes()[:-cut])
    run = read_run(folder)
    # without its newline alone, the record is whole
    assert run.records == SPLITS[: 3 if cut == 1 else 2]
    assert run.truncated is (cut != 1)


def test_a_broken_line_in_the_middle_is_named(folder):
    path = folder / RECORDS
    lines = path.read_bytes().splitlines(keepends=True)
    for broken in (b'{"record": "split"\n', b"\xff\xfe\n", b'{"record": "other"}\n'):
        path.write_bytes(lines[0] + broken + lines[2])
        with pytest.raises(UsageError, match=r"records\.jsonl line 2 is not a record of this"):
            read_run(folder)


def test_a_whole_last_line_that_is_no_record_is_not_a_cut(folder):
    with (folder / RECORDS).open("ab") as file:
        file.write(b'{"record": "split", "launch": "x"}\n')
    with pytest.raises(UsageError, match="line 4"):
        read_run(folder)


@pytest.mark.parametrize("kind", ["launch", "block", "request"])
def test_what_comes_twice_is_not_counted_twice(kind, tmp_path):
    folder = tmp_path / "r2"
    with RunWriter(folder, info()) as writer:
        for record in both_arms():
            writer.append(record)
    path = folder / RECORDS
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    again = next(line for line in lines if f'"record":"{kind}"' in line)
    path.write_text("".join([*lines, again]), encoding="utf-8")
    first = lines.index(again) + 1
    with pytest.raises(UsageError, match=f"line {len(lines) + 1} has what line {first} has"):
        read_run(folder)


def test_counts_below_zero_are_no_counts(folder):
    counts = CountersRecord("l", BlockKey("w", "off", 1, Purpose.NATURAL), {"0": DraftCounts(-1)})
    with (folder / RECORDS).open("ab") as file:
        file.write(msgspec.json.encode(counts) + b"\n")
    with pytest.raises(UsageError, match=r">= 0 - at `\$\.by_engine"):
        read_run(folder)


def test_empty_lines_are_skipped(folder):
    path = folder / RECORDS
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n"))
    assert read_run(folder).records == SPLITS


@pytest.mark.parametrize("further", [{}, {"a_field_of_the_future": 1}])
def test_a_newer_schema_asks_for_an_update(folder, further):
    newer = msgspec.to_builtins(info(schema=SCHEMA + 1)) | further
    (folder / INFO).write_text(json.dumps(newer))
    with pytest.raises(UsageError, match=rf"has schema {SCHEMA + 1} and this .*update specfloor"):
        read_run(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "one"}', '{"schema": 1}'])
def test_a_run_json_that_is_none(folder, text):
    (folder / INFO).write_text(text)
    with pytest.raises(UsageError, match=r"run\.json is not a run\.json of this version"):
        read_run(folder)


def test_a_folder_that_is_no_run(tmp_path, folder):
    with pytest.raises(UsageError, match=r"run\.json cannot be read \(No such file.*name the"):
        read_run(tmp_path)
    (folder / RECORDS).unlink()
    with pytest.raises(UsageError, match=r"records\.jsonl cannot be read \(No such file"):
        read_run(folder)


def test_a_host_sample_is_read_back(tmp_path):
    chip = Device(2, 0, "910B1", "OK", "0000:C1:00.0", 98.0, 39, 71, 0, 0, 57482, 65536)
    sample = HostSampleRecord(
        launch="x",
        t_s=12.5,
        took_s=0.8,
        processor=ProcessorSample(71.0, 63.5, 2.1, 5 * 2**30, 8 * 2**30),
        devices=(chip, msgspec.structs.replace(chip, chip=1, phy_id=5)),
        processes=(Process(2, 0, 24000, "VLLMWorker_TP", 54362),),
        own_pids=(24000,),
    )
    with RunWriter(tmp_path / "r", info()) as writer:
        writer.append(sample)
    assert read_run(tmp_path / "r").records == (sample,)


def test_a_run_that_says_less_of_its_host_is_still_read(tmp_path):
    with RunWriter(tmp_path / "r", info()):
        pass
    path = tmp_path / "r" / INFO
    written = json.loads(path.read_text())
    old = {"python", "platform", "cpu", "cores", "memory_bytes", "packages"}
    written["environment"] = {n: v for n, v in written["environment"].items() if n in old}
    path.write_text(json.dumps(written))
    assert read_run(tmp_path / "r").info == info()
