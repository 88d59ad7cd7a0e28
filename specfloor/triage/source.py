"""Opening what was given: files, folders and standard input, as blocks of UTF-8 bytes."""

import bz2
import codecs
import itertools
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from specfloor.errors import UsageError
from specfloor.triage.log_lines import plain

STDIN = "-"
BLOCK = 1 << 18
"""Bytes read at once: large enough that a block costs Python next to nothing, small enough that it
is searched several times while it is in the processor's cache."""
HEAD = 1 << 16
"""Bytes by which a file is recognised."""
WHOLE = 1 << 28
"""Bytes up to which a file that is no log is read; what reports acceptance is smaller by far."""


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


_Maker = Callable[[], _Unpacker]

_PACKED: dict[bytes, _Maker] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lzma.LZMADecompressor,
}
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)


class Source:
    """One input: its name, its first bytes, and the whole in blocks.

    Packed files (gzip, bzip2, xz) are unpacked, UTF-16 becomes UTF-8 and byte order marks go.
    ``damaged`` says, once the blocks have been read, why a packed file ended early.
    """

    def __init__(self, name: str, opener: Callable[[], BinaryIO], *, once: bool = False) -> None:
        """Take what opens the input; ``once`` when it cannot be opened a second time."""
        self.name = name
        self.damaged: str | None = None
        self._open = opener
        self.once = once
        self._head: bytes | None = None
        self._begun: Iterator[bytes] | None = None

    @property
    def head(self) -> bytes:
        """The first bytes of the content: ``HEAD`` of them or somewhat more."""
        if self._head is None:
            blocks = self._unpacked()
            self._head = b""
            for block in blocks:
                self._head += block
                if len(self._head) >= HEAD:
                    break
            if self.once:
                self._begun = blocks
        return self._head

    def blocks(self) -> Iterator[bytes]:
        """Yield the whole content; one that cannot be opened twice gives it once."""
        if not self.once:
            yield from self._unpacked()
            return
        yield self.head
        if self._begun is not None:
            yield from self._begun

    def whole(self) -> str:
        """Return the whole content as text; undecodable bytes become U+FFFD, and colours go.

        Raises:
            UsageError: it is larger than what any of the formats read whole comes to.
        """
        parts, size = [], 0
        for block in self.blocks():
            parts.append(block)
            size += len(block)
            if size > WHOLE:
                raise UsageError(
                    f"{self.name} is over {WHOLE >> 20} MB and no server log; "
                    "give the part of it that reports acceptance"
                )
        return plain(b"".join(parts).decode(errors="replace"))

    def _unpacked(self) -> Iterator[bytes]:
        with self._open() as raw:
            blocks: Iterator[bytes] = iter(lambda: raw.read(BLOCK), b"")
            start = next(blocks, b"")
            whole = itertools.chain([start], blocks)
            anew = next((make for magic, make in _PACKED.items() if start.startswith(magic)), None)
            try:
                yield from _as_utf8(_unpack(whole, anew(), anew) if anew else whole)
            except _DAMAGE as error:
                self.damaged = f"{self.name} ends early or is damaged: {error}"


def open_source(path: str, folder: Path) -> list[tuple[Source, bool]]:
    """Open a file, the files in a folder (hidden and binary ones left out) or ``-``.

    Each comes with whether it was found in a folder. A source is named as ``path`` is written.

    Raises:
        UsageError: it cannot be read.
    """
    if path == STDIN:
        return [(Source(STDIN, lambda: sys.stdin.buffer, once=True), False)]
    whole = folder / path
    if whole.is_dir():
        files = _files_in(whole)
        found = [_open(file, str(Path(path) / file.relative_to(whole))) for file in files]
        return [(source, True) for source in found if not _is_binary(source.head)]
    return [(_open(whole, path), False)]


def _open(path: Path, name: str) -> Source:
    try:
        path.open("rb").close()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}); give a log, a /metrics dump, a benchmark "
            "report, a response or an environment text"
        ) from None
    return Source(name, lambda: path.open("rb"))


def _files_in(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def _is_binary(head: bytes) -> bool:
    # a log that was emptied under its writer begins with zeros
    return b"\0" in head.lstrip(b"\0")


def _unpack(blocks: Iterable[bytes], engine: "_Unpacker", anew: "_Maker") -> Iterator[bytes]:
    for block in blocks:
        rest = block
        while rest:
            if engine.eof:  # packed files may be joined end to end
                engine = anew()
            yield engine.decompress(rest)
            rest = engine.unused_data if engine.eof else b""
    if not engine.eof:
        raise EOFError("the packed data break off")


def _as_utf8(blocks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(blocks, b"")
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        for block in itertools.chain([first], blocks):
            yield decoder.decode(block).encode(errors="replace")
        return
    yield first.removeprefix(codecs.BOM_UTF8)
    yield from blocks
