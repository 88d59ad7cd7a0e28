"""One run of the suite: its cells, its launches, its records, its verdicts."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.engines.routes import ImageRoute, Route, UrlRoute, VenvRoute, route_of
from specfloor.errors import UsageError
from specfloor.experiments.base import ExperimentJudgement, Size
from specfloor.experiments.registry import EXPERIMENTS
from specfloor.host.environment import describe_environment
from specfloor.host.sampling import PERIOD_S
from specfloor.judge.baseline import (
    Baseline,
    baseline_of_release,
    hardware_class,
    read_baseline,
)
from specfloor.judge.book import JudgementBook
from specfloor.judge.cell_acceptance import acceptance_floor
from specfloor.judge.early import EarlyStop
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.floors import Floor, Floors, Quantity
from specfloor.judge.run import Basis, RunResult, Wanted, judge_run, write_basis
from specfloor.judge.times import clock_of_cell, times_of_arms
from specfloor.load.client import Counting
from specfloor.load.sets import Workloads
from specfloor.measure import BlockPlan, Engines, Job, Jobs, Measurement, Runner, Say, Timeouts
from specfloor.plan import Demand, Launch, Overrides, Plan, plan_launches
from specfloor.runs.records import (
    BlockKey,
    LaunchKey,
    Phase,
    Purpose,
    Record,
    RunInfo,
    SplitRecord,
    cell_of,
)
from specfloor.runs.store import SCHEMA, RunWriter
from specfloor.settings import SOAK_MIN, Settings


class Split(msgspec.Struct, frozen=True):
    """Where the wall time of a run went, in seconds."""

    wall_s: float
    install_s: float
    start_s: float
    generation_s: float

    @property
    def harness_s(self) -> float:
        """What is neither installation, server start nor generation."""
        return max(0.0, self.wall_s - self.install_s - self.start_s - self.generation_s)

    @property
    def harness_share(self) -> float:
        """The harness's part of the time without installation."""
        return self.harness_s / max(self.wall_s - self.install_s, 1e-9)


def rounds_of(
    wanted: Sequence[Wanted], catalog: Catalog, floors: Floors, settings: Settings
) -> dict[Cell, int]:
    """Return in how many rounds of launches the speed of each cell is measured.

    As many as the user says, if anything; otherwise a floor says its own number, and a cell without
    one takes one round. A server that somebody else has started is measured once: asked again it is
    still the same launch.
    """
    asked = settings.launches
    rounds = dict.fromkeys((one.cell for one in wanted), asked or 1)
    for cell in rounds:
        if isinstance(settings.route(cell.release), UrlRoute):
            rounds[cell] = 1
            continue
        entry = floors.of(cell, Quantity.SPEEDUP, catalog.family(cell.family))
        if isinstance(entry, Floor) and not asked:
            rounds[cell] = entry.launches
    return rounds


def plan_run(
    wanted: Sequence[Wanted], catalog: Catalog, floors: Floors, settings: Settings
) -> Plan:
    """Return the launches that cells need."""
    rounds = rounds_of(wanted, catalog, floors, settings)
    return plan_launches(Demand(one.cell, one.purposes, rounds[one.cell]) for one in wanted)


class RunnerNeeds(msgspec.Struct, frozen=True):
    """What a runner has to know of a run; fields as in :class:`~specfloor.measure.Measurement`."""

    sink: Callable[[Record], None]
    folder: Path
    timeouts: Timeouts
    seed: int
    clock_zero: float


def on_this_host(engines: Engines, say: Say) -> Callable[[RunnerNeeds], Runner]:
    """Return what runs launches one at a time with engines of this host."""

    def runner(needs: RunnerNeeds) -> Runner:
        return Measurement(
            engines=engines, say=say, host_period_s=PERIOD_S, **msgspec.structs.asdict(needs)
        )

    return runner


def _silent(_: str) -> None:
    """Say nothing: the run has not begun."""


class Session:
    """A run from its plan to its verdicts; the suite's fixtures hold one.

    Args:
        settings: what was asked for.
        catalog: what is known.
        floors: the floors in force.
        wanted: the cells and what each is measured for.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        floors: Floors,
        wanted: Sequence[Wanted],
    ) -> None:
        self.settings = settings
        self.catalog = catalog
        self.floors = floors
        self.wanted = wanted
        self.plan: Plan = plan_run(wanted, catalog, floors, settings)
        self.workloads = Workloads(
            settings.workloads_dir,
            settings.seed,
            files=settings.workload_files,
            most=settings.workload_prompts,
        )
        self.index = RecordIndex()
        self._spent: dict[Phase, float] = dict.fromkeys(Phase, 0.0)
        self._began = time.perf_counter()
        self._writer: RunWriter | None = None
        self._runner: Runner | None = None
        self._jobs: Jobs | None = None
        self._asked: set[tuple[str, Cell]] = set()
        self.say: Say = _silent
        releases = dict.fromkeys(one.cell.release for one in wanted)
        self._environment = describe_environment(releases=[catalog.release(r) for r in releases])
        hardware = hardware_class(self._environment)
        self.book = JudgementBook(
            self.index,
            catalog,
            floors,
            settings.rule,
            hardware=hardware,
            baseline=self._baseline(hardware),
        )

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the run."""
        return tuple(one.cell for one in self.wanted)

    @property
    def is_open(self) -> bool:
        """Whether the run has begun; it stays so after :meth:`close`."""
        return self._writer is not None

    @property
    def folder(self) -> Path:
        """The run's folder; only once the run has begun."""
        return self._run.folder

    @property
    def info(self) -> RunInfo:
        """What ``run.json`` says; only once the run has begun."""
        return self._run.info

    @property
    def _run(self) -> RunWriter:
        if self._writer is None:
            raise RuntimeError("the run has not begun")
        return self._writer

    def check(self) -> None:
        """Read what the plan sends and judges by; UsageError when something is not as it should be.

        A run takes long, and what is wrong with its inputs is better said before it.
        """
        self._check_routes()
        for one in self.wanted:
            entry = self.floors.of_acceptance(one.cell, self.catalog.family(one.cell.family))
            if isinstance(entry, Floor):
                acceptance_floor(entry, one.cell, self.settings.rule, None)
        for launch in self.plan.launches:
            for block in launch.blocks:
                self.block_plan(launch.key, block)

    def _check_routes(self) -> None:
        """Refuse to reach several releases in one way: what is there holds one of them at most."""
        ways: dict[Route, list[str]] = {}
        for name in sorted({one.cell.release for one in self.wanted}):
            route = route_of(self.catalog.release(name), self.settings.route(name))
            if route not in (VenvRoute(), ImageRoute()):
                ways.setdefault(route, []).append(name)
        for sharing in ways.values():
            if len(sharing) > 1:
                raise UsageError(
                    f"{' and '.join(sharing)} would run with the same engine; name one for each "
                    "with --engine-python RELEASE=PATH or --engine RELEASE=WAY"
                )
        for route, (name,) in ways.items():
            arms = {(c.family, c.arm) for c in self.cells if c.release == name}
            if isinstance(route, UrlRoute) and len(arms) > 1:
                raise UsageError(
                    f"the server of {name} runs one family with one method and k, and cells ask "
                    f"for {len(arms)}; narrow them with --family, --method and --spec-tokens"
                )

    def open(
        self,
        folder: Path,
        started: str,
        runner: Callable[[RunnerNeeds], Runner],
        say: Say,
    ) -> None:
        """Begin the run in ``folder``; ``started`` is the time in ISO 8601.

        ``runner`` makes what runs the launches from what it needs to know of the run.
        """
        info = RunInfo(
            schema=SCHEMA,
            run=folder.name,
            started=started,
            settings=_plain(self.settings),
            environment=self._environment,
        )
        self._writer = RunWriter(folder, info)
        self.say = say
        write_basis(self._basis(), folder)
        jobs = [
            self._job(
                launch,
                {block: self.block_plan(launch.key, block) for block in launch.blocks},
                f"[{number}/{len(self.plan.launches)}] {launch.key.id}",
            )
            for number, launch in enumerate(self.plan.launches, 1)
        ]
        self._runner = runner(
            RunnerNeeds(
                sink=self._take,
                folder=folder,
                timeouts=Timeouts(self.settings.request_timeout_s, self.settings.silence_timeout_s),
                seed=self.settings.seed,
                clock_zero=time.perf_counter(),
            )
        )
        self._jobs = Jobs(jobs, self._runner)

    def _job(self, launch: Launch, plans: Mapping[BlockKey, BlockPlan], place: str) -> Job:
        stops = tuple(self._stop_rule(launch.key, block) for block in launch.blocks)
        return Job(launch, tuple(plans[block] for block in launch.blocks), stops, place)

    def _basis(self) -> Basis:
        run = self.settings.baseline
        return Basis(
            wanted=tuple(self.wanted),
            floors=self.floors,
            rule=self.settings.rule,
            baseline_release=self.book.baseline.name if self.book.baseline and not run else None,
            baseline_run=str(run.resolve()) if run else None,
        )

    def _baseline(self, hardware: str) -> Baseline | None:
        """Return the run that was named, or the first of several releases."""
        cells = [one.cell for one in self.wanted]
        if self.settings.baseline:
            return read_baseline(self.settings.baseline, cells)
        releases = list(dict.fromkeys(cell.release for cell in cells))
        if len(releases) < 2:
            return None
        return baseline_of_release(releases[0], self.index, cells, hardware)

    def measure(self, cell: Cell, purpose: Purpose) -> None:
        """Run every launch that ``cell`` needs for ``purpose`` and that has not run yet."""
        assert self._jobs is not None, "the run has not begun"
        self._jobs.run_through(self.plan.last_launch(cell, purpose))

    @property
    def size(self) -> Size:
        """How much experiments measure."""
        return self.settings.experiments or "small"

    def most_concurrent(self, cell: Cell, at_most: int) -> int:
        """Return the requests that may be in flight at once in an experiment."""
        served = self.catalog.family(cell.family).serve.get("--max-num-seqs")
        bounds = (at_most, self.settings.most_concurrent, int(served) if served else None)
        return min(bound for bound in bounds if bound is not None)

    @property
    def utilisations(self) -> tuple[float, ...]:
        """Loads that were asked for, as shares of a capacity."""
        return self.settings.utilisations

    @property
    def seed(self) -> int:
        """The seed of everything random."""
        return self.settings.seed

    @property
    def soak_s(self) -> float:
        """Seconds that a soak lasts."""
        return 60 * (self.settings.soak_min or SOAK_MIN[self.size])

    @property
    def soak_requests(self) -> int | None:
        """Requests that a soak has; None where it has a time."""
        return self.settings.soak_requests

    def launch(
        self,
        key: LaunchKey,
        plans: Mapping[BlockKey, BlockPlan],
        overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    ) -> None:
        """Run one launch of an experiment; see :class:`~specfloor.experiments.base.Bench`."""
        assert self._runner is not None, "the run has not begun"
        job = self._job(Launch(key, tuple(plans), overrides), plans, key.id)
        self._runner.expect([job])
        self._runner.finish(job)

    def experiment(self, name: str, cell: Cell) -> ExperimentJudgement:
        """Measure what an experiment asks of a cell, once, and judge it."""
        if (name, cell) not in self._asked:
            self._asked.add((name, cell))
            EXPERIMENTS[name].measure(self, cell)
        return self.book.experiment(name, cell)

    def times_per_token(self, cell: Cell, *, on: bool) -> list[float]:
        """Return the seconds per output token of one arm: every prompt of every launch."""
        evidence = self.index.evidence(cell)
        arms = evidence.on if on else evidence.off
        return times_of_arms(arms, clock_of_cell(evidence))

    def close(self, *, complete: bool) -> None:
        """End the run; ``complete`` is whether every test had its turn."""
        if self._runner is not None:
            self._runner.close()
        if complete:
            self._run.complete()
        self._run.close()

    def spend(self, phase: Phase, seconds: float) -> None:
        """Count time that a test spent on an engine outside the launches of the plan."""
        self._spent[phase] += seconds

    def result(self) -> RunResult:
        """Return every judgement that the wanted cells allow; what was not measured is NO_DATA."""
        return judge_run(self.wanted, self.book)

    def split(self) -> Split:
        """Return where the time since the session was made went."""
        return Split(
            wall_s=time.perf_counter() - self._began,
            install_s=self._spent[Phase.INSTALL],
            start_s=self._spent[Phase.START],
            generation_s=self._spent[Phase.GENERATION],
        )

    def _take(self, record: Record) -> None:
        self._run.append(record)
        self.index.add(record)
        if isinstance(record, SplitRecord):
            self._spent[record.phase] += record.seconds

    def block_plan(self, key: LaunchKey, block: BlockKey) -> BlockPlan:
        """Return what is sent for a block of a launch."""
        family = self.catalog.family(key.family)
        settings = self.workloads.settings(family.workload_set, block.workload)
        prompts = self.workloads.prompts(family.workload_set, block.workload)
        if block.purpose is Purpose.FORCED:
            prompts = prompts[: settings.forced_prompts]
        return BlockPlan(
            prompts,
            settings,
            family.tiers[block.tier],
            self._counting(key, block),
            continuous_usage=not self.catalog.release(key.release).signals.token_ids,
        )

    def _stop_rule(self, key: LaunchKey, block: BlockKey) -> EarlyStop | None:
        """Return what stops a block once its acceptance is decided; None measures it whole.

        A comparison of releases needs the same prompts on each, so it measures all of them.
        """
        if (
            key.variant  # an experiment compares whole blocks
            or not self.settings.early_stop
            or self.book.baseline is not None
            or not key.arm.speculates
            or block.purpose is not Purpose.NATURAL
        ):
            return None
        cell = cell_of(key, block)
        family = self.catalog.family(key.family)
        floor = self.floors.of_acceptance(cell, family)
        if not isinstance(floor, Floor):
            return None
        method = method_of(family, key.arm)
        rule = self.settings.rule
        prompts = self.workloads.prompts(family.workload_set, block.workload)
        population = None if rule.sampled else len(prompts)
        return EarlyStop(
            acceptance_floor(floor, cell, rule, population),
            draft_is_target=method.draft == "target",
        )

    def _counting(self, key: LaunchKey, block: BlockKey) -> Counting:
        """Return how often counters are read: around each request where responses do not count.

        Streamed chunks count too little on short answers, since the last step of each is cut where
        the answer ends. Reading the counters twice as often costs nothing that is timed, and is
        possible with one request at a time.
        """
        if not key.arm.speculates:
            return Counting.NEVER
        release = self.catalog.release(key.release)
        if (
            block.concurrency == 1
            and block.purpose is Purpose.NATURAL
            and not release.signals.per_request
        ):
            return Counting.PER_REQUEST
        return Counting.PER_BLOCK


def _plain(settings: Settings) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=str)
    return plain
