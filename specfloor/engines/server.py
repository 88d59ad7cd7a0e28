"""One engine's server: started, waited for, watched, and gone when the harness is."""

import contextlib
import http
import http.client
import io
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Annotated, NoReturn, Self

import msgspec
import psutil

from specfloor.engines import guard
from specfloor.engines.command import Command
from specfloor.engines.logs import address_in_use, last_words, message_of, root_cause
from specfloor.engines.ports import free_port, listeners
from specfloor.triage.findings import Finding

Progress = Callable[[float, str], None]
"""Called about once a second with the seconds since the start and the log's last line."""

HOST = "127.0.0.1"

_PORTS_TO_TRY = 3
_POLL_S = 0.25
_HEALTH_S = 5.0
_TAIL_BYTES = 8192
_STUCK_S = 15.0  # a process that SIGKILL does not end in this time sits in the kernel


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a server is of no more use.

    ``finding`` is START_FAIL, CRASH or HANG; ``message`` a sentence; ``cause`` the line of the log
    that says why, where one does, and of an engine that ended before it served its last words where
    none does; ``exit_code`` the engine's (128 + n for signal n), None while it has not ended.
    """

    finding: Finding
    message: str
    cause: str | None
    log: Path
    exit_code: int | None = None


class StartFailure(Exception):  # noqa: N818 - named as its finding is
    """A server that never became healthy; ``failure`` says why."""

    def __init__(self, failure: Failure) -> None:
        """Keep the failure; the message is its sentence."""
        super().__init__(failure.message)
        self.failure = failure


class _PortTakenError(Exception):
    """Another server has the port."""


class Server:
    """A running server and everything it started. Use :meth:`start`, then a ``with`` block."""

    def __init__(self, command: Command, *, port: int, log: Path, grace_s: float) -> None:
        """Start the processes; :meth:`start` also waits until they serve."""
        self.command = command
        self.host = HOST
        self.port = port
        self.log = log
        self.startup_s = 0.0
        self._grace_s = grace_s
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as sink:
            self._log_start = sink.tell()
            # by path, so that it does not matter how specfloor is on the path; -P keeps the
            # modules beside the guard from hiding others
            self._guard = subprocess.Popen(
                [sys.executable, "-P", guard.__file__],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                bufsize=0,
            )
        order = {
            "argv": list(command.argv),
            "env": command.env,
            "grace_s": grace_s,
            "cleanup": list(command.cleanup),
        }
        assert self._guard.stdin is not None
        # a guard that could not start has said so in the log and is seen to have ended
        with contextlib.suppress(BrokenPipeError):
            self._guard.stdin.write(msgspec.json.encode(order) + b"\n")

    @classmethod
    def start(
        cls,
        command_on: Callable[[int], Command],
        *,
        log: Path,
        deadline_s: float,
        progress: Progress | None = None,
        grace_s: float = 10.0,
    ) -> Self:
        """Start a server on a free port and return it when ``/health`` answers 200.

        Args:
            command_on: gives the command for a port; called again when a port was taken meanwhile.
            log: file that standard output and error are appended to; its folder is made.
            deadline_s: seconds until it must be healthy.
            progress: see :data:`Progress`.
            grace_s: seconds between SIGTERM and SIGKILL when it is stopped.

        Raises:
            StartFailure: it ended first, or the deadline passed. Nothing of it is left.
        """
        for attempt in range(1, _PORTS_TO_TRY + 1):
            port = free_port(HOST)
            server = cls(command_on(port), port=port, log=log, grace_s=grace_s)
            try:
                server._wait_healthy(deadline_s, progress or (lambda *_: None))
            except _PortTakenError:
                server.stop()
                if attempt == _PORTS_TO_TRY:
                    server._refuse(f"other servers took {attempt} ports before the engine could")
            except BaseException:
                server.stop()
                raise
            else:
                return server
        raise AssertionError("the last attempt returns or raises")

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the server."""
        self.stop()

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return f"http://{self.host}:{self.port}"

    def poll(self) -> int | None:
        """Return the engine's exit code (128 + n for signal n), None while anything of it runs."""
        return self._guard.poll()

    def processes(self) -> list[psutil.Process]:
        """Return what runs of the engine now, its leader first."""
        try:
            return psutil.Process(self._guard.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def log_lines(self) -> list[str]:
        """Return the lines this server wrote to its log."""
        with self.log.open("rb") as source:
            source.seek(self._log_start)
            return source.read().decode("utf-8", "replace").splitlines()

    def stop(self) -> list[int]:
        """End the server and all it started, SIGTERM first; harmless when it has ended.

        Returns the ids of processes that SIGKILL did not end in time because they sit in the
        kernel (a device that hangs); normally none. Their guard stays and keeps trying.
        """
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        try:
            self._guard.wait(self._grace_s + _STUCK_S)
        except subprocess.TimeoutExpired:
            return [process.pid for process in self.processes()]
        return []

    def diagnose(self, patience_s: float) -> Failure | None:
        """Say what has become of the server after a request failed; None when it still serves.

        An engine answers ``/health`` for a moment after its core died and for ever while its core
        hangs, so only a generated token counts as serving. That request adds to the ``/metrics``
        counters of the engine.

        Args:
            patience_s: seconds to wait for the token. An engine that has ended, or answers with
                errors until then, is a CRASH; one that lives and gives no answer is a HANG.
        """
        deadline = time.monotonic() + patience_s
        answer = ""
        while self.poll() is None and (asked := time.monotonic()) < deadline:
            try:
                status = self._generate_one_token(deadline)
            except TimeoutError:
                # one that failed until now and is asked when the patience ends has had no time
                cut_short = answer and time.monotonic() - asked < _HEALTH_S
                if self.poll() is None and not cut_short:
                    return self._failure(
                        Finding.HANG, f"the engine lives but gave no answer within {patience_s:g} s"
                    )
                break
            except (OSError, http.client.HTTPException, msgspec.MsgspecError) as error:
                answer = str(error) or type(error).__name__
            else:
                if status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                    return None
                answer = f"HTTP {status}"
            time.sleep(_POLL_S)
        code = self.poll()
        if code is None:
            return self._failure(
                Finding.CRASH,
                f"the engine only failed for {patience_s:g} s: {answer or 'no answer'}",
            )
        return self._failure(Finding.CRASH, f"the engine ended while it served ({_ending(code)})")

    def _wait_healthy(self, deadline_s: float, progress: Progress) -> None:
        started = time.monotonic()
        told = -1
        while True:
            elapsed = time.monotonic() - started
            code = self.poll()
            if code is not None:
                if address_in_use(self.log_lines()):
                    raise _PortTakenError
                self._refuse(f"the engine ended before it was healthy ({_ending(code)})")
            if self._health() == http.HTTPStatus.OK:
                owners = listeners(self.port)
                if owners and not owners <= {process.pid for process in self.processes()}:
                    raise _PortTakenError
                self.startup_s = time.monotonic() - started
                return
            if elapsed > deadline_s:
                self._refuse(f"the engine was not healthy within {deadline_s:g} s")
            if int(elapsed) > told:
                told = int(elapsed)
                progress(elapsed, last_line(self.log))
            time.sleep(_POLL_S)

    def _refuse(self, message: str) -> NoReturn:
        raise StartFailure(self._failure(Finding.START_FAIL, message))

    def _failure(self, finding: Finding, message: str) -> Failure:
        lines, code = self.log_lines(), self.poll()
        cause = root_cause(lines)
        if finding is Finding.START_FAIL and code is not None:
            cause = cause or last_words(lines)
        return Failure(finding, message, cause, self.log, code)

    def _health(self) -> int | None:
        """Return the status of ``/health``, None when there is no answer."""
        try:
            return self._request("GET", "/health", timeout_s=_HEALTH_S)[0]
        except (OSError, http.client.HTTPException):
            return None

    def _generate_one_token(self, deadline: float) -> int:
        """Return the status of a completion of one token; TimeoutError when none comes."""
        status, body = self._request("GET", "/v1/models", timeout_s=_left(deadline))
        if status != http.HTTPStatus.OK:
            return status
        model = msgspec.json.decode(body, type=_Models).data[0].id
        asked = {"model": model, "prompt": "1", "max_tokens": 1, "temperature": 0}
        return self._request("POST", "/v1/completions", asked, timeout_s=_left(deadline))[0]

    def _request(
        self, verb: str, path: str, body: object = None, *, timeout_s: float
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        with contextlib.closing(connection):
            content = None if body is None else msgspec.json.encode(body)
            connection.request(verb, path, content, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    """What ``/v1/models`` answers, as far as it matters here."""

    data: Annotated[tuple[_Model, ...], msgspec.Meta(min_length=1)]


def last_line(log: Path) -> str:
    """Return the last line of a log that has text, without colours and prefixes ("" if none)."""
    with log.open("rb") as source:
        source.seek(max(0, source.seek(0, io.SEEK_END) - _TAIL_BYTES))
        tail = source.read().decode("utf-8", "replace").splitlines()
    return next((text for line in reversed(tail) if (text := message_of(line).strip())), "")


def _left(deadline: float) -> float:
    """Return the seconds until a time of the monotonic clock, never 0: that means no waiting."""
    return max(deadline - time.monotonic(), 0.001)


def _ending(exit_code: int) -> str:
    """Return an exit code in words, such as ``exit code 1`` or ``killed by SIGKILL``."""
    try:
        return f"killed by {signal.Signals(exit_code - 128).name}"
    except ValueError:
        return f"exit code {exit_code}"
