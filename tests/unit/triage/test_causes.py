"""Known fixes as possible causes, for releases that lack them and for those that do not."""

import pytest

from specfloor.ledger import read_ledger
from specfloor.ledger.model import Signature
from specfloor.triage.causes import possible_causes
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.findings import Finding
from tests.unit.triage.builders import DEAD, codes, log, triaged

LATER = Conclusion(Finding.ACCEPT_REGRESSION, "", signature=Signature.LATER_POSITIONS)
ZERO = Conclusion(Finding.ACCEPT_ZERO, "", signature=Signature.ZERO)
DECAYS = Conclusion(Finding.ACCEPT_DRIFT, "", signature=Signature.DECAYS)
TOO_GOOD = Conclusion(Finding.SUSPICIOUS_ACCEPTANCE, "", signature=Signature.TOO_GOOD)


def changes(release, conclusion, family, method, k=3):
    found = possible_causes(read_ledger(), release, conclusion, family=family, method=method, k=k)
    return [fix.change for fix in found.fixes]


@pytest.mark.parametrize(
    ("change", "conclusion", "asked", "affected", "free"),
    [
        ("10878", LATER, ("glm-5", "mtp", 3), "0.18.0", "0.23.0"),
        ("12262", ZERO, ("glm-5.2", "dspark", 8), "0.24.0rc1", "0.26.0rc1"),
        ("9795", ZERO, ("qwen3", "dflash", 8), "0.20.2rc1", "0.22.1rc1"),
        ("13047", DECAYS, ("deepseek-v4", "mtp", 3), "0.24.0rc1", "0.25.1rc1"),
        ("13470", TOO_GOOD, ("qwen3", "dflash", 8), "0.25.1rc1", "0.28.0rc1"),
    ],
)
def test_the_row_that_fits_comes_first_where_it_can_be_the_cause(
    change, conclusion, asked, affected, free
):
    assert changes(affected, conclusion, *asked)[0] == change
    assert change not in changes(free, conclusion, *asked)


def test_what_the_figures_contradict_comes_last():
    found = possible_causes(read_ledger(), "0.18.0", ZERO, family="glm-5", method="mtp", k=3).fixes
    fits = [fix.fits for fix in found]
    assert False in fits
    assert fits.index(False) == len(fits) - fits.count(False)


def test_k_rules_rows_out():
    assert "10878" in changes("0.18.0", LATER, "glm-5", "mtp", 3)
    assert "10878" not in changes("0.18.0", LATER, "glm-5", "mtp", 1)


def test_findings_without_a_kind_of_fault_are_not_asked_about():
    expected = Conclusion(Finding.EXPECTED, "")
    assert possible_causes(read_ledger(), "0.18.0", expected, family=None, method=None, k=1) is None


def test_causes_are_findings_after_the_ones_that_decide(tmp_path):
    text = log(4, counts=lambda *_: DEAD)
    report = triaged(
        tmp_path,
        {"s.log": text},
        release="0.24.0rc1",
        family="GLM-5.2",
        config={"method": "dspark"},
    )
    names = [entry["finding"] for entry in report["findings"]]
    assert names[0] == "ACCEPT_ZERO"
    first = next(entry for entry in report["findings"] if entry["finding"] == "KNOWN_FIX")
    assert first["scope"] == {"release": "0.24.0rc1", "change": "12262"}
    assert first["known_fix"]["evidence"] == "possibly affected"


def test_the_release_may_come_from_an_environment_text(tmp_path):
    text = log(4, counts=lambda *_: DEAD)
    files = {"s.log": text, "pip.txt": "vllm_ascend   0.24.0rc1\nvllm   0.24.0\n"}
    report = triaged(tmp_path, files, family="glm-5.2", config={"method": "dspark"})
    assert any(entry["finding"] == "KNOWN_FIX" for entry in report["findings"])


def test_past_the_ledger_it_says_unknown(tmp_path):
    text = log(4, counts=lambda *_: DEAD)
    report = triaged(tmp_path, {"s.log": text}, release="0.99.0", family="glm-5.2")
    assert "ledger_unknown" in codes(report)
    assert all(entry["finding"] != "KNOWN_FIX" for entry in report["findings"])
