"""Soaks of real vLLM with a drafter that stays as it is, and with one that decays."""

import pytest

from benchmarks.soak import soak
from specfloor.judge.verdict import Verdict
from specfloor.triage.findings import Finding

MINUTES = 1.5
pytestmark = pytest.mark.engine


def test_a_drafter_that_stays_as_it_is_does_not_drift(tmp_path):
    found = soak(tmp_path, minutes=MINUTES, decays=False)
    assert (found.said.verdict, found.said.findings) == (Verdict.PASS, (Finding.EXPECTED,))
    assert found.said.detail.prefix_caching is True
    assert len(found.said.detail.segments) == 8
    assert found.right


def test_a_drafter_that_decays_is_found_with_its_onset(tmp_path):
    found = soak(tmp_path, minutes=MINUTES, decays=True)
    assert (found.said.verdict, found.said.findings) == (Verdict.FAIL, (Finding.ACCEPT_DRIFT,))
    assert abs(found.error) <= 0.1, (found.truth, found.said.reason)
    assert found.right
