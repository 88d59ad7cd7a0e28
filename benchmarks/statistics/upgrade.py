"""What the paired upgrade shows: power, false alarms and false SAME.

python -m benchmarks.statistics.upgrade
"""

import sys
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.statistics.draws import Floats, Law, acceptances, accepted, dropped, rate_of
from benchmarks.statistics.report import Report, exceeds, percent

RUNS = 20_000
USUAL = Law(0.8, 0.10)
STEPS = (30, 90, 300)
ALPHA = 0.05
MARGIN = 0.05
DIVERGED = 0.15
DIVERGED_SD = 0.05
"""A text that took another course is another text of the same prompt: its per-token acceptance
moves, here by half of the spread between prompts, either way."""
POWER = 0.8


def pairs(
    law: Law, drop: float, diverged: float, size: tuple[int, int], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw old and new rates, runs × prompts."""
    shift = dropped(law, drop).mean / law.mean
    p = acceptances(law, size, rng)
    moved = np.where(rng.random(size) < diverged, rng.normal(0, DIVERGED_SD, size), 0.0)
    new = np.clip(p + moved, 0.01, 0.99) * shift
    old_rates, new_rates = (accepted(q, law, rng).mean(axis=-1) / law.steps for q in (p, new))
    return old_rates, new_rates


def outcomes(old: Floats, new: Floats) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return verdicts (1 BETTER, −1 WORSE, 0 SAME, 2 INCONCLUSIVE) and whether a loss is seen.

    The arithmetic of ``specfloor.judge.paired`` for many runs at once; a unit test holds the two
    together.
    """
    n = old.shape[1]
    two_sided, one_sided = stats.t.ppf((1 - ALPHA / 2, 1 - ALPHA), n - 1)

    def t_of(ratio: float) -> Floats:
        contrast = new - ratio * old
        return contrast.mean(axis=1) / (contrast.std(axis=1, ddof=1) / n**0.5)

    t = t_of(1.0)
    verdict = np.full(len(t), 2, dtype=np.int8)
    verdict[t > two_sided], verdict[t < -two_sided] = 1, -1
    verdict[(t_of(1 - MARGIN) > one_sided) & (t_of(1 + MARGIN) < -one_sided)] = 0
    return verdict, t < -two_sided


def prompts_for_power(law: Law, drop: float, diverged: float, rng: np.random.Generator) -> int:
    """Return the prompts with which a loss is seen with power ``POWER``, from many pairs."""
    old, new = pairs(law, drop, diverged, (1, 200_000), rng)
    difference = (new - old)[0]
    effect = abs(float(difference.mean())) / float(difference.std())
    n = np.arange(3, 3000)
    power = stats.nct.sf(stats.t.ppf(1 - ALPHA / 2, n - 1), n - 1, effect * np.sqrt(n))
    return int(n[np.flatnonzero(power >= POWER)[0]])


def edge(law: Law) -> float:
    """Return the drop at the mean acceptance that lowers the mean rate by exactly the margin."""
    p = acceptances(law, 400_000, np.random.default_rng(1))
    low, high = 0.0, 0.2
    for _ in range(20):
        middle = (low + high) / 2
        now = p * dropped(law, middle).mean / law.mean
        fall = 1 - float(rate_of(now, law.k).mean() / rate_of(p, law.k).mean())
        low, high = (middle, high) if fall < MARGIN else (low, middle)
    return high


def main() -> int:
    """Print the tables and return whether every figure holds."""
    report = Report("Upgrade, paired by prompt")
    rng = np.random.default_rng(31)
    report.say(
        f"k = {USUAL.k}, per-token mean {USUAL.mean} with between-request SD {USUAL.sd:.2f}, "
        f"{RUNS:,} runs a cell. Both releases decode the same prompts, texts drawn anew. Seen: the "
        "two-sided paired t test at 5 % shows a loss. WORSE: seen, and not shown to be within the "
        f"margin of {MARGIN:.0%}, which would be SAME. Diverged: {DIVERGED:.0%} of the prompts "
        f"take another course and their per-token acceptance moves (SD {DIVERGED_SD})."
    )
    rows = []
    for steps in STEPS:
        law = replace(USUAL, steps=steps)
        for diverged in (0.0, DIVERGED):
            for drop in (0.02, 0.035, 0.05):
                cells = [f"{steps}", percent(diverged), percent(drop)]
                for prompts in (80, 160, 240):
                    verdict, seen = outcomes(*pairs(law, drop, diverged, (RUNS, prompts), rng))
                    worse = float((verdict == -1).mean())
                    cells.append(f"{percent(float(seen.mean()))} / {percent(worse)}")
                cells.append(str(prompts_for_power(law, drop, diverged, rng)))
                rows.append(cells)
    columns = [f"{n} prompts: seen / WORSE" for n in (80, 160, 240)]
    report.table(("steps", "diverged", "drop", *columns, "prompts for 80 % seen"), rows)
    _errors(report, rng)
    return report.end()


def _errors(report: Report, rng: np.random.Generator) -> None:
    report.say(
        "Errors. A/A, nothing changed: WORSE or BETTER (5 % two-sided is the target, and SAME "
        "takes part of it). The mean rate lower by exactly the margin: SAME (target 5 %; without "
        "divergence only, which moves the mean by itself)."
    )
    rows = []
    for steps in STEPS:
        law = replace(USUAL, steps=steps)
        at_margin = edge(law)
        for diverged in (0.0, DIVERGED):
            for prompts in (20, 80, 160):
                size = (RUNS, prompts)
                where = f"{steps} steps, {prompts} prompts, {diverged:.0%} diverged"
                still, _ = outcomes(*pairs(law, 0.0, diverged, size, rng))
                alarms = int((np.abs(still) == 1).sum())
                report.demand(f"false alarms, {where}", holds=not exceeds(alarms, RUNS, ALPHA))
                cells = [f"{steps}", percent(diverged), f"{prompts}", percent(alarms / RUNS)]
                cells.append(percent(float((still == 0).mean())))
                if not diverged:
                    lower, _ = outcomes(*pairs(law, at_margin, 0.0, size, rng))
                    wrong = int((lower == 0).sum())
                    report.demand(f"false SAME, {where}", holds=not exceeds(wrong, RUNS, ALPHA))
                    cells.append(percent(wrong / RUNS))
                rows.append(cells)
    headers = ("steps", "diverged", "prompts", "A/A: WORSE or BETTER", "A/A: SAME")
    report.table((*headers, "at the margin: SAME"), rows)


if __name__ == "__main__":
    sys.exit(main())
