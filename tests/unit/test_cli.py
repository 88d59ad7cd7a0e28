"""The command line: what it prints and what the shell gets."""

import errno
import os
import shlex
import subprocess
import sys

import msgspec
import pytest

from specfloor import __version__
from specfloor.cells import OFF
from specfloor.judge.run import Basis, Wanted, write_basis
from specfloor.runs.records import Purpose
from specfloor.runs.store import RECORDS, RunWriter
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    CELL,
    RULE,
    both_arms,
    catalog,
    fault,
    floor,
    floors,
    info,
    launch,
    natural,
    report_only,
)

FLOORS = (floor(0.6), report_only("speedup"))
DEAD = both_arms(on={"accepted": (0,) * 10})


@pytest.fixture
def specfloor(monkeypatch, typed):
    """Run the command line on the small catalogue; return exit code, output and errors."""
    monkeypatch.setattr("specfloor.commands.report.load_catalog", catalog)
    return typed


@pytest.fixture
def stored(tmp_path):
    def store(records, *entries, complete=True):
        wanted = (Wanted(CELL, frozenset(Purpose)),)
        with RunWriter(tmp_path / "r1", info()) as writer:
            write_basis(Basis(wanted, floors(*(entries or FLOORS)), RULE), writer.folder)
            for record in records:
                writer.append(record)
            if complete:
                writer.complete()
        return writer.folder

    return store


def test_a_run_that_holds(specfloor, stored):
    code, out, err = specfloor("report", stored(both_arms()))
    assert (code, err) == (0, "")
    assert out.startswith("cpu-2.0\nfamily")
    assert "\n2 PASS, 1 reported: verdicts on configuration, acceptance, speed of 1 cell\n" in out


def test_a_run_with_a_fail(specfloor, stored):
    folder = stored(DEAD)
    code, out, _ = specfloor("report", folder)
    assert code == 1
    assert f"FAIL ACCEPT_ZERO: acceptance of {CELL.id}" in out
    assert "everything else looked healthy" in out
    assert f"Evidence: {folder / RECORDS}" in out
    assert out.splitlines()[-1].startswith("1 PASS, 1 FAIL, 1 reported: verdicts on ")


@pytest.mark.parametrize(
    "records",
    [
        [],
        [fault(Finding.START_FAIL, OFF), launch(CELL.arm), *natural(CELL.arm)],
    ],
)
def test_a_run_that_concludes_nothing(specfloor, stored, records):
    code, out, _ = specfloor("report", stored(records, complete=False))
    assert code == 10
    assert "NO_DATA" in out
    assert out.endswith("(the run did not come to its end)\n")


def test_one_launch_is_inconclusive(specfloor, stored):
    code, out, _ = specfloor("report", stored(both_arms(), floor(0.6), floor(1.3, "speedup")))
    assert code == 10
    assert "INCONCLUSIVE INCONCLUSIVE: speed of" in out


def test_a_fail_outweighs_what_is_inconclusive(specfloor, stored):
    code, _, _ = specfloor("report", stored(DEAD, floor(0.6), floor(1.3, "speedup")))
    assert code == 1


def test_a_last_record_that_was_cut_off_is_said(specfloor, stored):
    folder = stored(both_arms())
    path = folder / RECORDS
    path.write_bytes(path.read_bytes()[:-9])
    code, out, _ = specfloor("report", folder)
    assert code == 0
    assert "The last record was cut off and is left out." in out


def broken_record(folder):
    (folder / RECORDS).write_text('{"record": "?"}\n')


def no_basis(folder):
    (folder / "basis.json").unlink()


def of_the_future(folder):
    newer = msgspec.json.encode(msgspec.structs.replace(info(), schema=99))
    (folder / "run.json").write_bytes(newer)


def no_run(folder):
    (folder / "run.json").unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (broken_record, "line 1 is not a record"),
        (no_basis, "without it a run cannot be judged again"),
        (of_the_future, "update specfloor"),
        (no_run, "name the folder of a run"),
    ],
)
def test_a_folder_that_cannot_be_judged(specfloor, stored, damage, message):
    folder = stored(both_arms())
    damage(folder)
    code, out, err = specfloor("report", folder)
    assert (code, out) == (4, "")
    assert err.startswith("specfloor: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["report"], ["reprot"], ["report", "--no-such-option", "x"]])
def test_a_command_line_that_is_none(specfloor, arguments):
    code, _, err = specfloor(*arguments)
    assert code == 4
    assert "Error: " in err


def test_an_interrupted_command_line(specfloor, stored, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("specfloor.commands.report.read_run", interrupt)
    code, _, _ = specfloor("report", stored([]))
    assert code == 130


def test_the_version(specfloor):
    code, out, _ = specfloor("--version")
    assert code == 0
    assert __version__ in out


def test_every_command_is_listed_and_none_is_imported_before_it_is_asked_for():
    script = (
        "import sys; from specfloor.cli import cli; import click;"
        "names = cli.list_commands(click.Context(cli));"
        "assert {'report', 'triage', 'fixes'} <= set(names), names;"
        "assert 'scipy' not in sys.modules;"
        "assert all(cli.get_command(click.Context(cli), name) for name in names)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "specfloor", "report", "no/such/folder"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 4
    assert done.stderr.startswith("specfloor: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "streams", "code", "told"),
    [
        (("releases",), ">/dev/full", 4, "the output cannot be written (No space left on device)"),
        (("triage", "-"), "<&-", 4, "standard input is closed"),
        (("--lang", "zh", "releases"), ">/dev/null", 0, ""),
    ],
)
def test_what_is_wrong_with_the_streams_is_one_sentence(arguments, streams, code, told):
    command = shlex.join([sys.executable, "-m", "specfloor", *arguments])
    done = subprocess.run(
        ["sh", "-c", f"{command} {streams}"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code
    assert told in done.stderr
    assert done.stderr.count("\n") == bool(told)


def test_output_that_nobody_reads_is_no_fail():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as pipe:
        command = [sys.executable, "-m", "specfloor", "families"]
        done = subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )
    assert (done.returncode, done.stderr) == (10, "")


@pytest.mark.parametrize(("number", "code"), [(errno.EACCES, 4), (errno.ENOSPC, 4)])
def test_a_file_that_the_system_refuses_is_one_sentence(number, code, specfloor, monkeypatch):
    def refuse():
        raise OSError(number, os.strerror(number), "reports/x")

    monkeypatch.setattr("specfloor.commands.releases.load_catalog", refuse)
    found, _, err = specfloor("releases")
    assert (found, err.count("\n")) == (code, 1)
    assert f"reports/x cannot be used ({os.strerror(number)})" in err


@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_language_may_be_named_before_and_behind_the_command(specfloor, stored, place):
    arguments = ["report", stored(DEAD)]
    if place == 3:
        arguments += ["--lang=zh"]
    else:
        arguments[place:place] = ["--lang", "zh"]
    code, out, _ = specfloor(*arguments)
    assert (code, "接受率（均值）" in out, "acceptance (mean)" in out) == (1, True, False)


def test_help_is_chinese_when_it_is_asked_for(specfloor, monkeypatch):
    assert "重新判定" in specfloor("report", "--help", "--lang", "zh")[1]
    monkeypatch.setenv("SPECFLOOR_LANG", "zh")
    assert "判断某个" in specfloor("--help")[1]
    monkeypatch.delenv("SPECFLOOR_LANG")
    assert "Judge a stored run again" in specfloor("report", "--help")[1]


def test_a_language_that_there_is_not_is_a_usage_error(specfloor, monkeypatch):
    monkeypatch.setenv("SPECFLOOR_LANG", "fr")
    assert specfloor("releases")[0] == 4
