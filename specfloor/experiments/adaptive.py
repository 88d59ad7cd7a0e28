"""Does verification that follows the load protect those who wait, when requests come mixed?"""

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.experiments import mechanisms
from specfloor.experiments.adaptive_arms import (
    KINDS,
    arms_of,
    capacity_key,
    load_block,
    workloads_of,
)
from specfloor.experiments.adaptive_evidence import MixedEvidence
from specfloor.experiments.adaptive_report import AdaptiveDetail, Said, answer, tables
from specfloor.experiments.base import Bench, ExperimentJudgement
from specfloor.experiments.schedule import emitted
from specfloor.judge.cell import Rule
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.floors import Floors
from specfloor.judge.mixed import capacity
from specfloor.judge.schedule import Schedule
from specfloor.judge.verdict import Verdict
from specfloor.load.client import Counting
from specfloor.load.open_loop import blend, poisson
from specfloor.measure import BlockPlan
from specfloor.plan import Overrides, in_turn
from specfloor.runs.records import BlockKey, LaunchKey, Purpose
from specfloor.triage.findings import Finding

ROUNDS = {"small": 1, "full": 4}
"""Launches an arm. Three give an interval of their own scatter; four make it half as wide."""
EACH = {"small": 40, "full": 400}
"""Requests of each kind that a load has in one launch: P99 takes 368."""
MOST = {"small": 16, "full": 256}
"""Requests in flight while the capacity is measured, unless the engine or the user says less."""
UTILISATIONS = {"small": (0.7,), "full": (0.5, 0.8)}
"""Loads as shares of the fixed arm's capacity, unless the user names others."""
WAVES = 3
"""Requests for each that is in flight while the capacity is measured."""


class AdaptiveVerification:
    """Sends one seeded mixed load to an off, a fixed and each adaptive arm."""

    name = "adaptive"
    varies = ("workload", "concurrency")

    def why_not(self, cell: Cell, catalog: Catalog) -> str | None:
        """A release without any of the mechanisms, or a family without both kinds of request."""
        family = catalog.family(cell.family)
        if lacking := [kind for kind in KINDS if kind not in workloads_of(family)]:
            return f"{family.name} has no workload with {' or '.join(lacking)} requests"
        if not mechanisms.offered(cell, catalog):
            return "; ".join(mechanisms.refusals(cell, catalog).values())
        return None

    def measure(self, bench: Bench, cell: Cell) -> None:
        """Find the capacity of the fixed arm, then send every arm shares of it, in rounds."""
        most = bench.most_concurrent(cell, MOST[bench.size])
        rate = _measure_capacity(bench, cell, most)
        if rate is None:
            return
        schedule, source = _schedule(bench.index, cell, most)
        bench.say(f"adaptive: the fixed arm takes {rate:.3g} requests/s; {source}")
        arms = arms_of(cell, bench.catalog, schedule)
        for repeat in range(ROUNDS[bench.size]):
            for arm in in_turn(arms, repeat):
                bench.say(f"adaptive: round {repeat + 1}, {arm.name}")
                key = arm.key(cell, repeat)
                # arrivals differ between rounds and not between arms
                plan = _plan(bench, cell, key, EACH[bench.size], bench.seed + repeat)
                plans = {
                    load_block(cell, bench.catalog, most, f"{share:g}"): msgspec.structs.replace(
                        plan,
                        open_loop=poisson(share * rate, len(plan.prompts), bench.seed + repeat),
                    )
                    for share in bench.utilisations or UTILISATIONS[bench.size]
                }
                bench.launch(key, plans, arm.overrides)

    def judge(
        self, index: RecordIndex, cell: Cell, catalog: Catalog, floors: Floors, rule: Rule
    ) -> ExperimentJudgement:
        """Compare the arms under each load; acceptance is reported and decides nothing."""
        del floors
        evidence = MixedEvidence(index, cell, catalog)
        loads = tuple(evidence.loads(rule))
        said = [*evidence.lost(), *(one for load in loads for one in load.said)]
        if not any(compared.adaptive for load in loads for compared in load.compared):
            why = "no load was sent to an adaptive and a fixed arm"
            said.append(Said(Verdict.NO_DATA, Finding.NO_DATA, why))
        verdict, findings, reason = answer(said)
        if applied := _applied(index, cell, catalog):
            reason = f"{reason}; {applied}"
        counts = tuple(evidence.counts())
        refused = mechanisms.refusals(cell, catalog)
        return ExperimentJudgement(
            cell,
            self.name,
            verdict,
            findings,
            reason,
            detail=AdaptiveDetail(evidence.capacity, loads, counts, refused),
            tables=tables(loads, counts),
            logs=evidence.logs,
        )


def _measure_capacity(bench: Bench, cell: Cell, most: int) -> float | None:
    """Return the requests a second that the fixed arm gets through with ``most`` in flight."""
    bench.say(f"adaptive: capacity of the fixed arm with {most} requests in flight")
    key, block = capacity_key(cell), load_block(cell, bench.catalog, most, "capacity")
    each = -(-WAVES * most // len(KINDS))
    bench.launch(key, {block: _plan(bench, cell, key, each, bench.seed)}, Overrides())
    measured = bench.index.block(key, block)
    return capacity(measured.requests) if measured else None


def _plan(bench: Bench, cell: Cell, key: LaunchKey, each: int, seed: int) -> BlockPlan:
    """Return ``each`` requests of every kind, all of the same forced length."""
    family = bench.catalog.family(cell.family)
    # a speed block has the first prompts only, and here every one is wanted
    parts = {
        kind: bench.block_plan(key, BlockKey(workload, cell.tier, 1, Purpose.NATURAL))
        for kind, workload in workloads_of(family).items()
    }
    first = next(iter(parts.values()))
    tokens = max(part.settings.forced_tokens for part in parts.values())
    return msgspec.structs.replace(
        first,
        prompts=blend({kind: part.prompts for kind, part in parts.items()}, each, seed),
        settings=msgspec.structs.replace(first.settings, forced_tokens=tokens),
        counting=Counting.PER_BLOCK if key.arm.speculates else Counting.NEVER,
    )


def _schedule(index: RecordIndex, cell: Cell, most: int) -> tuple[Schedule, str]:
    """Return the schedule to apply, and in a few words where it is from."""
    # the sweep may have tried more than this arm drafts
    found = tuple((first, last, min(k, cell.k)) for first, last, k in emitted(index, cell))
    if len({k for _, _, k in found}) > 1:
        return found, f"the schedule is the sweep's, {_text(found)}"
    default = mechanisms.default_schedule(cell.k, most)
    return default, f"no sweep found k to change, so the schedule is {_text(default)}"


def _applied(index: RecordIndex, cell: Cell, catalog: Catalog) -> str:
    """Return which schedule was applied; empty where none was."""
    arms = {arm.name: arm for arm in arms_of(cell, catalog, ())}
    most = index.concurrencies(arms["schedule"].key(cell, 0)) if "schedule" in arms else ()
    return _schedule(index, cell, most[0])[1] if most else ""


def _text(schedule: Schedule) -> str:
    return str([list(entry) for entry in schedule])
