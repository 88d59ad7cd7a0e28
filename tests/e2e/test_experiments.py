"""Experiments of the suite in a process of their own: on real vLLM, and one that is interrupted."""

import json
import signal
import subprocess
import sys

import pytest

from specfloor.runs.records import PromptsRecord, RequestRecord
from specfloor.runs.store import read_run
from tests.e2e.fake_host import ROOT, FakeHost, stored_verdict

SMALL = ("--family", "glm_moe_tiny", "--workload", "code", "--experiments=small")


def experiments_of(folder):
    """Return what verdicts.json says of experiments, by name."""
    cells = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))["cells"]
    return {one["experiment"]: one for cell in cells for one in cell["experiments"]}


def test_a_soak_that_is_interrupted_is_judged_as_far_as_it_came(tmp_path):
    host = FakeHost(tmp_path, tmp_path / "cache")
    running = host.start("tests/suite/test_drift.py", *SMALL, "--soak", "8")
    finished = host.interrupt(running, signal.SIGINT, after=b'"label":"01"')
    assert finished.code == 2, finished.output
    assert "drift: a soak of 8 min in 8 parts" in finished.output
    said = experiments_of(finished.folder)["drift"]
    soaked = [r for r in finished.records if isinstance(r, RequestRecord) and r.block.label == "01"]
    assert said["verdict"] in {"INCONCLUSIVE", "NO_DATA"}
    (segment,) = said["detail"]["segments"]
    assert segment["requests"] == len(soaked) > 0
    assert not finished.info.complete
    assert host.left_over == []


def test_a_server_that_stops_answering_in_a_soak_is_a_hang_with_the_last_healthy_time(tmp_path):
    host = FakeHost(tmp_path, tmp_path / "cache")
    host.set_knobs({"3": {"hang_after": 120}})
    finished = host.suite(
        *("tests/suite/test_drift.py", *SMALL, "--soak", "8", "--silence-timeout", "4")
    )
    assert finished.code == 1, finished.output
    said = experiments_of(finished.folder)["drift"]
    assert (said["verdict"], said["findings"]) == ("FAIL", ["HANG"])
    answered = [
        r.started_s + r.finished_s
        for r in finished.records
        if isinstance(r, RequestRecord) and r.ok and r.block.label == "01"
    ]
    began = min(
        r.started_s
        for r in finished.records
        if isinstance(r, RequestRecord) and r.block.label == "01"
    )
    assert said["detail"]["last_healthy_s"] == pytest.approx(max(answered) - began, abs=1e-3)
    assert "the last full answer ended" in said["reason"]
    assert f"{len(answered)} requests were answered" in said["reason"]
    assert host.left_over == []


@pytest.mark.engine
def test_tiers_and_answers_of_the_embedded_family(tmp_path):
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
            *("tests/suite/test_effort.py", "tests/suite/test_output.py"),
            *("--reports", str(tmp_path), "--run-name", "run", *SMALL),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    folder = tmp_path / "run"
    said = experiments_of(folder)
    assert {name: one["verdict"] for name, one in said.items()} == {
        "effort": "PASS",
        "output": "PASS",
    }

    off, on = said["effort"]["detail"]["tiers"]
    assert (off["effect"], on["effect"]) == ("another prompt than on", "another prompt than off")
    assert (off["thinking"], on["thinking"]) == (0, on["answered"])
    assert [part["part"] for part in off["parts"]] == ["whole", "answer"]
    assert [part["part"] for part in on["parts"]] == ["whole", "reasoning", "answer"]
    whole, *parts = (part["total"] for part in on["parts"])
    for count in ("steps", "drafted", "accepted"):
        assert whole[count] == sum(part[count] for part in parts)

    records = read_run(folder).records
    assert len([r for r in records if isinstance(r, PromptsRecord)]) == 1
    checks = {check["check"]: check for check in said["output"]["detail"]["checks"]}
    assert checks["right answers"]["pairs"]["both"] == 30
    assert checks["valid JSON"]["pairs"]["both"] == 30
    agreement = said["output"]["detail"]["self_agreement"]
    assert agreement["same"] == agreement["compared"] == 60

    # from its folder alone, without the workloads
    again = stored_verdict(folder)
    assert again.returncode == 0, again.stdout + again.stderr
    for one in said.values():
        assert one["reason"] in again.stdout
