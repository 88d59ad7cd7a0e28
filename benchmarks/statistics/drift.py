"""How often the verdict on a soak errs, and how far its onset is off.

python -m benchmarks.statistics.drift
"""

import sys
from collections.abc import Callable

import numpy as np

from benchmarks.statistics.draws import Floats
from benchmarks.statistics.report import Report, exceeds, percent
from specfloor.judge.drift import Sample, fall_bounds, fall_scores, hold_bounds, hold_scores
from specfloor.judge.onset import locate_onset
from specfloor.judge.sequential import simulate

RUNS = 5000
LOCATED = 40
PROMPTS = 40
PAIRS = 300
REQUESTS = 3 * PAIRS
ALPHA = BETA = MARGIN = 0.05
NOISES = (0.02, 0.10, 0.25)
"""Standard deviation of a request's rate around that of its prompt. Greedy decoding repeats rates
nearly to the digit; 0.25 is a draft of few steps, sampled."""
FALLS = (0.0, 0.02, 0.05, 0.10, 0.20)
Fall = Callable[[Floats], Floats]
"""Takes the share of the soak that is over, returns the share of acceptance that is lost."""


def rates(rng: np.random.Generator, levels: Floats, noise: float) -> Floats:
    """Draw rates of requests around the levels of their prompts."""
    weight = np.maximum(levels * (1 - levels) / noise**2 - 1, 0.1)
    return rng.beta(np.maximum(levels * weight, 1e-6), np.maximum((1 - levels) * weight, 1e-6))


def own(rng: np.random.Generator, runs: int) -> Floats:
    """Draw the levels of the prompts of each run: a Beta law with mean 0.7 and SD 0.14."""
    return rng.beta(7, 3, (runs, PROMPTS))


def soak(rng: np.random.Generator, fall: Fall) -> list[Sample]:
    """Draw one soak with a noise of 0.10."""
    levels = np.resize(own(rng, 1)[0], REQUESTS) * (1 - fall(np.arange(REQUESTS) / REQUESTS))
    drawn = rates(rng, levels, 0.10)
    return [Sample(i + 1, 0.1 * i, f"p{i % PROMPTS}", float(rate)) for i, rate in enumerate(drawn)]


def step(at: float) -> Fall:
    """Return a fall by 30 % at once."""
    return lambda share: 0.3 * (share >= at)


def ramp(at: float, over: float) -> Fall:
    """Return a fall by 60 % little by little."""
    return lambda share: 0.6 * np.clip((share - at) / over, 0.0, 1.0)


def main() -> int:
    """Print the tables and return whether every figure holds."""
    report = Report("Drift within a soak")
    rng = np.random.default_rng(11)
    report.say(
        f"{RUNS:,} soaks a row with {PAIRS} pairs of requests over {PROMPTS} prompts; "
        "α = β = margin = 5 %. How often the evidence of a fall, and that of none by the margin, "
        "suffices at any time. Targets: the first at most 5 % without a fall, the second at most "
        "5 % with one of the margin or more."
    )
    rows = []
    fell_at, held_at = fall_bounds(MARGIN), hold_bounds(MARGIN)[::-1]
    for noise in NOISES:
        for by in FALLS:
            levels = np.tile(own(rng, RUNS), -(-PAIRS // PROMPTS))[:, :PAIRS]
            first, last = rates(rng, levels, noise), rates(rng, levels * (1 - by), noise)
            fell = simulate(fall_scores(first, last), *fell_at, alpha=ALPHA, beta=BETA)
            held = simulate(hold_scores(first, last, MARGIN), *held_at, alpha=ALPHA, beta=BETA)
            falls, holds = int((fell.decision == -1).sum()), int((held.decision == 1).sum())
            rows.append((f"{noise:.2f}", percent(by), percent(falls / RUNS), percent(holds / RUNS)))
            where = f"noise {noise}, a fall by {by:.0%}"
            if by == 0:
                report.demand(f"fall, {where}", holds=not exceeds(falls, RUNS, ALPHA))
            if by >= MARGIN:
                report.demand(f"none, {where}", holds=not exceeds(holds, RUNS, BETA))
    report.table(("noise", "fall", "shown to have fallen", "a fall by 5 % excluded"), rows)
    _onsets(report, rng)
    return report.end()


def _onsets(report: Report, rng: np.random.Generator) -> None:
    report.say(
        f"Error of the onset as a share of the truth: {LOCATED} soaks a row of {REQUESTS} requests "
        "with a noise of 0.10; a step of 30 %, or a fall by 60 % over a share of the soak."
    )
    rows = []
    kinds = ("at once", step), ("over 10 %", lambda at: ramp(at, 0.1))
    for at in (0.3, 0.5, 0.7):
        for kind, fall in (*kinds, ("over 30 %", lambda at: ramp(at, 0.3))):
            found = [locate_onset(soak(rng, fall(at))) for _ in range(LOCATED)]
            errors = np.array([one.number / (REQUESTS * at) - 1 if one else 1.0 for one in found])
            errors = np.abs(errors)
            within = float((errors <= 0.1).mean())
            half, most = (percent(float(np.quantile(errors, q))) for q in (0.5, 0.9))
            rows.append((percent(at), kind, half, most, percent(within)))
            report.demand(f"onset {kind} at {at:.0%} within 10 %", holds=within >= 0.8)
    report.table(("onset at", "fall", "median error", "90 % under", "within 10 %"), rows)


if __name__ == "__main__":
    sys.exit(main())
