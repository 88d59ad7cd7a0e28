"""Which k pays at which batch, as a schedule the engine takes, and does that schedule hold?"""

import json
from collections.abc import Sequence

import msgspec
from packaging.version import Version

from specfloor.catalog import Catalog
from specfloor.catalog.model import Release
from specfloor.cells import OFF, Arm, Cell
from specfloor.engines.command import method_of
from specfloor.experiments import rounds
from specfloor.experiments.base import Bench, ExperimentJudgement, Table, arm_launch
from specfloor.i18n import _
from specfloor.judge.cell import Rule
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.floors import Floors
from specfloor.judge.schedule import Choice, Held, Schedule, Times, choose, hold, schedule_of
from specfloor.judge.times import Clock
from specfloor.judge.verdict import Verdict
from specfloor.plan import Overrides, in_turn
from specfloor.triage.findings import Finding

FIELD = "num_speculative_tokens_per_batch_size"
"""The field of vLLM's speculative configuration."""
SINCE = Version("0.24.0")
"""The vLLM that brought it."""
ROUNDS = {"small": 2, "full": 3}
MOST = {"small": 16, "full": 256}
_FIXED, _SCHEDULED = "sweep", "schedule"


class ScheduleDetail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the sweep found: the best k by concurrency, the schedule, and how it held."""

    choices: tuple[Choice, ...]
    schedule: Schedule
    held: tuple[Held, ...]


class KSchedule:
    """Sweeps k over concurrencies, emits a schedule, applies it and compares."""

    name = "schedule"
    varies = ("k", "concurrency")

    def why_not(self, cell: Cell, catalog: Catalog) -> str | None:
        """A release without schedules, or a family served with data parallelism, has no answer."""
        release, family = catalog.release(cell.release), catalog.family(cell.family)
        if not _has_schedules(release):
            return f"{release.name} has no {FIELD}"
        if int(family.serve.get("--data-parallel-size") or 1) > 1:
            return f"{FIELD} is silently off with --data-parallel-size above 1"
        return None

    def measure(self, bench: Bench, cell: Cell) -> None:
        """Run every k and the off arm in rounds of changing direction, then the schedule."""
        grid = _grid(bench, cell)
        arms = (OFF, *(Arm(cell.method, k) for k in sweep_of(cell, bench)))
        for repeat in range(ROUNDS[bench.size]):
            for arm in in_turn(arms, repeat):
                bench.say(f"schedule: round {repeat + 1}, {arm.label}")
                rounds.run_arm(bench, cell, arm_launch(cell, arm, _FIXED, repeat), grid)
        found = _measured(bench.index, cell, arms[1:])
        schedule = schedule_of(found.choices)
        if not schedule:
            return
        bench.say(f"schedule: {json.dumps(schedule)}")
        applied = Overrides(speculative={FIELD: [list(entry) for entry in schedule]})
        for repeat in range(ROUNDS[bench.size]):
            key = arm_launch(cell, arms[-1], _SCHEDULED, repeat)
            rounds.run_arm(bench, cell, key, grid, applied)

    def judge(
        self, index: RecordIndex, cell: Cell, catalog: Catalog, floors: Floors, rule: Rule
    ) -> ExperimentJudgement:
        """Choose from the records of the sweep, and hold the schedule to the best fixed k."""
        del catalog, floors
        arms = index.arms(cell, _FIXED)
        found = _measured(index, cell, arms)
        logs = tuple(log for name in (_FIXED, _SCHEDULED) for log in index.logs(cell, name))
        blank = ExperimentJudgement(
            cell,
            self.name,
            Verdict.NO_DATA,
            (Finding.NO_DATA,),
            _("no concurrency was measured with every k"),
            logs=logs,
        )
        if not found.choices:
            return blank
        schedule = schedule_of(found.choices)
        top = max(arms, key=lambda arm: arm.k)
        held = hold(
            _times(index, cell, top, _SCHEDULED, found.clock),
            found.by_k,
            alpha=rule.alpha,
            margin=rule.margin,
        )
        detail = ScheduleDetail(found.choices, schedule, held)
        said = msgspec.structs.replace(
            blank,
            detail=detail,
            tables=(_sweep_table(found), *((_held_table(held),) if held else ())),
        )
        value = json.dumps([list(entry) for entry in schedule])
        emitted = f'"{FIELD}": {value}'
        if lost := _lost(index, cell, top):
            return msgspec.structs.replace(
                said,
                verdict=Verdict.FAIL,
                findings=(Finding.CONFIG_NOT_IN_EFFECT,),
                reason=_("{emitted} was asked for and is not in effect: {lost}").format(
                    emitted=emitted, lost=lost
                ),
            )
        if not held:
            fault = index.fault(arm_launch(cell, top, _SCHEDULED, 0).id)
            why = fault.sentence if fault else _("it was not measured")
            return msgspec.structs.replace(
                said,
                verdict=Verdict.FAIL if fault else Verdict.NO_DATA,
                findings=(fault.finding if fault else Finding.NO_DATA,),
                reason=_("{emitted} could not be judged: {why}").format(emitted=emitted, why=why),
            )
        verdict = max((one.verdict for one in held), key=_SEVERITY.index)
        return msgspec.structs.replace(
            said,
            verdict=verdict,
            findings=(_FINDING[verdict],),
            reason=f"{emitted} {_how(held, verdict, rule.margin)}{_zero(schedule)}",
        )


def emitted(index: RecordIndex, cell: Cell) -> Schedule:
    """Return the schedule that a sweep on record found for a cell; empty without one."""
    return schedule_of(_measured(index, cell, index.arms(cell, _FIXED)).choices)


_SEVERITY = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL)
_FINDING = {
    Verdict.PASS: Finding.EXPECTED,
    Verdict.INCONCLUSIVE: Finding.INCONCLUSIVE,
    Verdict.FAIL: Finding.SPEED_REGRESSION_ACCEPT_OK,
}


def sweep_of(cell: Cell, bench: Bench) -> tuple[int, ...]:
    """Return the values of k that are tried: half of the cell's, its own, and with time more."""
    method = method_of(bench.catalog.family(cell.family), cell.arm)
    few = {max(1, cell.k // 2), cell.k}
    return tuple(sorted(few if bench.size == "small" else {1, 2, *few, *method.k}))


def _has_schedules(release: Release) -> bool:
    known = release.knobs.schedule
    return known == "supported" if known else Version(release.vllm) >= SINCE


def _grid(bench: Bench, cell: Cell) -> tuple[int, ...]:
    most = bench.most_concurrent(cell, MOST[bench.size])
    grid = rounds.powers_of_two(1, most)
    return grid if bench.size == "full" else grid[:: max(1, (len(grid) - 1) // 2)]


class _Sweep(msgspec.Struct, frozen=True):
    clock: Clock
    by_k: dict[int, Times]
    off: Times
    rates: dict[int, dict[int, float | None]]
    choices: tuple[Choice, ...]


def _measured(index: RecordIndex, cell: Cell, arms: Sequence[Arm]) -> _Sweep:
    grid = _concurrencies(index, cell, arms)
    launches = {arm: rounds.launches_of(index, cell, arm, _FIXED, grid) for arm in (OFF, *arms)}
    clock = rounds.clock_of(launch for found in launches.values() for launch in found)
    by_k = {arm.k: _log_times(launches[arm], clock) for arm in arms if launches[arm]}
    off = _log_times(launches[OFF], clock)
    rates = {
        arm.k: {
            n: rounds.acceptance_rate(x.blocks[n] for x in launches[arm] if n in x.blocks)
            for n in grid
        }
        for arm in arms
    }
    return _Sweep(clock, by_k, off, rates, choose(by_k, off))


def _concurrencies(index: RecordIndex, cell: Cell, arms: Sequence[Arm]) -> tuple[int, ...]:
    found = {n for arm in arms for n in index.concurrencies(arm_launch(cell, arm, _FIXED, 0))}
    return tuple(sorted(found))


def _times(index: RecordIndex, cell: Cell, arm: Arm, variant: str, clock: Clock) -> Times:
    grid = index.concurrencies(arm_launch(cell, arm, variant, 0))
    return _log_times(rounds.launches_of(index, cell, arm, variant, grid), clock)


def _log_times(launches: Sequence[rounds.ArmBlocks], clock: Clock) -> Times:
    times: dict[int, list[float]] = {}
    for launch in launches:
        for concurrency, block in launch.blocks.items():
            if (seconds := rounds.log_time(block, clock)) is not None:
                times.setdefault(concurrency, []).append(seconds)
    return times


def _lost(index: RecordIndex, cell: Cell, top: Arm) -> str | None:
    launched = index.launch(arm_launch(cell, top, _SCHEDULED, 0))
    notices = launched.notices if launched else ()
    return next((one.text for one in notices if one.kind == "schedule_lost"), None)


def _how(held: Sequence[Held], verdict: Verdict, margin: float) -> str:
    worst = max(held, key=lambda one: one.change)
    figures = _(
        "{change:+.1%} of time per token [{low:+.1%}, {high:+.1%}] at "
        "concurrency {concurrency} against k = {best_k}"
    ).format(
        change=worst.change,
        low=worst.low,
        high=worst.high,
        concurrency=worst.concurrency,
        best_k=worst.best_k,
    )
    match verdict:
        case Verdict.PASS:
            return _(
                "is nowhere {margin:.0%} slower than the best fixed k; worst {figures}"
            ).format(margin=margin, figures=figures)
        case Verdict.FAIL:
            return _("is slower than the best fixed k: {figures}").format(figures=figures)
        case _:
            return _(
                "may be {margin:.0%} slower than the best fixed k: {figures}; ask for more rounds"
            ).format(margin=margin, figures=figures)


def _zero(schedule: Schedule) -> str:
    if all(k for _, _, k in schedule):
        return ""
    return _(". k = 0 is not spec-off: the draft stays loaded and its part of each step remains")


def _sweep_table(found: _Sweep) -> Table:
    grid = sorted({n for times in found.by_k.values() for n in times})
    best = {choice.concurrency: choice.k for choice in found.choices}
    rows = []
    for n in grid:
        cells: list[str | float | None] = [str(n), _milliseconds(found.off.get(n))]
        for k, times in found.by_k.items():
            cells += [_milliseconds(times.get(n)), found.rates[k].get(n)]
        rows.append((*cells, str(best[n]) if n in best else None))
    columns = [_("concurrency"), "off"]
    for k in found.by_k:
        columns += [f"k = {k}", _("accepted, k = {k}").format(k=k)]
    return Table(_("Milliseconds per output token"), (*columns, _("best k")), tuple(rows))


def _milliseconds(logs: Sequence[float] | None) -> float | None:
    return 1000 * rounds.mean_time(logs) if logs else None


def _held_table(held: Sequence[Held]) -> Table:
    return Table(
        _("The schedule against the best fixed k"),
        (
            _("concurrency"),
            _("best k"),
            _("change of time per token"),
            _("from"),
            _("to"),
            _("verdict"),
        ),
        tuple(
            (str(one.concurrency), str(one.best_k), one.change, one.low, one.high, one.verdict)
            for one in held
        ),
    )
