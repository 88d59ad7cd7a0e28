"""How often the interval of a flip point holds it, beside a bootstrap over launches.

python -m benchmarks.statistics.flip
"""

import math
import sys

import numpy as np

from benchmarks.statistics.report import Report, exceeds, percent
from specfloor.judge.flip import Speedup, find_flip

RUNS = 2_000
RESAMPLES = 200
GRID = (1, 2, 4, 8, 16, 32, 64)
FLIP = 11.0
SLOPE = 0.25
"""Fall of the log speedup from one concurrency to twice as many: from 2.4 to 1 over these."""
LEVEL = 0.95
SCATTERS = ((0.03, 0.01), (0.08, 0.02), (0.0, 0.05), (0.15, 0.05))
"""Of the log speedup of a pair of launches: what all its blocks share, and each block's own."""


def draw(pairs: int, shared: float, own: float, rng: np.random.Generator) -> list[Speedup]:
    """Return the speedups of pairs of launches on a curve that falls through 1 at ``FLIP``."""
    found = []
    for repeat in range(pairs):
        luck = rng.normal(0, shared)
        for n in GRID:
            truth = SLOPE * (math.log2(FLIP) - math.log2(n))
            found.append(Speedup(repeat, n, truth + luck + rng.normal(0, own)))
    return found


def bootstrap_holds(speedups: list[Speedup], pairs: int, rng: np.random.Generator) -> bool:
    """Whether a percentile bootstrap over pairs of launches holds the flip."""
    by_pair = [[one for one in speedups if one.repeat == repeat] for repeat in range(pairs)]
    crossings = []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, pairs, pairs)
        sample = [
            Speedup(place, one.concurrency, one.log_speedup)
            for place, pair in enumerate(chosen)
            for one in by_pair[pair]
        ]
        crossings.append(_crossing(sample))
    low, high = np.quantile(crossings, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return bool(low <= math.log2(FLIP) <= high)


def _crossing(sample: list[Speedup]) -> float:
    """Return log₂ of where the mean curve crosses, at the ends where it does not."""
    means = np.array(
        [np.mean([one.log_speedup for one in sample if one.concurrency == n]) for n in GRID]
    )
    falling = np.minimum.accumulate(means)
    x = np.log2(GRID)
    if falling[0] <= 0 or falling[-1] > 0:
        return float(x[0] if falling[0] <= 0 else x[-1])
    after = int(np.argmax(falling <= 0))
    share = falling[after - 1] / (falling[after - 1] - falling[after])
    return float(x[after - 1] + share * (x[after] - x[after - 1]))


def main() -> int:
    """Print the tables and return whether every figure holds."""
    report = Report("Flip point by launches")
    report.say(
        f"Share of {RUNS:,} runs whose {LEVEL:.0%} interval holds the flip, at concurrency "
        f"{FLIP:g} of {', '.join(map(str, GRID))}; the bootstrap of {RESAMPLES} resamples on a "
        "tenth of the "
        "runs. Scatter: of the log speedup of a pair of launches, shared by its blocks and each "
        "block's own. Width: median ratio of the ends, where both are inside the range."
    )
    rows = []
    for pairs in (2, 3, 5):
        for shared, own in SCATTERS:
            rng = np.random.default_rng([pairs, round(1000 * shared), round(1000 * own)])
            missed, widths, decided, booted = 0, [], 0, 0
            for run in range(RUNS):
                speedups = draw(pairs, shared, own, rng)
                found = find_flip(speedups, alpha=1 - LEVEL)
                missed += not (found.low or 0) <= FLIP <= (found.high or math.inf)
                if found.low and found.high:
                    widths.append(found.high / found.low)
                decided += found.answer == "flip"
                if run % 10 == 0:
                    booted += bootstrap_holds(speedups, pairs, rng)
            rows.append(
                (
                    pairs,
                    f"{shared:g} and {own:g}",
                    percent(1 - missed / RUNS),
                    f"{np.median(widths):.2f}" if widths else "-",
                    percent(decided / RUNS),
                    percent(booted / (RUNS // 10)),
                )
            )
            report.demand(
                f"{pairs} pairs, scatter {shared:g} and {own:g}: {missed} of {RUNS} missed",
                holds=not exceeds(missed, RUNS, 0.1),
            )
    report.table(
        ("pairs", "scatter", "holds the flip", "width", "says flip", "bootstrap holds it"), rows
    )
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
