"""The check of the instrument itself: what holds, what does not, and the drafter behind it."""

import json
import math
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import Arm
from specfloor.commands.selfcheck import describe
from specfloor.engines.command import server_command
from specfloor.engines.scripts.calibrated_drafter import CalibratedDrafter
from specfloor.judge.calibration import expected_rate
from specfloor.selfcheck import (
    DRAFTER,
    Decay,
    Halves,
    K,
    KnownRate,
    Scatter,
    SelfCheck,
    halves_of,
    known_rate,
    set_drafter,
    with_calibrated_drafter,
)
from specfloor.signals.choose import BlockSignals
from specfloor.signals.counts import DraftCounts, RequestCounts, Rung
from specfloor.signals.reconcile import Agreement, Comparison, Reconciliation

VOCABULARY = 50


def signals(rates, agreement=Agreement.AGREES, drafted=300):
    requests = tuple(
        RequestCounts(f"p{i}", "code", DraftCounts(100, drafted, round(rate * drafted)))
        for i, rate in enumerate(rates)
    )
    compared = Comparison(Rung.PER_REQUEST, Rung.STREAM, agreement, "they were compared")
    return BlockSignals(Rung.PER_REQUEST, requests, None, Reconciliation((compared,)))


def rates(mean, n=80, sd=0.1, seed=3):
    return np.clip(np.random.default_rng(seed).normal(mean, sd, n), 0, 1)


class TestKnownRate:
    def test_the_truth_is_in_the_interval(self):
        assert known_rate(signals(rates(0.6)), 0.6).holds

    def test_an_instrument_that_reads_too_high_is_found(self):
        assert not known_rate(signals(rates(0.66)), 0.6).holds

    def test_rungs_that_contradict_each_other_are_found(self):
        known = known_rate(signals(rates(0.6), Agreement.DISAGREES), 0.6)
        assert known.rungs_agree is False
        assert not known.holds

    def test_an_explained_gap_is_agreement(self):
        assert known_rate(signals(rates(0.6), Agreement.EXPLAINED), 0.6).holds


class TestHalves:
    def test_halves_of_one_law_hold_in_nearly_every_draw(self):
        held = [halves_of(signals(rates(0.6, seed=seed))).holds for seed in range(200)]
        assert sum(held) >= 195

    def test_halves_of_two_laws_do_not(self):
        both = np.empty(80)
        both[::2], both[1::2] = rates(0.6, 40), rates(0.75, 40, seed=4)
        halves = halves_of(signals(both))
        assert not halves.holds
        assert halves.visible < 0.25


class TestWords:
    KNOWN = KnownRate(0.6, known_rate(signals(rates(0.6)), 0.6).measured, True, "They agree.")
    HALVES = Halves(0.61, 0.6, 80, 0.5, 0.08)

    def said(self, known=KNOWN, halves=HALVES, times=(0.02, 0.0202, 0.0198)):
        scatter = float(np.std(np.log(times), ddof=1)) if len(times) > 1 else math.nan
        return "\n".join(describe(SelfCheck((known,), halves, Scatter(times, scatter))))

    def test_what_holds_can_be_trusted(self):
        said = self.said()
        assert "verdicts can be trusted here" in said
        assert "2 launches an arm tell 1.9 × from a floor of 1.3 ×" in said

    @pytest.mark.parametrize(
        "broken",
        [
            {"known": msgspec.structs.replace(KNOWN, stated=0.9)},
            {"halves": msgspec.structs.replace(HALVES, p_value=0.001)},
        ],
    )
    def test_what_does_not_cannot(self, broken):
        said = self.said(**broken)
        assert "DOES NOT HOLD" in said
        assert "can NOT be trusted here" in said

    def test_launches_that_scatter_much_ask_for_many(self):
        assert "too many launches" in self.said(times=(0.01, 0.03, 0.09))

    def test_one_launch_shows_no_scatter(self):
        assert "one launch shows no scatter" in self.said(times=(0.02,))


@pytest.fixture
def drafter(tmp_path, monkeypatch):
    settings = tmp_path / "drafter.json"
    set_drafter(settings, mean=0.75, sd=0.1, seed=1)
    monkeypatch.setenv("SPECFLOOR_DRAFTER", str(settings))
    config = SimpleNamespace(
        speculative_config=SimpleNamespace(num_speculative_tokens=K),
        model_config=SimpleNamespace(get_vocab_size=lambda: VOCABULARY),
    )
    made = CalibratedDrafter(config)
    made.settings = settings
    return made


def target(prompt, length):
    """Return the greedy continuation of a prompt: any fixed function of it will do."""
    return [int(t) for t in np.random.default_rng(prompt).integers(0, VOCABULARY, length)]


def generate(drafter, prompt, length):
    """Generate as an engine does; return accepted and drafted tokens of each step."""
    continuation = target(prompt, length + K + 1)
    tokens = [1, 2, *prompt, continuation[0]]
    fresh, done, steps = 1, 1, []
    while done < length:
        table = np.zeros((1, 4000), dtype=np.int32)
        table[0, : len(tokens)] = tokens
        (drafted,) = drafter.propose([tokens[-fresh:]], np.array([len(tokens)]), table)
        kept = 0
        while kept < len(drafted) and drafted[kept] == continuation[done + kept]:
            kept += 1
        if drafted:
            steps.append((kept, len(drafted)))
        fresh = kept + 1
        tokens += continuation[done : done + fresh]
        done += fresh
    return steps


def measured(drafter, prompts, length=120):
    rates_ = []
    for prompt in prompts:
        steps = generate(drafter, prompt, length)
        rates_.append(sum(a for a, _ in steps) / sum(d for _, d in steps))
    return np.array(rates_)


PROMPTS = [(i, i + 1, 7 * i % 13) for i in range(150)]


class TestDrafter:
    def learn(self, drafter):
        for prompt in PROMPTS:
            assert generate(drafter, prompt, 120 + K + 1) == []

    @pytest.mark.parametrize("mean", [0.5, 0.75, 0.9])
    def test_what_it_states_is_what_is_accepted(self, drafter, mean):
        self.learn(drafter)
        set_drafter(drafter.settings, mean=mean, sd=0.1, seed=2)
        found = measured(drafter, PROMPTS)
        error = found.std(ddof=1) / len(found) ** 0.5
        assert found.mean() == pytest.approx(expected_rate(mean, 0.1, K), abs=3.5 * error)

    def test_noise_alone_changes_tokens_and_not_the_chance_of_a_prompt(self, drafter):
        self.learn(drafter)
        runs = []
        for seed, noise in ((5, 1), (5, 2), (6, 3)):
            set_drafter(drafter.settings, mean=0.7, sd=0.15, seed=seed, noise=noise)
            runs.append(measured(drafter, PROMPTS))
        assert not np.array_equal(runs[0], runs[1])
        assert np.corrcoef(runs[0], runs[1])[0, 1] > 0.5
        assert abs(np.corrcoef(runs[0], runs[2])[0, 1]) < 0.3

    @pytest.mark.parametrize("over", [0, 40])
    def test_decay_begins_at_its_request_and_goes_as_far_as_it_says(self, drafter, over):
        self.learn(drafter)
        decay = Decay(after=61, over=over, to=0.5)
        set_drafter(drafter.settings, mean=0.8, sd=0.0, seed=2, decay=decay)
        found = measured(drafter, PROMPTS)
        set_drafter(drafter.settings, mean=0.8, sd=0.0, seed=2)
        healthy = measured(drafter, PROMPTS)
        # the same tokens are spoilt, and later ones besides
        assert np.array_equal(found[:60], healthy[:60])
        assert np.all(found[60:] <= healthy[60:])
        assert found[60 + over :].mean() == pytest.approx(expected_rate(0.4, 0.0, K), abs=0.03)

    def test_a_run_repeats(self, drafter):
        self.learn(drafter)
        assert np.array_equal(measured(drafter, PROMPTS[:20]), measured(drafter, PROMPTS[:20]))


def test_the_drafter_is_one_more_method_of_the_family(tmp_path):
    catalog = load_catalog()
    family = catalog.family("glm_moe_tiny")
    able = with_calibrated_drafter(catalog, family, tmp_path / "drafter.json")
    assert DRAFTER not in catalog.family("glm_moe_tiny").methods
    command = server_command(
        tmp_path / "python",
        release=able.release("cpu-0.32.0"),
        family=able.family("glm_moe_tiny"),
        arm=Arm(DRAFTER.name, K),
        model="m",
        port=1,
    )
    config = json.loads(command.argv[command.argv.index("--speculative-config") + 1])
    assert config["model"] == "calibrated_drafter.CalibratedDrafter"
    assert command.env["PYTHONPATH"].endswith("scripts")
