"""Speed lost between two arms: when the draft is cleared, when its acceptance is first to judge."""

import re

import numpy as np
import pytest

from specfloor.triage.balance import balance_of, break_even
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.findings import Finding
from specfloor.triage.judge_speed import SPEED_LOSS, drafts_of, slower
from specfloor.triage.tally import Tally
from tests.unit.triage.builders import case_text, triaged, verdict

_CASE = "on-slower-acceptance-fine"
_KNOWN = {"release": "0.23.0", "family": "glm-4.7"}
_LOW = (0.05, 0.1, 0.2, 0.45, 0.7, 0.85)


def accepting(rate):
    """Return the log of the case's arm with drafts, as if so much of each window was accepted."""

    def scaled(match):
        seconds, drafted = 10, int(match[1])
        accepted = round(rate * drafted)
        share = accepted / drafted
        return (
            f"Mean acceptance length: {1 + share:.2f}, Accepted throughput: "
            f"{accepted / seconds:.2f} tokens/s, Drafted throughput: {drafted / seconds:.2f} "
            f"tokens/s, Accepted: {accepted} tokens, Drafted: {drafted} tokens, Per-position "
            f"acceptance rate: {share:.3f}, Avg Draft acceptance rate: {100 * share:.1f}%"
        )

    text = case_text("logs", _CASE, "on.log")
    return re.sub(r"Mean acceptance length.*?Drafted: (\d+) tokens.*", scaled, text)


def two_arms(folder, rate, **more):
    files = {"off.log": case_text("logs", _CASE, "off.log"), "on.log": accepting(rate)}
    return triaged(folder, files, config={"method": "mtp", "k": 1}, **_KNOWN, **more)


def entry(report, finding):
    (found,) = [one for one in report["findings"] if one["finding"] == finding]
    return found


@pytest.mark.parametrize("rate", _LOW)
def test_acceptance_that_nobody_judged_is_the_first_to_judge(rate, tmp_path):
    report = two_arms(tmp_path, rate)
    assert verdict(report) == "SPEED_REGRESSION"
    said = entry(report, "SPEED_REGRESSION")
    assert f"({100 * rate:.1f}% accepted, length {1 + rate:.2f})" in said["reason"]
    assert "a step with drafts costs" in said["reason"]
    assert said["next"][0].startswith("judge the acceptance first")
    assert not [one for one in report["diagnosis"]["exonerated"] if "draft" in one]
    names = {one["finding"] for one in report["findings"]}
    assert "SPEED_REGRESSION_ACCEPT_OK" not in names


@pytest.mark.parametrize("rate", [0.95, 0.98])
def test_a_draft_of_which_next_to_nothing_is_rejected_is_cleared_by_that(rate, tmp_path):
    report = two_arms(tmp_path, rate)
    assert verdict(report) == "SPEED_REGRESSION_ACCEPT_OK"
    (cleared,) = report["diagnosis"]["exonerated"]
    assert cleared.startswith(f"the draft: {100 * rate:.1f}% of its tokens are accepted")


@pytest.mark.parametrize("rate", [0.45, 0.7, 0.95])
def test_a_draft_that_holds_its_baseline_is_cleared_by_it(rate, tmp_path):
    report = two_arms(tmp_path, rate, baseline={"k": 1, "acceptance_rate": rate})
    assert verdict(report) == "SPEED_REGRESSION_ACCEPT_OK"
    (cleared,) = report["diagnosis"]["exonerated"]
    assert f"where the baseline has {100 * rate:.1f}%" in cleared


@pytest.mark.parametrize("rate", [0.0125, 0.1, 0.45, 0.8])
def test_acceptance_that_is_known_to_have_fallen_is_used(rate, tmp_path):
    report = two_arms(tmp_path, rate, baseline={"k": 1, "acceptance_rate": 0.9})
    assert verdict(report) in {"ACCEPT_REGRESSION", "ACCEPT_ZERO"}
    said = entry(report, "SPEED_REGRESSION")
    assert said["reason"].startswith("slower, and acceptance is not as it should be (")
    assert f"{100 * rate:.1f}% accepted" in said["reason"]
    assert not [
        step for one in report["findings"] for step in one.get("next", ()) if "capture" in step
    ]


@pytest.mark.parametrize(
    ("rate", "said"),
    [(0.45, "SPEED_REGRESSION_ACCEPT_OK"), (0.6, "ACCEPT_REGRESSION"), (0.9, "ACCEPT_REGRESSION")],
)
def test_the_log_of_a_run_known_to_be_good_judges_as_a_baseline_does(rate, said, tmp_path):
    files = {
        "off.log": case_text("logs", _CASE, "off.log"),
        "on.log": accepting(0.45),
        "reference.log": accepting(rate),
    }
    roles = {name: name.partition(".")[0] for name in files}
    report = triaged(tmp_path, files, roles=roles, config={"k": 1}, **_KNOWN)
    assert verdict(report) == said
    assert report["diagnosis"]["published"] == []


def test_a_sample_too_small_for_its_baseline_clears_nothing_and_asks_for_no_other_baseline():
    few = Tally(40, 40, 38, (38,))
    assert slower("it", drafts_of(few, [], k=1), {}).finding is Finding.SPEED_REGRESSION
    unsure = Conclusion(Finding.INCONCLUSIVE, "too few")
    found = slower("it", drafts_of(few, [unsure], k=1), {})
    assert (found.finding, found.next) == (Finding.SPEED_REGRESSION, ())


def test_acceptance_that_is_not_known_is_asked_for():
    unknown = slower("it", drafts_of(None, []), {})
    assert unknown.finding is Finding.SPEED_REGRESSION
    assert "acceptance is not known" in unknown.reason


def test_what_acceptance_has_no_part_in_clears_the_draft_until_it_is_known_to_have_fallen():
    low = Tally(2000, 6000, 1200)
    apart = slower("it", drafts_of(low, [], apart="time per token is kept"), {})
    assert apart.finding is Finding.SPEED_REGRESSION_ACCEPT_OK
    assert apart.cleared == "time per token is kept"


@pytest.mark.parametrize(
    ("accepted", "speed", "said"),
    [
        (3000, 0.8, "so a length of 1.88 would break even (a rate of 29%) and 1.50 does not"),
        (3000, 0.9, "so a length of 1.67 would break even"),
        (3000, 0.3, "slower even with every draft token accepted (length 4.00)"),
        (12000, 0.5, "slower even with every draft token accepted (length 4.00)"),
    ],
)
def test_the_cost_of_a_step_says_which_length_breaks_even(accepted, speed, said):
    balance = balance_of(Tally(6000, 18000, accepted), 3, speed)
    assert balance.step_cost == pytest.approx(balance.length / speed)
    assert said in break_even(balance)


def test_without_the_cost_of_a_step_there_is_no_break_even():
    assert break_even(balance_of(Tally(6000, 18000, 3000), 3, None)) is None
    assert balance_of(Tally(None, 18000, 3000), 3, 0.8) is None
    assert balance_of(None, 3, 0.8) is None


def test_short_drafts_are_held_to_what_k_could_give():
    balance = balance_of(Tally(6000, 6000, 5900), 4, 0.8)
    assert balance.most == 5.0
    assert balance.left > SPEED_LOSS


@pytest.mark.parametrize(("rate", "cleared"), [(0.88, 0.0), (0.905, 0.05), (0.97, 1.0)])
def test_how_often_a_draft_is_cleared_by_its_own_length(rate, cleared):
    # tokens of one request are alike: each of 60 requests has a rate of its own
    rng = np.random.default_rng(7)
    runs = 400
    spread = 30
    own = rng.beta(rate * spread, (1 - rate) * spread, (runs, 60))
    accepted = rng.binomial(56, own).sum(axis=1)
    found = [
        slower("it", drafts_of(Tally(3360, 3360, int(one)), [], k=1), {}).finding
        for one in accepted
    ]
    share = np.mean([one is Finding.SPEED_REGRESSION_ACCEPT_OK for one in found])
    assert abs(share - cleared) <= 0.05


def test_published_figures_stand_beside_speed_lost_at_an_acceptance_nobody_judged(tmp_path):
    report = two_arms(tmp_path / "a", 0.1)
    assert report["diagnosis"]["measured"] == "10.0% accepted, length 1.10"
    first = report["diagnosis"]["published"][0]
    assert first.startswith("mtp, k = 1: acceptance rate 0.9 (vLLM, advice; ")
    judged = two_arms(tmp_path / "b", 0.1, baseline={"k": 1, "acceptance_rate": 0.9})
    assert judged["diagnosis"]["published"] == []
