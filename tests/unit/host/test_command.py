"""``specfloor host`` on this machine and on one that is made up."""

import json
import sys

import pytest
from click.testing import CliRunner

from specfloor.commands import host as command
from specfloor.commands.host import host
from specfloor.host import environment, packages
from specfloor.host.programs import Output

MISSPELLED = {"VLLM_ASCEND_ENABLE_FLASHCOM1": "1"}


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(command, "find_ascend_python", refuse)

    def run(*args, **options):
        done = CliRunner().invoke(host, args, catch_exceptions=False, **options)
        assert done.exit_code == 0
        return done.output

    return run


def refuse():
    raise command.UsageError("no NPU was found")


def test_a_machine_without_npus_is_shown(run):
    text = run()
    assert "platform" in text
    assert "CANN" in text


ABSENT = [
    "! no NPU was found: there is no /dev/davinci device and npu-smi shows none",
    "! no npu-smi was found on PATH",
    "! no CANN was found: looked in $ASCEND_HOME_PATH, $ASCEND_TOOLKIT_HOME, /usr/local/Ascend, "
    "~/Ascend",
]


@pytest.fixture
def bare(monkeypatch):
    """Let this be a host with nothing of Ascend's, whatever it has."""
    described = command.describe_environment

    def describe(**asked):
        found = described(**asked)
        return command.msgspec.structs.replace(found, accelerators=(), cann=None, flags=())

    monkeypatch.setattr(command, "describe_environment", describe)
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)


@pytest.mark.parametrize("asked", [(), ("--release", "0.23.0")])
def test_what_a_host_lacks_for_npus_is_flagged_with_where_it_was_looked_for(run, bare, asked):
    assert run(*asked).splitlines()[-3:] == ABSENT


def test_a_release_for_the_cpu_lacks_nothing(run, bare):
    assert run("--release", "cpu-0.32.0").splitlines()[-1] == "nothing to flag"


def test_flags_come_last(run):
    told = run(env=MISSPELLED).splitlines()
    first = next(line for line in told if line.startswith("! "))
    assert not [line for line in told[told.index(first) :] if not line.startswith("! ")]
    assert first == (
        "! VLLM_ASCEND_ENABLE_FLASHCOM1 is set and is no variable that is known to be read; "
        "VLLM_ASCEND_ENABLE_FLASHCOMM1 is one"
    )


def test_json_has_the_fields_of_run_json(run):
    found = json.loads(run("--format", "json", env=MISSPELLED))
    assert found["variables"]["VLLM_ASCEND_ENABLE_FLASHCOM1"] == "1"
    assert found["flags"][0]["kind"] == "variable_unknown"
    assert found["engines"] == {}


def test_what_is_installed_is_the_release_that_is_meant(run, monkeypatch):
    installed = {"python": "3.11.7", "vllm": "0.27.1", "vllm-ascend": "0.27.1rc1"}
    monkeypatch.setattr(environment, "engine_packages", lambda python: installed)
    text = run("--engine-python", sys.executable, env={"VLLM_ASCEND_ENABLE_NZ": "1"})
    assert sys.executable in text
    assert "! 0.27.1rc1 does not read VLLM_ASCEND_ENABLE_NZ" in text


def test_a_release_that_is_named_is_the_one_that_is_meant(run):
    text = run("--release", "0.26.0rc1", env={"VLLM_ASCEND_ENABLE_NZ": "1"})
    assert "does not read" not in text
    assert "does not read" in run("--release", "v0.28.0rc1", env={"VLLM_ASCEND_ENABLE_NZ": "1"})


def test_an_interpreter_that_does_not_answer_is_said(run, monkeypatch):
    monkeypatch.setattr(packages, "run_program", lambda argv, **_: Output("", "it hung"))
    assert "did not answer" in run("--engine-python", sys.executable)


@pytest.mark.parametrize(("body", "why"), [(None, "is no program"), ("exit 0", "is no Python")])
def test_what_is_no_interpreter_is_refused(typed, tmp_path, body, why):
    path = tmp_path / "python3"
    if body:
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    code, out, err = typed("host", "--engine-python", path)
    assert (code, out) == (4, "")
    assert err.count("\n") == 1
    assert f"--engine-python {path} {why}; name" in err
