"""Programs that are missing, hang, or leave children behind."""

import os
import signal
import sys
import threading
import time
from types import SimpleNamespace

import psutil
import pytest

from specfloor.host import programs
from specfloor.host.programs import run_program


def test_what_a_program_prints_on_both_streams_is_returned():
    output = run_program(["sh", "-c", "echo one; echo two >&2"], timeout_s=10)
    assert sorted(output.text.split()) == ["one", "two"]
    assert output.problem is None


def test_a_program_that_is_not_there_is_said():
    output = run_program(["no-such-program-here"], timeout_s=10)
    assert output.text == ""
    assert output.problem == "no-such-program-here cannot be run: No such file or directory"


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path, monkeypatch):
    pid = tmp_path / "pid"
    script = f"sleep 600 & echo began; echo $! > {pid}.part; mv {pid}.part {pid}; sleep 600"
    # the patience is over as soon as the child runs, however long that takes
    clock = SimpleNamespace(monotonic=lambda: 1000.0 if pid.exists() else 0.0)
    monkeypatch.setattr(programs, "time", clock)
    output = run_program(["sh", "-c", script], timeout_s=100)
    assert output.text == "began\n"
    assert output.problem == "sh did not answer within 100 s"
    wait_until_gone(int(pid.read_text()))


def test_a_child_that_keeps_the_output_open_is_not_waited_for():
    # a pipe would be read until the child, in a session of its own, closes it
    child = f"{sys.executable} -c 'import os, time; os.setsid(); time.sleep(600)'"
    output = run_program(["sh", "-c", f"{child} & echo $!"], timeout_s=30)
    os.kill(int(output.text), signal.SIGKILL)
    assert output.problem is None


def test_it_stops_when_told():
    stop = threading.Event()
    stop.set()
    output = run_program(["sleep", "600"], timeout_s=600, stop=stop)
    assert output.problem == "sleep was stopped"


@pytest.mark.parametrize("text", ["好", "\\377"])
def test_what_is_no_text_is_still_returned(text):
    assert run_program(["printf", text], timeout_s=10).text


def wait_until_gone(pid, timeout_s=30):
    """A signal is sent at once and acted upon when the kernel next runs the process."""
    deadline = time.monotonic() + timeout_s
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.02)


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
