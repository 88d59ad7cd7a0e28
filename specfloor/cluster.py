"""Launches on the hosts of a Ray cluster, scheduled by their NPUs.

Ray places each launch on a host with enough devices; nothing but this package is needed there.
Both arms of a round run on one host, and the next round on the next, so that a host's own speed
weighs on both arms alike and no host alone decides. A launch whose host is lost runs again.
"""

import importlib
import pickle
import queue
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from specfloor.catalog.model import Soc
from specfloor.engines.routed import EngineNeeds, engines_of
from specfloor.errors import UsageError
from specfloor.host.sampling import PERIOD_S
from specfloor.measure import ENGINE_LOGS, Job, Measurement, Say, Timeouts
from specfloor.runs.records import FindingRecord, LaunchKey, LaunchRecord, Record
from specfloor.session import RunnerNeeds
from specfloor.triage.findings import Finding

NPU = "NPU"
"""Ray's own name for Ascend devices; it counts them itself on every host."""

_POLL_S = 0.5
_NEWS_S = 5.0
_REACH_S = 10.0
_ATTEMPTS = 3
"""Hosts that a launch may lose before it counts as one that does not start."""
_LOG_BYTES = 16 << 20
"""How much of an engine's log comes back: its end."""


def soc_resource(soc: Soc) -> str:
    """Return the custom resource by which hosts with a class of NPUs are told apart."""
    return f"soc:{soc}"


class Place(msgspec.Struct, frozen=True):
    """A host of the cluster: Ray's id of it, its address, and its resources."""

    node: str
    address: str
    resources: Mapping[str, float]

    @property
    def name(self) -> str:
        """How lines and records name it; one machine may be several hosts of a cluster."""
        return f"{self.address}/{self.node[:8]}"


def host_for(key: LaunchKey, wanted: Mapping[str, float], places: Sequence[Place]) -> Place | None:
    """Return the host of a launch: the same for all arms of a round, another for the next round.

    None when no host has the resources.
    """
    fitting = sorted(
        (
            place
            for place in places
            if all(place.resources.get(name, 0) >= amount for name, amount in wanted.items())
        ),
        key=lambda place: place.node,
    )
    if not fitting:
        return None
    # families start at different hosts, so that rounds of several spread
    first = sum(f"{key.release} {key.family}".encode())
    return fitting[(first + key.repeat) % len(fitting)]


class RunNeeds(msgspec.Struct, frozen=True):
    """What a worker needs to know of the run; ``began`` is its Unix time."""

    timeouts: Timeouts
    seed: int
    began: float


class _Update(msgspec.Struct, frozen=True):
    records: tuple[Record, ...]
    lines: tuple[str, ...]
    done: bool
    error: str | None = None


class Worker:
    """Runs one launch on a host of the cluster; made there by Ray."""

    def __init__(self, engines: EngineNeeds, run: RunNeeds) -> None:
        """Make ready; :meth:`start` begins."""
        self._engines = engines
        self._run = run
        self._news: queue.SimpleQueue[Record | str] = queue.SimpleQueue()
        self._error: str | None = None
        self._done = threading.Event()
        self._folder = Path(tempfile.mkdtemp(prefix="specfloor-"))

    def start(self, job: bytes) -> None:
        """Begin a launch, a pickled :class:`~specfloor.measure.Job`.

        What Ray itself unpacks has arrays that cannot be written, and a stop rule writes its own.
        """
        unpacked: Job = pickle.loads(job)  # noqa: S301 - from the run that made this worker
        threading.Thread(target=self._finish, args=(unpacked,), daemon=True).start()

    def _finish(self, job: Job) -> None:
        measurement = Measurement(
            engines=engines_of(self._engines, self._news.put, lambda *_: None),
            sink=self._news.put,
            folder=self._folder,
            timeouts=self._run.timeouts,
            seed=self._run.seed,
            say=self._news.put,
            # the run's clock, as far as the hosts' clocks agree
            clock_zero=time.perf_counter() - (time.time() - self._run.began),
            host_period_s=PERIOD_S,
        )
        try:
            measurement.finish(job)
        except Exception as error:  # noqa: BLE001 - it is told where the run is
            self._error = f"{type(error).__name__}: {error}"
        finally:
            self._done.set()

    def poll(self) -> _Update:
        """Return what has happened since the last call."""
        # before the queue is read: what is put into it later must not be missed
        done = self._done.is_set()
        records: list[Record] = []
        lines: list[str] = []
        while not self._news.empty():
            one = self._news.get()
            lines.append(one) if isinstance(one, str) else records.append(one)
        return _Update(tuple(records), tuple(lines), done, self._error)

    def hand_over_log(self, launch: str) -> bytes:
        """Return the end of an engine's log once the launch is done; nothing stays on the host."""
        path = self._folder / ENGINE_LOGS / f"{launch}.log"
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - _LOG_BYTES))
                return file.read()
        except FileNotFoundError:
            return b""
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def connect(address: str) -> Any:  # noqa: ANN401 - the ray module, which may not be installed
    """Join a cluster and return the ray module; ``auto`` is the cluster this host belongs to.

    Raises:
        UsageError: Ray is not installed, or there is no cluster at the address.
    """
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise UsageError(
            "--cluster needs Ray; install specfloor with the extra: specfloor[cluster]"
        ) from None
    _reach(address)
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            namespace="specfloor",
            ignore_reinit_error=True,
        )
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"no Ray cluster at {address} ({reason}); start one with ray start") from (
            error
        )
    return ray


def _reach(address: str) -> None:
    """Raise UsageError at once where nothing listens; Ray itself tries for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdecimal()):
        return
    try:
        socket.create_connection((host, int(port)), timeout=_REACH_S).close()
    except OSError as error:
        raise UsageError(
            f"no Ray cluster at {address} ({error.strerror or error}); start one with ray start"
        ) from None


class ClusterRunner:
    """Runs jobs on the hosts of a Ray cluster, one at a time on each, in the order of the plan.

    A host measures one launch at a time, even with devices to spare: what runs beside it would be
    in its times. Records come back while a launch runs and reach the sink when it has ended and is
    asked for, so that one that is lost and runs again leaves nothing twice. An interrupted run
    keeps what had come back.

    Args:
        ray: the module, connected.
        engines: what workers need to reach engines.
        needs: what a runner has to know of the run.
        cards_on_cpu: devices that a launch on a CPU asks for; 0 asks for a processor instead.
        say: takes lines for the user.
    """

    def __init__(
        self,
        ray: Any,  # noqa: ANN401 - not a dependency of this package
        *,
        engines: EngineNeeds,
        needs: RunnerNeeds,
        cards_on_cpu: int,
        say: Say,
    ) -> None:
        self._ray = ray
        self._engines = engines
        self._needs = needs
        self._cards_on_cpu = cards_on_cpu
        self._say = say
        self._run = RunNeeds(
            needs.timeouts,
            needs.seed,
            began=time.time() - (time.perf_counter() - needs.clock_zero),
        )
        self._tasks: dict[LaunchKey, _Task] = {}
        self._worker = ray.remote(max_restarts=0, max_concurrency=2)(Worker)
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        self._on_node = strategies.NodeAffinitySchedulingStrategy

    def expect(self, jobs: Sequence[Job]) -> None:
        """Begin every job whose host is free; the others follow as hosts become so."""
        for job in jobs:
            self._tasks[job.launch.key] = _Task(job)
        self._advance()

    def finish(self, job: Job) -> None:
        """Wait for a job, keep the others going meanwhile, and hand its records on."""
        task = self._tasks[job.launch.key]
        try:
            while not task.ended:
                self._advance()
                if not task.ended:
                    time.sleep(_POLL_S)
        finally:
            # what has come back of an interrupted launch is kept too
            for record in task.records:
                self._needs.sink(record)
            self._release(task)
            del self._tasks[job.launch.key]

    def close(self) -> None:
        """End what still runs, and leave the cluster."""
        for task in self._tasks.values():
            self._release(task)
        self._ray.shutdown()

    def resources_of(self, key: LaunchKey) -> dict[str, float]:
        """Return what a launch needs of its host."""
        family = self._engines.site.catalog.family(key.family)
        if family.platform == "ascend":
            soc = self._engines.site.soc
            wanted: dict[str, float] = {NPU: family.cards}
            # a trace of it: it says which hosts will do and is not used up
            return wanted | ({soc_resource(soc): 0.001} if soc else {})
        return {NPU: self._cards_on_cpu} if self._cards_on_cpu else {"CPU": 1}

    def _advance(self) -> None:
        """Take the news of every launch that runs, and begin those whose host is free."""
        for task in self._tasks.values():
            if task.worker is not None:
                self._take_news(task)
        busy = {t.place.node for t in self._tasks.values() if t.worker is not None and t.place}
        places = self._places()
        for task in self._tasks.values():
            if task.ended or task.worker is not None:
                continue
            wanted = self.resources_of(task.job.launch.key)
            place = host_for(task.job.launch.key, wanted, places)
            if place is None:
                needs = ", ".join(f"{name} {amount:g}" for name, amount in wanted.items())
                task.give_up(f"no host of the cluster has {needs}")
            elif place.node not in busy:
                busy.add(place.node)
                self._begin(task, place, wanted)
            else:
                # nothing overtakes: launches of one host keep the order of the plan
                busy.add(place.node)

    def _places(self) -> list[Place]:
        return [
            Place(node["NodeID"], node["NodeManagerAddress"], node["Resources"])
            for node in self._ray.nodes()
            if node["Alive"]
        ]

    def _begin(self, task: "_Task", place: Place, wanted: Mapping[str, float]) -> None:
        task.place = place
        task.worker = self._worker.options(
            num_cpus=wanted.get("CPU", 0),
            resources={name: amount for name, amount in wanted.items() if name != "CPU"},
            scheduling_strategy=self._on_node(place.node, soft=False),
        ).remote(self._engines, self._run)
        task.worker.start.remote(pickle.dumps(task.job))

    def _take_news(self, task: "_Task") -> None:
        """Ask a worker what has happened; one whose host is gone is run again elsewhere."""
        errors = self._ray.exceptions
        assert task.place is not None
        try:
            update: _Update = self._ray.get(task.worker.poll.remote(), timeout=_NEWS_S)
            if update.done:
                self._keep_log(task)
        except errors.GetTimeoutError:
            return  # still waiting for its devices, or for Ray to be sure that the host is lost
        except (errors.RayActorError, errors.ActorUnschedulableError) as error:
            reason = str(error).partition("\n")[0]
            self._say(f"{task.job.place}: lost on {task.place.name} ({reason})")
            task.run_again(reason)
            return
        task.records += [_placed(record, task.place) for record in update.records]
        for line in update.lines:
            self._say(f"{task.place.name}: {line}")
        if update.done:
            self._release(task)
            task.ended = True
            if update.error:
                task.give_up(update.error)

    def _keep_log(self, task: "_Task") -> None:
        """Write an engine's log into the run's folder."""
        launch = task.job.launch.key.id
        log: bytes = self._ray.get(task.worker.hand_over_log.remote(launch))
        if log:
            path = self._needs.folder / ENGINE_LOGS / f"{launch}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(log)

    def _release(self, task: "_Task") -> None:
        """End a task's worker; the guard beside its engine ends that."""
        if task.worker is not None:
            self._ray.kill(task.worker)
            task.worker = None


class _Task:
    """One job: where it runs, and what has come back of it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.records: list[Record] = []
        self.worker: Any = None
        self.place: Place | None = None
        self.ended = False
        self._lost = 0

    def run_again(self, reason: str) -> None:
        """Forget the host and what came from it; after several, the launch has failed."""
        self.worker = None
        self.records.clear()
        self._lost += 1
        if self._lost == _ATTEMPTS:
            self.give_up(f"it was lost on {_ATTEMPTS} hosts, last: {reason}")

    def give_up(self, reason: str) -> None:
        """End the job as one whose server did not start."""
        launch = self.job.launch
        self.records.append(
            FindingRecord(launch.key.id, Finding.START_FAIL, reason, lost=launch.blocks)
        )
        self.ended = True


def _placed(record: Record, place: Place) -> Record:
    """Return a launch's record with the host it ran on."""
    if isinstance(record, LaunchRecord):
        return msgspec.structs.replace(record, host=place.name)
    return record


def on_cluster(
    address: str,
    engines: EngineNeeds,
    *,
    cards_on_cpu: int,
    say: Say,
) -> Callable[[RunnerNeeds], ClusterRunner]:
    """Return what runs launches on a cluster; it is joined when the run begins."""

    def runner(needs: RunnerNeeds) -> ClusterRunner:
        ray = connect(address)
        return ClusterRunner(ray, engines=engines, needs=needs, cards_on_cpu=cards_on_cpu, say=say)

    return runner
