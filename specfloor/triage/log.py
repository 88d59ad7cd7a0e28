"""Server logs: what each server in them drafted and accepted, over time and per engine."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from specfloor.catalog.model import LogLine
from specfloor.triage.evidence import Part, Run, Speed
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
from specfloor.triage.log_runs import OpenRun, Server, runs_of, speed_of, with_facts
from specfloor.triage.log_scan import LogScan, Mark, Marker
from specfloor.triage.source import BLOCK, Source
from specfloor.triage.tally import Tally, total

_L = TypeVar("_L", WindowLine, CumulativeLine)

_MOST_BROKEN = 24
"""Lines over which a terminal may have broken one: a line of k = 15 at 24 columns."""
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


class _Reader:
    """Puts the marks of a log together."""

    def __init__(self, k: int | None) -> None:
        self.k = k
        self.marks = 0
        self.servers: dict[str, Server] = {}
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
        server = self.servers.setdefault(prefix.source, Server())
        match mark.marker:
            case Marker.THROUGHPUT:
                self._take_throughput(server, prefix, mark)
            case Marker.ENGINE_START | Marker.SERVER_START:
                self._take_start(server, mark)
            case Marker.WINDOW:
                self._take_window(server, prefix, mark)
            case Marker.CUMULATIVE:
                self._take_cumulative(server, prefix, mark)

    def _take_throughput(self, server: Server, prefix: Prefix, mark: Mark) -> None:
        self.throughputs += 1
        line = parse_throughput(mark.before, mark.text)
        run = server.run(prefix.process, prefix.pid, self.marks)
        run.current = run.engine(line.engine)
        if line.generation_tok_s:
            run.current.works(line.generation_tok_s, line.running or 0)

    def _take_start(self, server: Server, mark: Mark) -> None:
        facts = parse_start(mark.text)
        if mark.marker is Marker.ENGINE_START:
            place = mark.preceding.rfind(Marker.SERVER_START.value)
            if place >= 0:
                asked = mark.preceding[place:].partition(b"\n")[0].decode(errors="replace")
                facts = parse_start(asked).merged(facts)
        self._note_failure(server, mark.preceding)
        server.starting = (server.starting or StartFacts()).merged(facts)

    def _take_window(self, server: Server, prefix: Prefix, mark: Mark) -> None:
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

    def _take_cumulative(self, server: Server, prefix: Prefix, mark: Mark) -> None:
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

    def _add(self, run: OpenRun, tally: Tally, at: float | None, seconds: float | None) -> None:
        self.windows += 1
        self.first = self.first or tally
        self.last = tally
        run.add(Part(tally, at, seconds))

    def _note_failure(self, server: Server, tail: bytes) -> None:
        """Note how what came last failed, before a new start or at the end of the log."""
        if server.starting is not None:
            if failure := failure_in(tail, 0):
                run = Run(tally=None, served=False, failure=failure)
                server.failed_starts.append((self.marks, with_facts(run, server.starting)))
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
            server = self.servers.setdefault("", Server())
            server.failed_starts.append((0, Run(tally=None, failure=failure)))

    def reading(self, name: str, software: str | None) -> LogReading:
        """Return what was read."""
        servers = {
            source: runs_of(server)
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
            speed=speed_of(run for s in self.servers.values() for _, _, run in s.runs),
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
