"""Finding, in a log of any size, the few lines that matter, without looking at the others.

Blocks of bytes are searched for marker words; a line becomes text only where one is found. So a
log costs about as much as searching it for those words, in constant memory.
"""

import bisect
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

import msgspec

KEPT = 1 << 16
"""Bytes before a start, or before the end, in which the reason of a failure is looked for."""
_AHEAD = 1 << 13
"""Bytes at the end of a block that wait for the next one: an acceptance line and, where a terminal
broke it, the rest of it."""
_LONGEST_PREFIX = 1 << 12
_LONGEST_LINE = 1 << 13
_LONGEST_START = 1 << 16
"""A start line holds the whole configuration."""
_NEAR = 1 << 12
"""Bytes after a throughput line in which the acceptance line of the same report follows."""


class Marker(Enum):
    """The words searched for."""

    WINDOW = b"SpecDecoding"
    CUMULATIVE = b"Speculative"
    THROUGHPUT = b"prompt throughput"
    ENGINE_START = b"LLM engine (v"
    SERVER_START = b"non-default args"


_WORDS: dict[Marker, bytes] = {marker: marker.value for marker in Marker}
_STARTS = (Marker.ENGINE_START, Marker.SERVER_START)
_ACCEPTANCE = (Marker.WINDOW, Marker.CUMULATIVE)
_EVERYWHERE = (Marker.THROUGHPUT, Marker.ENGINE_START)


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
    following: bytes
    preceding: bytes = b""


class LogScan:
    """The marks of a log, in order; iterate it once.

    Every word costs a pass over the block, so most are searched for only where they can be. A
    server reports acceptance right after its throughput, so the words for it are looked for there,
    and in the whole first block: logs that somebody has filtered have no throughput lines, and if
    that shows there, or ``everywhere`` is set, they are searched for in all of it. Server starts
    are looked for in the first block, and by the reader in what precedes the start of an engine.

    ``tail`` are, at the end, the last bytes of the log, ``KEPT`` of them or somewhat more.
    """

    def __init__(self, blocks: Iterable[bytes], *, everywhere: bool = False) -> None:
        """Take the blocks of a log."""
        self._blocks = blocks
        self._words: tuple[Marker, ...] = tuple(Marker)
        self._everywhere = everywhere
        self._earlier = b""
        self._offset = 0  # of the buffer that is searched, in the log
        self._since = 0  # of the last start
        self.tail = b""

    def __iter__(self) -> Iterator[Mark]:
        """Yield the marks."""
        carry = b""
        for block in self._blocks:
            first = block.find(b"\n", 0, _AHEAD) + 1
            if not carry:
                buffer, begin = block, 0
            elif first and len(block) >= KEPT:
                # the line that lies across both is read on its own, so that no block is copied
                begin, buffer = first, block
                yield from self._marks(carry + block[: first + _AHEAD], 0, len(carry) + first)
                self._earlier += carry
                self._offset += len(carry)
            else:
                buffer, begin = carry + block, 0
            until = max(begin, _line_start_before(buffer, len(buffer) - _AHEAD))
            yield from self._marks(buffer, begin, until)
            if until < KEPT:
                self._earlier = self._earlier[-KEPT:] + buffer[:until]
            else:
                self._earlier = buffer[until - KEPT : until]
            carry = buffer[until:]
            self._offset += until
        yield from self._marks(carry, 0, len(carry))
        self.tail = self._earlier[-KEPT:] + carry

    def _marks(self, buffer: bytes, begin: int, until: int) -> Iterator[Mark]:
        """Yield the marks from ``begin`` to before ``until``; what is around is looked at only."""
        places = self._places(buffer, begin, until)
        starts = [place for place, marker in places if marker in _STARTS]
        for number, (place, marker) in enumerate(places):
            earlier = places[number - 1][0] + 1 if number else 0
            after = places[number + 1][0] if number + 1 < len(places) else len(buffer)
            line, longest = _line_start(buffer, place), _LONGEST_LINE
            following = preceding = b""
            if marker in _STARTS:  # the line holds the words of others, in its configuration
                rank = bisect.bisect(starts, place)
                after = starts[rank] if rank < len(starts) else len(buffer)
                longest, preceding = _LONGEST_START, self._before_start(buffer, line, place)
            newline = buffer.find(b"\n", place, place + longest)
            end = newline if newline >= 0 else min(len(buffer), place + longest)
            if end < after and newline >= 0 and marker in _ACCEPTANCE:
                stop = _line_start(buffer, after) if after < len(buffer) else after
                following = buffer[newline + 1 : min(stop, end + _AHEAD)]
            yield Mark(
                marker,
                buffer[max(line, earlier) : place].decode(errors="replace"),
                buffer[place : min(end, after)].decode(errors="replace"),
                following,
                preceding,
            )

    def _before_start(self, buffer: bytes, line: int, place: int) -> bytes:
        """Return what precedes the line of a start, up to the start before it."""
        room = min(KEPT, self._offset + line - self._since)
        self._since = self._offset + place
        return (self._earlier + buffer[:line])[-room:] if room > 0 else b""

    def _places(self, buffer: bytes, begin: int, until: int) -> list[tuple[int, Marker]]:
        found = [(p, marker) for marker in self._words for p in _find(buffer, marker, begin, until)]
        reports = [p for p, marker in found if marker is Marker.THROUGHPUT]
        if len(self._words) == len(Marker):  # the first block
            spoken = [p for p, marker in found if marker in _ACCEPTANCE]
            everywhere = self._everywhere or any(not _near(p, reports) for p in spoken)
            self._words = (*_EVERYWHERE, *_ACCEPTANCE) if everywhere else _EVERYWHERE
            reports = reports[-1:]
        if Marker.WINDOW not in self._words:
            found = list(dict.fromkeys((*found, *_after(buffer, reports))))
        found.sort(key=_place_of)
        return found


def _after(buffer: bytes, reports: Sequence[int]) -> Iterator[tuple[int, Marker]]:
    """Yield the acceptance lines of reports, those too that lie in the next stretch of the log."""
    for place in reports:
        other = buffer.find(_WORDS[Marker.THROUGHPUT], place + 1, place + _NEAR)
        limit = other if other >= 0 else place + _NEAR
        for marker in _ACCEPTANCE:
            yield from ((p, marker) for p in _find(buffer, marker, place, limit))


def _place_of(found: tuple[int, Marker]) -> int:
    return found[0]


def _near(place: int, reports: Sequence[int]) -> bool:
    number = bisect.bisect(reports, place)
    return number > 0 and place - reports[number - 1] < _NEAR


def _find(buffer: bytes, marker: Marker, begin: int, until: int) -> Iterator[int]:
    word = _WORDS[marker]
    limit = until + len(word) - 1
    place = buffer.find(word, begin, limit)
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
