"""Estimates and intervals: against textbook values, coverage, and the edges of the scale."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.statistics.draws import Law, acceptances, accepted, rate_of, requests
from specfloor.judge.estimate import (
    design_effect,
    holm,
    least_visible_drop,
    mean_estimate,
    p_below,
    pooled_estimate,
    position_estimates,
    summarize_acceptance,
)
from specfloor.judge.sequential import SequentialTest
from specfloor.signals.counts import DraftCounts, RequestCounts


def request(name, accepted_, drafted=30, steps=10):
    return RequestCounts(name, "code", DraftCounts(steps, drafted, accepted_))


def test_mean_has_the_t_interval():
    values = [0.5, 0.6, 0.7, 0.9]
    estimate = mean_estimate(values, low=0, high=1)
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert estimate.how == "mean over requests"
    assert (estimate.n, estimate.value) == (4, pytest.approx(0.675))
    assert (estimate.interval.low, estimate.interval.high) == (
        pytest.approx(low),
        pytest.approx(min(high, 1)),
    )


def test_pooled_weighs_by_drafts_and_labels_itself():
    estimate = pooled_estimate([90, 1], [100, 10])
    assert estimate.value == pytest.approx(91 / 110)
    assert estimate.how == "pooled"
    assert mean_estimate([0.9, 0.1], low=0, high=1).value == pytest.approx(0.5)


def test_pooled_of_equal_weights_is_the_mean():
    pooled = pooled_estimate([10, 20, 25], [30, 30, 30])
    mean = mean_estimate([1 / 3, 2 / 3, 5 / 6], low=0, high=1)
    assert pooled.interval.low == pytest.approx(mean.interval.low)
    assert pooled.interval.high == pytest.approx(mean.interval.high)


def test_pooled_interval_covers_over_requests_of_unequal_length():
    rng = np.random.default_rng(8)
    law, truth, missed = Law(0.8, 0.1), None, 0
    p = acceptances(law, 200_000, rng)
    truth = float(rate_of(p, 3).mean())
    for _ in range(600):
        kept, drafted = [], []
        for steps in rng.integers(10, 120, 40):
            one = Law(0.8, 0.1, steps=int(steps))
            kept.append(int(accepted(acceptances(one, 1, rng), one, rng).sum()))
            drafted.append(3 * int(steps))
        interval = pooled_estimate(kept, drafted).interval
        missed += not interval.low < truth < interval.high
    assert 0.02 < missed / 600 < 0.09


@pytest.mark.parametrize(("value", "n"), [(0, 20), (1, 20), (0, 1), (1, 1)])
def test_all_or_nothing_is_clopper_pearson_over_requests(value, n):
    exact = stats.binomtest(value * n, n).proportion_ci(0.95, method="exact")
    for estimate in (
        mean_estimate([float(value)] * n, low=0, high=1),
        pooled_estimate([value * 30] * n, [30] * n),
    ):
        assert estimate.value == value
        assert estimate.interval.low == pytest.approx(exact.low)
        assert estimate.interval.high == pytest.approx(exact.high)


def test_one_request_says_little_but_not_nothing():
    interval = mean_estimate([0.7], low=0, high=1).interval
    assert interval.low < 0.05
    assert 0.95 < interval.high < 1


def test_equal_requests_narrow_as_they_grow_in_number():
    widths = [
        i.high - i.low
        for n in (2, 20, 200)
        for i in (mean_estimate([0.7] * n, low=0, high=1).interval,)
    ]
    assert widths[0] > widths[1] > widths[2] > 0


def test_no_requests_is_an_error():
    with pytest.raises(ValueError, match="no requests"):
        mean_estimate([], low=0, high=1)
    with pytest.raises(ValueError, match="denominators"):
        pooled_estimate([0], [0])


def test_design_effect_is_one_for_independent_tokens_and_large_for_clusters():
    rng = np.random.default_rng(3)
    alone = rng.binomial(100, 0.7, 2000)
    clustered = rng.binomial(100, rng.beta(14, 6, 2000))
    assert design_effect(alone, [100] * 2000) == pytest.approx(1, abs=0.1)
    expected = 1 + 99 / 21  # intra-class correlation of a Beta(14, 6)
    assert design_effect(clustered, [100] * 2000) == pytest.approx(expected, rel=0.1)
    assert design_effect([0, 0], [10, 10]) is None
    assert design_effect([5], [10]) is None


def test_least_visible_drop_is_seen_with_the_stated_power():
    rng = np.random.default_rng(5)
    n, sd, mean = 40, 0.15, 0.7
    drop = least_visible_drop(rng.normal(mean, sd, 100_000)[:n], mean, 0.05, 0.05)
    shifted = rng.normal(mean * (1 - drop), sd, (4000, n))
    seen = np.mean([p_below(row, mean) < 0.05 for row in shifted])
    assert 0.85 < seen < 0.995
    assert least_visible_drop([0.5], 0.5, 0.05, 0.05) is None
    assert least_visible_drop([0.5, 0.5], 0.5, 0.05, 0.05) is None


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_p_value_below_a_floor():
    values = [0.5, 0.6, 0.55, 0.7]
    expected = stats.ttest_1samp(values, 0.65, alternative="less").pvalue
    assert p_below(values, 0.65) == pytest.approx(expected)
    assert p_below([0.2] * 4, 0.6) == pytest.approx((0.4 / 0.8) ** 4)
    assert p_below([0.7] * 4, 0.6) == 1.0
    assert p_below([0.6], 0.6) == 1.0


def test_band_over_positions_holds_together():
    rng = np.random.default_rng(12)
    law = Law(0.8, 0.1, steps=40)
    big = accepted(acceptances(law, 200_000, rng), law, rng)
    truth = big.mean(axis=0) / 40
    missed = 0
    for _ in range(400):
        table = accepted(acceptances(law, 40, rng), law, rng)
        band = position_estimates([DraftCounts(40, 120, int(r.sum()), tuple(r)) for r in table])
        assert [e.value for e in band] == pytest.approx(list(table.sum(axis=0) / 1600))
        assert [e.interval.level for e in band] == pytest.approx([1 - 0.05 / 3] * 3)
        missed += any(
            not e.interval.low < t < e.interval.high for e, t in zip(band, truth, strict=True)
        )
    assert missed / 400 < 0.085


def test_positions_need_every_request_and_fill_short_drafts():
    full = DraftCounts(10, 30, 14, (8, 4, 2))
    assert position_estimates([full, DraftCounts(10, 30, 14)]) == ()
    short = DraftCounts(10, 10, 6, (6,))
    assert [e.value for e in position_estimates([full, short])] == pytest.approx([0.7, 0.2, 0.1])


def test_summary_counts_requests_without_drafts_apart():
    measured = [request("a", 20), request("b", 10), request("none", 0, 0, steps=0)]
    summary = summarize_acceptance(measured)
    assert (summary.requests, summary.without_drafts) == (2, 1)
    assert summary.rate_pooled.value == pytest.approx(0.5)
    assert summary.length_pooled.value == pytest.approx(2.5)
    assert summary.length_mean.value == pytest.approx(2.5)
    assert summary.counts == DraftCounts(20, 60, 30)
    assert summarize_acceptance([request("none", 0, 0, steps=0)]) is None
    assert summarize_acceptance([]) is None


def test_domains_are_adjusted_and_only_the_bad_one_is_below():
    rng = np.random.default_rng(2)
    good = requests(Law(0.85, 0.05), 40, rng)
    bad = [
        RequestCounts(f"zh{i}", "zh", r.counts)
        for i, r in enumerate(requests(Law(0.6, 0.05), 20, rng))
    ]
    for early in (False, True):
        summary = summarize_acceptance([*good, *bad], floor_rate=0.65, stopped_early=early)
        domains = {d.domain: d for d in summary.per_domain}
        assert {d: v.below for d, v in domains.items()} == {
            "code": False,
            "chat": False,
            "zh": True,
        }
        assert domains["zh"].p_holm >= domains["zh"].p_value
    assert all(d.p_value is None for d in summarize_acceptance(good).per_domain)


def test_p_values_after_an_early_stop_are_the_evidence_turned_over():
    rates = [0.5, 0.4, 0.45, 0.9, 0.9]
    measured = [request(f"p{i}", round(30 * r)) for i, r in enumerate(rates)]
    test = SequentialTest(0.65, 0.65 * 0.95, alpha=0.05, beta=0.05)
    highest = 0.0
    for r in measured:
        test.observe(r.counts.rate)
        highest = max(highest, test.log_e_below)
    assert highest > test.log_e_below
    stopped, fixed = (
        summarize_acceptance(measured, floor_rate=0.65, stopped_early=early).per_domain[0].p_value
        for early in (True, False)
    )
    assert stopped == pytest.approx(np.exp(-highest))
    assert fixed == pytest.approx(p_below([r.counts.rate for r in measured], 0.65))


def test_head_is_not_ruled_by_a_few_long_requests():
    def steps_of(name, acc):
        return RequestCounts(
            name,
            "code",
            DraftCounts(len(acc), 3 * len(acc), sum(acc)),
            acc,
            (3,) * len(acc),
        )

    usual = [steps_of(f"p{i}", (1,) * 80) for i in range(30)]
    looping = steps_of("long", (1,) * 64 + (3,) * 4000)
    summary = summarize_acceptance([*usual, looping])
    assert summary.rate_pooled.value > 0.7
    assert summary.rate_mean.value < 0.36
    assert summary.head.pooled.value == pytest.approx(1 / 3)
    assert summarize_acceptance([*usual, request("unknown", 3)]).head is None
