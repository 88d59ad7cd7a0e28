"""What a watch has seen: acceptance of every engine over a sliding window. No input, no output."""

import collections
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from specfloor.signals.counters import EngineDifference, Problem, difference, since_start
from specfloor.signals.counts import DraftCounts, pooled
from specfloor.triage.metrics import contradiction_of
from specfloor.watch.endpoint import Load, Sample

HISTORY = 40
"""Readings that the line over time shows."""


class State(StrEnum):
    """What an engine does as far as drafts go."""

    DRAFTING = "drafting"
    NO_DRAFTS = "no_drafts"
    """It drafted nothing, which is not an acceptance of zero."""
    GENERATING_WITHOUT_DRAFTS = "generating_without_drafts"
    """It generated tokens and drafted none, although it has a speculative configuration."""
    FIRST_READING = "first_reading"
    """There is nothing to subtract from yet: the first reading, or the first after a restart."""
    V0_GAUGE = "v0_gauge"
    """An engine of V0: it says a rate since its start only."""


class Gain(msgspec.Struct, frozen=True):
    """What was drafted over some time. ``generated`` is None where the metrics do not say it."""

    seconds: float = 0.0
    counts: DraftCounts = DraftCounts()
    generated: int | None = None

    def __add__(self, other: "Gain") -> "Gain":
        """Return this and the time after it."""
        tokens = [n for n in (self.generated, other.generated) if n is not None]
        return Gain(
            self.seconds + other.seconds,
            self.counts + other.counts,
            sum(tokens) if tokens else None,
        )


class Engine(msgspec.Struct, frozen=True):
    """An engine as it is now.

    ``recent`` is the window that ends now, ``history`` the rate in that window at the readings
    until now (None: no drafts), ``gauge`` V0's rate since its start.
    """

    endpoint: str
    model: str | None
    name: str
    state: State
    recent: Gain
    since_start: DraftCounts
    load: Load = Load()
    history: tuple[float | None, ...] = ()
    gauge: float | None = None

    @property
    def drafted_per_s(self) -> float | None:
        """Draft tokens a second in the window; None before there is one."""
        return self._per_s(self.recent.counts.drafted)

    @property
    def accepted_per_s(self) -> float | None:
        """Accepted tokens a second in the window; None before there is one."""
        return self._per_s(self.recent.counts.accepted)

    @property
    def per_position(self) -> tuple[float, ...]:
        """Share of the steps that accepted each position, in the window."""
        return shares(self.recent.counts)

    def _per_s(self, tokens: int) -> float | None:
        return tokens / self.recent.seconds if self.recent.seconds else None


class Endpoint(msgspec.Struct, frozen=True):
    """An endpoint as it is now; with a ``problem`` since the time ``since`` nothing is known."""

    url: str
    problem: Problem | None = None
    sentence: str = ""
    since: float | None = None


class View(msgspec.Struct, frozen=True):
    """Everything at one reading. ``at`` is a Unix time; ``events`` happened since the one before.

    ``total`` sums the engines of which there is a window; None when there is none.
    """

    at: float
    endpoints: tuple[Endpoint, ...]
    engines: tuple[Engine, ...]
    total: Engine | None
    events: tuple[str, ...] = ()


class Summary(msgspec.Struct, frozen=True):
    """The whole watch: ``whole`` by endpoint, model and engine, and the least rate of a window."""

    seconds: float
    readings: int
    unanswered: int
    resets: int
    whole: dict[tuple[str, str | None, str], Gain]
    lowest: dict[tuple[str, str | None, str], float]

    @property
    def total(self) -> DraftCounts:
        """The sum over engines."""
        return pooled(gain.counts for gain in self.whole.values())


_Name = tuple[str, str | None, str]


class _Track:
    """The window of one engine."""

    def __init__(self) -> None:
        self.gains: collections.deque[tuple[float, Gain]] = collections.deque()
        self.history: collections.deque[float | None] = collections.deque(maxlen=HISTORY)
        self.generated: int | None = None
        self.whole = Gain()
        self.lowest: float | None = None

    def add(self, at: float, gain: Gain) -> None:
        self.gains.append((at, gain))
        self.whole += gain

    def recent(self, at: float, over_s: float) -> Gain:
        while self.gains and self.gains[0][0] <= at - over_s:
            self.gains.popleft()
        return sum((gain for _, gain in self.gains), Gain())


class Watch:
    """Takes readings, gives views."""

    def __init__(self, urls: Iterable[str], over_s: float) -> None:
        """Watch some endpoints; ``over_s`` is the length of the window in seconds."""
        self._over_s = over_s
        self._endpoints = {url: Endpoint(url) for url in urls}
        self._good: dict[str, tuple[float, Sample]] = {}
        self._tracks: dict[_Name, _Track] = {}
        self._began: float | None = None
        self._ended = 0.0
        self._readings = self._unanswered = self._resets = 0

    def take(self, at: float, samples: Mapping[str, Sample]) -> View:
        """Take a reading of every endpoint at the Unix time ``at``."""
        self._began, self._ended = at if self._began is None else self._began, at
        self._readings += 1
        events: list[str] = []
        engines: list[Engine] = []
        for url, sample in samples.items():
            events += self._note(url, at, sample)
            if sample.v0:
                engines.append(
                    Engine(
                        url, None, "0", State.V0_GAUGE, Gain(), DraftCounts(), gauge=sample.gauge
                    )
                )
            elif not sample.scrape.problem:
                events += self._count(url, at, sample)
                engines += self._engines(url, at, sample)
        return View(at, tuple(self._endpoints.values()), tuple(engines), _sum(engines), (*events,))

    def summary(self) -> Summary:
        """Return what the whole watch saw."""
        return Summary(
            seconds=self._ended - (self._began or self._ended),
            readings=self._readings,
            unanswered=self._unanswered,
            resets=self._resets,
            whole={name: track.whole for name, track in self._tracks.items()},
            lowest={n: t.lowest for n, t in self._tracks.items() if t.lowest is not None},
        )

    def _note(self, url: str, at: float, sample: Sample) -> list[str]:
        """Keep how an endpoint is, and return what changed in it."""
        was, scrape = self._endpoints[url], sample.scrape
        self._unanswered += scrape.problem is Problem.NO_ANSWER
        if scrape.problem is None:
            self._endpoints[url] = Endpoint(url)
            back = was.problem is Problem.NO_ANSWER
            return [f"{url} answers again"] if back else []
        since = was.since if was.problem is scrape.problem else at
        self._endpoints[url] = Endpoint(url, scrape.problem, scrape.sentence, since)
        return [f"{url} {scrape.sentence}"] if was.problem is not scrape.problem else []

    def _count(self, url: str, at: float, sample: Sample) -> list[str]:
        """Add what was gained since the last good reading; return what stood in the way."""
        before = self._good.get(url)
        self._good[url] = at, sample
        if before is None:
            return []
        earlier, old = before
        gained = difference(old.scrape, sample.scrape)
        events = []
        if gained.problem:
            self._resets += gained.problem is Problem.RESET
            events.append(f"{url}: {gained.sentence}")
        unbroken = {_name(url, engine) for engine in gained.engines}
        for name, track in self._tracks.items():
            if name[0] == url and name not in unbroken:
                track.gains.clear()  # a window never spans a restart
        for engine in gained.engines:
            if wrong := contradiction_of(engine):
                events.append(f"{url}: {wrong}; that interval is left out")
                continue
            key = engine.model, engine.labels
            tokens = [s.loads.get(key, Load()).generated for s in (old, sample)]
            known = None not in tokens
            generated = max((tokens[1] or 0) - (tokens[0] or 0), 0) if known else None
            track = self._tracks.setdefault(_name(url, engine), _Track())
            track.add(at, Gain(at - earlier, engine.counts, generated))
        return events

    def _engines(self, url: str, at: float, sample: Sample) -> list[Engine]:
        found = []
        for engine in since_start(sample.scrape).engines:
            track = self._tracks.setdefault(_name(url, engine), _Track())
            recent = track.recent(at, self._over_s)
            rate = recent.counts.rate
            track.history.append(rate)
            if rate is not None:
                track.lowest = rate if track.lowest is None else min(rate, track.lowest)
            found.append(
                Engine(
                    endpoint=url,
                    model=engine.model,
                    name=engine.engine,
                    state=_state(recent),
                    recent=recent,
                    since_start=engine.counts,
                    load=sample.loads.get((engine.model, engine.labels), Load()),
                    history=tuple(track.history),
                )
            )
        return found


def shares(counts: DraftCounts) -> tuple[float, ...]:
    """Return the share of the steps that accepted each position; empty without steps."""
    if not counts.steps:
        return ()
    return tuple(n / counts.steps for n in counts.accepted_per_position)


def _name(url: str, engine: EngineDifference) -> _Name:
    return url, engine.model, engine.engine


def _state(recent: Gain) -> State:
    if not recent.seconds:
        return State.FIRST_READING
    if recent.counts.drafted:
        return State.DRAFTING
    return State.GENERATING_WITHOUT_DRAFTS if recent.generated else State.NO_DRAFTS


def _sum(engines: list[Engine]) -> Engine | None:
    counted = [e for e in engines if e.state is not State.V0_GAUGE]
    if not counted:
        return None
    # the engines run side by side: what they drafted adds up, the time does not
    recent = sum((e.recent for e in counted), Gain())
    recent = msgspec.structs.replace(recent, seconds=max(e.recent.seconds for e in counted))
    return Engine(
        endpoint="",
        model=None,
        name="all",
        state=_state(recent),
        recent=recent,
        since_start=pooled(e.since_start for e in counted),
        load=Load(
            running=_known_sum(e.load.running for e in counted),
            waiting=_known_sum(e.load.waiting for e in counted),
        ),
    )


def _known_sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
