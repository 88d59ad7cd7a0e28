"""Server logs: what each server in them drafted and accepted, over time and per engine."""

import itertools
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from specfloor.catalog.model import LogLine
from specfloor.triage.evidence import Failure, Part, Run, Speed
from specfloor.triage.failures import failure_in
from specfloor.triage.foreign import software_of_log
from specfloor.triage.log_lines import (
    CumulativeLine,
    Prefix,
    StartFacts,
    WindowLine,
    begins_metrics,
    continues,
    is_complete_throughput,
    lines_in,
    parse_cumulative,
    parse_prefix,
    parse_start,
    parse_throughput,
    parse_window,
    unwrapped,
)
from specfloor.triage.log_scan import LogScan, Mark, Marker
from specfloor.triage.source import BLOCK, Source
from specfloor.triage.tally import Tally, total
from specfloor.triage.timeline import Timeline

_L = TypeVar("_L", WindowLine, CumulativeLine)

_MOST_BROKEN = 24
"""Lines over which a terminal may have broken one: a line of k = 15 at 24 columns."""
_MOST_SPEEDS = 4096
_BUSY_LEAST = 2
"""Lines with tokens and no drafts before an engine counts as generating without drafts: the first
window after a start may hold nothing but a prefill."""
_POSITIONS_LAST = ("v1-0.9", "v1-0.10.2")
_CLOSING = " \t\r]}"  # of JSON that holds the lines
_OURS = (b"EngineCore", b"EngineDeadError", b"vllm")


class LogReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a log says, or a chain of rotated ones read as one.

    ``servers`` has one entry for every server that writes into it (usually one, named ""), with its
    runs in order. ``windows`` are complete acceptance lines with drafts, ``empty_windows`` those
    without; ``incomplete`` lines are cut, ``contradictory`` ones do not fit together (the first of
    them as ``contradiction`` says), and neither are counted. ``cut_at_end``: the last line is not
    whole. ``software`` is the other program that wrote it.
    """

    name: str
    servers: dict[str, tuple[Run, ...]]
    formats: tuple[LogLine, ...] = ()
    windows: int = 0
    empty_windows: int = 0
    incomplete: int = 0
    contradictory: int = 0
    contradiction: str | None = None
    cut_at_end: bool = False
    throughput_lines: int = 0
    first_window: Tally | None = None
    last_window: Tally | None = None
    mean_of_window_rates: float | None = None
    speed: Speed | None = None
    software: str | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs of all servers."""
        return tuple(itertools.chain.from_iterable(self.servers.values()))

    @property
    def tally(self) -> Tally | None:
        """The sum over everything in the log."""
        return total(run.tally for run in self.runs)

    @property
    def cumulative(self) -> bool:
        """Whether the counters of the log add up by themselves, as V0's do."""
        return "v0" in self.formats


def read_log(sources: Sequence[Source], k: int | None = None) -> LogReading:
    """Read a log, or the parts of a rotated one in order of time.

    ``k`` is num_speculative_tokens where the user knows it; only the wording of 0.8.3, which has no
    positions, needs it.
    """
    reader = _read(_blocks_of(sources), k)
    if not reader.acceptance_lines and not any(source.once for source in sources):
        reader = _read(_blocks_of(sources), k, everywhere=True)
    head = sources[0].head
    if len(sources) == 1 and len(head) < BLOCK and reader.acceptance_lines < lines_in(head):
        joined = _read([unwrapped(head)], k)
        reader = max(joined, reader, key=lambda one: one.acceptance_lines)
        # what is left are lines that lost the words by which they are found
        reader.incomplete += max(0, lines_in(head) - reader.acceptance_lines)
    software = None
    if not reader.marks:
        software = software_of_log(head.decode(errors="replace"))
        reader.end_of_filtered(b"" if software else head)
    return reader.reading(sources[-1].name, software)


def _blocks_of(sources: Sequence[Source]) -> Iterator[bytes]:
    return itertools.chain.from_iterable(source.blocks() for source in sources)


def _read(blocks: Iterable[bytes], k: int | None, *, everywhere: bool = False) -> "_Reader":
    reader, scan = _Reader(k), LogScan(blocks, everywhere=everywhere)
    for mark in scan:
        reader.take(mark)
    reader.end(scan.tail)
    return reader


class _Engine:
    """What one engine of one run did."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.busy = 0
        self.speeds: list[float] = []
        self.running: list[int] = []

    def works(self, speed: float, running: int) -> None:
        self.busy += 1
        self.speeds.append(speed)
        self.running.append(running)
        if len(self.speeds) > _MOST_SPEEDS:
            self.speeds, self.running = self.speeds[::2], self.running[::2]


class _Run:
    """One server run while it is read."""

    def __init__(self, facts: StartFacts, at: int) -> None:
        self.facts = facts
        self.first = self.last = at
        self.engines: dict[str, _Engine] = {}
        self.unnamed = _Engine()
        self.timeline = Timeline()
        self.counters: Tally | None = None
        self.positions = 0
        self.failure: Failure | None = None
        self.current: _Engine | None = None

    def engine(self, label: str | None) -> _Engine:
        if label is None:
            return self.unnamed
        return self.engines.setdefault(label, _Engine())

    def add(self, part: Part) -> None:
        self.timeline.add(part)
        if self.current is not None:
            self.current.timeline.add(part)


class _Server:
    """Every run of one writer of the log, by the process that reports."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, str, _Run]] = []
        self.open: dict[tuple[str, str], _Run] = {}
        self.starting: StartFacts | None = None
        self.facts = StartFacts()
        self.failed_starts: list[tuple[int, Run]] = []

    def run(self, process: str, pid: str, at: int) -> _Run:
        run = self.open.get((process, pid))
        if run is None or self.starting is not None:
            self.facts, self.starting = self.starting or self.facts, None
            run = self.anew(process, pid, at)
        run.last = at
        return run

    def anew(self, process: str, pid: str, at: int) -> _Run:
        run = _Run(self.facts, at)
        self.open[process, pid] = run
        self.runs.append((process, pid, run))
        return run


class _Reader:
    """Puts the marks of a log together."""

    def __init__(self, k: int | None) -> None:
        self.k = k
        self.marks = 0
        self.servers: dict[str, _Server] = {}
        self.formats: dict[LogLine, None] = {}
        self.windows = self.empty = self.incomplete = self.throughputs = self.contradictory = 0
        self.contradiction: str | None = None
        self.rates = 0.0
        self.rated = 0
        self.first: Tally | None = None
        self.last: Tally | None = None
        self.cut = False

    @property
    def acceptance_lines(self) -> int:
        """Lines about acceptance, whole or not."""
        return self.windows + self.empty + self.incomplete + self.contradictory

    def take(self, mark: Mark) -> None:
        """Take the next mark."""
        self.marks += 1
        prefix = parse_prefix(mark.before, mark.before + mark.text)
        server = self.servers.setdefault(prefix.source, _Server())
        match mark.marker:
            case Marker.THROUGHPUT:
                self._take_throughput(server, prefix, mark)
            case Marker.ENGINE_START | Marker.SERVER_START:
                self._take_start(server, mark)
            case Marker.WINDOW:
                self._take_window(server, prefix, mark)
            case Marker.CUMULATIVE:
                self._take_cumulative(server, prefix, mark)

    def _take_throughput(self, server: _Server, prefix: Prefix, mark: Mark) -> None:
        self.throughputs += 1
        line = parse_throughput(mark.before, mark.text)
        run = server.run(prefix.process, prefix.pid, self.marks)
        run.current = run.engine(line.engine)
        if line.generation_tok_s:
            run.current.works(line.generation_tok_s, line.running or 0)

    def _take_start(self, server: _Server, mark: Mark) -> None:
        facts = parse_start(mark.text)
        if mark.marker is Marker.ENGINE_START:
            place = mark.preceding.rfind(Marker.SERVER_START.value)
            if place >= 0:
                asked = mark.preceding[place:].partition(b"\n")[0].decode(errors="replace")
                facts = parse_start(asked).merged(facts)
        self._note_failure(server, mark.preceding)
        server.starting = (server.starting or StartFacts()).merged(facts)

    def _take_window(self, server: _Server, prefix: Prefix, mark: Mark) -> None:
        line, problem = _whole(mark, parse_window)
        if line is None:
            self.incomplete += begins_metrics(mark.text)
            return
        self.formats[line.log_format] = None
        run = server.run(prefix.process, prefix.pid, self.marks)
        if line.log_format in _POSITIONS_LAST and len(line.positions) < run.positions:
            self.incomplete += 1  # cut after a whole number
            return
        if problem:
            self._contradicts(problem)
            return
        run.positions = len(line.positions)
        if not line.draft_tokens:
            self.empty += 1
            return
        if line.rate is not None:
            self.rates += line.rate
            self.rated += 1
        self._add(run, line.tally(self.k or run.facts.k), prefix.at, line.seconds)

    def _take_cumulative(self, server: _Server, prefix: Prefix, mark: Mark) -> None:
        line, problem = _whole(mark, parse_cumulative)
        if line is None:
            self.incomplete += begins_metrics(mark.text)
            return
        self.formats["v0"] = None
        if problem:
            self._contradicts(problem)
            return
        run = server.run(prefix.process, prefix.pid, self.marks)
        now, before = line.tally, run.counters
        if before is not None and now.draft_tokens < before.draft_tokens:
            run = server.anew(prefix.process, prefix.pid, self.marks)
            before = None
        run.counters = now
        run.facts = run.facts.merged(StartFacts(k=line.k))
        since = now if before is None else now - before
        if since.draft_tokens:
            self._add(run, since, prefix.at, None)
        else:
            self.empty += 1

    def _contradicts(self, problem: str) -> None:
        self.contradictory += 1
        self.contradiction = self.contradiction or problem

    def _add(self, run: _Run, tally: Tally, at: float | None, seconds: float | None) -> None:
        self.windows += 1
        self.first = self.first or tally
        self.last = tally
        run.add(Part(tally, at, seconds))

    def _note_failure(self, server: _Server, tail: bytes) -> None:
        """Note how what came last failed, before a new start or at the end of the log."""
        if server.starting is not None:
            if failure := failure_in(tail, 0):
                run = Run(tally=None, served=False, failure=failure)
                server.failed_starts.append((self.marks, _with_facts(run, server.starting)))
                server.starting = None
            return
        latest = max((run for _, _, run in server.runs), key=lambda run: run.last, default=None)
        if latest is not None and latest.failure is None:
            latest.failure = failure_in(tail, len(latest.engines))

    def end(self, tail: bytes) -> None:
        """Take the end of the log, with its last bytes."""
        for source, server in self.servers.items():
            own = tail if len(self.servers) == 1 else _lines_of(tail, source)
            self._note_failure(server, own)
        last = tail.rpartition(b"\n")[2].decode(errors="replace").strip(_CLOSING)
        if self.servers and last and not is_complete_throughput(last) and not _is_window(last):
            self.cut = True
            if "metrics.py:" in last and not any(m.value in last.encode() for m in Marker):
                self.incomplete += 1  # cut before the words by which the line is found

    def end_of_filtered(self, text: bytes) -> None:
        """Take a log without any mark: somebody may have kept only what an engine died of."""
        failure = failure_in(text, 0) if any(word in text for word in _OURS) else None
        if failure:
            server = self.servers.setdefault("", _Server())
            server.failed_starts.append((0, Run(tally=None, failure=failure)))

    def reading(self, name: str, software: str | None) -> LogReading:
        """Return what was read."""
        servers = {
            source: _runs(server)
            for source, server in self.servers.items()
            if server.runs or server.failed_starts
        }
        return LogReading(
            name=name,
            servers=servers,
            formats=tuple(self.formats),
            windows=self.windows,
            empty_windows=self.empty,
            incomplete=self.incomplete,
            contradictory=self.contradictory,
            contradiction=self.contradiction,
            cut_at_end=self.cut,
            throughput_lines=self.throughputs,
            first_window=self.first,
            last_window=self.last,
            mean_of_window_rates=self.rates / self.rated if self.rated else None,
            speed=_speed(run for s in self.servers.values() for _, _, run in s.runs),
            software=software,
        )


def _whole(mark: Mark, parse: Callable[[str], _L | None]) -> tuple[_L | None, str | None]:
    """Return the line of a mark and what contradicts in it.

    Where it needs them, the lines that a terminal broke off it are joined to it.
    """
    text = mark.text
    found = parse(text)
    problem = found.contradiction if found else None
    if found and not problem:
        return found, None
    following = mark.following.decode(errors="replace").split("\n")
    for line in itertools.islice(following, _MOST_BROKEN):
        if not continues(line):
            break
        text += line
        if longer := parse(text):
            found, problem = longer, longer.contradiction
            if not problem:
                break
    return found, problem


def _is_window(line: str) -> bool:
    place = max(line.find("SpecDecoding"), line.find("Speculative metrics"))
    if place < 0:
        return False
    found = parse_window(line[place:]) or parse_cumulative(line[place:])
    return found is not None and not found.contradiction


def _lines_of(tail: bytes, source: str) -> bytes:
    def written_by(line: bytes) -> str:
        text = line.decode(errors="replace")
        return parse_prefix(text, text).source

    return b"".join(line for line in tail.splitlines(keepends=True) if written_by(line) == source)


def _runs(server: _Server) -> tuple[Run, ...]:
    """Return the runs in order; processes that report at the same time are one server run."""
    groups: list[list[tuple[str, str, _Run]]] = []
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


def _joined(group: Sequence[tuple[str, str, _Run]]) -> Run:
    names = [process for process, _, _ in group]
    engines: dict[str, list[_Engine]] = {}
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
    return _with_facts(found, facts)


def _with_facts(run: Run, facts: StartFacts) -> Run:
    return msgspec.structs.replace(
        run,
        version=facts.version,
        model=facts.model,
        method=facts.method,
        k=facts.k,
        speculates=facts.speculates,
    )


def _parts(engines: Sequence[_Engine]) -> tuple[Part, ...]:
    parts = [part for engine in engines for part in engine.timeline.parts]
    return tuple(parts if len(engines) == 1 else sorted(parts, key=lambda part: part.at or 0.0))


def _speed(runs: Iterable[_Run]) -> Speed | None:
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
