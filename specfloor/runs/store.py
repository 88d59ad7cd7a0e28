"""Writing a run as it goes, and reading it back."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from specfloor.errors import UsageError
from specfloor.runs.records import (
    BlockRecord,
    CountersRecord,
    LaunchRecord,
    Record,
    RequestRecord,
    RunInfo,
)
from specfloor.whole import write_whole

RECORDS = "records.jsonl"
INFO = "run.json"
SCHEMA = 1
"""Version of the shape of run.json and records.jsonl; readers refuse a newer one."""


class RunWriter:
    """Appends records to a run's folder, each flushed before the next is taken.

    Leaving the context without an exception does not mark the run complete; ``complete()`` does.
    """

    def __init__(self, folder: Path, info: RunInfo) -> None:
        """Create ``folder`` and write ``run.json``; UsageError when the folder holds a run."""
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / RECORDS).exists():
            raise UsageError(f"{folder} already holds a run; name another folder for this one")
        self.folder = folder
        self.info = info
        self._encoder = msgspec.json.Encoder()
        self._write_info()
        self._file = (folder / RECORDS).open("xb")

    def append(self, record: Record) -> None:
        """Write one record and hand it to the operating system at once."""
        self._file.write(self._encoder.encode(record) + b"\n")
        self._file.flush()

    def complete(self) -> None:
        """Mark the run as having come to its end."""
        self.info = self.info.completed()
        self._write_info()

    def close(self) -> None:
        """Close the file; what was appended stays."""
        self._file.close()

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def _write_info(self) -> None:
        text = msgspec.json.format(msgspec.json.encode(self.info), indent=2)
        # without it the records cannot be read
        write_whole(self.folder / INFO, text + b"\n")


class Run(msgspec.Struct, frozen=True):
    """A run read back. ``truncated`` says that its last line was cut off and left out."""

    folder: Path
    info: RunInfo
    records: tuple[Record, ...]
    truncated: bool = False


def read_run(folder: Path) -> Run:
    """Read a run's folder; UsageError says which file and line is not as it should be.

    A launch, a block and a request come once: one that comes again would be counted twice.
    """
    info = _read_info(folder / INFO)
    records: list[Record] = []
    decoder = msgspec.json.Decoder(Record)
    truncated = False
    lines: dict[tuple[object, ...], int] = {}
    for number, line, whole in _lines(folder / RECORDS):
        try:
            record = decoder.decode(line)
        except msgspec.DecodeError as error:
            if whole:
                raise UsageError(
                    f"{folder / RECORDS} line {number} is not a record of this version: {error}; "
                    "restore the file from what the run wrote, or measure again"
                ) from None
            # the harness was killed while it wrote this line
            truncated = True
            continue
        if (key := _key(record)) and lines.setdefault(key, number) != number:
            raise UsageError(
                f"{folder / RECORDS} line {number} has what line {lines[key]} has already, as if "
                "runs were joined; restore the file from what the run wrote"
            )
        records.append(record)
    return Run(folder, info, tuple(records), truncated)


def _key(record: Record) -> tuple[object, ...] | None:
    """Return what there is one record of; None for those that may come in any number."""
    match record:
        case LaunchRecord():
            return LaunchRecord, record.key
        case BlockRecord():
            return BlockRecord, record.launch, record.block
        case RequestRecord() | CountersRecord():
            return type(record), record.launch, record.block, record.index
        case _:
            return None


class _Versioned(msgspec.Struct):
    schema: int


def _read_info(path: Path) -> RunInfo:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}); name the folder of a run, "
            "the one that holds run.json"
        ) from None
    try:
        # the schema first: a newer one may have fields that this version does not know
        schema = msgspec.json.decode(data, type=_Versioned).schema
        if schema > SCHEMA:
            raise UsageError(
                f"{path} has schema {schema} and this specfloor reads up to {SCHEMA}; "
                "update specfloor"
            )
        return msgspec.json.decode(data, type=RunInfo)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{path} is not a run.json of this version: {error}; restore it, or measure again"
        ) from None


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield (line number, line, whether it ended with a newline)."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line, line.endswith(b"\n")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}); without it there is no run to judge"
        ) from None
