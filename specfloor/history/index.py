"""``history.jsonl``: the entries of all runs in a folder, appended and never rewritten in place.

Several runs may end at once, so every change is made under a lock. A line that cannot be read is
named and skipped; nothing here ever removes one.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from specfloor.catalog import Catalog
from specfloor.errors import UsageError
from specfloor.history.entries import SCHEMA, Entry, entries_of
from specfloor.judge.run import RunResult, judge_stored
from specfloor.runs.store import INFO, Run, read_run
from specfloor.whole import write_whole

HISTORY = "history.jsonl"
_LOCK_S = 60.0
"""Seconds to wait for a lock that is held for milliseconds."""


class Skipped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line or run that is not in the history: ``where`` names it, and ``why`` says the reason."""

    where: str
    why: str


class History(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Entries by the start of their runs; of an entry that is there twice, the later line."""

    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...]


class Rebuilt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a rebuilt index holds: entries judged again, lines kept as they were, and what is not.

    Kept are entries of runs that are gone or cannot be judged, and lines that cannot be read.
    """

    judged: int
    kept: int
    skipped: tuple[Skipped, ...]


def read_history(folder: Path) -> History:
    """Read the index of a folder of runs.

    Raises:
        UsageError: the folder has no index.
    """
    path = folder / HISTORY
    found: dict[tuple[str, str, str], Entry] = {}
    skipped: list[Skipped] = []
    for number, line in _lines(path):
        try:
            entry = _decode(line)
        except msgspec.DecodeError as error:
            skipped.append(Skipped(f"{path} line {number}", str(error)))
        else:
            found[entry.started, entry.run, entry.cell.id] = entry
    entries = sorted(found.values(), key=lambda entry: (entry.started, entry.run))
    return History(tuple(entries), tuple(skipped))


def record_run(run: Run, result: RunResult) -> int:
    """Append the entries of a run that came to its end to the index beside it; return how many.

    Args:
        run: the run, read back.
        result: what was judged of it.

    Raises:
        UsageError: another process holds the lock and does not let go of it.
        OSError: the index cannot be written.
    """
    if not run.info.complete:
        return 0
    entries = entries_of(run, result)
    path = run.folder.parent / HISTORY
    with _locked(path):
        # a line cut off by a crash must not swallow the first of these
        text = b"" if _ends_whole(path) else b"\n"
        with path.open("ab") as file:
            file.write(text + _encode(entries))
    return len(entries)


def rebuild(folder: Path, catalog: Catalog) -> Rebuilt:
    """Judge every run of a folder again and write the index anew, at once or not at all.

    Raises:
        UsageError: the folder has no run.
    """
    runs = sorted(path.parent for path in folder.glob(f"*/{INFO}"))
    if not runs:
        raise UsageError(f"{folder} has no run in it; name the folder that runs are kept in")
    entries: list[Entry] = []
    skipped: list[Skipped] = []
    for path in runs:
        try:
            run = read_run(path)
            if not run.info.complete:
                skipped.append(Skipped(str(path), "it did not come to its end"))
                continue
            entries += entries_of(run, judge_stored(run, catalog))
        except UsageError as error:
            skipped.append(Skipped(str(path), str(error)))
    again = {(entry.run, entry.started) for entry in entries}
    path = folder / HISTORY
    with _locked(path):
        lines = [line for _, line in _lines(path)] if path.exists() else []
        kept = [line.rstrip(b"\n") + b"\n" for line in lines if not _is_of(line, again)]
        write_whole(path, b"".join(kept) + _encode(entries))
    return Rebuilt(len(entries), len(kept), tuple(skipped))


def _is_of(line: bytes, runs: set[tuple[str, str]]) -> bool:
    """Whether a line is an entry of one of these runs, by name and start."""
    try:
        entry = _decode(line)
    except msgspec.DecodeError:
        return False
    return (entry.run, entry.started) in runs


class _Versioned(msgspec.Struct):
    schema: int


def _decode(line: bytes) -> Entry:
    # the schema first: a newer one may have fields that this version does not know
    schema = msgspec.json.decode(line, type=_Versioned).schema
    if schema > SCHEMA:
        raise msgspec.DecodeError(f"it has schema {schema} and this specfloor reads up to {SCHEMA}")
    return msgspec.json.decode(line, type=Entry)


def _encode(entries: Iterable[Entry]) -> bytes:
    encoder = msgspec.json.Encoder(order="deterministic")
    return b"".join(encoder.encode(entry) + b"\n" for entry in entries)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of every line that is not empty."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}); `specfloor history --rebuild "
            f"{path.parent}` writes it from the runs there"
        ) from None


def _ends_whole(path: Path) -> bool:
    if not path.exists():
        return True
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        return file.read() in {b"", b"\n"}


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = path.with_suffix(".lock")
    try:
        with FileLock(lock, timeout=_LOCK_S):
            yield
    except Timeout:
        raise UsageError(
            f"{lock} has been held by another process for {_LOCK_S:g} s; end it and write the "
            f"history anew with `specfloor history --rebuild {path.parent}`"
        ) from None
