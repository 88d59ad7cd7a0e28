"""The packages of another interpreter, without importing them."""

import platform
import sys
from importlib import metadata
from pathlib import Path

import pytest

from specfloor.host.packages import engine_packages


@pytest.fixture
def interpreter(tmp_path):
    """Return a maker of interpreters that see distributions of these names and versions."""

    def make(**versions):
        for name, version in versions.items():
            info = tmp_path / f"{name}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n")
            with (info / "METADATA").open("a") as file:
                file.write(f"Version: {version}\n")
            package = tmp_path / name
            package.mkdir()
            (package / "__init__.py").write_text("raise SystemExit('it was imported')")
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        return python

    return make


def test_versions_are_those_of_the_interpreter(interpreter):
    found = engine_packages(interpreter(vllm="0.23.0+empty", vllm_ascend="0.23.0.post1"))
    assert found["vllm"] == "0.23.0+empty"
    assert found["vllm-ascend"] == "0.23.0.post1"
    assert found["python"] == platform.python_version()
    assert "specfloor" not in found


def test_an_engine_that_is_not_there_is_left_out():
    found = engine_packages(Path(sys.executable))
    names = {d.metadata["Name"] for d in metadata.distributions()}
    assert ("vllm" in found) == ("vllm" in names)


@pytest.mark.parametrize("body", ["exit 3", "echo nothing of use"])
def test_an_interpreter_that_does_not_answer_has_none(tmp_path, body):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{body}\n")
    python.chmod(0o755)
    assert engine_packages(python) == {}
    assert engine_packages(tmp_path / "missing") == {}
