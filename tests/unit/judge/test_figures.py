"""What requests show besides their mean, and how often chance looks like a trend (seeded)."""

import msgspec
import numpy as np
import pytest

from specfloor.judge.evidence import RecordIndex
from specfloor.judge.figures import figures_of, trend_of
from specfloor.runs.records import CountersRecord, RequestRecord
from specfloor.signals.choose import choose
from specfloor.signals.counts import DraftCounts, RequestCounts, counts_of_steps
from specfloor.triage.signatures import TREND
from tests.unit.builders import CELL, launch, natural

ON = CELL.arm
RUNS = 400


def figures(records):
    block = RecordIndex([launch(ON), *records]).evidence(CELL).on[0].natural
    signals = choose(block.requests, block.counters, k=3, drafts_k=True)
    return figures_of(block, signals)


def test_positions_have_shares_of_drafts_and_of_those_before():
    profile = figures(natural(ON)).profile
    assert profile.whole.value == pytest.approx(0.683, abs=0.001)
    assert profile.whole.trials == 40 * 30
    assert [p.trials for p in profile.positions] == [400] * 3
    assert profile.after[0] == profile.positions[0]
    assert profile.after[1].trials == round(profile.positions[0].value * 400)
    for share in (*profile.positions, *profile.after):
        assert 0 <= share.low <= share.value <= share.high <= 1


def test_without_requests_of_its_own_the_total_speaks():
    records = [
        r
        for r in natural(ON, per_request=False)
        if not isinstance(r, RequestRecord) or r.index >= 0
    ]
    broken = [
        msgspec.structs.replace(r, chunk_tokens=(31,)) if isinstance(r, RequestRecord) else r
        for r in records
    ]
    found = figures(broken)
    assert found.profile.whole.value == pytest.approx(0.683, abs=0.001)
    assert found.over_time is None


def test_nothing_drafted_has_no_figures():
    assert figures(natural(ON, per_request=False, counted=False, accepted=(0,) * 10)) is None


def test_engines_are_told_when_there_are_several():
    assert figures(natural(ON)).engines == {}
    counts = {"1": DraftCounts(100, 300, 3), "0": DraftCounts(100, 300, 210)}
    records = [
        msgspec.structs.replace(r, by_engine=counts) if isinstance(r, CountersRecord) else r
        for r in natural(ON)
    ]
    found = figures(records).engines
    assert list(found) == ["0", "1"]
    assert found["1"].value == 0.01


def request(number, rate, domain="code", steps=50):
    accepted = tuple(min(3, round(3 * rate)) for _ in range(steps))
    return RequestCounts(f"p{number}", domain, counts_of_steps(accepted, (3,) * steps))


def test_a_trend_needs_requests_at_both_ends():
    few = [request(n, 0.5) for n in range(11)]
    assert trend_of(few, range(11)) is None
    trend = trend_of([*few, request(11, 0.5)], range(12))
    assert (trend.requests, trend.fall.low, trend.fall.high) == (4, 0.0, 0.0)
    assert trend.ends == (1.5, 9.5)


def test_domains_one_after_another_are_no_trend():
    easy = [request(n, 1.0, "easy") for n in range(20)]
    hard = [request(n, 0.3, "hard") for n in range(20, 40)]
    trend = trend_of([*easy, *hard], range(40))
    assert trend.fall.low <= 0 <= trend.fall.high


def test_inputs_that_are_all_alike_tell_nothing_of_length():
    assert figures(natural(ON)).over_input is None
    long = [
        msgspec.structs.replace(r, prompt_tokens=100 + 50 * r.index)
        if isinstance(r, RequestRecord)
        else r
        for r in natural(ON)
    ]
    trend = figures(long).over_input
    assert trend.ends[1] > 2 * trend.ends[0]


def called(rng, chances, scatter=0.12):
    """Return whether requests with these chances, in order, are called a trend."""
    counts = []
    for number, chance in enumerate(chances):
        own = np.clip(chance * (1 + rng.normal(0, scatter)), 0, 1)
        kept = np.cumprod(rng.random((40, 3)) < own, axis=1).sum(axis=1)
        counts.append(
            RequestCounts(f"p{number}", "code", counts_of_steps(tuple(map(int, kept)), (3,) * 40))
        )
    trend = trend_of(counts, range(len(counts)))
    return trend.fall.low > TREND * trend.first


def test_chance_is_seldom_called_a_trend_and_a_decay_seldom_missed():
    rng = np.random.default_rng(11)
    flat = [called(rng, [0.85] * 40) for _ in range(RUNS)]
    assert np.mean(flat) <= 0.005
    mild = [called(rng, np.linspace(0.88, 0.82, 40)) for _ in range(RUNS)]
    assert np.mean(mild) <= 0.02
    decay = [called(rng, np.linspace(0.9, 0.5, 40)) for _ in range(RUNS)]
    assert np.mean(decay) >= 0.9
