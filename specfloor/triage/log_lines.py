"""One line of a server's log: the wordings of acceptance since V0, throughput, starts, prefixes.

A line may come with anything before it (process tags, levels, container names, JSON) and be broken
over lines by a terminal, so what is looked for is the message, with all white space taken out.
"""

import datetime
import functools
import math
import re
from collections.abc import Iterable

import msgspec

from specfloor.catalog.model import LogLine
from specfloor.engines.logs import parse_speculative_config
from specfloor.i18n import _
from specfloor.triage.tally import Tally

_ANSI = re.compile(r"(?:\x1b|\\u001b|\^\[|#033)\[[0-9;?]*[ -/]*[@-~]", re.IGNORECASE)

_WINDOW = "SpecDecodingmetrics:"
_LENGTH = re.compile(r"Meanacceptancelength:(\d{1,9}\.\d\d|nan)(?![\d.])")
_RATE = re.compile(r"raftacceptancerate:(\d{1,9}\.\d|nan)%")
_ACCEPTED = re.compile(r"Accepted:(\d{1,15})tokens")
_DRAFTED = re.compile(r"Drafted:(\d{1,15})tokens")
_COUNTS = re.compile(r"Accepted:\d{1,15}tokens,Drafted:|Numberofacceptedtokens:\d")
_POSITIONS = re.compile(r"Per-positionacceptancerate:(\d\.\d{3}(?:,\d\.\d{3})*)(?![\d.]|,\d|,$)")
_ACCEPTED_SPEED = re.compile(r"Acceptedthroughput:(\d{1,15}\.\d\d)tokens/s")
_DRAFTED_SPEED = re.compile(r"Draftedthroughput:(\d{1,15}\.\d\d)tokens/s")
_CUMULATIVE = re.compile(
    r"Speculativemetrics:.*?Numberofspeculativetokens:(\d{1,6}),Numberofacceptedtokens:(\d{1,15}),"
    r"Numberofdrafttokens(?:tokens)?:(\d{1,15}),Numberofemittedtokens(?:tokens)?:(\d{1,15})\."
)

_GENERATION = re.compile(r"generation throughput: (\d{1,15}\.\d{1,6}|nan) tokens/s")
_RUNNING = re.compile(r"Running: (\d{1,9}) reqs")
_ENGINE_END = re.compile(r"(?:%|\d reqs)[.,]?\s*(?:\\n|\"|'|\x1b|$)")
_ENGINE = re.compile(r"Engine (\d+): |(\d+) Engines Aggregated: ")
_PROCESS = re.compile(r"\(([A-Za-z][\w.-]*) pid=(\d+)[^()]*\)")
_JSON_PROCESS = re.compile(r'"process": ?(\d+)')
_CONTAINER = re.compile(
    r"^\s*(?:(?P<compose>[\w.-]+)\s+\|\s|\[(?P<pod>pod/[^\]\s]+)\]\s|(?P<file>[\w./-]+\.(?:log|txt)[\w.-]*):)"
)
_TIME = re.compile(r"(?:(20\d\d)-)?(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?!\d)")
_NEW_RECORD = re.compile(
    r"\s*(?:\(\w[\w.-]* pid=|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b|\[?\d{2,4}-\d\d[-T ]"
    r"|\{\"|[\w.-]+\s+\| |\[pod/|\$ |Traceback )"
)

_VERSION = re.compile(r"LLM engine \(v([^)\s]+)\)")
_MODEL = re.compile(r"(?:\bmodel=|'model(?:_tag)?': )'([^']*)'")
_RESOLVED = re.compile(r"speculative_config=(None|SpeculativeConfig\((?:'[^']*'|[^'()])*\))")
_ASKED = re.compile(r"'speculative_config': (?:\{([^{}]*)\}|'(\{[^']*\})')")
_ASKED_METHOD = re.compile(r"['\"]method\\?['\"]: ?\\?['\"]([\w.-]+)")
_ASKED_K = re.compile(r"num_speculative_tokens\\?['\"]: ?(\d{1,6})")

_LONGEST_CONFIG = 4000
_LEAP_YEAR = 2000  # stands in where a log has no year
_HALF_UNIT = 0.51
"""Of the last printed digit: what rounding leaves, and a little for the arithmetic here."""
_MOST_CANDIDATES = 4000


class WindowLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A V1 line: what was drafted and accepted since the line before.

    ``length`` and ``rate`` are the printed ones (the rate as a fraction), ``positions`` the printed
    rates by position. The throughputs tell how long the window was: it is the time since the last
    line, so they are no speed.
    """

    log_format: LogLine
    draft_tokens: int
    accepted_tokens: int
    rate: float | None
    length: float | None = None
    positions: tuple[float, ...] = ()
    accepted_tok_s: float | None = None
    drafted_tok_s: float | None = None

    @property
    def seconds(self) -> float | None:
        """How long the window was; None where the line does not tell."""
        speeds = (
            (self.drafted_tok_s, self.draft_tokens),
            (self.accepted_tok_s, self.accepted_tokens),
        )
        return next((tokens / speed for speed, tokens in speeds if speed), None)

    @property
    def contradiction(self) -> str | None:
        """What does not fit together in the line; a line that was damaged tells on itself."""
        if self.accepted_tokens > self.draft_tokens:
            return _("{accepted_tokens} tokens accepted of {draft_tokens}").format(
                accepted_tokens=self.accepted_tokens, draft_tokens=self.draft_tokens
            )
        if self.draft_tokens and self.rate is not None:
            rate = self.accepted_tokens / self.draft_tokens
            if abs(rate - self.rate) > _HALF_UNIT * 1e-3:
                return _("a rate of {rate:.1%} where the counts give {counted:.1%}").format(
                    rate=self.rate, counted=rate
                )
        if any(b > a + 1e-3 for a, b in zip(self.positions, self.positions[1:], strict=False)):
            return _("a later position accepted more often than an earlier one")
        if self.positions and self.length is not None:
            slack = _HALF_UNIT * (1e-2 + 1e-3 * len(self.positions))
            if abs(1 + sum(self.positions) - self.length) > slack:
                return _("a length of {length} where the positions give another").format(
                    length=self.length
                )
        if self.positions and self.draft_tokens and not _candidates(self):
            return _("no number of drafts fits its counts and its length")
        return None

    def tally(self, k: int | None = None) -> Tally:
        """Return the counts, with the number of drafts that no line prints.

        With drafts of constant length it is drafted over k. Methods that draft up to k tokens
        (n-gram) give another, which accepted over length − 1 brackets and the rates by position
        single out.
        """
        if not self.positions:
            whole = k and self.draft_tokens % k == 0
            drafts = self.draft_tokens // k if k and whole else None
            return Tally(drafts, self.draft_tokens, self.accepted_tokens)
        drafts = _drafts(self)
        return Tally(
            drafts,
            self.draft_tokens,
            self.accepted_tokens,
            tuple(round(rate * drafts) for rate in self.positions),
        )


class CumulativeLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A V0 line: counters since the engine started, and k."""

    k: int
    accepted_tokens: int
    draft_tokens: int
    emitted_tokens: int

    @property
    def contradiction(self) -> str | None:
        """What does not fit together in the line."""
        if not self.k or self.draft_tokens % self.k:
            return _("{draft_tokens} draft tokens are no number of drafts of {k}").format(
                draft_tokens=self.draft_tokens, k=self.k
            )
        drafts = self.draft_tokens // self.k
        if self.accepted_tokens > self.draft_tokens:
            return _("{accepted_tokens} tokens accepted of {draft_tokens}").format(
                accepted_tokens=self.accepted_tokens, draft_tokens=self.draft_tokens
            )
        if self.emitted_tokens > drafts * (self.k + 1):
            return _("{emitted_tokens} tokens emitted by {drafts} drafts of {k}").format(
                emitted_tokens=self.emitted_tokens, drafts=drafts, k=self.k
            )
        return None

    @property
    def tally(self) -> Tally:
        """The counters."""
        drafts = self.draft_tokens // self.k
        return Tally(
            drafts, self.draft_tokens, self.accepted_tokens, emitted_tokens=self.emitted_tokens
        )


class ThroughputLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line an engine prints every few seconds while it works.

    ``engine`` is the number as printed, ``aggregated`` for the line over all engines, None in V0.
    """

    engine: str | None
    generation_tok_s: float | None
    running: int | None


class Prefix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands before a message; ``at`` is in seconds, in some year where the log has none."""

    source: str = ""
    process: str = ""
    pid: str = ""
    at: float | None = None


class StartFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the lines of a server's start say of it.

    ``speculates`` is False where the engine says that it has no speculative configuration.
    """

    version: str | None = None
    model: str | None = None
    method: str | None = None
    k: int | None = None
    speculates: bool | None = None

    def merged(self, other: "StartFacts") -> "StartFacts":
        """Return these facts with those of a later line where it has any."""
        return StartFacts(
            other.version or self.version,
            other.model or self.model,
            other.method or self.method,
            other.k or self.k,
            self.speculates if other.speculates is None else other.speculates,
        )


def plain(text: str) -> str:
    """Return text without colours, also where a logger escaped them."""
    if "\x1b" in text or "\\u001" in text or "^[" in text or "#033" in text:
        return _ANSI.sub("", text)
    return text


def compact_of(text: str) -> str:
    """Return text without colours and white space."""
    return "".join(plain(text).split())


def parse_window(text: str) -> WindowLine | None:
    """Return the V1 line that starts at the start of ``text``; None when it is cut or is none."""
    compact = compact_of(text)
    if not compact.startswith(_WINDOW):
        return None
    rate, length = compact.find("raftacceptancerate:"), compact.find("Meanacceptancelength:")
    if rate < 0 and length < 0:
        return None
    positions = _POSITIONS.search(compact)
    log_format: LogLine
    if length >= 0 and (length < rate or rate < 0):
        log_format = "v1-0.11"
    elif length < 0:
        log_format = "v1-0.8.3"
    else:
        log_format = "v1-0.10.2" if "throughput:" in compact else "v1-0.9"
    found = [p.search(compact) for p in (_RATE, _ACCEPTED, _DRAFTED)]
    mean = _LENGTH.search(compact)
    if None in found or (log_format != "v1-0.8.3" and not (mean and positions)):
        return None
    printed, accepted, drafted = (match[1] for match in found if match)
    speeds = [p.search(compact) for p in (_ACCEPTED_SPEED, _DRAFTED_SPEED)]
    return WindowLine(
        log_format=log_format,
        draft_tokens=int(drafted),
        accepted_tokens=int(accepted),
        rate=None if printed == "nan" else float(printed) / 100,
        length=float(mean[1]) if mean and mean[1] != "nan" else None,
        positions=tuple(map(float, positions[1].split(","))) if positions else (),
        accepted_tok_s=float(speeds[0][1]) if speeds[0] else None,
        drafted_tok_s=float(speeds[1][1]) if speeds[1] else None,
    )


def parse_cumulative(text: str) -> CumulativeLine | None:
    """Return the V0 line that starts at the start of ``text``; None when it is cut or is none."""
    match = _CUMULATIVE.match(compact_of(text))
    return CumulativeLine(*map(int, match.groups())) if match else None


def begins_metrics(text: str) -> bool:
    """Whether text is, or begins like, an acceptance line rather than a mention of one."""
    compact = compact_of(text)
    starts = (
        f"{_WINDOW}Meanacceptancelength:",
        f"{_WINDOW}Draftacceptancerate:",
        "Speculativemetrics:Draftacceptancerate:",
    )
    if any(compact.startswith(start) or start.startswith(compact) for start in starts):
        return True
    return all(pattern.search(compact) for pattern in (_ACCEPTED, _DRAFTED))


def continues(line: str) -> bool:
    """Whether a line may be the rest of the one before, broken off by a terminal."""
    bare = plain(line)
    return bool(bare.strip()) and not _NEW_RECORD.match(bare)


def unwrapped(content: bytes) -> bytes:
    """Return a short log with the lines joined that a terminal broke, even within a word."""
    joined: list[str] = []
    for line in content.decode(errors="replace").splitlines():
        if joined and continues(line):
            joined[-1] += line
        else:
            joined.append(line)
    return "\n".join((*joined, "")).encode()


def lines_in(content: bytes) -> int:
    """Return how many acceptance lines there are in a short log, however broken or damaged."""
    compact = compact_of(content.decode(errors="replace"))
    starts = (f"{_WINDOW}Mean", f"{_WINDOW}Draft", "Speculativemetrics:Draft")
    ends = sum(1 for _ in _COUNTS.finditer(compact))
    return max(ends, sum(compact.count(start) for start in starts))


def parse_throughput(before: str, text: str) -> ThroughputLine:
    """Return the throughput line of which ``text`` begins in its middle, after ``before``."""
    engines = list(_ENGINE.finditer(plain(before)))
    generation, running = _GENERATION.search(text), _RUNNING.search(text)
    speed = float(generation[1]) if generation else math.nan
    engine = engines[-1] if engines else None
    return ThroughputLine(
        engine=None if engine is None else engine[1] or "aggregated",
        generation_tok_s=speed if math.isfinite(speed) else None,
        running=int(running[1]) if running else None,
    )


def is_complete_throughput(line: str) -> bool:
    """Whether a line is a throughput line down to its last field."""
    return "prompt throughput" in line and bool(_ENGINE_END.search(plain(line).rstrip()[-3:]))


def parse_prefix(before: str, line: str) -> Prefix:
    """Return what stands before a message; ``line`` is the whole, for loggers that write JSON."""
    prefix = _prefix(plain(before))
    if prefix.pid and prefix.at is not None:
        return prefix
    match = _JSON_PROCESS.search(line)
    return Prefix(
        prefix.source,
        prefix.process,
        prefix.pid or (match[1] if match else ""),
        time_in(line) if prefix.at is None else prefix.at,
    )


@functools.lru_cache(256)  # engines that report together share it
def _prefix(before: str) -> Prefix:
    container = _CONTAINER.match(before)
    processes = _PROCESS.findall(before)
    process, pid = processes[-1] if processes else ("", "")
    return Prefix(
        source=next(filter(None, container.groups()), "") if container else "",
        process=process,
        pid=pid,
        at=time_in(before, last=True),
    )


def time_in(text: str, *, last: bool = False) -> float | None:
    """Return the first time in a text (or the last) in seconds; None without one."""
    matches = _TIME.findall(text)
    for match in reversed(matches) if last else matches[:1]:
        if (seconds := _seconds(match)) is not None:
            return seconds
    return None


@functools.lru_cache(64)  # the lines of one report have the same time
def _seconds(found: tuple[str, ...]) -> float | None:
    year, month, day, hour, minute, second = (int(part or _LEAP_YEAR) for part in found)
    try:
        moment = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
    except ValueError:
        return None
    return moment.timestamp()


def parse_start(text: str) -> StartFacts:
    """Return what a line of a server's start says."""
    version, model = _VERSION.search(text), _MODEL.search(text)
    resolved = _RESOLVED.search(text)
    if resolved and len(resolved[1]) < _LONGEST_CONFIG:
        spoken = parse_speculative_config(resolved[1])
        method, k = spoken.method, spoken.num_spec_tokens
    else:
        asked = _ASKED.search(text)
        inside = next(filter(None, asked.groups()), "") if asked else ""
        named, number = _ASKED_METHOD.search(inside), _ASKED_K.search(inside)
        method, k = named[1] if named else None, int(number[1]) if number else None
    return StartFacts(
        version=version[1] if version else None,
        model=model[1] if model else None,
        method=method,
        k=k,
        speculates=resolved[1] != "None" if resolved else None,
    )


def _drafts(line: WindowLine) -> int:
    found = _candidates(line)
    constant, short = divmod(line.draft_tokens, len(line.positions))
    if not found:
        return constant + bool(short)
    if not short and constant in found:
        return constant
    if not line.accepted_tokens:
        return found[0]
    return min(found, key=lambda drafts: (_misfit(line, drafts), drafts))


def _misfit(line: WindowLine, drafts: int) -> float:
    """Return how badly a number of drafts explains the printed rates."""
    counts = [round(rate * drafts) for rate in line.positions]
    off = sum(abs(n / drafts - rate) for n, rate in zip(counts, line.positions, strict=True))
    return abs(sum(counts) - line.accepted_tokens) + off


def _candidates(line: WindowLine) -> range:
    """Return the numbers of drafts that the counts and the printed length allow."""
    least, most = line.draft_tokens / len(line.positions), float(line.draft_tokens)
    if line.length is not None and line.accepted_tokens:
        gain, slack = line.length - 1, _HALF_UNIT * 1e-2
        least = max(least, line.accepted_tokens / (gain + slack))
        if gain > slack:
            most = min(most, line.accepted_tokens / (gain - slack))
    start = math.ceil(least - 1e-9)
    return range(start, min(math.floor(most + 1e-9), start + _MOST_CANDIDATES) + 1)


def first_time(lines: Iterable[str]) -> float | None:
    """Return the first time in some lines, in seconds; None without one."""
    return next((at for line in lines if (at := time_in(line)) is not None), None)
