"""The suite on servers that somebody else has started, one of them behind a gateway."""

import contextlib
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import OFF, Arm
from specfloor.engines.local import LocalEngines
from specfloor.engines.ports import free_port
from specfloor.engines.routes import PythonRoute
from specfloor.plan import Overrides
from specfloor.runs.records import LaunchKey
from tests.e2e.fake_host import ROOT, FakeHost
from tests.e2e.test_real_engine import run_suite

FAMILY, WORKLOAD, K = "glm_moe_tiny", "code", 3
# the proxy that the environment may name is not asked for a server of this host
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


@contextlib.contextmanager
def servers(folder: Path, route, cache=None):
    """Start both arms at once, and a gateway before the one that drafts; yield their URLs."""
    engines = LocalEngines(
        load_catalog(),
        models=ROOT / "fixtures" / "models",
        cache=cache,
        start_timeout_s=600,
        route=lambda _: route,
        say=print,
        tick=lambda *_: None,
    )
    with contextlib.ExitStack() as stack:
        urls = {}
        for name, arm in (("off", OFF), ("on", Arm("mtp", K))):
            key = LaunchKey("cpu-0.32.0", FAMILY, arm)
            engines.prepare(key)
            running = stack.enter_context(engines.start(key, folder / f"{name}.log", Overrides()))
            urls[name] = running.endpoint.base_url
        port = free_port("127.0.0.1")
        program = ROOT / "tests" / "fakes" / "gateway.py"
        front = stack.enter_context(
            subprocess.Popen([sys.executable, program, urls["on"], str(port)])
        )
        stack.callback(front.terminate)
        urls["on"] = f"http://127.0.0.1:{port}"
        wait_for(f"{urls['on']}/health")
        yield urls


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            with open_url(url, timeout=5):
                return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def way(**urls: str) -> str:
    return "url:" + ",".join(f"{name}={url}" for name, url in urls.items())


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Both arms of the fake server."""
    host = FakeHost(tmp_path / "host", tmp_path / "cache")
    monkeypatch.setenv("PYTHONPATH", str(host.python_path))
    with servers(tmp_path, PythonRoute(Path(sys.executable)), tmp_path / "cache") as urls:
        yield host, urls


def test_both_arms_behind_urls(fake):
    host, urls = fake
    finished = host.suite(
        *("tests/suite", "--family", FAMILY, "--workload", WORKLOAD, "--engine", way(**urls))
    )
    assert finished.code == 0, finished.output
    ((said,),) = [finished.verdicts.values()]
    assert said["acceptance"][0] == "PASS"
    assert len(host.launches) == 2, "the suite starts nothing of its own"


def test_a_missing_arm_leaves_speed_without_data_and_judges_acceptance(fake):
    host, urls = fake
    finished = host.suite(
        *("tests/suite", "--family", FAMILY, "--workload", WORKLOAD),
        *("--engine", way(on=urls["on"])),
    )
    assert finished.code == 10, finished.output
    ((said,),) = [finished.verdicts.values()]
    assert said["acceptance"][0] == "PASS"
    assert said["speed"][0] == "NO_DATA"
    assert "left out, no server was named for the off arm" in finished.output


def test_a_server_has_one_method_and_k(fake):
    host, urls = fake
    finished = host.suite(
        *("tests/suite", "--family", FAMILY, "--workload", WORKLOAD),
        *("--spec-tokens", "1", "--spec-tokens", "3", "--engine", way(**urls)),
    )
    assert finished.code == 4
    assert "runs one family with one method and k" in finished.output


@pytest.mark.engine
def test_two_embedded_engines_behind_urls(tmp_path):
    with servers(tmp_path, None) as urls:
        code, output, cells = run_suite(
            *(tmp_path, "--family", FAMILY, "--workload", WORKLOAD, "--engine", way(**urls))
        )
    assert code == 0, output
    (cell,) = cells
    assert cell["acceptance"]["verdict"] == "PASS", output
    assert cell["acceptance"]["outputs"]["same"] == cell["acceptance"]["outputs"]["compared"] > 0
    assert cell["speed"]["summary"]["launches"] == 1
