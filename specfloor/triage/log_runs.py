"""Server runs of a log: open while it is read, and what they come to at its end."""

import statistics
from collections.abc import Iterable, Sequence

import msgspec

from specfloor.triage.evidence import Failure, Part, Run, Speed
from specfloor.triage.log_lines import StartFacts
from specfloor.triage.tally import Tally, total
from specfloor.triage.timeline import Timeline

_MOST_SPEEDS = 4096
"""Speeds of an engine that are kept; when there are more, every second one goes."""
_BUSY_LEAST = 2
"""Lines with tokens and no drafts before an engine counts as generating without drafts: the first
window after a start may hold nothing but a prefill."""


class Engine:
    """What one engine of one run did."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.busy = 0
        self.speeds: list[float] = []
        self.running: list[int] = []

    def works(self, speed: float, running: int) -> None:
        """Take a report with tokens: the speed in tokens a second, and the requests that ran."""
        self.busy += 1
        self.speeds.append(speed)
        self.running.append(running)
        if len(self.speeds) > _MOST_SPEEDS:
            self.speeds, self.running = self.speeds[::2], self.running[::2]


class OpenRun:
    """One server run while it is read."""

    def __init__(self, facts: StartFacts, at: int) -> None:
        self.facts = facts
        self.first = self.last = at
        self.engines: dict[str, Engine] = {}
        self.unnamed = Engine()
        self.timeline = Timeline()
        self.counters: Tally | None = None
        self.positions = 0
        self.failure: Failure | None = None
        self.current: Engine | None = None

    def engine(self, label: str | None) -> Engine:
        """Return the engine of a label, and one for all lines that have none."""
        if label is None:
            return self.unnamed
        return self.engines.setdefault(label, Engine())

    def add(self, part: Part) -> None:
        """Take a window of the engine that reported last."""
        self.timeline.add(part)
        if self.current is not None:
            self.current.timeline.add(part)


class Server:
    """Every run of one writer of the log, by the process that reports."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, str, OpenRun]] = []
        self.open: dict[tuple[str, str], OpenRun] = {}
        self.starting: StartFacts | None = None
        self.facts = StartFacts()
        self.failed_starts: list[tuple[int, Run]] = []

    def run(self, process: str, pid: str, at: int) -> OpenRun:
        """Return the run that a process reports of, a new one after a start; ``at`` orders them."""
        run = self.open.get((process, pid))
        if run is None or self.starting is not None:
            self.facts, self.starting = self.starting or self.facts, None
            run = self.anew(process, pid, at)
        run.last = at
        return run

    def anew(self, process: str, pid: str, at: int) -> OpenRun:
        """Begin a run of a process."""
        run = OpenRun(self.facts, at)
        self.open[process, pid] = run
        self.runs.append((process, pid, run))
        return run


def runs_of(server: Server) -> tuple[Run, ...]:
    """Return the runs in order; processes that report at the same time are one server run."""
    groups: list[list[tuple[str, str, OpenRun]]] = []
    until = -1
    for one in server.runs:
        together = groups and one[2].first <= until
        if together and one[:2] not in (other[:2] for other in groups[-1]):
            groups[-1].append(one)
        else:
            groups.append([one])
        until = max(until, one[2].last)
    ordered = [(group[0][2].first, _joined(group)) for group in groups]
    return tuple(run for _, run in sorted((*ordered, *server.failed_starts), key=lambda o: o[0]))


def _joined(group: Sequence[tuple[str, str, OpenRun]]) -> Run:
    names = [process for process, _, _ in group]
    engines: dict[str, list[Engine]] = {}
    for process, pid, run in group:
        # several servers may write into one log; the API servers of one are numbered by name
        several = names.count(process) > 1
        for label, engine in run.engines.items():
            engines.setdefault(f"pid {pid}/{label}" if several else label, []).append(engine)
    parts = [part for _, _, run in group for part in run.timeline.parts]
    if len(group) > 1:
        parts.sort(key=lambda part: part.at or 0.0)
    tallies = {
        label: total(part.tally for engine in found for part in engine.timeline.parts)
        for label, found in engines.items()
    }
    silent = [label for label, tally in tallies.items() if tally is None]
    found = Run(
        tally=total(part.tally for part in parts),
        engines=dict(sorted(tallies.items())),
        parts=tuple(parts),
        engine_parts={label: _parts(found) for label, found in engines.items()},
        generating=tuple(
            label for label in silent if sum(e.busy for e in engines[label]) >= _BUSY_LEAST
        ),
        failure=next((run.failure for _, _, run in group if run.failure), None),
    )
    facts = StartFacts()
    for _, _, run in group:
        facts = facts.merged(run.facts)
    return with_facts(found, facts)


def with_facts(run: Run, facts: StartFacts) -> Run:
    """Return a run with what its start lines say."""
    return msgspec.structs.replace(
        run,
        version=facts.version,
        model=facts.model,
        method=facts.method,
        k=facts.k,
        speculates=facts.speculates,
    )


def _parts(engines: Sequence[Engine]) -> tuple[Part, ...]:
    parts = [part for engine in engines for part in engine.timeline.parts]
    return tuple(parts if len(engines) == 1 else sorted(parts, key=lambda part: part.at or 0.0))


def speed_of(runs: Iterable[OpenRun]) -> Speed | None:
    """Return the speed of the last run that shows one, summed over its engines."""
    for run in reversed(list(runs)):
        named = {n: e for n, e in run.engines.items() if n != "aggregated"} or run.engines
        working = [engine for engine in (*named.values(), run.unnamed) if engine.speeds]
        if working:
            return Speed(
                mean=sum(statistics.fmean(engine.speeds) for engine in working),
                typical=sum(statistics.median(engine.speeds) for engine in working),
                running=sum(statistics.fmean(engine.running) for engine in working),
            )
    return None
