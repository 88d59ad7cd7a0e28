"""Error rates of what is said of P99 under load, with requests that wait for one another.

python -m benchmarks.statistics.mixed
"""

import itertools
import math
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.statistics.draws import Floats
from benchmarks.statistics.report import Report, exceeds, percent
from specfloor.judge.mixed import (
    LAUNCHES,
    MARGIN,
    NEAR_CAPACITY,
    NEAR_FACTOR,
    SUPPOSED_SD,
    Limit,
    Outcome,
    Rounds,
    Served,
    Versus,
    compare,
    derived_limits,
)

RUNS = 200
ALPHA = 0.05
SLOTS = 16
LUCK = 0.03
SIZES = ((1, 368), (1, 1500), (4, 125), (4, 400))
"""Launches an arm, and requests of a kind in each."""
LOADS = (0.5, 0.8, 0.9)
SLOWER = (1.0, 1 + MARGIN, 1.5)
KINDS = {"structured": 0.5, "open": 1.5}
"""What a request of a kind takes, over the mean of all."""


def queue(arrivals: Floats, service: Floats) -> Floats:
    """Return when each request gets one of the slots, first come, first served; runs × requests."""
    runs = np.arange(len(arrivals))
    free = np.zeros((len(arrivals), SLOTS))
    starts = np.empty_like(arrivals)
    for i in range(arrivals.shape[1]):
        slot = free.argmin(axis=1)
        starts[:, i] = np.maximum(free[runs, slot], arrivals[:, i])
        free[runs, slot] = starts[:, i] + service[:, i]
    return starts


class Launches(NamedTuple):
    """One launch of one arm in every run: the kinds of its requests, and their times.

    ``times`` are seconds by metric, runs × requests.
    """

    kinds: list[str]
    times: dict[str, Floats]

    def of(self, run: int) -> list[Served]:
        """Return the requests of one run."""
        columns = zip(*(of[run].tolist() for of in self.times.values()), strict=True)
        return [
            Served(kind, dict(zip(self.times, row, strict=True)))
            for kind, row in zip(self.kinds, columns, strict=True)
        ]


def launches(
    load: float, each: int, scale: float, rng: np.random.Generator
) -> tuple[Launches, Launches]:
    """Draw one launch of both arms: the same arrivals and prompts, each with luck of its own.

    The second arm takes ``scale`` times as long for everything.
    """
    kinds = [str(kind) for kind in rng.permutation(np.repeat(list(KINDS), each))]
    size = np.array([KINDS[kind] for kind in kinds])
    arrivals = np.cumsum(rng.exponential(1 / (load * SLOTS), (RUNS, 2 * each)), axis=1)
    prompts = rng.normal(0, 0.2, (RUNS, 2 * each))

    def draw(slower: float) -> Launches:
        luck = np.exp(rng.normal(0, LUCK, (RUNS, 1))) * slower
        service = size * luck * np.exp(prompts + rng.normal(0, 0.15, prompts.shape))
        waited = queue(arrivals, service) - arrivals
        first = 0.05 * luck * np.exp(rng.normal(0, 0.3, prompts.shape))
        times = {"TTFT": waited + first, "TPOT": service / 100, "end-to-end": waited + service}
        return Launches(kinds, times)

    return draw(1.0), draw(scale)


def said(
    load: float, count: int, each: int, scale: float, rng: np.random.Generator
) -> Iterator[dict[tuple[str, str], Versus]]:
    """Yield what is said of the second arm in each run, by quantity and kind."""
    drawn = [launches(load, each, scale, rng) for _ in range(count)]
    for run in range(RUNS):
        other: Rounds = {repeat: pair[0].of(run) for repeat, pair in enumerate(drawn)}
        arm: Rounds = {repeat: pair[1].of(run) for repeat, pair in enumerate(drawn)}
        limits: tuple[Limit, ...] = derived_limits(other)
        found = compare(arm, other, limits, load=load, alpha=ALPHA)
        yield {(one.quantity, one.kind): one for one in found}


def main() -> int:
    """Print the tables and return whether every figure holds."""
    report = Report("P99 under mixed load")
    report.say(
        f"{RUNS} runs a row; {SLOTS} slots, two kinds of request, launches that scatter by "
        f"{LUCK:.0%}. Loads are shares of the capacity. WORSE means a loss of {MARGIN:.0%} or more "
        "is shown, PASS that one is excluded. Same: arms that do not differ, false WORSE at most "
        f"{ALPHA:.0%} for each and for any. Margin: an arm that takes {MARGIN:.0%} longer "
        "throughout, false PASS of the time per output token at most "
        f"{ALPHA:.0%}. Half more: found as WORSE. TTFT and end-to-end times of an arm that is "
        "slower grow by more than it does."
    )
    rows = []
    scatter: dict[float, dict[str, list[float]]] = {}
    for (count, each), load in itertools.product(SIZES, LOADS):
        rng = np.random.default_rng([13, count, each, int(100 * load)])
        same, margin, more = (list(said(load, count, each, s, rng)) for s in SLOWER)
        where = f"{count} × {each}, load {load:.0%}"
        row = [f"{count}", f"{each}", percent(load)]
        for metric in ("TTFT", "TPOT", "end-to-end"):
            key = (f"P99 {metric}", "open")
            worse = sum(run[key].outcome is Outcome.WORSE for run in same)
            row.append(percent(worse / RUNS))
            report.demand(f"false WORSE, {metric}, {where}", holds=not exceeds(worse, RUNS, ALPHA))
        any_worse = sum(any(v.outcome is Outcome.WORSE for v in run.values()) for run in same)
        row.append(percent(any_worse / RUNS))
        report.demand(f"any false WORSE, {where}", holds=not exceeds(any_worse, RUNS, ALPHA))
        goodput = ("goodput", "")
        row.append(percent(sum(run[goodput].outcome is Outcome.WORSE for run in same) / RUNS))
        key = ("P99 TPOT", "open")
        passed = sum(run[key].outcome in (Outcome.HOLDS, Outcome.BETTER) for run in margin)
        row.append(percent(passed / RUNS))
        report.demand(f"false PASS, {where}", holds=not exceeds(passed, RUNS, ALPHA))
        row.append(percent(sum(run[key].outcome is Outcome.WORSE for run in more) / RUNS))
        held = sum(run[key].outcome in (Outcome.HOLDS, Outcome.BETTER) for run in same)
        row.append(percent(held / RUNS))
        rows.append(row)
        if (count, each) == (1, 1500):
            scatter[load] = {q: _logs(same, q) for q in SUPPOSED_SD}
    report.table(
        (
            "launches",
            "of a kind",
            "load",
            "same: TTFT WORSE",
            "TPOT WORSE",
            "end-to-end WORSE",
            "any WORSE",
            "goodput WORSE",
            "margin: TPOT PASS",
            "half more: TPOT WORSE",
            "same: TPOT PASS",
        ),
        rows,
    )
    _supposed(report, scatter)
    return report.end()


def _logs(runs: list[dict[tuple[str, str], Versus]], quantity: str) -> list[float]:
    key = ("goodput", "") if quantity == "goodput" else (f"P99 {quantity}", "open")
    return [math.log(run[key].ratio or 1.0) for run in runs]


def _supposed(report: Report, scatter: dict[float, dict[str, list[float]]]) -> None:
    report.say(
        f"Scatter of the log ratio of one pair of launches of 1,500 requests of a kind that do not "
        f"differ. With fewer than {LAUNCHES} pairs so much is supposed besides what order "
        f"statistics say, above a load of {NEAR_CAPACITY:.0%} {NEAR_FACTOR:g} times as much of all "
        "but TPOT."
    )
    rows = []
    for quantity, supposed in SUPPOSED_SD.items():
        found = {load: float(np.std(by[quantity])) for load, by in scatter.items()}
        rows.append((quantity, *(f"{sd:.3f}" for sd in found.values()), f"{supposed:g}"))
        far = max(sd for load, sd in found.items() if load <= NEAR_CAPACITY)
        # the scatter of the requests themselves is in it
        report.demand(f"scatter of {quantity}", holds=far <= 1.25 * supposed)
    report.table(("quantity", *(f"load {load:.0%}" for load in scatter), "supposed"), rows)


if __name__ == "__main__":
    sys.exit(main())
