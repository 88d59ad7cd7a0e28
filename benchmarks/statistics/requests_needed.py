"""Requests until PASS or FAIL, and how they compare with Wald's bound.

python -m benchmarks.statistics.requests_needed
"""

import math
import sys
from dataclasses import replace

import numpy as np
from scipy import optimize

from benchmarks.statistics.draws import Floats, Law, dropped, rates
from benchmarks.statistics.report import Report, percent
from specfloor.judge.sequential import Outcomes, simulate

RUNS = 20_000
POOL = 400_000
SET = 160
FIRST, HORIZON = 200, 1500
ALPHA = BETA = 0.05
MARGIN = 0.05
USUAL = Law(0.8, 0.10)
MEANS = (0.7, 0.8, 0.9)
MOST = {
    ("fixed", 0.0): 75,
    ("fixed", 0.05): 65,
    ("fixed", 0.10): 28,
    ("sampled", 0.05): 110,
    ("sampled", 0.10): 35,
}
"""The medians that must not be exceeded, by form and drop of the pooled rate under the floor."""


def fixed_sets(law: Law, drop: float, rng: np.random.Generator) -> Outcomes:
    """Test sets of prompts whose own mean lies ``drop`` under the floor."""
    table = rates(law, (RUNS, SET), rng)
    floor = table.mean(axis=1) / (1 - drop)
    return simulate(table, floor, floor * (1 - MARGIN), alpha=ALPHA, beta=BETA, population=SET)


def samples(pool: Floats, drop: float, rng: np.random.Generator) -> Outcomes:
    """Test samples of a workload whose mean lies ``drop`` under the floor, in two stages.

    Runs still open after ``FIRST`` requests start again with ``HORIZON``, of which the first are
    the same: most runs never get there.
    """
    floor = float(pool.mean()) / (1 - drop)
    bounds = (floor, floor * (1 - MARGIN))
    first = rng.choice(pool, (RUNS, FIRST))
    decision, requests = simulate(first, *bounds, alpha=ALPHA, beta=BETA)
    still = decision == 0
    if still.any():
        more = rng.choice(pool, (int(still.sum()), HORIZON - FIRST))
        table = np.concatenate([first[still], more], axis=1)
        decision[still], requests[still] = simulate(table, *bounds, alpha=ALPHA, beta=BETA)
    return Outcomes(decision, requests)


def information(pool: Floats, mean: float) -> float:
    """Return the least Kullback-Leibler divergence from the law of ``pool`` to one of ``mean``.

    The dual form for laws on [0, 1] (Honda and Takemura 2010): the largest expected log growth of
    a bet against ``mean``.
    """
    below = mean > pool.mean()
    x, target = (pool, mean) if below else (1 - pool, 1 - mean)

    def loss(stake: float) -> float:
        return -float(np.mean(np.log1p(-stake * (x - target))))

    most = (1 - 1e-9) / (1 - target)
    return -float(optimize.minimize_scalar(loss, bounds=(0, most), method="bounded").fun)


def wald(pool: Floats, mean: float) -> float:
    """Return Wald's bound on the mean requests of any test of these levels against ``mean``."""
    evidence = (1 - BETA) * math.log((1 - BETA) / ALPHA) + BETA * math.log(BETA / (1 - ALPHA))
    return evidence / information(pool, mean)


def main() -> int:
    """Print the tables and return whether every figure holds."""
    report = Report("Requests until a verdict")
    rng = np.random.default_rng(2024)
    report.say(
        f"k = {USUAL.k}, between-request SD {USUAL.sd:.2f} of the per-token acceptance, "
        f"{USUAL.steps} steps, margin {MARGIN:.0%}, α = β = 5 %, {RUNS:,} runs a row. Drops are of "
        "the pooled rate, by a lower per-token acceptance; the floor is the rate without the drop. "
        f"A fixed set has {SET} prompts and its own mean lies exactly at the drop; a sample may "
        f"take up to {HORIZON:,} requests."
    )
    rows = []
    for mean in MEANS:
        for form in ("fixed", "sampled"):
            for drop in (0.0, 0.05, 0.10):
                law = dropped(replace(USUAL, mean=mean), drop)
                pool = rates(law, POOL, rng)
                fixed = form == "fixed"
                outcomes = fixed_sets(law, drop, rng) if fixed else samples(pool, drop, rng)
                most = MOST.get((form, drop)) if mean == USUAL.mean else None
                median = float(np.median(outcomes.requests))
                open_ = float(np.mean(outcomes.decision == 0))
                right = outcomes.decision == (-1 if drop else 1)
                rows.append(
                    (
                        f"{mean:.1f} ({pool.mean():.3f})",
                        form,
                        percent(drop),
                        "FAIL" if drop else "PASS",
                        f"{median:.0f}",
                        "" if most is None else f"≤ {most}",
                        f"{outcomes.requests.mean():.0f}",
                        f"{np.quantile(outcomes.requests, 0.9):.0f}",
                        percent(float(right.mean())),
                        percent(open_),
                    )
                )
                where = f"{form}, drop {drop:.0%}, per-token mean {mean}"
                report.demand(f"median requests, {where}", holds=most is None or median <= most)
                report.demand(f"INCONCLUSIVE at N, {where}", holds=not fixed or open_ == 0)
    report.table(
        (
            "per-token mean (rate)",
            "form",
            "drop",
            "right verdict",
            "median requests",
            "asked",
            "mean",
            "90 %",
            "right",
            "open at the end",
        ),
        rows,
    )
    _against_wald(report, rng)
    return report.end()


def _against_wald(report: Report, rng: np.random.Generator) -> None:
    report.say(
        "Mean requests of the sampled form over Wald's bound for the true law: the fewest that any "
        "test with these errors can need on average, even one that knows the law (from the "
        "Kullback-Leibler divergence to the nearest law on [0, 1] whose mean is the hypothesis). "
        "Asked: at most 2 for FAIL where the bound is at least 20 requests."
    )
    parts = (("FAIL, 5 % drop", 0.05), ("FAIL, 10 % drop", 0.10), ("PASS at the floor", 0.0))
    rows = []
    for k in (1, 3, 7):
        for sd in (0.05, 0.10, 0.15):
            for steps in (4, 90):
                healthy = Law(USUAL.mean, sd, k=k, steps=steps)
                cells = [healthy.label]
                for what, drop in parts:
                    pool = rates(dropped(healthy, drop), POOL, rng)
                    floor = float(pool.mean()) / (1 - drop)
                    bound = wald(pool, floor if drop else floor * (1 - MARGIN))
                    took = float(samples(pool, drop, rng).requests.mean())
                    ratio = took / bound
                    cells += [f"{bound:.0f}", f"{took:.0f}", f"{ratio:.2f}"]
                    report.demand(
                        f"{what} over Wald's bound, {healthy.label}: {ratio:.2f}",
                        holds=not drop or bound < 20 or ratio <= 2,
                    )
                rows.append(cells)
    columns = [f"{what}: {part}" for what, _ in parts for part in ("bound", "took", "ratio")]
    report.table(("law", *columns), rows)


if __name__ == "__main__":
    sys.exit(main())
