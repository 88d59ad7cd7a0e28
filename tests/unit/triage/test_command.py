"""``specfloor triage`` as typed."""

import errno
import gzip
import io
import json
import os
import tarfile
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from specfloor.commands.triage import triage
from specfloor.errors import UsageError
from specfloor.triage.source import BLOCK, Source
from tests.unit.triage.builders import (
    BASELINE,
    CASES,
    DEAD,
    HEALTHY,
    case_text,
    codes,
    log,
    started,
    throughput,
    triaged,
    verdict,
)

ENGINES = CASES / "logs" / "engines-000-to-007-one-broken" / "server.log"


def run(*arguments, content=None):
    """Return what the command prints and its exit code."""
    result = CliRunner().invoke(
        triage,
        [str(argument) for argument in arguments],
        input=content,
        standalone_mode=False,
        catch_exceptions=False,
    )
    return result.stdout, result.return_value


@pytest.mark.parametrize(
    ("folder", "exit_code"),
    [
        ("logs/v1-final-order", 0),
        ("logs/all-zero", 1),
        ("logs/spec-off-log", 10),
        ("logs/foreign-sglang", 10),
        ("npu_smi/a2-shared-host", 0),
    ],
)
def test_exit_codes(folder, exit_code):
    (path,) = [p for p in (CASES / folder).iterdir() if p.name != "expected.json"]
    _, found = run(path)
    assert found == exit_code


def test_text_says_what_is_wrong_where_by_how_much_and_what_to_do():
    text, exit_code = run(ENGINES, "--release", "0.18.0", "--family", "glm-5", "--method", "mtp")
    first = text.splitlines()[0]
    assert first.startswith("TOPOLOGY (engines 003): ")
    for part in (
        "12,257 of 20,487 tokens accepted",
        "engine 003: 0 of 2,553",
        "Known fixes this release lacks",
        "7808",
        "contradicted by the figures: ",
        "Next",
    ):
        assert part in text
    assert exit_code == 1


def test_a_dead_draft_is_told_in_half_a_minute(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(started("0.18.0") + log(20, counts=lambda *_: DEAD), encoding="utf-8")
    lines = run(path)[0].splitlines()
    assert lines[0] == (
        "ACCEPT_ZERO: 0 of 12,000 draft tokens accepted: drafting costs time and gains nothing; "
        "look at the draft before the hardware"
    )
    assert len(lines) <= 14
    assert not any("engine 000" in line for line in lines)  # the only one has the whole's figures
    assert "Fix ledger: not asked" in lines[6]
    assert "give --release (0.18.0rc1, 0.18.0 for vLLM 0.18.0)" in lines[6]
    after = lines[lines.index("Next") + 1 :]
    assert after[0].startswith("  - serve without --speculative-config until")
    assert after[1].startswith("  - `specfloor fixes --release RELEASE --family FAMILY --method")


def test_the_same_figures_are_said_once(tmp_path):
    for name, counts in (("old.log", HEALTHY), ("new.log", DEAD)):
        text = log(20, counts=lambda *_, counts=counts: counts)
        (tmp_path / name).write_text(text, encoding="utf-8")
    text, _ = run(tmp_path / "old.log", tmp_path / "new.log")
    assert text.count(": 0 of 12,000 tokens accepted") == 2  # overall, and of the new role
    assert "role new" in text


@pytest.mark.parametrize(
    ("case", "config", "told"),
    [
        ("a2-shared-host", {}, None),
        ("a2-shared-host", {"server_pids": [9120]}, None),
        ("a2-hbm-full", {"server_pids": [500, 501, 502]}, None),
        ("a2-hbm-full", {}, None),
        ("a2-shared-host", {"server_pids": [9120, 7001, 7044]}, "none that is unwell or shared"),
        ("a2-eight-idle", {}, "none that is unwell or shared"),
        ("dcmi-init-failure", {}, None),
    ],
)
def test_devices_are_cleared_of_what_their_table_shows_only(case, config, told, tmp_path):
    table = case_text("npu_smi", case, "npu-smi.txt")
    files = {"server.log": log(20, counts=lambda *_: DEAD), "npu.txt": table}
    cleared = triaged(tmp_path, files, config=config)["diagnosis"]["exonerated"]
    assert [told in one for one in cleared] == [True] if told else cleared == []


@pytest.mark.parametrize(
    ("case", "config", "warned"),
    [
        ("a2-910b1-busy", {}, True),
        ("a2-910b1-busy", {"server_pids": [24000, 24017, 24034, 24051]}, False),
        ("a2-eight-idle", {}, False),
    ],
)
def test_a_process_of_which_nobody_said_whose_it_is_is_asked_for(case, config, warned, tmp_path):
    table = case_text("npu_smi", case, "npu-smi.txt")
    report = triaged(tmp_path, {"npu.txt": table}, config=config)
    assert ("process_owner_unknown" in codes(report)) is warned


@pytest.mark.parametrize(
    ("version", "release", "command"),
    [
        ("0.28.0+cpu", None, "tox -e cpu"),
        ("0.28.0", "0.28.0", "tox -e cpu"),
        ("0.18.0", "0.18.0", "npu-smi info > npu-smi.txt"),
    ],
)
def test_a_log_of_vllm_on_a_cpu_has_no_npus_to_look_at(version, release, command, tmp_path):
    files = {"server.log": started(version) + log(20, counts=lambda *_: DEAD)}
    links = triaged(tmp_path, files, release=release)["diagnosis"]["links"]
    steps = [step["command"] for link in links for step in link["next"]]
    assert any(step.startswith(command) for step in steps)
    assert any("npu-smi" in step for step in steps) is command.startswith("npu-smi")


def test_positions_are_counted_from_one_for_people_and_from_zero_for_programs(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(log(20, counts=lambda *_: (170, 8, 0)), encoding="utf-8")
    assert run(path)[0].splitlines()[0] == (
        "ACCEPT_REGRESSION (positions 2, 3): from position 2 on next to nothing is accepted, "
        "though position 1 is in 85% of the drafts"
    )
    found = json.loads(run(path, "--format", "json")[0])
    assert found["verdict"]["scope"]["positions"] == [1, 2]


def test_of_many_engines_those_that_accept_least_are_told(tmp_path):
    engines = tuple(f"{number:03d}" for number in range(16))
    path = tmp_path / "server.log"
    text = log(20, engines=engines, counts=lambda _, name: DEAD if name == "011" else HEALTHY)
    path.write_text(text, encoding="utf-8")
    lines = run(path)[0].splitlines()
    assert lines[0].startswith("TOPOLOGY (engines 011)")
    assert [line for line in lines if "engine 011: 0 of 12,000" in line]
    assert len([line for line in lines if line.startswith("  - engine 0")]) == 4
    assert "  - engine, 12 others: rate 69.7% to 69.7%" in lines
    assert len(json.loads(run(path, "--format", "json")[0])["extract"]["by_engine"]) == 16


def test_a_server_that_speculates_is_not_asked_whether_it_does(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(started() + throughput(1) * 3, encoding="utf-8")
    text, exit_code = run(path)
    assert (text.startswith("NO_DATA"), exit_code) == (True, 10)
    assert "is not None" not in text
    assert "capture /metrics" in text


def test_markdown_has_headings_and_the_same_facts():
    text, _ = run(ENGINES, "--format", "md")
    assert text.startswith("**TOPOLOGY**")
    assert "### What the files say" in text
    assert "- engine 003: 0 of 2,553" in text


def test_json_is_one_object_with_a_schema():
    text, _ = run(ENGINES, "--format", "json")
    found = json.loads(text)
    assert found["schema"] == 1
    assert list(found) == [
        *("schema", "files", "extract", "verdict", "warnings", "findings", "diagnosis")
    ]
    assert list(found["verdict"]) == ["class", "scope", "reason"]
    assert found["files"] == {str(ENGINES): "logs"}


def test_standard_input():
    text, exit_code = run("-", content=ENGINES.read_bytes())
    assert text.startswith("TOPOLOGY")
    assert exit_code == 1


def test_a_folder_is_searched_and_what_is_of_no_kind_left_out(tmp_path):
    (tmp_path / "logs" / ".hidden").mkdir(parents=True)
    (tmp_path / "logs" / "server.log").write_text(log(6), encoding="utf-8")
    (tmp_path / "logs" / ".hidden" / "x.log").write_text(
        log(6, counts=lambda *_: DEAD), encoding="utf-8"
    )
    (tmp_path / "model.bin").write_bytes(b"PK\0\0SpecDecoding")
    (tmp_path / "notes.txt").write_text("nothing of interest\n", encoding="utf-8")
    (tmp_path / "empty").touch()
    text, exit_code = run(tmp_path, "--format", "json")
    assert list(json.loads(text)["files"]) == [str(tmp_path / "logs" / "server.log")]
    assert exit_code == 0


def test_a_file_is_counted_once_whatever_it_is_called(tmp_path):
    (tmp_path / "server.log").write_text(log(6), encoding="utf-8")
    (tmp_path / "current.log").symlink_to("server.log")
    (tmp_path / "loop").symlink_to(tmp_path)
    alone = json.loads(run(tmp_path / "server.log", "--format", "json")[0])
    whole = json.loads(run(tmp_path, "--format", "json")[0])
    assert whole["extract"]["totals"] == alone["extract"]["totals"]
    for other in (tmp_path / "current.log", tmp_path, f"{tmp_path}/./server.log"):
        with pytest.raises(UsageError, match="given twice"):
            run(tmp_path / "server.log", other)


def test_a_pipe_is_read_whole(tmp_path):
    text = log(6) * 400  # more than one block
    assert len(text) > BLOCK
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")

    def write():
        (tmp_path / "pipe").write_text(text, encoding="utf-8")

    writer = threading.Thread(target=write)
    writer.start()
    piped, _ = run(tmp_path / "pipe")
    writer.join()
    assert piped == run(tmp_path / "server.log")[0].replace("server.log", "pipe")


def test_a_name_of_any_bytes_is_printed_and_written(tmp_path):
    path = tmp_path / os.fsdecode(b"n\xff.log")
    path.write_text(log(6), encoding="utf-8")
    found, _ = run(path, "--format", "json")
    assert list(json.loads(found)["files"]) == [f"{tmp_path}/n\\udcff.log"]
    with pytest.raises(UsageError, match="given twice"):
        run(path, path)


def test_an_archive_is_named_and_not_read_as_a_log(tmp_path):
    (tmp_path / "server.log").write_text(log(6), encoding="utf-8")
    with tarfile.open(tmp_path / "logs.tgz", "w:gz") as packed:
        packed.add(tmp_path / "server.log")
    (tmp_path / "server.log.1.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    for name, archive in (("logs.tgz", "tar"), ("server.log.1.zst", "zstd")):
        with pytest.raises(UsageError, match=f"packed as {archive}; unpack it"):
            run(tmp_path / name)
    text, _ = run(tmp_path)
    assert "server.log.1.zst is packed as zstd and was not read" in text
    (tmp_path / "server.log").unlink()
    with pytest.raises(UsageError, match="none of the 2 files"):
        run(tmp_path)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_read_in_a_folder_is_not_passed_over(what, tmp_path, monkeypatch):
    (tmp_path / "server.log").write_text(log(6), encoding="utf-8")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "server.log").write_text(log(6), encoding="utf-8")
    closed = tmp_path / "old" / ("server.log" if what == "file" else "")
    guarded = {"file": (Path, "open"), "folder": (os, "scandir")}[what]
    really = getattr(*guarded)

    def refuse(path, *arguments, **options):
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return really(path, *arguments, **options)

    monkeypatch.setattr(*guarded, refuse)
    with pytest.raises(UsageError, match=f"{closed} cannot be read .* let this user read it"):
        run(tmp_path)


def test_what_cannot_be_read_to_its_end_is_damaged_and_not_empty(tmp_path):
    class Failing(io.BytesIO):
        def read(self, size=-1):
            raise OSError(errno.EIO, "Input/output error")

    source = Source("server.log", Failing)
    assert source.head == b""
    assert "Input/output error" in source.damaged
    (tmp_path / "server.log.gz").write_bytes(gzip.compress(log(6).encode())[:5])
    text, exit_code = run(tmp_path / "server.log.gz")
    assert text.startswith(f"NO_DATA: {tmp_path}/server.log.gz ends early or is damaged")
    assert exit_code == 10


def test_spec_tokens_and_method_are_what_was_asked_for(tmp_path):
    (tmp_path / "server.log").write_text(log(6), encoding="utf-8")
    text, exit_code = run(tmp_path / "server.log", "--spec-tokens", "5")
    assert text.startswith("CONFIG_NOT_IN_EFFECT")
    assert exit_code == 1
    assert run(tmp_path / "server.log", "--spec-tokens", "3")[1] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there is no file to read"),
        (("missing.log",), "missing.log cannot be read"),
        (("",), "the name of a file is empty"),
        ((ENGINES, "--given", "given.json"), "leave FILE... out"),
        ((ENGINES, ENGINES), "given twice"),
        ((ENGINES, "--release", "8.5.0"), "is not a vLLM-Ascend version"),
        ((ENGINES, "--release", "0.18.0", "--family", "gpt-7"), "unknown family"),
        ((ENGINES, "--release", "0.18.0", "--method", "magic"), "magic"),
        (("--given", "missing.json"), "missing.json cannot be read"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not what --given takes"),
        ('{"files": []}', "names no files"),
        ('{"files": [{"path": 3}]}', "is not what --given takes"),
        ('{"files": [{"path": "no.log", "role": "log"}]}', "no.log cannot be read"),
        ('{"files": [{"path": "a\\u0000b"}]}', "cannot be read .embedded null byte"),
        ('{"files": [{"path": "a"}], "baseline": {"k": "three"}}', "is not what --given takes"),
        ('{"files": [{"path": "a"}], "baseline": {"acceptance_rate": 68}}', "<= 1.0 - at"),
        ('{"files": [{"path": "a"}], "baseline": {"acceptance_rate": -1}}', ">= 0.0 - at"),
        ('{"files": [{"path": "a"}], "baseline": {"tolerance_points": 100}}', "< 100.0 - at"),
        ('{"files": [{"path": "a"}], "baseline": {"per_position": [2]}}', "<= 1.0 - at"),
        (
            '{"files": [{"path": "a"}], "baseline": {"k": 3, "acceptance_length": 5}}',
            "over k [+] 1",
        ),
    ],
)
def test_a_given_file_that_cannot_be_used(content, message, tmp_path):
    path = tmp_path / "given.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        run("--given", path)


def test_paths_in_a_given_file_are_relative_to_it(tmp_path, monkeypatch):
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "server.log").write_text(log(20), encoding="utf-8")
    given = {"files": [{"path": "server.log", "role": "log"}], "baseline": BASELINE}
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    text, exit_code = run("--given", "case/given.json")
    assert text.startswith("EXPECTED")
    assert exit_code == 0


def test_a_folder_with_nothing_of_a_known_kind_is_no_pass(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(UsageError, match="of a kind that is known"):
        run(tmp_path)


# -- several kinds together ------------------------------------------------------------------------


def test_what_a_tool_without_acceptance_lacks_does_not_hide_what_a_log_shows(tmp_path):
    bench = case_text("bench", "serve-spec-off", "bench.txt")
    files = {"server.log": log(20), "bench.txt": bench}
    healthy = triaged(tmp_path / "a", files, baseline=BASELINE)
    assert verdict(healthy) == "EXPECTED"
    assert healthy["extract"]["bench"]["runs"][0]["spec"] is None
    text, _ = run(tmp_path / "a")
    assert "bench: " in text
    assert "TPOT 27.90 ms, no acceptance" in text
    ill = triaged(tmp_path / "b", files | {"server.log": log(20, counts=lambda *_: DEAD)})
    assert verdict(ill) == "ACCEPT_ZERO"
    assert verdict(triaged(tmp_path / "c", files)) == "PARSE"


def test_no_data_of_a_server_is_not_covered_by_another(tmp_path):
    before = case_text("metrics", "speculation-off", "before.prom")
    after = case_text("metrics", "speculation-off", "after.prom")
    files = {"server.log": log(20), "before.prom": before, "after.prom": after}
    assert verdict(triaged(tmp_path, files, baseline=BASELINE)) == "NO_DATA"


def test_a_shared_host_makes_a_loss_of_speed_worthless_and_not_a_loss_of_acceptance(tmp_path):
    table = case_text("npu_smi", "a2-shared-host", "npu-smi.txt")
    folder = CASES / "bench" / "dynamic-k-zero-tax"
    slow = {f"c004-{arm}.txt": (folder / f"c004-{arm}.txt").read_text() for arm in ("off", "on")}
    config = {"server_pids": [9120]}
    shared = triaged(tmp_path / "a", slow | {"npu.txt": table}, config=config)
    assert verdict(shared) == "BASELINE_INVALID"
    assert "SPEED_REGRESSION" in {entry["finding"] for entry in shared["findings"]}
    dead = {"server.log": log(20, counts=lambda *_: DEAD), "npu.txt": table}
    assert verdict(triaged(tmp_path / "b", dead, config=config)) == "ACCEPT_ZERO"


def test_two_environment_texts_are_both_kept(tmp_path):
    files = {"a.txt": "vllm_ascend 0.18.0\n", "b.txt": "vllm_ascend 0.23.0\n"}
    extract = triaged(tmp_path, files)["extract"]
    assert extract["vllm_ascend"]["version"] == "0.18.0"
    assert extract["env"]["vllm_ascend"]["version"] == "0.23.0"
