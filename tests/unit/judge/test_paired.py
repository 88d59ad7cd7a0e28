"""Upgrades paired by prompt: same must be shown, and so must a loss."""

import msgspec
import numpy as np
import pytest
from scipy import stats

from benchmarks.statistics import upgrade
from benchmarks.statistics.draws import Law, acceptances, accepted, dropped, rate_of
from specfloor.errors import UsageError
from specfloor.judge.paired import (
    LAUNCH_SD,
    Launches,
    PromptPair,
    Quantity,
    judge_pairs,
    judge_upgrade,
)
from specfloor.judge.verdict import Change
from specfloor.signals.counts import DraftCounts, RequestCounts
from specfloor.triage.findings import Finding

LAW = Law(0.8, 0.10)


def counted(p, law, rng):
    return [
        RequestCounts(
            f"p{i}",
            ("code", "chat")[i % 2],
            DraftCounts(law.steps, law.k * law.steps, int(row.sum()), tuple(map(int, row))),
        )
        for i, row in enumerate(accepted(p, law, rng))
    ]


def releases(n, drop=0.0, seed=1):
    """The same prompts under two releases, the new one lower by ``drop``."""
    rng = np.random.default_rng(seed)
    p = acceptances(LAW, n, rng)
    new = p * dropped(LAW, drop).mean / LAW.mean if drop else p
    return counted(p, LAW, rng), counted(new, LAW, rng)


@pytest.mark.parametrize("quantity", [Quantity.RATE, Quantity.LENGTH])
@pytest.mark.parametrize(
    ("drop", "outcome", "finding"),
    [(0.0, Change.SAME, Finding.EXPECTED), (0.12, Change.WORSE, Finding.ACCEPT_REGRESSION)],
)
def test_clear_cases(quantity, drop, outcome, finding):
    judged = judge_upgrade(*releases(160, drop), quantity)
    assert judged.outcome is outcome
    assert judged.findings == (finding,)
    assert judged.result.pairs == 160
    assert judged.result.least_visible < 0.05
    assert quantity.value in judged.reason
    backwards = judge_upgrade(*reversed(releases(160, drop)), quantity)
    assert backwards.outcome is {Change.WORSE: Change.BETTER}.get(outcome, outcome)


def test_not_seeing_a_change_is_not_showing_there_is_none():
    judged = judge_upgrade(*releases(12), Quantity.RATE, margin=0.02)
    assert judged.result.p_value > 0.05
    assert judged.outcome is Change.INCONCLUSIVE
    assert judged.findings == (Finding.INCONCLUSIVE,)


def test_a_small_change_is_seen_and_still_the_same():
    judged = judge_upgrade(*releases(2000, 0.02), Quantity.RATE)
    assert judged.result.p_value < 0.001
    assert judged.result.change == pytest.approx(-0.02, abs=0.01)
    assert judged.outcome is Change.SAME


def test_difference_is_the_paired_t_test():
    old, new = releases(30, 0.05)
    judged = judge_upgrade(old, new, Quantity.RATE)
    a, b = ([r.counts.accepted / r.counts.drafted for r in side] for side in (old, new))
    reference = stats.ttest_rel(b, a)
    low, high = reference.confidence_interval(0.95)
    assert judged.result.p_value == pytest.approx(reference.pvalue)
    assert judged.result.difference_interval.low == pytest.approx(low)
    assert judged.result.difference_interval.high == pytest.approx(high)
    shown = (stats.t.ppf(0.975, 29) + stats.t.ppf(0.95, 29)) * stats.sem(np.subtract(b, a))
    assert judged.result.least_visible == pytest.approx(shown / np.mean(a))


def test_relative_interval_agrees_with_the_difference():
    for seed in range(30):
        r = judge_upgrade(*releases(20, 0.05, seed), Quantity.RATE).result
        assert (r.interval.high < 0) == (r.difference_interval.high < 0)
        assert r.interval.low < r.change < r.interval.high


def same_rate(n, drop, runs=400):
    rng = np.random.default_rng(23)
    shift = dropped(LAW, drop).mean / LAW.mean
    outcomes = []
    for _ in range(runs):
        p = acceptances(LAW, n, rng)
        old, new = (accepted(q, LAW, rng).sum(axis=1) / 270 for q in (p, p * shift))
        pairs = [PromptPair(str(i), "x", *v) for i, v in enumerate(zip(old, new, strict=True))]
        outcomes.append(judge_pairs(pairs, Quantity.RATE).outcome)
    return outcomes


def test_errors_of_both_kinds():
    at_margin = same_rate(80, 0.06)  # the pooled rate falls by a little more than the margin
    p = acceptances(LAW, 400_000, np.random.default_rng(1))
    shift = dropped(LAW, 0.06).mean / LAW.mean
    assert rate_of(p * shift, 3).mean() < 0.95 * rate_of(p, 3).mean()
    assert at_margin.count(Change.SAME) / 400 < 0.09
    assert at_margin.count(Change.WORSE) / 400 > 0.85
    unchanged = same_rate(40, 0.0)
    assert (unchanged.count(Change.WORSE) + unchanged.count(Change.BETTER)) / 400 < 0.08


def test_the_simulation_judges_as_the_judge_does():
    codes = {Change.SAME: 0, Change.BETTER: 1, Change.WORSE: -1, Change.INCONCLUSIVE: 2}
    rng = np.random.default_rng(6)
    seen = set()
    for drop in (0.0, 0.03, 0.06, 0.2):
        old, new = upgrade.pairs(LAW, drop, 0.15, (40, 30), rng)
        verdicts, losses = upgrade.outcomes(old, new)
        for i in range(40):
            pairs = [
                PromptPair(str(j), "x", *v) for j, v in enumerate(zip(old[i], new[i], strict=True))
            ]
            result = judge_pairs(pairs, Quantity.RATE).result
            assert codes[result.outcome] == verdicts[i]
            assert (result.difference < 0 and result.p_value < 0.05) == losses[i]
            seen.add(result.outcome)
    assert seen >= {Change.SAME, Change.WORSE, Change.INCONCLUSIVE}


def test_identical_runs_are_the_same():
    old, _ = releases(40)
    judged = judge_upgrade(old, list(reversed(old)), Quantity.RATE)
    assert judged.outcome is Change.SAME
    assert judged.result.change == 0
    assert judged.result.least_visible is None


def test_few_prompts_are_never_the_same():
    old, _ = releases(9)
    judged = judge_upgrade(old, old, Quantity.RATE)
    assert judged.outcome is Change.INCONCLUSIVE
    assert "too few prompts" in judged.reason
    alone = judge_upgrade(old[:1], old[:1], Quantity.RATE)
    assert alone.outcome is Change.INCONCLUSIVE
    assert alone.result.interval is None


def test_nothing_in_common_is_no_data():
    old, _ = releases(4)
    other = [msgspec.structs.replace(r, prompt_id=f"q{r.prompt_id}") for r in old]
    judged = judge_upgrade(old, other, Quantity.RATE)
    assert judged.outcome is Change.INCONCLUSIVE
    assert judged.findings == (Finding.NO_DATA,)
    assert judged.unpaired == 8


def test_prompts_without_drafts_pair_with_nothing():
    old, new = releases(40)
    new[3] = msgspec.structs.replace(new[3], counts=DraftCounts())
    judged = judge_upgrade(old, new, Quantity.RATE)
    assert (judged.result.pairs, judged.unpaired) == (39, 1)


def test_a_draft_gone_from_nothing_to_something_is_better():
    old, new = releases(20)
    dead = [msgspec.structs.replace(r, counts=DraftCounts(90, 270, 0, (0, 0, 0))) for r in old]
    assert judge_upgrade(dead, new, Quantity.RATE).outcome is Change.BETTER
    assert judge_upgrade(old, dead, Quantity.RATE).outcome is Change.WORSE


def test_diverged_texts_are_counted_and_left_out_beside():
    old, new = releases(100)
    _, worse = releases(100, 0.3)
    mixed = [w if i < 15 else n for i, (n, w) in enumerate(zip(new, worse, strict=True))]
    judged = judge_upgrade(old, mixed, Quantity.RATE, diverged={f"p{i}" for i in range(15)})
    assert judged.diverged == 15
    assert judged.without_diverged.pairs == 85
    assert judged.result.change < judged.without_diverged.change
    assert judge_upgrade(old, new, Quantity.RATE).without_diverged is None


def test_a_domain_that_changed_alone_is_named():
    old, new = releases(120)
    _, worse = releases(120, 0.2)
    mixed = [w if w.domain == "chat" else n for n, w in zip(new, worse, strict=True)]
    judged = judge_upgrade(old, mixed, Quantity.RATE)
    assert {d.domain: d.changed for d in judged.per_domain} == {"code": False, "chat": True}
    assert all(d.p_holm >= d.p_value for d in judged.per_domain)


def test_band_over_positions():
    judged = judge_upgrade(*releases(160, 0.12), Quantity.RATE)
    assert [p.position for p in judged.per_position] == [1, 2, 3]
    assert all(p.interval.high < 0 for p in judged.per_position)
    still = judge_upgrade(*releases(160), Quantity.RATE)
    assert all(p.interval.low < 0 < p.interval.high for p in still.per_position)


def timed(n, factor, seed=1):
    rng = np.random.default_rng(seed)
    base = 0.05 * np.exp(rng.normal(0, 0.3, n))
    return [
        PromptPair(str(i), "x", float(b), float(b * factor * np.exp(rng.normal(0, 0.05))))
        for i, b in enumerate(base)
    ]


@pytest.mark.parametrize(
    ("factor", "outcome"), [(1.0, Change.SAME), (1.3, Change.WORSE), (0.7, Change.BETTER)]
)
def test_less_time_is_better(factor, outcome):
    judged = judge_pairs(timed(80, factor), Quantity.TPOT)
    assert judged.outcome is outcome
    assert judged.result.change == pytest.approx(factor - 1, abs=0.03)


def test_the_luck_of_a_launch_is_not_a_change():
    lucky = timed(80, 1.06)
    assert judge_pairs(lucky, Quantity.TPOT).outcome is Change.WORSE
    judged = judge_pairs(lucky, Quantity.TPOT, launches=Launches(LAUNCH_SD))
    assert judged.outcome is Change.INCONCLUSIVE
    assert judge_pairs(timed(80, 1.3), Quantity.TTFT, launches=Launches(LAUNCH_SD)).outcome is (
        Change.WORSE
    )
    steadier = judge_pairs(lucky, Quantity.TPOT, launches=Launches(LAUNCH_SD, 16))
    assert steadier.result.interval.low > judged.result.interval.low


def test_the_luck_of_a_launch_counts_for_acceptance_too():
    old, new = releases(160, 0.12)
    shaky = judge_upgrade(old, new, Quantity.RATE, launches=Launches(0.2)).result
    steady = judge_upgrade(old, new, Quantity.RATE).result
    assert steady.outcome is Change.WORSE
    assert shaky.outcome is Change.INCONCLUSIVE
    assert shaky.interval.low < steady.interval.low
    assert shaky.p_value > 0.05 > steady.p_value


def test_what_cannot_be():
    old, new = releases(10)
    with pytest.raises(UsageError, match="--margin"):
        judge_upgrade(old, new, Quantity.RATE, margin=0)
    with pytest.raises(ValueError, match="twice"):
        judge_upgrade([*old, old[0]], new, Quantity.RATE)
    with pytest.raises(ValueError, match="no property of counts"):
        judge_upgrade(old, new, Quantity.TPOT)
    with pytest.raises(ValueError, match="not positive"):
        judge_pairs([PromptPair("a", "x", 0.0, 1.0)], Quantity.TTFT)


def test_the_same_records_give_the_same_bytes():
    encoded = {
        msgspec.json.encode(judge_upgrade(*releases(30), Quantity.RATE, diverged={"p3", "p9"}))
        for _ in range(3)
    }
    assert len(encoded) == 1
