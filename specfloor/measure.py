"""Runs launches: starts each once, sends its blocks, and appends what happened."""

import asyncio
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from specfloor.host.sampling import HostSampler
from specfloor.i18n import ENGLISH, speaking
from specfloor.load.client import Block, Counting, Ending, Endpoint, run_block
from specfloor.load.open_loop import OpenLoop
from specfloor.load.sampling import Sampling
from specfloor.load.settings import WorkloadSettings
from specfloor.load.workload import Prompt, fingerprint
from specfloor.plan import Launch, Overrides
from specfloor.progress import Progress
from specfloor.runs.records import (
    BlockKey,
    BlockRecord,
    FindingRecord,
    LaunchKey,
    LaunchRecord,
    Phase,
    PromptsRecord,
    Purpose,
    Record,
    RequestRecord,
    SplitRecord,
)
from specfloor.triage.findings import Finding

ENGINE_LOGS = "engines"
"""The folder of engine logs, inside a run's."""

StopRule = Callable[[RequestRecord], bool]
"""Takes each record as its request ends, and says whether no more need be sent."""

Say = Callable[[str], None]
"""Takes one line for the user."""


class Fault(Exception):  # noqa: N818 - it is what happened to the engine, not a programming error
    """An engine that would not start, died or stopped answering."""

    def __init__(self, finding: Finding, message: str, cause: str | None = None) -> None:
        """Keep what triage calls it, a sentence, and the line of the log that says why."""
        super().__init__(message)
        self.finding = finding
        self.message = message
        self.cause = cause


class NoEngine(Exception):  # noqa: N818 - it is how things are, not an error
    """There is no engine for a launch, and none was asked for; the message says why."""


class Running(Protocol):
    """A server that is up."""

    @property
    def endpoint(self) -> Endpoint:
        """Where it answers."""

    def describe(self, key: LaunchKey, log: str, started_s: float) -> LaunchRecord:
        """Return what it was started with and what it says of itself."""

    def diagnose(self, patience_s: float) -> Fault | None:
        """Return why it stopped serving; None when it still serves."""


class Engines(Protocol):
    """Where servers come from."""

    def prepare(self, key: LaunchKey) -> None:
        """Make ready what a launch needs (environment, checkpoint).

        Raises Fault if it cannot, and NoEngine when this arm has none.
        """

    def start(
        self, key: LaunchKey, log: Path, overrides: Overrides
    ) -> AbstractContextManager[Running]:
        """Start a server and stop it at the end; raises Fault when it does not become healthy."""


class BlockPlan(msgspec.Struct, frozen=True):
    """All that is needed to send one block.

    ``continuous_usage``, ``duration_s`` and ``open_loop`` are as of a
    :class:`~specfloor.load.client.Block`; ``keep_prompts`` puts the prompts on record, for blocks
    whose answers are judged.
    """

    prompts: tuple[Prompt, ...]
    settings: WorkloadSettings
    template: dict[str, Any]
    counting: Counting
    continuous_usage: bool = False
    duration_s: float | None = None
    keep_prompts: bool = False
    open_loop: OpenLoop | None = None


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds a request, and silence while requests are out, may last."""

    request_s: float
    silence_s: float


class Job(msgspec.Struct, frozen=True):
    """A launch with all that its blocks need: what one host can run without asking back.

    ``plans`` and ``stops`` hold what to send and what stops it, one a block; a stop of None
    measures the block whole. ``place`` names the job in lines for the user.
    """

    launch: Launch
    plans: tuple[BlockPlan, ...]
    stops: tuple[StopRule | None, ...]
    place: str


class Runner(Protocol):
    """Runs jobs, here or elsewhere; each writes its records to the sink as they are made."""

    def expect(self, jobs: Sequence[Job]) -> None:
        """Hear which jobs will be asked for, in their order; a runner may start them early."""

    def finish(self, job: Job) -> None:
        """Return once a job has run, however it ended; never run one twice."""

    def close(self) -> None:
        """End what still runs; nothing is asked for afterwards."""


class Jobs:
    """Jobs in the order of a plan, each run once, when one that comes no earlier is asked for."""

    def __init__(self, jobs: Sequence[Job], runner: Runner) -> None:
        """Announce the jobs to what runs them."""
        self._jobs = jobs
        self._runner = runner
        self._next = 0
        runner.expect(jobs)

    def run_through(self, index: int) -> None:
        """Run every job up to and with ``index`` that has not run yet."""
        while self._next <= index:
            job = self._jobs[self._next]
            # counted before it runs: a job that was interrupted is not tried again
            self._next += 1
            self._runner.finish(job)


class Measurement:
    """Runs launches one at a time, with engines of this host.

    Args:
        engines: where servers come from.
        sink: takes every record as it is made.
        folder: the run's folder; engine logs go below it.
        timeouts: when to give up on a request or a server.
        seed: recorded with every block.
        say: takes one line a phase for the user.
        clock_zero: the reading of ``time.perf_counter`` at which the run's clock started.
        host_period_s: seconds between samples of this machine while one of its servers is measured;
            0 takes none.
    """

    def __init__(
        self,
        *,
        engines: Engines,
        sink: Callable[[Record], None],
        folder: Path,
        timeouts: Timeouts,
        seed: int,
        say: Say,
        clock_zero: float,
        host_period_s: float = 0.0,
    ) -> None:
        self._engines = engines
        self._sink = sink
        self._folder = folder
        self._timeouts = timeouts
        self._seed = seed
        self._say = say
        self._dead: set[LaunchKey] = set()
        self._kept: set[str] = set()
        """Fingerprints of the prompts that are on record."""
        self._clock_zero = clock_zero
        self._host_period_s = host_period_s

    def expect(self, jobs: Sequence[Job]) -> None:
        """Nothing to do: one host runs one job at a time, when it is asked for."""

    def close(self) -> None:
        """Nothing to do: each job ends its own server."""

    @speaking(ENGLISH)  # what is put on record has one language
    def finish(self, job: Job) -> None:
        """Run a launch; what goes wrong with its engine becomes a record."""
        key, overrides = job.launch.key, job.launch.overrides
        if msgspec.structs.replace(key, repeat=0) in self._dead:
            self._say(f"{job.place}: skipped, this arm did not start before")
            return
        log = self._folder / ENGINE_LOGS / f"{key.id}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        relative = str(log.relative_to(self._folder))
        done = 0
        try:
            with self._timed(key, Phase.INSTALL):
                self._engines.prepare(key)
            self._say(f"{job.place}: starting")
            with (
                self._started(key, log, overrides) as (engine, record),
                self._host_sampled(record) as host,
            ):
                self._sink(record)
                self._say(f"{job.place}: healthy after {record.startup_s:.0f} s")
                progress = Progress([(len(p.prompts), p.duration_s) for p in job.plans], self._say)
                for block, plan, stop in zip(job.launch.blocks, job.plans, job.stops, strict=True):
                    progress.begin()
                    take = functools.partial(self._take_request, stop, progress)
                    self._send(engine, key, block, plan, take)
                    host.drain()
                    done += 1
        except NoEngine as reason:
            self._say(f"{job.place}: left out, {reason}")
        except Fault as fault:
            if fault.finding is Finding.START_FAIL:
                self._dead.add(msgspec.structs.replace(key, repeat=0))
            self._say(f"{job.place}: {fault.finding}: {fault.message}")
            evidence = relative if log.exists() else None
            self._sink(
                FindingRecord(
                    launch=key.id,
                    finding=fault.finding,
                    message=fault.message,
                    cause=fault.cause,
                    evidence=evidence,
                    lost=job.launch.blocks[done:],
                )
            )

    @contextmanager
    def _started(
        self, key: LaunchKey, log: Path, overrides: Overrides
    ) -> Iterator[tuple[Running, LaunchRecord]]:
        """Start a server and stop it at the end; both are timed, however they end."""
        with ExitStack() as running:
            with self._timed(key, Phase.START):
                began = time.perf_counter() - self._clock_zero
                engine = running.enter_context(self._engines.start(key, log, overrides))
                record = engine.describe(key, str(log.relative_to(self._folder)), began)
            try:
                yield engine, record
            finally:
                with self._timed(key, Phase.START):
                    running.close()

    def _host_sampled(self, record: LaunchRecord) -> HostSampler:
        """Return what samples this machine, which is not that of a server started elsewhere."""
        return HostSampler(
            self._sink,
            record.key.id,
            clock=lambda: time.perf_counter() - self._clock_zero,
            period_s=self._host_period_s if record.argv else 0.0,
        )

    def _send(
        self,
        engine: Running,
        key: LaunchKey,
        block: BlockKey,
        planned: BlockPlan,
        take: StopRule,
    ) -> None:
        sampling = _sampling(planned.settings, block.purpose, self._seed)
        sent = fingerprint(planned.prompts)
        if planned.keep_prompts and sent not in self._kept:
            self._kept.add(sent)
            self._sink(PromptsRecord(key.id, sent, planned.prompts))
        self._sink(
            BlockRecord(
                launch=key.id,
                block=block,
                prompts=len(planned.prompts),
                fingerprint=sent,
                seed=self._seed,
                sampling=msgspec.structs.asdict(sampling),
                template=planned.template,
                duration_s=planned.duration_s,
                rate_per_s=planned.open_loop.rate_per_s if planned.open_loop else None,
            )
        )
        outcome = asyncio.run(
            run_block(
                engine.endpoint,
                Block(
                    launch=key.id,
                    key=block,
                    prompts=planned.prompts,
                    sampling=sampling,
                    template=planned.template,
                    request_timeout_s=self._timeouts.request_s,
                    stall_s=self._timeouts.silence_s,
                    counting=planned.counting,
                    continuous_usage=planned.continuous_usage,
                    duration_s=planned.duration_s,
                    open_loop=planned.open_loop,
                ),
                take,
                self._sink,
                clock_zero=self._clock_zero,
            )
        )
        self._split(key, Phase.GENERATION, outcome.generation_s + outcome.warmup_s)
        asked = len(planned.prompts) if planned.duration_s is None else outcome.sent
        self._say(
            f"    {block.workload} {block.tier} c{block.concurrency} {block.purpose}: "
            f"{outcome.sent - outcome.failed} of {asked} requests "
            f"in {outcome.generation_s:.1f} s"
        )
        if outcome.ending in (Ending.CRASHED, Ending.HUNG):
            with self._timed(key, Phase.GENERATION):
                fault = engine.diagnose(self._timeouts.silence_s)
            raise fault or Fault(
                Finding.HANG if outcome.ending is Ending.HUNG else Finding.CRASH, outcome.sentence
            )

    def _take_request(
        self, stop: StopRule | None, progress: Progress, record: RequestRecord
    ) -> bool:
        self._sink(record)
        progress.count()
        return stop is not None and stop(record)

    @contextmanager
    def _timed(self, key: LaunchKey, phase: Phase) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self._split(key, phase, time.perf_counter() - began)

    def _split(self, key: LaunchKey, phase: Phase, seconds: float) -> None:
        self._sink(SplitRecord(key.id, phase, round(seconds, 3)))


def _sampling(settings: WorkloadSettings, purpose: Purpose, seed: int) -> Sampling:
    forced = purpose is Purpose.FORCED
    return Sampling(
        max_tokens=settings.forced_tokens if forced else settings.max_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        ignore_eos=forced,
        seed=seed,
    )
