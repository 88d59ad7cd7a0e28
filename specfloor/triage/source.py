"""Opening what was given: files, folders and standard input, as blocks of UTF-8 bytes."""

import bz2
import codecs
import itertools
import lzma
import os
import stat
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
_ARCHIVES = {
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf\x27\x1c": "7z",
}
"""First bytes of what is not unpacked here, and what it is called."""
_TAR = slice(257, 262), b"ustar"


class Source:
    """One input: its name, its first bytes, and the whole in blocks.

    Packed files (gzip, bzip2, xz) are unpacked, UTF-16 becomes UTF-8 and byte order marks go.
    ``damaged`` says, once the blocks have been read, why it could not be read to its end.
    ``identity`` is the device and the number of a file that was given, whatever it was called.
    """

    def __init__(
        self,
        name: str,
        opener: Callable[[], BinaryIO],
        *,
        once: bool = False,
        identity: tuple[int, int] | None = None,
    ) -> None:
        """Take what opens the input; ``once`` when it cannot be opened a second time."""
        self.name = name.encode(errors="backslashreplace").decode()  # of any bytes
        self.identity = identity
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

    @property
    def archive(self) -> str | None:
        """What kind of archive it is, or packed with, that is not unpacked here."""
        place, tar = _TAR
        if self.head[place] == tar:
            return "tar"
        return next(
            (name for magic, name in _ARCHIVES.items() if self.head.startswith(magic)), None
        )

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
            try:
                blocks: Iterator[bytes] = iter(lambda: raw.read(BLOCK), b"")
                start = next(blocks, b"")
                whole = itertools.chain([start], blocks)
                anew = next((make for m, make in _PACKED.items() if start.startswith(m)), None)
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
        return [(Source(STDIN, _open_stdin, once=True), False)]
    if not path:
        raise UsageError("the name of a file is empty; give FILE, a folder, or - (standard input)")
    whole = folder / path
    if whole.is_dir():
        files = _files_in(whole)
        found = [_open(file, str(Path(path) / file.relative_to(whole))) for file in files]
        return [(source, True) for source in found if source.archive or not _is_binary(source.head)]
    return [(_open(whole, path), False)]


def _open_stdin() -> BinaryIO:
    if sys.stdin is None:
        raise UsageError("standard input is closed; give it a file (< FILE), or FILE instead of -")
    return sys.stdin.buffer


def _open(path: Path, name: str) -> Source:
    """Return a file as a source; a pipe can be read once, and trying whether it can is reading."""

    def opener() -> BinaryIO:
        try:
            return path.open("rb")
        except OSError as error:
            raise _unreadable(path, error) from None

    try:
        found = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise _unreadable(path, error) from None
    identity = (found.st_dev, found.st_ino)
    if not stat.S_ISREG(found.st_mode):
        return Source(name, opener, once=True, identity=identity)
    opener().close()
    return Source(name, opener, identity=identity)


def _unreadable(path: Path, error: OSError | ValueError) -> UsageError:
    why = error.strerror if isinstance(error, OSError) else error
    mend = "give a log, a /metrics dump, a benchmark report, a response or an environment text"
    if isinstance(error, PermissionError):
        mend = "let this user read it, or give the files that can be read by name"
    return UsageError(f"{path} cannot be read ({why}); {mend}")


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder and those below it, in order; links to folders are left out."""

    def refuse(error: OSError) -> None:
        raise _unreadable(Path(error.filename), error)

    found = []
    for place, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in files if not name.startswith(".")]
    return sorted(path for path in found if path.is_file())


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
