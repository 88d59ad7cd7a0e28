"""The process between harness and engine that outlives the harness just long enough to clean up.

It is started by :mod:`specfloor.engines.server` as ``python guard.py`` with the engine's log as
standard output and error, and with a pipe as standard input. The first line on the pipe is the
order (a JSON object: ``argv`` list of text, ``env`` additions as an object, ``grace_s`` seconds,
``cleanup`` what to run at the end, a list that may be empty).
After it the pipe says nothing: its end, which the kernel sends however the harness ends, means
"stop". The guard's exit code is the engine's, or 128 + n when signal n ended it.

Only the standard library and psutil are imported, so that a guard costs little to start.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable

import psutil

PR_SET_CHILD_SUBREAPER = 36
"""From linux/prctl.h: descendants whose parent dies become children of this process."""

_POLL_S = 0.2
_CLEANUP_S = 60.0
_AFTERMATH_S = 2.0  # for the rest of an engine that ended by itself: time to write its last lines


def become_subreaper() -> None:
    """Adopt every orphaned descendant from now on; raises OSError where Linux refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


class Guard:
    """One engine and all that descends from it, whatever sessions its processes make."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        """Start the engine as the leader of a session of its own; OSError when it cannot be."""
        self._harness = os.getppid()
        self._asked_to_stop = False
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        self._engine = subprocess.Popen(
            argv, env=os.environ | env, stdin=subprocess.DEVNULL, start_new_session=True
        )

    def _ask_to_stop(self, *_: object) -> None:
        self._asked_to_stop = True

    def watch(self) -> None:
        """Return when the engine has ended, the harness has gone or a stop was asked for."""
        while self._engine.returncode is None and not self._asked_to_stop:
            readable, _, _ = select.select([sys.stdin.buffer], [], [], _POLL_S)
            # the parent is checked too: a forked child of the harness may hold the pipe open
            if (readable and not os.read(0, 4096)) or os.getppid() != self._harness:
                return
            self._reap()

    def sweep(self, grace_s: float) -> int:
        """End every descendant, politely for ``grace_s`` seconds; return the exit code to give."""
        code = self._engine.returncode
        if code is not None:
            grace_s = min(grace_s, _AFTERMATH_S)
        _signal_all(self._descendants(), signal.SIGTERM)
        patience = time.monotonic() + grace_s
        while alive := self._descendants():
            if time.monotonic() >= patience:
                # again and again: a process may have been forked since the list was made
                _signal_all(alive, signal.SIGKILL)
            time.sleep(0.05)
        code = self._engine.returncode if code is None else code
        return 128 - code if code < 0 else code

    def _descendants(self) -> list[psutil.Process]:
        self._reap()
        return psutil.Process().children(recursive=True)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                if pid == self._engine.pid:
                    self._engine.returncode = os.waitstatus_to_exitcode(status)


def _signal_all(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def clean_up(argv: list[str]) -> None:
    """Run what removes the rest, such as a container whose client was killed; it may be gone."""
    if argv:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                argv, stdin=subprocess.DEVNULL, timeout=_CLEANUP_S, check=False, capture_output=True
            )


def main() -> int:
    """Read the order, run the engine, stay until nothing of it is left."""
    line = sys.stdin.buffer.readline()
    if not line:
        return 0
    order = json.loads(line)
    become_subreaper()
    guard = Guard(order["argv"], order["env"])
    guard.watch()
    code = guard.sweep(order["grace_s"])
    clean_up(order["cleanup"])
    return code


if __name__ == "__main__":
    sys.exit(main())
