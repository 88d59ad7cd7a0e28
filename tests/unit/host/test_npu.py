"""Whether a host can serve on NPUs, without one."""

import os
import sys
from pathlib import Path

import pytest

from specfloor.errors import UsageError
from specfloor.host import npu
from specfloor.host.npu import find_ascend_python, has_npu


@pytest.fixture
def devices(monkeypatch, tmp_path):
    """Let the device folder be an empty one; return it."""
    monkeypatch.setattr(
        npu, "Path", lambda *parts: tmp_path if parts == ("/dev",) else Path(*parts)
    )
    return tmp_path


@pytest.fixture
def interpreter(tmp_path, devices):
    """Return a maker of interpreters that have vllm-ascend or not, on a host with an NPU."""
    (devices / "davinci0").touch()

    def make(folder, name="python3", code=0, body=""):
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\nexit {code}\n")
        path.chmod(0o755)
        return path

    return make


def set_path(monkeypatch, *folders):
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))


def test_a_device_file_is_an_npu(devices):
    assert not has_npu()
    (devices / "davinci_manager").touch()
    (devices / "null").touch()
    assert not has_npu()
    (devices / "davinci7").touch()
    assert has_npu()


def test_without_an_npu_nothing_is_searched(devices, monkeypatch):
    monkeypatch.setattr(npu, "_can_import", lambda _: pytest.fail("an interpreter was tried"))
    with pytest.raises(UsageError, match="no NPU was found on this host") as caught:
        find_ascend_python(Path(sys.executable))
    assert "\n" not in str(caught.value)


def test_the_interpreter_asked_for_is_the_only_one(interpreter, monkeypatch):
    good, bad = interpreter("good"), interpreter("bad", code=1)
    set_path(monkeypatch, good.parent)
    assert find_ascend_python(good) == good
    with pytest.raises(UsageError, match=rf"no interpreter .* \(tried: {bad}\); name one with"):
        find_ascend_python(bad)
    with pytest.raises(UsageError, match="no interpreter with vllm and vllm-ascend"):
        find_ascend_python(good.with_name("none"))


def test_the_first_on_the_path_that_has_it(interpreter, monkeypatch, tmp_path):
    bad, good = interpreter("bad", code=1), interpreter("good", name="python")
    later = interpreter("later")
    set_path(monkeypatch, tmp_path / "missing", bad.parent, "", good.parent, later.parent)
    assert find_ascend_python() == good


def test_the_harness_itself_is_passed_over(interpreter, monkeypatch, tmp_path):
    own, link = interpreter("own"), tmp_path / "link"
    other = interpreter("other")
    monkeypatch.setattr(sys, "prefix", str(own.parent))
    set_path(monkeypatch, own.parent, other.parent)
    assert find_ascend_python() == other
    # a virtual environment elsewhere may well link to the same interpreter
    link.mkdir()
    (link / "python3").symlink_to(own)
    set_path(monkeypatch, own.parent, link)
    assert find_ascend_python() == link / "python3"


def test_nothing_on_the_path(interpreter, monkeypatch, tmp_path):
    set_path(monkeypatch, tmp_path / "empty")
    with pytest.raises(UsageError, match="tried: none on PATH"):
        find_ascend_python()


def test_an_interpreter_that_hangs_or_is_none_is_passed_over(interpreter, monkeypatch):
    monkeypatch.setattr(npu, "_PROBE_TIMEOUT_S", 0.2)
    slow = interpreter("slow", body="exec sleep 60")
    broken = interpreter("broken")
    broken.write_text("#!/no/such/interpreter\n")
    good = interpreter("good")
    set_path(monkeypatch, slow.parent, broken.parent, good.parent, os.environ["PATH"])
    assert find_ascend_python() == good


def test_the_probe_tells_interpreters_apart():
    """The real probe: this interpreter has no vllm-ascend."""
    assert not npu._can_import(Path(sys.executable))
