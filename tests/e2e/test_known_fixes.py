"""The known faults of a release in the plan, and failures that end in their likely causes."""

import json

import pytest

from tests.e2e.fake_host import FakeHost, stored_verdict

SMALL = ("--family", "glm_moe_tiny", "--workload", "code")
DEAD = {"3": {"acceptance": [0.0]}}


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    host = FakeHost(tmp_path_factory.mktemp("host"), tmp_path_factory.mktemp("cache"))
    yield host
    assert host.left_over == []


def test_the_plan_of_an_ascend_release_lists_what_is_known(host):
    glm = ("--platform", "ascend", "--release", "0.18.0", "--family", "glm-5", "--method", "mtp")
    planned = host.suite("tests/suite", *glm, "--floors", "new-ok", "--collect-only", name="plan")
    assert planned.code == 0, planned.output
    known = [line for line in planned.output.splitlines() if line.startswith("  KNOWN  ")]
    assert known[0].startswith("  KNOWN  0.18.0 glm-5 mtp3: acceptance fault 10878 (0.18.0 is ")
    assert "test_known_fixes[0.18.0-glm_5-mtp3-code-on-c1]" in planned.output


def test_the_ledger_is_not_asked_about_the_cpu(host):
    planned = host.suite("tests/suite", *SMALL, "--collect-only", name="cpu")
    assert planned.code == 0, planned.output
    assert "test_acceptance[" in planned.output
    assert "test_known_fixes[" not in planned.output
    assert "  KNOWN  " not in planned.output


def test_a_failure_ends_in_its_cause_live_and_stored(host):
    host.set_knobs(DEAD)
    finished = host.suite("tests/suite/test_acceptance.py", *SMALL, name="dead")
    assert finished.code == 1, finished.output
    told = [line for line in finished.output.splitlines() if line.startswith("  signature zero")]
    assert told
    assert "does not cover cpu-0.32.0" in finished.output
    stored = stored_verdict(finished.folder).stdout
    assert told[0] in stored
    (diagnosis,) = json.loads((finished.folder / "verdicts.json").read_text())["diagnoses"]
    assert diagnosis["links"][0]["signature"] == "zero"


def test_what_was_measured_and_fails_is_no_success_whatever_was_selected(host):
    host.set_knobs(DEAD)
    finished = host.suite("tests/suite", "-k", "time_per_token", *SMALL, name="speed")
    assert "FAIL" in finished.output
    assert finished.code == 1, finished.output
    assert "exit code 1: what was measured shows a FAIL" in finished.output
