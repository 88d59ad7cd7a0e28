"""What a host lacks is said before anything starts."""

from pathlib import Path

import pytest

from specfloor.catalog import load_catalog
from specfloor.engines import container, reach
from specfloor.engines.container import PROGRAM_VARIABLE, check_devices, check_program
from specfloor.engines.reach import Way, check_ways
from specfloor.engines.routes import ImageRoute, PythonRoute, UrlRoute, VenvRoute
from specfloor.errors import UsageError

ASCEND = load_catalog().releases["0.23.0"]
CPU = load_catalog().releases["cpu-0.32.0"]


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Let a script be what runs containers; return a setter of its body."""
    path = tmp_path / "docker"

    def does(body):
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        monkeypatch.setenv(PROGRAM_VARIABLE, str(path))
        return str(path)

    return does


@pytest.fixture
def npus(monkeypatch):
    """Let this host have NPUs, whatever files it has; return the devices that were asked for."""
    asked = []
    monkeypatch.setattr(reach, "require_npu", lambda: None)
    monkeypatch.setattr(reach, "check_devices", asked.extend)
    return asked


@pytest.fixture
def no_npu(monkeypatch):
    monkeypatch.setattr("specfloor.host.npu.has_npu", lambda: False)


class TestProgram:
    def test_one_that_answers(self, program):
        check_program(program('test "$1" = version'))

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            (
                "echo Client:; echo Cannot connect to the daemon. >&2; exit 1",
                r"\(Cannot connect to the daemon\); start its daemon",
            ),
            ("exit 3", r"\(exit code 3\)"),
        ],
    )
    def test_one_that_fails_is_quoted(self, program, body, why):
        with pytest.raises(UsageError, match=why):
            check_program(program(body))

    def test_one_that_hangs(self, program, monkeypatch):
        monkeypatch.setattr(container, "_ANSWER_S", 0.0)
        with pytest.raises(UsageError, match="did not answer within 0 s"):
            check_program(program("sleep 600"))


class TestDevices:
    def test_those_that_are_there(self, tmp_path):
        (tmp_path / "dev").mkdir()
        (tmp_path / "dev" / "davinci0").touch()
        check_devices(["/dev/davinci0"], tmp_path)
        with pytest.raises(UsageError, match=r"no /dev/davinci1, /dev/hisi_hdc, which"):
            check_devices(["/dev/davinci0", "/dev/davinci1", "/dev/hisi_hdc"], tmp_path)


class TestWays:
    @pytest.mark.parametrize("route", [PythonRoute(), VenvRoute(), ImageRoute(), ImageRoute("a:1")])
    def test_without_an_npu_no_release_of_the_vendors_starts(self, no_npu, program, route):
        program("exit 0")
        with pytest.raises(UsageError, match="no NPU was found on this host"):
            check_ways([Way(ASCEND, route, 8)], "a2")

    def test_the_vendors_image_needs_a_class_of_npus(self, npus, program):
        program("exit 0")
        with pytest.raises(UsageError, match="name it with --soc"):
            check_ways([Way(ASCEND, ImageRoute(), 2)], None)
        check_ways([Way(ASCEND, ImageRoute("mine:1"), 2)], None)

    def test_the_devices_are_those_of_the_container(self, npus, program):
        program("exit 0")
        check_ways([Way(ASCEND, ImageRoute(), 1)], "a3")
        assert npus[:2] == ["/dev/davinci0", "/dev/davinci1"]

    def test_a_container_on_the_cpu_needs_the_program_alone(self, no_npu, program):
        way = Way(CPU, ImageRoute("engine:1"), 0)
        program("exit 0")
        check_ways([way], None)
        program("exit 1")
        with pytest.raises(UsageError, match="containers cannot be run here"):
            check_ways([way], None)

    def test_what_brings_its_own_is_not_asked(self, no_npu, program):
        program("exit 1")
        there = UrlRoute(on="http://h:1")
        check_ways(
            [Way(ASCEND, there), Way(CPU, VenvRoute()), Way(CPU, PythonRoute(Path("x")))], None
        )
