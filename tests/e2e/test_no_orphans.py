"""An engine's server is waited for, diagnosed, and gone however the harness ends."""

import contextlib
import http.server
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import specfloor
from specfloor.engines.command import Command
from specfloor.engines.ports import free_port, listeners
from specfloor.engines.server import Server, StartFailure, last_line
from specfloor.triage.findings import Finding

PATIENCE_S = 30.0
"""How long anything is waited for; only reached by a test that fails."""

FAKE_ENGINE = """
import http.server, os, signal, subprocess, sys, time

port, mode, pids = int(sys.argv[1]), sys.argv[2], sys.argv[3]
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
children = [
    subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True),
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]),
]
with open(pids + ".part", "w") as file:
    file.write(" ".join(str(pid) for pid in (os.getpid(), *(c.pid for c in children))))
os.rename(pids + ".part", pids)


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=b"{}"):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, b'{"data": [{"id": "fake"}]}')

    def do_POST(self):
        if mode == "hang":
            time.sleep(600)
        if mode == "crash":
            print("(EngineCore pid=1) ERROR 01-02 03:04:05 [core.py:1] EngineCore encountered a"
                  " fatal error.")
            print("(EngineCore pid=1) ERROR 01-02 03:04:05 [core.py:1] Traceback (most recent call"
                  " last):")
            print("(EngineCore pid=1) ERROR 01-02 03:04:05 [core.py:1] RuntimeError: boom")
            print("EngineDeadError: See stack trace (above) for the root cause.", flush=True)
            os._exit(3)
        self.answer(500 if mode == "sick" else 200)

    def log_message(self, *args):
        pass


if mode == "fail":
    raise ValueError("no such draft")
if mode == "taken":
    print("OSError: [Errno 98] Address already in use", flush=True)
    sys.exit(1)
if mode == "never":
    print("\\x1b[32mINFO 01-02 03:04:05 [loader.py:1] loading weights\\x1b[0m", flush=True)
    time.sleep(600)
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""

HARNESS = """
import os, sys, time
from pathlib import Path
from specfloor.engines.command import Command
from specfloor.engines.server import Server

engine, folder, mode, ending = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]
pids = str(folder / "pids")
server = Server.start(
    lambda port: Command(
        (sys.executable, engine, str(port), mode, pids), cleanup=("touch", str(folder / "cleaned"))
    ),
    log=folder / "engine.log", deadline_s=60, grace_s=0.5,
)
if ending == "fork" and os.fork() == 0:
    time.sleep(600)
(folder / "healthy").touch()
while not (folder / "go").exists():
    time.sleep(0.05)
if ending == "raise":
    raise RuntimeError("the harness broke")
"""


def wait_until(what, condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:g} s in vain until {what}"
        time.sleep(0.05)


def gone(process):
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def engine(tmp_path):
    script = tmp_path / "fake_engine.py"
    script.write_text(FAKE_ENGINE)
    return script


@pytest.fixture
def start(tmp_path, engine):
    """Start a fake engine in a mode, in this process."""
    with contextlib.ExitStack() as running:

        def start(mode, **options):
            arguments = (sys.executable, str(engine))
            server = Server.start(
                lambda port: Command((*arguments, str(port), mode, str(tmp_path / "pids"))),
                log=tmp_path / "logs" / "engine.log",
                **{"deadline_s": PATIENCE_S, "grace_s": 0.5} | options,
            )
            return running.enter_context(server)

        yield start


@contextlib.contextmanager
def harness(engine: Path, folder: Path, mode: str, ending: str) -> Iterator[subprocess.Popen]:
    """Run a harness in a session of its own, as from a terminal."""
    script = folder / "harness.py"
    script.write_text(HARNESS)
    root = Path(specfloor.__file__).parents[1]
    with subprocess.Popen(
        [sys.executable, script, engine, folder, mode, ending],
        env=os.environ | {"PYTHONPATH": str(root)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("mode", "ending"),
    [
        ("serve", "return"),
        ("serve", "raise"),
        ("serve", signal.SIGINT),
        ("serve", signal.SIGTERM),
        ("serve", signal.SIGKILL),
        ("serve", "fork"),
        ("never", signal.SIGINT),
        ("never", signal.SIGKILL),
    ],
)
def test_nothing_survives_the_harness(tmp_path, engine, mode, ending):
    with harness(engine, tmp_path, mode, str(ending)) as process:
        landmark = tmp_path / ("healthy" if mode == "serve" else "pids")
        wait_until("the engine runs", landmark.exists)
        family = [psutil.Process(int(pid)) for pid in (tmp_path / "pids").read_text().split()]
        (guard,) = (
            child
            for child in psutil.Process(process.pid).children()
            if any(part.endswith("guard.py") for part in child.cmdline())
        )
        assert not any(map(gone, [*family, guard]))
        if ending is signal.SIGINT:
            os.killpg(process.pid, ending)  # what a terminal does on Ctrl-C
        elif isinstance(ending, signal.Signals):
            process.send_signal(ending)
        elif ending == "fork":
            process.kill()  # its child lives and holds the harness's end of the guard's pipe
        else:
            (tmp_path / "go").touch()
        process.wait(PATIENCE_S)
        wait_until("all are gone", lambda: all(map(gone, [*family, guard])))
        assert (tmp_path / "cleaned").exists(), "what the command leaves behind is removed"


def test_a_guard_that_is_asked_to_end_takes_the_engine_with_it(start, tmp_path):
    server = start("serve")
    family = server.processes()
    psutil.Process(family[0].ppid()).terminate()
    wait_until("all are gone", lambda: all(map(gone, family)))


def test_start_and_stop(start, tmp_path):
    server = start("serve")
    assert [process.pid for process in server.processes()] == [
        int(pid) for pid in (tmp_path / "pids").read_text().split()
    ]
    assert listeners(server.port) == {server.processes()[0].pid}
    assert server.startup_s > 0
    assert server.poll() is None
    assert server.diagnose(PATIENCE_S) is None
    family = server.processes()
    assert server.stop() == []
    assert all(map(gone, family))
    assert server.stop() == []
    assert server.poll() == 128 + signal.SIGTERM


def test_what_an_ended_engine_leaves_behind_is_ended_too(start):
    server = start("serve")
    family = server.processes()
    family[0].kill()
    wait_until("the guard ends", lambda: server.poll() is not None)
    assert all(map(gone, family))


def test_start_failure_says_why(start, tmp_path):
    with pytest.raises(StartFailure, match="before it was healthy") as caught:
        start("fail")
    failure = caught.value.failure
    assert failure.finding is Finding.START_FAIL
    assert failure.cause == "ValueError: no such draft"
    assert failure.exit_code == 1
    assert failure.log == tmp_path / "logs" / "engine.log"
    assert "Traceback" in failure.log.read_text()


def test_a_program_that_is_not_there_is_a_start_failure(tmp_path):
    with pytest.raises(StartFailure) as caught:
        Server.start(
            lambda port: Command((str(tmp_path / "python"),)),
            log=tmp_path / "engine.log",
            deadline_s=PATIENCE_S,
        )
    assert "FileNotFoundError" in (caught.value.failure.cause or "")


def test_a_deadline_that_passes_is_a_start_failure_and_leaves_nothing(start, tmp_path):
    log = tmp_path / "logs" / "engine.log"
    told = []

    def progress(elapsed_s, line):
        told.append((elapsed_s, line))
        wait_until("the engine says something", lambda: last_line(log))

    with pytest.raises(StartFailure, match=r"not healthy within 0\.1 s") as caught:
        start("never", deadline_s=0.1, progress=progress)
    assert caught.value.failure.finding is Finding.START_FAIL
    assert caught.value.failure.exit_code is None
    assert told[0][0] >= 0
    assert last_line(log) == "loading weights"
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 3
    wait_until("all are gone", lambda: not any(map(psutil.pid_exists, pids)))


def test_a_port_taken_by_others_is_tried_again_a_few_times(start, tmp_path):
    with pytest.raises(StartFailure, match="took 3 ports") as caught:
        start("taken")
    assert "already in use" in caught.value.failure.cause
    assert (tmp_path / "logs" / "engine.log").read_text().count("already in use") == 3


def test_the_health_of_a_stranger_on_the_port_is_not_ours(tmp_path, engine):
    """The first port belongs to another server that answers /health; the second is free."""
    ports = []

    def command_on(port):
        ports.append(port)
        if len(ports) == 1:
            strangers.append(http.server.HTTPServer(("127.0.0.1", port), Healthy))
            threading.Thread(target=strangers[0].serve_forever, daemon=True).start()
        mode = "never" if len(ports) == 1 else "serve"
        return Command((sys.executable, str(engine), str(port), mode, str(tmp_path / "pids")))

    strangers: list[http.server.HTTPServer] = []
    try:
        with Server.start(
            command_on, log=tmp_path / "engine.log", deadline_s=PATIENCE_S, grace_s=0.5
        ) as server:
            assert server.port == ports[1] != ports[0]
    finally:
        for stranger in strangers:
            stranger.shutdown()
            stranger.server_close()


class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_an_engine_that_ends_while_it_serves_is_a_crash_with_its_cause(start):
    server = start("crash")
    failure = server.diagnose(PATIENCE_S)
    assert failure is not None
    assert failure.finding is Finding.CRASH
    assert failure.cause == "RuntimeError: boom"
    assert failure.exit_code == 3
    assert "exit code 3" in failure.message


def test_an_engine_killed_while_it_serves_is_a_crash(start):
    server = start("serve")
    server.processes()[0].kill()
    failure = server.diagnose(PATIENCE_S)
    assert failure is not None
    assert failure.finding is Finding.CRASH
    assert "killed by SIGKILL" in failure.message


def test_an_engine_that_only_answers_with_errors_is_a_crash(start):
    failure = start("sick").diagnose(10.0)
    assert failure is not None
    assert failure.finding is Finding.CRASH
    assert "HTTP 500" in failure.message
    assert failure.exit_code is None


def test_errors_until_the_patience_ends_in_the_middle_of_a_request_are_a_crash(start, monkeypatch):
    server = start("serve")
    answers = iter([500, TimeoutError()])

    def generate_one_token(_):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(server, "_generate_one_token", generate_one_token)
    failure = server.diagnose(PATIENCE_S)
    assert failure is not None
    assert (failure.finding, "HTTP 500" in failure.message) == (Finding.CRASH, True)


def test_an_engine_that_is_healthy_and_never_answers_is_a_hang(start):
    failure = start("hang").diagnose(1.0)
    assert failure is not None
    assert failure.finding is Finding.HANG
    assert failure.exit_code is None


def test_a_stopped_process_is_a_hang(start):
    """Not even /health answers: the connection is taken by the kernel and nothing comes."""
    server = start("serve")
    server.processes()[0].suspend()
    failure = server.diagnose(1.0)
    assert failure is not None
    assert failure.finding is Finding.HANG


def test_a_free_port_is_free():
    port = free_port()
    assert listeners(port) == set()
