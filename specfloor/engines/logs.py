"""Reading an engine's log: why it ended, and what it says is in effect.

Pure functions over lines. Colours, carriage returns and the prefixes that vLLM puts before a
message, such as ``(EngineCore pid=7) ERROR 11-29 15:20:43 [core.py:1510]``, are taken off first.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_PREFIX = re.compile(
    r"(?:\((?P<process>[^()]*pid=\d+[^()]*)\) ?)?"
    r"(?:(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) "
    r"\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \[?[\w./-]+:\d+\](?: |$))?"
)

_TRACEBACK = "Traceback (most recent call last):"
_CAUSED = "The above exception was the direct cause of the following exception:"
_MEANWHILE = "During handling of the above exception, another exception occurred:"
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?::|$)")
_VALIDATION = re.compile(r"[\w.]*ValidationError: \d+ validation errors? for ")

# what vLLM raises to report that another of its processes failed
_REPORT = re.compile(
    r"EngineDeadError|EngineCore encountered an issue"
    r"|(?:Engine core|WorkerProc) initialization failed"
    r"|(?:See|check the) (?:stack trace|root cause)"
)
# what is raised in a process because another one has gone
_ECHO = re.compile(
    r"(?:\w+\.)*(?:CancelledError|KeyboardInterrupt|SystemExit"
    r"|BrokenPipeError|ConnectionResetError|EOFError)\b"
)
# the line before a traceback that ends a process, as vLLM words it
_FATAL = re.compile(
    r"failed to start|hit an exception|encountered a fatal error|^Process [\w-]+:$"
    r"|Error executing method|died unexpectedly"
)
_REFUSED = re.compile(r"^\S+: error: |address already in use", re.IGNORECASE)
# what runs containers, or the shell in one, says when it could not start what it was given
_NOT_STARTED = re.compile(r"^(?:docker|podman|nerdctl|\S*bash): (?!warning)", re.IGNORECASE)
_CALM = re.compile(r"^(?:DEBUG|INFO|WARNING)\b")
_HINT = re.compile(r"^(?:See|Run) '[^']+'")
_SUDDEN_DEATH = re.compile(
    r"(?:died|exited) unexpectedly|^Fatal Python error|Segmentation fault|core dumped"
    r"|\bKilled\b|\bSIG(?:KILL|SEGV|ABRT|BUS)\b|[Oo]ut of memory|^terminate called"
)
_IN_USE = re.compile(r"address already in use|\bEADDRINUSE\b", re.IGNORECASE)

_CONFIG_LINE = re.compile(r"Initializing a V\d LLM engine")
_SPECULATION = re.compile(r"speculative_config=(None|SpeculativeConfig\((?:'[^']*'|[^'()])*\))")
_METHOD = re.compile(r"method='([^']*)'")
_NUM_SPEC_TOKENS = re.compile(r"num_spec_tokens=(\d+)")


class _Line(NamedTuple):
    """A line in parts: ``process`` and ``level`` are empty on a line without that prefix."""

    process: str
    level: str
    text: str


class _Raised(NamedTuple):
    """The exception line of a traceback, and the message that stood before the traceback."""

    header: str
    level: str
    text: str


class ResolvedSpeculation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an engine made of its speculative configuration; both None when speculation is off."""

    method: str | None
    num_spec_tokens: int | None


def message_of(line: str) -> str:
    """Return a line without colours, carriage returns and vLLM's prefixes."""
    return _split(line).text


def root_cause(lines: Iterable[str]) -> str | None:
    """Return the line that says why an engine failed, not merely its last line; None if none does.

    In order of trust: the first exception that ended a process of the engine, the last other one
    that was an error, a refusal without a traceback (unknown flag, port in use), a process that
    vanished, a container that could not be started, and last an exception that only reports the
    failure of another process. A pydantic
    validation error, which spans lines, is returned as one. To be asked of an engine that failed:
    vLLM 0.28 logs EngineDeadError when it is merely stopped.
    """
    parts = [_split(line) for line in lines]
    raised = [r for r in _exceptions(parts) if r.level in ("", "ERROR", "CRITICAL")]
    causes = [r for r in raised if not _is_consequence(r.text)]
    texts = [part.text.strip() for part in parts if part.level not in ("DEBUG", "INFO")]
    candidates: tuple[Iterable[str], ...] = (
        (r.text for r in causes if _FATAL.search(r.header)),
        (r.text for r in reversed(causes)),
        (text for text in texts if _REFUSED.search(text)),
        (text for text in texts if _SUDDEN_DEATH.search(text)),
        (text for text in reversed(texts) if _NOT_STARTED.match(text)),
        (r.text for r in reversed(raised) if not _ECHO.match(r.text)),
        (r.text for r in reversed(raised)),
    )
    return next((text for group in candidates for text in group), None)


def last_words(lines: Iterable[str]) -> str | None:
    """Return the last line that is neither calm nor a hint how to get help; None if none is.

    For an engine that ended early and of which :func:`root_cause` finds nothing: a program in
    front of it may have refused in words of its own.
    """
    said = [_split(line) for line in lines]
    texts = [p.text.strip() for p in said if p.level not in ("DEBUG", "INFO", "WARNING")]
    told = (text for text in reversed(texts) if text and not _CALM.match(text))
    return next((text for text in told if not _HINT.match(text)), None)


def address_in_use(lines: Iterable[str]) -> bool:
    """Whether the engine found its port taken."""
    return any(_IN_USE.search(line) for line in lines)


def resolved_speculative_config(lines: Iterable[str]) -> str | None:
    """Return the speculative configuration that the last engine started in a log reports.

    It is text such as ``SpeculativeConfig(method='mtp', model='m', num_spec_tokens=3)``, the text
    ``None`` when that engine says speculation is off, and None when no engine says anything.
    """
    messages = (message_of(line) for line in lines)
    found = [
        match[1]
        for message in messages
        if _CONFIG_LINE.match(message) and (match := _SPECULATION.search(message))
    ]
    return found[-1] if found else None


def parse_speculative_config(text: str) -> ResolvedSpeculation:
    """Return method and k of a text that :func:`resolved_speculative_config` returned."""
    method, k = _METHOD.search(text), _NUM_SPEC_TOKENS.search(text)
    return ResolvedSpeculation(method[1] if method else None, int(k[1]) if k else None)


def _split(line: str) -> _Line:
    line = _ANSI.sub("", line).rstrip()
    match = _PREFIX.match(line)
    assert match is not None  # every part is optional
    return _Line(match["process"] or "", match["level"] or "", line[match.end() :])


def _exceptions(parts: list[_Line]) -> list[_Raised]:
    """Return what every traceback ends with, in order; of a chain, the exception that began it.

    Tracebacks of several processes may be interleaved, so each is followed by its prefix.
    """
    streams: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for number, (process, level, text) in enumerate(parts):
        streams.setdefault((process, level), []).append((number, text))
    found = [
        (number, _Raised(header, level, text))
        for (_, level), stream in streams.items()
        for number, header, text in _tracebacks(stream)
    ]
    return [raised for _, raised in sorted(found)]


def _tracebacks(stream: list[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Yield line number, header and exception of each chain of tracebacks of one process."""
    lines = iter(stream)
    header, link = "", ""
    chain: tuple[int, str, str] | None = None
    for number, text in lines:
        if text.strip() == _TRACEBACK:
            raised = _raised_after(lines, indent=_indent(text))
            if raised and (chain is None or not link):
                if chain:
                    yield chain
                chain = (number, header, raised)
            elif raised and chain:
                chain = (*chain[:2], _cause_of_two(chain[2], raised, link))
            link = ""
        elif text.strip() in (_CAUSED, _MEANWHILE):
            link = text.strip()
        header = text or header
    if chain:
        yield chain


def _raised_after(lines: Iterator[tuple[int, str]], *, indent: int) -> str | None:
    """Consume a traceback's frames; return its exception, on one line, None when it is cut off."""
    text = next((t for _, t in lines if t and _indent(t) <= indent), "").strip()
    if not _EXCEPTION.match(text):
        return None
    if _VALIDATION.match(text):
        details = itertools.takewhile(
            lambda t: t and not t.startswith("For further information"),
            (t.strip() for _, t in lines),
        )
        return ": ".join((text, *details))
    if text.endswith(":"):
        return f"{text} {next((t.strip() for _, t in lines if t), '')}".rstrip()
    return text


def _cause_of_two(earlier: str, later: str, link: str) -> str:
    """Return which exception of a chain says more: the declared cause, else the last one raised."""
    first, second = (earlier, later) if link == _CAUSED else (later, earlier)
    return second if _is_consequence(first) else first


def _is_consequence(exception: str) -> bool:
    return bool(_REPORT.search(exception) or _ECHO.match(exception))


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
