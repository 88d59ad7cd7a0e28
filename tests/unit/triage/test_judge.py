"""The judgement, over typed evidence: every threshold from both of its sides."""

import pytest

from specfloor.judge import acceptance
from specfloor.ledger.model import Signature
from specfloor.triage.conclusions import in_order
from specfloor.triage.evidence import Failure, Group, Part, Run
from specfloor.triage.findings import Finding
from specfloor.triage.given import Baseline, Given
from specfloor.triage.judge import judge_groups
from specfloor.triage.standing import PERFECT_RATE, PERFECT_TOKENS, ZERO_RATE, ZERO_TOKENS
from specfloor.triage.tally import Tally, total


def tally(rate, drafts=2000, k=3, positions=None):
    """Return counts of a rate, with positions that fall evenly, or with those given."""
    if positions is None:
        shares = [rate * (1 + (k - 1) / 2 * 0.2 - 0.2 * i) for i in range(k)]
        positions = [round(share * drafts) for share in shares]
    return Tally(drafts, drafts * k, sum(positions), tuple(positions))


def group(rate=0.69, role="", **more):
    return Group(role, (Run(tally=tally(rate, **more)),))


def baseline(rate=0.69, **more):
    return Given(baseline=Baseline(k=3, acceptance_rate=rate, tolerance_points=5, **more))


def decide(*groups, given=None):
    return in_order(judge_groups(groups, given or Given()))[0]


def test_thresholds_that_the_suite_has_too_are_the_same():
    assert ZERO_RATE == acceptance.ZERO_RATE
    assert ZERO_TOKENS == acceptance.ZERO_DRAFTED
    assert PERFECT_RATE == acceptance.PERFECT_RATE
    assert PERFECT_TOKENS == acceptance.PERFECT_DRAFTED


def test_without_anything_expected_health_is_not_claimed():
    assert decide(group()).finding is None


@pytest.mark.parametrize(
    ("rate", "finding"),
    [
        (0.69, Finding.EXPECTED),
        (0.67, Finding.EXPECTED),
        (0.80, Finding.EXPECTED),
        (0.61, Finding.ACCEPT_REGRESSION),
        (0.30, Finding.ACCEPT_REGRESSION),
        (0.01, Finding.ACCEPT_ZERO),
    ],
)
def test_against_a_baseline(rate, finding):
    assert decide(group(rate), given=baseline()).finding is finding


@pytest.mark.parametrize(
    ("drafts", "rate", "finding"),
    [
        (30, 0.69, Finding.INCONCLUSIVE),
        (30, 0.55, Finding.INCONCLUSIVE),
        (30, 0.10, Finding.ACCEPT_REGRESSION),
        (90, 0.95, Finding.INCONCLUSIVE),
        (110, 0.95, Finding.EXPECTED),
        (1000, 0.69, Finding.EXPECTED),
        (1000, 0.60, Finding.ACCEPT_REGRESSION),
    ],
)
def test_few_drafts_decide_only_what_is_clear(drafts, rate, finding):
    assert decide(group(rate, drafts=drafts), given=baseline()).finding is finding


@pytest.mark.parametrize(("drafts", "zero"), [(90, False), (110, True)])
def test_zero_needs_hundreds_of_draft_tokens(drafts, zero):
    dead = group(positions=[0, 0, 0], drafts=drafts)
    assert (decide(dead).finding is Finding.ACCEPT_ZERO) is zero


@pytest.mark.parametrize(("accepted", "zero"), [(90, True), (160, False)])
def test_zero_is_under_two_percent(accepted, zero):
    found = decide(group(positions=[accepted, 0, 0]))
    assert (found.finding is Finding.ACCEPT_ZERO) is zero


def test_a_low_rate_over_a_large_k_is_no_zero_while_position_0_works():
    positions = [700, *[0] * 14]
    found = decide(group(positions=positions, drafts=2600, k=15))
    assert found.finding is Finding.ACCEPT_REGRESSION
    assert found.scope == {"positions": list(range(1, 15))}
    assert found.signature is Signature.LATER_POSITIONS


def test_a_tail_that_fades_is_no_fault():
    positions = [1340, 860, 540, 330, 200, 100, 44]
    assert decide(group(positions=positions, k=7)).finding is None


def test_one_position_alone_can_fall():
    base = baseline(per_position=(0.85, 0.69, 0.53))
    healthy = group(positions=[1700, 1380, 1060])
    last = group(positions=[1700, 1380, 800])
    assert decide(healthy, given=base).finding is Finding.EXPECTED
    found = decide(last, given=base)
    assert found.finding is Finding.ACCEPT_REGRESSION
    assert found.scope == {"positions": [2]}


def test_a_length_that_does_not_fit_the_rate_is_not_healthy():
    short = Tally(2000, 4000, 2760)  # 69 % of half the drafts
    base = baseline(acceptance_length=3.07)
    found = decide(Group("", (Run(tally=short),)), given=base)
    assert found.finding is Finding.ACCEPT_REGRESSION


def test_a_baseline_of_another_k_is_no_baseline():
    assert decide(group(k=5), given=baseline()).finding is Finding.BASELINE_INVALID


@pytest.mark.parametrize(
    "setting", ["adaptive_verification", "num_speculative_tokens_per_batch_size"]
)
def test_adaptive_drafts_are_not_held_against_fixed_ones(setting):
    given = Given(config={"on": {setting: [[1, 8, 3]]}}, baseline=baseline().baseline)
    assert decide(group(0.4), given=given).finding is Finding.BASELINE_INVALID
    assert decide(group(0.69), given=given).finding is Finding.EXPECTED


def test_synthetic_acceptance_says_nothing():
    given = Given(config={"rejection_sample_method": "synthetic"}, baseline=baseline().baseline)
    assert decide(group(0.69), given=given).finding is Finding.WORKLOAD_INVALID


@pytest.mark.parametrize(("rate", "suspicious"), [(0.97, False), (0.995, True)])
def test_too_good(rate, suspicious):
    found = decide(group(positions=[round(2000 * rate)] * 3))
    assert (found.finding is Finding.SUSPICIOUS_ACCEPTANCE) is suspicious


def engines(rates, drafts=2000):
    found = {f"{n:03d}": tally(rate, drafts) for n, rate in enumerate(rates)}
    return Group("", (Run(tally=total(found.values()), engines=found),))


@pytest.mark.parametrize(
    ("rates", "given", "finding", "ill"),
    [
        ([0.69, 0.69, 0.0], Given(), Finding.TOPOLOGY, ["002"]),
        ([0.69, 0.69, 0.20], Given(), Finding.TOPOLOGY, ["002"]),
        ([0.69, 0.69, 0.45], Given(), None, None),
        ([0.69, 0.69, 0.55], baseline(), Finding.TOPOLOGY, ["002"]),
        ([0.69, 0.67, 0.70], baseline(), Finding.EXPECTED, None),
        ([0.0, 0.0, 0.0], baseline(), Finding.ACCEPT_ZERO, None),
        ([0.40, 0.42, 0.41], baseline(), Finding.ACCEPT_REGRESSION, None),
    ],
)
def test_some_engines_or_all(rates, given, finding, ill):
    found = decide(engines(rates), given=given)
    assert found.finding is finding
    assert found.scope.get("engines") == ill


def test_engines_that_differ_by_chance_are_no_topology():
    assert (
        decide(engines([0.23, 0.49], drafts=15), given=baseline(0.3)).finding
        is Finding.INCONCLUSIVE
    )


def run_of(rates, drafts=300):
    parts = tuple(Part(tally(rate, drafts)) for rate in rates)
    return Run(tally=total(part.tally for part in parts), parts=parts)


@pytest.mark.parametrize(
    ("rates", "drifts"),
    [
        ([0.7, 0.65, 0.6, 0.5, 0.4, 0.3], True),
        ([0.7, 0.7, 0.65, 0.6, 0.5, 0.4], False),
        ([0.3, 0.4, 0.5, 0.6, 0.7, 0.7], False),
        ([0.7, 0.3], False),
        ([0.7, 0.2, 0.2, 0.7, 0.7, 0.7], False),
    ],
)
def test_a_drift_loses_more_than_half(rates, drifts):
    found = decide(Group("", (run_of(rates),)))
    assert (found.finding is Finding.ACCEPT_DRIFT) is drifts


def test_windows_of_little_traffic_make_no_drift():
    parts = [(0.7, 10), (0.68, 900), (0.7, 10), (0.69, 900), (0.1, 10)]
    run = Run(
        tally=total(tally(rate, drafts) for rate, drafts in parts),
        parts=tuple(Part(tally(rate, drafts)) for rate, drafts in parts),
    )
    assert decide(Group("", (run,))).finding is None


def restarts(*rates, versions=None):
    named = versions or ["0.20.2", "0.23.0", "0.26.0"]
    return Group(
        "",
        tuple(
            Run(tally=tally(rate), version=version)
            for rate, version in zip(rates, named, strict=False)
        ),
    )


@pytest.mark.parametrize(
    ("rates", "finding"),
    [
        ((0.8, 0.5), Finding.ACCEPT_REGRESSION),
        ((0.8, 0.75), None),
        ((0.5, 0.8), None),
        ((0.8, 0.5, 0.8), None),
        ((0.8, 0.5, 0.5), Finding.ACCEPT_REGRESSION),
        ((0.8, 0.0), Finding.ACCEPT_ZERO),
    ],
)
def test_runs_are_compared_and_not_averaged(rates, finding):
    assert decide(restarts(*rates)).finding is finding


def test_a_run_that_failed_the_baseline_is_not_hidden_by_a_better_one():
    found = decide(restarts(0.69, 0.69, 0.45), given=baseline())
    assert found.finding is Finding.ACCEPT_REGRESSION


def test_old_against_new():
    given = Given(config={"old": "0.23.0", "new": "0.26.0rc1"})
    found = decide(group(0.76, "old"), group(0.46, "new"), given=given)
    assert found.finding is Finding.ACCEPT_REGRESSION
    assert found.scope["from"] == "0.23.0"
    assert decide(group(0.46, "old"), group(0.76, "new"), given=given).finding is Finding.EXPECTED


def test_a_reference_alone_is_not_compared_with_itself():
    assert decide(group(0.5, "reference")).finding is None


def test_prefill_may_be_silent_and_decode_may_not():
    silent = Group("prefill", (Run(tally=None),), nothing="no drafts")
    assert decide(silent, group(0.69, "decode"), given=baseline()).finding is Finding.EXPECTED
    turned = Group("decode", (Run(tally=None),), nothing="no drafts")
    found = decide(group(0.69, "prefill"), turned, given=baseline())
    assert found.finding is Finding.NO_DATA
    assert found.scope == {"role": "decode"}


def test_damage_keeps_health_from_being_claimed_and_faults_from_being_hidden():
    damaged = Group("", (Run(tally=tally(0.69)),), doubt="a line is cut")
    assert decide(damaged, given=baseline()).finding is Finding.INCONCLUSIVE
    ill = Group("", (Run(tally=tally(0.3)),), doubt="a line is cut")
    assert decide(ill, given=baseline()).finding is Finding.ACCEPT_REGRESSION


def test_another_k_or_method_than_was_asked_for():
    asked = Given(config={"k": 5, "method": "eagle3"})
    assert decide(group(k=3), given=asked).finding is Finding.CONFIG_NOT_IN_EFFECT
    run = Run(tally=tally(0.6, k=5), method="mtp")
    assert decide(Group("", (run,)), given=asked).finding is Finding.CONFIG_NOT_IN_EFFECT
    spelled = Given(config={"method": "deepseek_mtp"})
    assert decide(Group("", (run,)), given=spelled).finding is None


def test_what_ended_the_run_comes_before_what_it_accepted():
    run = Run(tally=tally(0.3), failure=Failure(hung=False, cause="boom"))
    found = decide(Group("", (run,)), given=baseline())
    assert found.finding is Finding.CRASH
    assert "boom" in found.reason
