"""``specfloor host`` on this machine and on one that is made up."""

import json

import pytest
from click.testing import CliRunner

from specfloor.commands import host as command
from specfloor.commands.host import host
from specfloor.host import environment

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


def test_flags_come_last(run):
    assert run(env=MISSPELLED).splitlines()[-1] == (
        "! VLLM_ASCEND_ENABLE_FLASHCOM1 is set and is no variable that is known to be read; "
        "VLLM_ASCEND_ENABLE_FLASHCOMM1 is one"
    )


def test_json_has_the_fields_of_run_json(run):
    found = json.loads(run("--format", "json", env=MISSPELLED))
    assert found["variables"]["VLLM_ASCEND_ENABLE_FLASHCOM1"] == "1"
    assert found["flags"][0]["kind"] == "variable_unknown"
    assert found["engines"] == {}


def test_what_is_installed_is_the_release_that_is_meant(run, monkeypatch):
    packages = {"python": "3.11.7", "vllm": "0.27.1", "vllm-ascend": "0.27.1rc1"}
    monkeypatch.setattr(environment, "engine_packages", lambda python: packages)
    text = run("--engine-python", "/opt/python", env={"VLLM_ASCEND_ENABLE_NZ": "1"})
    assert "/opt/python" in text
    assert "! 0.27.1rc1 does not read VLLM_ASCEND_ENABLE_NZ" in text


def test_a_release_that_is_named_is_the_one_that_is_meant(run):
    text = run("--release", "0.26.0rc1", env={"VLLM_ASCEND_ENABLE_NZ": "1"})
    assert "does not read" not in text
    assert "does not read" in run("--release", "v0.28.0rc1", env={"VLLM_ASCEND_ENABLE_NZ": "1"})


def test_an_interpreter_that_does_not_answer_is_said(run, tmp_path):
    text = run("--engine-python", str(tmp_path / "none"))
    assert "did not answer" in text
