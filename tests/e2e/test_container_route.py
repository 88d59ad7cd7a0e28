"""The suite on an engine in a container, with a stand-in for docker that runs on the host."""

import json
import os
import sys
from pathlib import Path

import pytest

from specfloor.catalog import load_catalog
from specfloor.engines.container import PROGRAM_VARIABLE
from specfloor.engines.environment import build
from specfloor.engines.indexes import load_indexes
from specfloor.engines.local import default_cache
from specfloor.host.npu import has_npu
from tests.e2e.fake_host import ROOT, FakeHost
from tests.e2e.test_real_engine import run_suite

SMALL = ("--family", "glm_moe_tiny", "--workload", "code")


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """Put the stand-in where docker is looked for; return a setter of its interpreter."""
    folder = tmp_path / "standin"
    folder.mkdir()
    program = folder / "docker"
    script = ROOT / "tests" / "fakes" / "docker.py"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("STANDIN_DOCKER", str(folder))
    monkeypatch.setenv(PROGRAM_VARIABLE, str(program))

    def has_python(python: Path) -> Path:
        (folder / "python").write_text(str(python))
        return folder

    return has_python


def calls(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]


def test_every_server_runs_in_a_container_of_its_own_and_is_removed(tmp_path, docker):
    host = FakeHost(tmp_path / "host", tmp_path / "cache")
    # the image's python3 is an interpreter that finds the fake
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{host.python_path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    folder = docker(python)
    finished = host.suite("tests/suite", *SMALL, "--engine", "image:vendor/engine:v1")
    assert finished.code == 0, finished.output
    done = calls(folder)
    started = [call for call in done if call["command"] == "run"]
    assert len(started) == len(host.launches) == 2
    assert {call["image"] for call in started} == {"vendor/engine:v1"}
    removed = {call["name"] for call in done if call["command"] == "rm"}
    assert removed == {call["name"] for call in started}
    model = (ROOT / "fixtures" / "models" / "glm_moe_tiny").resolve()
    assert all(any(v.startswith(str(model)) for v in call["volume"]) for call in started)
    assert host.left_over == []


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (None, "no program that runs containers was found"),
        ("echo Client; echo Cannot connect to the daemon. >&2; exit 1", "(Cannot connect to the"),
    ],
)
def test_without_a_program_that_answers_nothing_is_started(tmp_path, monkeypatch, program, said):
    path = tmp_path / "runs-containers"
    if program:
        path.write_text(f"#!/bin/sh\n{program}\n")
        path.chmod(0o755)
    monkeypatch.setenv(PROGRAM_VARIABLE, str(path))
    host = FakeHost(tmp_path / "host", tmp_path / "cache")
    finished = host.suite("tests/suite", *SMALL, "--engine", "image:vendor/engine:v1")
    assert finished.code == 4, finished.output
    assert said in finished.output
    assert not list(host.reports.rglob("run.json"))
    assert not (tmp_path / "cache").exists()


@pytest.mark.skipif(has_npu(), reason="this host has an NPU, and the run would start")
def test_an_upgrade_by_images_needs_an_npu(tmp_path):
    host = FakeHost(tmp_path / "host", tmp_path / "cache")
    finished = host.suite(
        *("tests/suite", "--platform", "ascend", "--family", "glm_4_7"),
        *("--release", "0.18.0", "--engine", "0.18.0=image"),
        *("--release", "0.23.0", "--engine", "0.23.0=image"),
        *("--floors-dir", str(ROOT / "fixtures" / "floors")),
    )
    assert finished.code == 4, finished.output
    assert "no NPU was found on this host" in finished.output
    assert not list(host.reports.rglob("run.json"))


@pytest.mark.engine
def test_the_embedded_engine_in_a_container(tmp_path, docker):
    release = load_catalog().release("cpu-0.32.0")
    python = build(release, (), default_cache(), load_indexes(), print)
    folder = docker(python)
    assert os.environ["STANDIN_DOCKER"] == str(folder)
    code, output, cells = run_suite(tmp_path, *SMALL, "--engine", "image:vendor/engine:v1")
    assert code == 0, output
    (cell,) = cells
    assert cell["acceptance"]["verdict"] == "PASS", output
    done = calls(folder)
    assert {call["name"] for call in done if call["command"] == "rm"} == {
        call["name"] for call in done if call["command"] == "run"
    }
