"""Finding, in a log of any size, the few lines that matter, without looking at the others.

Blocks of bytes are searched for marker words; a line becomes text only where one is found. So a
log costs about as much as searching it for those words, in constant memory.
"""

from collections.abc import Iterable, Iterator
from enum import Enum

import msgspec

KEPT = 1 << 16
"""Bytes kept of what came before, in which the reason of a failure is looked for."""
_AHEAD = 1 << 13
"""Bytes held back from the search until what follows them is there: an acceptance line and, where a
terminal broke it, the rest of it."""
_LONGEST_PREFIX = 1 << 12
_LONGEST_LINE = 1 << 13
_LONGEST_START = 1 << 16
"""A start line holds the whole configuration."""


class Marker(Enum):
    """The words searched for."""

    WINDOW = b"SpecDecoding"
    CUMULATIVE = b"Speculative"
    THROUGHPUT = b"prompt throughput"
    ENGINE_START = b"LLM engine (v"
    SERVER_START = b"non-default args"


_EVERYWHERE = (Marker.WINDOW, Marker.THROUGHPUT, Marker.ENGINE_START)
_STARTS = (Marker.ENGINE_START, Marker.SERVER_START)
_NAMED = 24
"""Bytes before ``prompt throughput`` in which V1 names the engine."""


class Mark(msgspec.Struct, frozen=True):
    """A place where a marker stands.

    ``before`` is the line up to the marker, or what of it follows an earlier marker; ``text`` the
    line from the marker on, up to a later one; ``following`` what comes after the line, up to the
    line of the next marker, and empty where another marker ends the text; ``preceding`` the bytes
    before a start (empty for other markers).
    """

    marker: Marker
    before: str
    text: str
    following: str
    preceding: bytes = b""


class LogScan:
    """The marks of a log, in order; iterate it once.

    Every word costs a pass over the block, so two are searched for only where they can be: server
    starts in the first block (the reader finds later ones before the start of an engine), and V0's
    wording in the first block and wherever throughput lines are V0's, which name no engine.

    ``tail`` are, at the end, the last bytes of the log, ``KEPT`` of them or somewhat more.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        """Take the blocks of a log."""
        self._blocks = blocks
        self._earlier = b""
        self._markers: tuple[Marker, ...] = tuple(Marker)
        self.tail = b""

    def __iter__(self) -> Iterator[Mark]:
        """Yield the marks."""
        carry = b""
        for block in self._blocks:
            buffer = carry + block if carry else block
            until = _line_start_before(buffer, len(buffer) - _AHEAD)
            yield from self._marks(buffer, until)
            if until > KEPT:
                self._earlier = buffer[until - KEPT : until]
            else:
                self._earlier = (self._earlier + buffer[:until])[-KEPT:]
            carry = buffer[until:]
        yield from self._marks(carry, len(carry))
        self.tail = self._earlier + carry

    def _marks(self, buffer: bytes, until: int) -> Iterator[Mark]:
        """Yield the marks that begin before ``until``; what follows it is looked at only."""
        places = self._places(buffer, until)
        for number, (place, marker) in enumerate(places):
            earlier = places[number - 1][0] + 1 if number else 0
            after = places[number + 1][0] if number + 1 < len(places) else len(buffer)
            starts = marker in _STARTS
            longest = _LONGEST_START if starts else _LONGEST_LINE
            begin = _line_start(buffer, place)
            newline = buffer.find(b"\n", place, place + longest)
            end = newline if newline >= 0 else min(len(buffer), place + longest)
            following = b""
            if end < after and newline >= 0:
                stop = _line_start(buffer, after) if after < len(buffer) else after
                following = buffer[newline + 1 : min(stop, end + _AHEAD)]
            yield Mark(
                marker,
                buffer[max(begin, earlier) : place].decode(errors="replace"),
                buffer[place : end if starts else min(end, after)].decode(errors="replace"),
                following.decode(errors="replace"),
                (self._earlier + buffer[:begin])[-KEPT:] if starts else b"",
            )

    def _places(self, buffer: bytes, until: int) -> list[tuple[int, Marker]]:
        first = len(self._markers) == len(Marker)
        found = [(p, marker) for marker in self._markers for p in _find(buffer, marker, until)]
        v0 = any(
            b"Engine" not in buffer[max(0, p - _NAMED) : p]
            if marker is Marker.THROUGHPUT
            else buffer.startswith(b"Speculative metrics", p)
            for p, marker in found
        )
        if v0 and Marker.CUMULATIVE not in self._markers:
            found += [(p, Marker.CUMULATIVE) for p in _find(buffer, Marker.CUMULATIVE, until)]
        if v0 or first:
            self._markers = (*_EVERYWHERE, Marker.CUMULATIVE) if v0 else _EVERYWHERE
        return sorted(found, key=lambda one: one[0])


def _find(buffer: bytes, marker: Marker, until: int) -> Iterator[int]:
    word: bytes = marker.value
    limit = until + len(word) - 1
    place = buffer.find(word, 0, limit)
    while place >= 0:
        yield place
        place = buffer.find(word, place + 1, limit)


def _line_start(buffer: bytes, place: int) -> int:
    least = max(0, place - _LONGEST_PREFIX)
    return max(least, buffer.rfind(b"\n", least, place) + 1)


def _line_start_before(buffer: bytes, place: int) -> int:
    """Return the start of the line that holds ``place``, or ``place`` itself in an endless line."""
    if place <= 0:
        return 0
    found = buffer.rfind(b"\n", max(0, place - _LONGEST_PREFIX), place)
    return found + 1 if found >= 0 else place
