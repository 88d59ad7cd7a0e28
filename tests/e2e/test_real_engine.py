"""The suite on real vLLM: what it is for, an older release, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.engine


def suite(tmp_path: Path, *options: str) -> list[str]:
    return [
        *(sys.executable, "-m", "pytest", "tests/suite", "-p", "no:cacheprovider"),
        *("--reports", str(tmp_path), "--run-name", "run", *options),
    ]


def run_suite(tmp_path: Path, *options: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Return exit code, output and the cells of verdicts.json."""
    ended = subprocess.run(
        suite(tmp_path, *options), cwd=ROOT, capture_output=True, text=True, check=False
    )
    output = ended.stdout + ended.stderr
    verdicts = tmp_path / "run" / "verdicts.json"
    assert verdicts.exists(), output
    return ended.returncode, output, json.loads(verdicts.read_text())["cells"]


def test_a_drifted_draft_fails_although_everything_else_looks_healthy(tmp_path):
    code, output, cells = run_suite(
        tmp_path, "--family", "glm_moe_tiny_drifted", "--spec-tokens", "1", "--spec-tokens", "3"
    )
    assert code == 1, output
    assert {cell["cell"]["k"] for cell in cells} == {1, 3}
    for cell in cells:
        acceptance = cell["acceptance"]
        assert acceptance["verdict"] == "FAIL", output
        assert acceptance["findings"][0] in {"ACCEPT_ZERO", "ACCEPT_REGRESSION"}
        assert acceptance["outputs"]["same"] == acceptance["outputs"]["compared"] > 0
        assert cell["configuration"]["verdict"] == "PASS"
        assert "everything else looked healthy" in acceptance["reason"]


def test_an_older_release_is_judged_without_per_request_objects(tmp_path):
    code, output, cells = run_suite(
        *(tmp_path, "--release", "cpu-0.28.0", "--launches", "1"),
        *("--workload", "code", "--workload", "story"),
    )
    assert code == 0, output
    rungs = {cell["cell"]["family"]: cell["acceptance"]["rung"] for cell in cells}
    # counters around each request; the stream gives the steps and is compared with them
    assert rungs == {"glm_moe_tiny": "C", "smollm2_135m": "C"}
    for cell in cells:
        assert "stream" in cell["acceptance"]["reconciliation"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_engine_outlives_the_harness(tmp_path, how):
    harness = subprocess.Popen(
        suite(tmp_path, "--family", "glm_moe_tiny", "--workload", "code"),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    records = tmp_path / "run" / "records.jsonl"
    deadline = time.monotonic() + 300
    while not (records.exists() and b'"record":"request"' in records.read_bytes()):
        assert harness.poll() is None, "the suite ended before its first request"
        assert time.monotonic() < deadline, "no request within five minutes"
        time.sleep(0.2)
    engine = psutil.Process(harness.pid).children(recursive=True)
    assert len(engine) > 1
    os.kill(harness.pid, how)
    harness.wait(60)
    _, alive = psutil.wait_procs(engine, 30)
    assert not alive
