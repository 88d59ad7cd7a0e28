"""Running a program that may be missing, hang, or leave children that hold its output open."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

NPU_SMI_S = 20.0
"""Seconds for npu-smi, which has been seen to hang on a device that does."""
_POLL_S = 0.02
_REAP_S = 1.0
"""Seconds a killed program gets to be gone. One that waits for a device that hangs cannot be ended
by any signal until the device answers; it is then left behind."""


class Output(msgspec.Struct, frozen=True):
    """What a program printed; ``problem`` is a sentence when it did not come to its end.

    ``code`` is its exit code, None where it did not end by itself.
    """

    text: str
    problem: str | None = None
    code: int | None = None


def run_program(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stop: threading.Event | None = None,
    env: Mapping[str, str] | None = None,
) -> Output:
    """Run ``argv`` and return what it printed on both streams; never raises, never hangs.

    It gets a session of its own and is killed, with all it started, after ``timeout_s`` seconds
    or as soon as ``stop`` is set. Output goes to a file and not a pipe, which a child left behind
    would keep open. ``env`` is added to this process's environment.
    """
    stop = stop or threading.Event()
    with tempfile.TemporaryFile() as file:
        try:
            process = subprocess.Popen(
                argv,
                env=os.environ | dict(env or {}),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        except OSError as error:
            return Output("", f"{argv[0]} cannot be run: {error.strerror}")
        deadline = time.monotonic() + timeout_s
        while process.poll() is None and time.monotonic() < deadline:
            if stop.wait(_POLL_S):
                break
        problem, code = None, process.poll()
        if code is None:
            problem = f"{argv[0]} did not answer within {timeout_s:g} s"
            if stop.is_set():
                problem = f"{argv[0]} was stopped"
            _kill(process)
        file.seek(0)
        return Output(file.read().decode("utf-8", "replace"), problem, code)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_REAP_S)
