"""Acceptance that nothing was there to judge by: what stands beside it, and what comes next."""

import pytest

from specfloor.triage.conclusions import Conclusion, in_order, nothing_to_judge
from specfloor.triage.findings import Finding
from tests.unit.triage.builders import BASELINE, DEAD, case_text, log, triaged, verdict

_KNOWN = {"release": "0.23.0", "family": "glm-4.7", "config": {"method": "mtp"}}
_AFTER = case_text("metrics", "openmetrics-eof", "after.prom")
_NPUS = case_text("npu_smi", "a2-eight-idle", "npu-smi.txt")


def one_arm(folder, **more):
    files = {"server.log": log(20), "metrics.prom": _AFTER, "npu-smi.txt": _NPUS}
    return triaged(folder, files, **{**_KNOWN, **more})


def test_one_arm_without_a_baseline_says_what_to_capture(tmp_path):
    report = one_arm(tmp_path)
    assert (verdict(report), report["exit_code"]) == ("PARSE", 0)
    judge, scrape, off, suite = report["findings"][0]["next"]
    assert judge.startswith("judge the acceptance first: give a baseline")
    assert scrape.startswith("scrape /metrics a second time")
    assert "without --speculative-config" in off
    assert "tox -e ascend -- --release 0.23.0 --family glm-4.7 --method mtp" in suite


def test_one_arm_without_a_baseline_has_published_figures_and_the_ledger_beside_it(tmp_path):
    found = one_arm(tmp_path)["diagnosis"]
    assert found["measured"] == "69.7% accepted, length 3.09"
    assert [line.partition(" (")[0] for line in found["published"]] == [
        "mtp: acceptance length 1.969"
    ]
    assert "k unknown" in found["published"][0]
    assert "glm-draft-eager" in [fix["change"] for fix in found["lacking"]]
    assert found["ledger"].endswith(f"rows that may matter: {len(found['lacking'])}")
    assert found["links"] == []
    assert "KNOWN_FIX" not in [one["finding"] for one in one_arm(tmp_path)["findings"]]


def test_what_is_there_is_not_asked_for(tmp_path):
    files = {"off.log": "", "on.log": log(20)}
    asked = triaged(tmp_path / "a", files)["findings"][0]["next"]
    assert not [step for step in asked if "--speculative-config" in step or "scrape" in step]
    assert not [step for step in asked if "tox" in step]  # of which family, nobody said


def test_acceptance_that_was_judged_has_nothing_beside_it(tmp_path):
    for number, more in enumerate(({"baseline": BASELINE}, {"baseline": BASELINE | {"k": 5}})):
        report = one_arm(tmp_path / str(number), **more)
        assert verdict(report) in {"EXPECTED", "BASELINE_INVALID"}
        assert report["diagnosis"]["published"] == report["diagnosis"]["lacking"] == []
    dead = triaged(tmp_path / "dead", {"server.log": log(20, counts=lambda *_: DEAD)}, **_KNOWN)
    assert verdict(dead) == "ACCEPT_ZERO"
    assert dead["diagnosis"]["measured"] is None


def test_a_table_of_devices_alone_has_nothing_to_judge_and_asks_for_nothing(tmp_path):
    report = triaged(tmp_path, {"npu-smi.txt": _NPUS}, **_KNOWN)
    assert verdict(report) == "PARSE"
    assert report["findings"] == [{"finding": "PARSE", "reason": report["verdict"]["reason"]}]
    assert report["diagnosis"]["lacking"] == []


def test_a_release_past_the_ledger_is_told_so_for_open_acceptance_too(tmp_path):
    report = one_arm(tmp_path, release="0.99.0")
    assert report["diagnosis"]["ledger_unknown"]
    assert "ledger_unknown" in {warned["code"] for warned in report["warnings"]}


@pytest.mark.parametrize("finding", [Finding.EXPECTED, Finding.ACCEPT_ZERO, Finding.INCONCLUSIVE])
def test_parse_does_not_stand_beside_a_verdict(finding):
    said = Conclusion(finding, "so")
    assert in_order([nothing_to_judge(), said, nothing_to_judge()]) == (said,)


def test_parse_is_said_once_and_before_what_only_a_tool_without_acceptance_says():
    beside = Conclusion(Finding.NO_DATA, "npu-smi error", beside=True)
    found = in_order([beside, nothing_to_judge(), nothing_to_judge()])
    assert found == (nothing_to_judge(), beside)
    assert in_order([]) == (nothing_to_judge(),)
