"""False FAIL at the floor and false PASS at the margin, over the laws acceptance may follow.

python -m benchmarks.statistics.error_rates
"""

import sys

import numpy as np

from benchmarks.statistics.draws import Law, rates
from benchmarks.statistics.report import Report, exceeds, percent
from specfloor.judge.sequential import simulate

RUNS = 20_000
POOL = 200_000
SET = 160
FIRST, HORIZON = 150, 600
MEAN = 0.8
ALPHA = BETA = 0.05
MARGIN = 0.05
NAMES = ("false FAIL, fixed", "false PASS, fixed", "false FAIL, sampled", "false PASS, sampled")


def laws() -> list[Law]:
    """Return the laws: k × spread × steps, and where a request is long enough, a p that wanders."""
    found = []
    for k in (1, 3, 7):
        for sd in (0.05, 0.10, 0.15):
            for steps in (4, 30, 90, 300):
                found.append(Law(MEAN, sd, k=k, steps=steps))
                if steps >= 30:
                    found.append(Law(MEAN, sd, k=k, steps=steps, block=10, block_sd=0.15))
    return found


def false_fixed(law: Law, rng: np.random.Generator) -> tuple[int, int]:
    """Return false FAILs and false PASSes of fixed sets, with each set's own mean on the edge."""
    table = rng.choice(rates(law, POOL, rng), (RUNS, SET))
    mean = table.mean(axis=1)
    levels = {"alpha": ALPHA, "beta": BETA, "population": SET}
    at_floor = simulate(table, mean, mean * (1 - MARGIN), **levels).decision
    at_margin = simulate(table, mean / (1 - MARGIN), mean, **levels).decision
    return int((at_floor < 0).sum()), int((at_margin > 0).sum())


def false_sampled(law: Law, rng: np.random.Generator) -> tuple[int, int]:
    """Return false FAILs and false PASSes of samples of up to ``HORIZON`` requests."""
    pool = rates(law, POOL, rng)
    mean = float(pool.mean())
    wrong = []
    for floor, error in ((mean, -1), (mean / (1 - MARGIN), 1)):
        bounds = {"floor": floor, "least": floor * (1 - MARGIN), "alpha": ALPHA, "beta": BETA}
        first = rng.choice(pool, (RUNS, FIRST))
        decision = simulate(first, **bounds).decision
        still = decision == 0
        if still.any():
            more = rng.choice(pool, (int(still.sum()), HORIZON - FIRST))
            longer = np.concatenate([first[still], more], axis=1)
            decision[still] = simulate(longer, **bounds).decision
        wrong.append(int((decision == error).sum()))
    return wrong[0], wrong[1]


def main() -> int:
    """Print the table and return whether every rate holds."""
    report = Report("Error rates of the acceptance verdict")
    rng = np.random.default_rng(7)
    report.say(
        f"Per-token mean {MEAN}, {RUNS:,} runs a cell; targets α = β = 5 %, red when the 99.9 % "
        "lower bound of a rate exceeds its target. False FAIL: the truth is the floor. False PASS: "
        f"the truth is {MARGIN:.0%} under it. Fixed: sets of {SET} prompts; sampled: up to "
        f"{HORIZON} requests. Where p wanders, every 10 steps of a request draw their own p with "
        "SD 0.15 around the request's."
    )
    rows, worst = [], [0, 0, 0, 0]
    for law in laws():
        errors = (*false_fixed(law, rng), *false_sampled(law, rng))
        worst = [max(pair) for pair in zip(worst, errors, strict=True)]
        rows.append((law.label, *(percent(e / RUNS) for e in errors)))
        for what, e, target in zip(NAMES, errors, (ALPHA, BETA, ALPHA, BETA), strict=True):
            report.demand(f"{what}, {law.label}", holds=not exceeds(e, RUNS, target))
    rows.append(("**worst**", *(f"**{percent(e / RUNS)}**" for e in worst)))
    report.table(("law", *NAMES), rows)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
