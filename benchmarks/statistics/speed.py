"""False alarms of speed in A/A, by order of launches and by what is taken for a replicate.

python -m benchmarks.statistics.speed
"""

import math
import sys

import numpy as np
from scipy import stats

from benchmarks.statistics.draws import Floats
from benchmarks.statistics.report import Report, exceeds, percent
from specfloor.judge.speed import abba, launches_needed

RUNS = 20_000
ALPHA = 0.05
BLOCKS = 5
BLOCK_SD = 0.02
DRIFT = 0.04
SCATTERS = (0.01, 0.02, 0.03, 0.05, 0.10, 0.15, 0.20)
ASKED = {(1.9, 1.3, 0.03): 2, (1.1, 1.0, 0.03): 4, (1.9, 1.3, 0.20): 8, (1.1, 1.0, 0.20): 97}
"""Launches that must do, by speedup, floor and scatter."""


def log_times(
    order: tuple[bool, ...], sd: float, drift: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw log times of both arms, runs × launches × blocks; nothing differs between the arms.

    ``drift`` is how much slower the machine is at the end of the session than at its start.
    """
    places = len(order)
    luck = rng.normal(0, sd, (RUNS, places)) + drift * np.arange(places) / (places - 1)
    blocks = luck[..., None] + rng.normal(0, BLOCK_SD, (RUNS, places, BLOCKS))
    on = np.array(order)
    return blocks[:, ~on], blocks[:, on]


def alarms(differences: Floats) -> int:
    """Return how many runs (rows) have a 95 % t interval that excludes no difference."""
    n = differences.shape[1]
    error = differences.std(axis=1, ddof=1) / n**0.5
    critical = stats.t.ppf(1 - ALPHA / 2, n - 1)
    return int((np.abs(differences.mean(axis=1)) > critical * error).sum())


def main() -> int:
    """Print the tables and return whether every figure holds."""
    report = Report("Speed by launches")
    rng = np.random.default_rng(5)
    report.say(
        f"A/A: nothing differs. Share of {RUNS:,} runs whose two-sided 95 % interval excludes 1; "
        "target 5 %. Drift: the machine gets slower by so much from the first launch to the last. "
        f"Blocks: {BLOCKS} blocks of requests a launch, with {BLOCK_SD:.0%} of scatter of their "
        "own, taken for replicates."
    )
    rows = []
    for launches in (2, 3, 4, 6):
        aabb = (False,) * launches + (True,) * launches
        for drift in (0.0, DRIFT):
            for sd in (0.01, 0.02, 0.03):
                off, on = log_times(abba(launches), sd, drift, rng)
                ours = alarms((off - on).mean(axis=-1))
                blocks = alarms((off - on).reshape(RUNS, -1))
                off, on = log_times(aabb, sd, drift, rng)
                other = alarms((off - on).mean(axis=-1))
                shares = (percent(count / RUNS) for count in (ours, other, blocks))
                rows.append((f"{launches}", percent(drift), percent(sd), *shares))
                where = f"{launches} launches, drift {drift:.0%}, scatter {sd:.0%}"
                report.demand(f"ABBA, {where}", holds=not exceeds(ours, RUNS, ALPHA))
    headers = ("launches an arm", "drift", "scatter", "ABBA", "AABB", "ABBA, blocks as units")
    report.table(headers, rows)
    _needed(report)
    return report.end()


def _needed(report: Report) -> None:
    report.say(
        "Launches an arm that tell a speedup from a floor (one-sided 5 %, power 95 %), by the "
        "scatter of one launch."
    )
    rows = []
    for speedup, floor in ((1.9, 1.3), (1.9, 1.15), (1.3, 1.15), (1.1, 1.0)):
        needed = {sd: launches_needed(math.log(speedup / floor), sd) for sd in SCATTERS}
        rows.append((f"{speedup} from {floor}", *(str(n or "> 200") for n in needed.values())))
        for sd, n in needed.items():
            most = ASKED.get((speedup, floor, sd))
            where = f"{speedup} from {floor} at {sd:.0%}"
            report.demand(where, holds=most is None or (n is not None and n <= most))
    report.table(("speedup from floor", *(percent(sd) for sd in SCATTERS)), rows)


if __name__ == "__main__":
    sys.exit(main())
