"""The suite on a Ray cluster of two hosts on this machine, each with one NPU that is none."""

import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from specfloor.engines.ports import free_port
from specfloor.runs.records import LaunchRecord, SplitRecord
from tests.e2e.fake_host import FakeHost
from tests.e2e.test_real_engine import run_suite

pytestmark = pytest.mark.cluster

SMALL = ("--family", "glm_moe_tiny", "--workload", "code", "--cards", "1")
RAY = Path(sys.executable).with_name("ray")
SETTINGS = {
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_initial_delay_ms": "2000",
}


class TwoHosts:
    """A head and one more raylet; both are processes of this machine, on its loopback addresses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port = free_port("127.0.0.1")
        self.address = f"127.0.0.2:{port}"
        self._head = self._start(
            "127.0.0.2",
            *("--head", "--port", str(port), "--include-dashboard=false"),
            *("--temp-dir", str(folder)),
        )
        self._second = self._start("127.0.0.3", "--address", self.address)
        wait_until("both hosts are there", lambda: self._hosts() == 2)

    def _start(self, ip: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{ip}.log").open("wb")
        with log:
            return subprocess.Popen(
                [
                    *(RAY, "start", *arguments, "--block", "--disable-usage-stats"),
                    *("--node-ip-address", ip, "--num-cpus", "1"),
                    *("--resources", '{"NPU": 1}', "--object-store-memory", str(80 << 20)),
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _hosts(self) -> int:
        done = subprocess.run(
            [RAY, "status", "--address", self.address], capture_output=True, text=True, check=False
        )
        return done.stdout.count(" node_")

    def lose_the_second(self) -> None:
        """Kill a host as a power cut does."""
        self._kill(self._second)

    def end(self) -> None:
        for process in (self._second, self._head):
            self._kill(process)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        family = [process]
        with contextlib.suppress(psutil.NoSuchProcess):
            family += psutil.Process(process.pid).children(recursive=True)
        for one in family:
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                one.kill()
        process.wait()


def wait_until(what, condition, seconds=90):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        time.sleep(0.2)


@pytest.fixture
def host(tmp_path):
    made = FakeHost(tmp_path / "host", tmp_path / "cache")
    # Ray starts a process a launch, and takes its time to be sure that a host is lost
    made.patience_s = 300
    yield made
    assert made.left_over == []


@pytest.fixture
def hosts(request, monkeypatch):
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    if "host" in request.fixturenames:
        # a worker's environment is its raylet's, and the fake has to be found there
        fake = request.getfixturevalue("host")
        monkeypatch.setenv("PYTHONPATH", str(fake.python_path))
    # a Unix socket's path is short, and pytest's folders have long names
    with tempfile.TemporaryDirectory(prefix="specfloor-ray-") as folder:
        two = TwoHosts(Path(folder))
        yield two
        two.end()


def places(finished) -> dict[str, str]:
    return {
        record.key.id: record.host
        for record in finished.records
        if isinstance(record, LaunchRecord)
    }


def test_rounds_cross_over_and_the_arms_of_one_share_a_host(hosts, host):
    finished = host.suite(*("tests/suite", *SMALL, "--launches", "2", "--cluster", hosts.address))
    assert finished.code == 0, finished.output
    found = places(finished)
    by_round = [{found[name] for name in found if name.endswith(f"-{i}")} for i in (0, 1)]
    assert [len(hosts_of_round) for hosts_of_round in by_round] == [1, 1]
    assert by_round[0] != by_round[1]
    for name in found:
        assert (finished.folder / "engines" / f"{name}.log").stat().st_size
    assert any(isinstance(record, SplitRecord) for record in finished.records)


def test_a_launch_whose_host_is_lost_runs_again(hosts, host):
    host.set_knobs({"all": {"step_s": 0.01}})
    running = host.start(*("tests/suite", *SMALL, "--launches", "2", "--cluster", hosts.address))
    # one launch on each host, in the middle of its requests a little later
    wait_until("two servers run", lambda: len(host.launches) == 2)
    time.sleep(2)
    hosts.lose_the_second()
    finished = host.finish(running)
    assert finished.code == 0, finished.output
    assert "lost on" in finished.output
    assert len(set(places(finished).values())) == 1
    assert set(places(finished)) == {
        f"cpu-0.32.0-glm_moe_tiny-{arm}-{repeat}" for arm in ("off", "mtp3") for repeat in (0, 1)
    }


def test_no_host_has_what_a_launch_needs(hosts, host):
    finished = host.suite(*("tests/suite", *SMALL[:-1], "4", "--cluster", hosts.address))
    assert finished.code == 1
    assert "no host of the cluster has NPU 4" in finished.output


def test_no_cluster_at_the_address(host):
    finished = host.suite("tests/suite", *SMALL, "--cluster", "127.0.0.1:9")
    assert finished.code == 4
    assert "no Ray cluster at 127.0.0.1:9" in finished.output


@pytest.mark.engine
def test_the_embedded_engine_on_a_cluster(hosts, tmp_path):
    code, output, cells = run_suite(tmp_path, *SMALL, "--cluster", hosts.address)
    assert code == 0, output
    (cell,) = cells
    assert cell["acceptance"]["verdict"] == "PASS", output
