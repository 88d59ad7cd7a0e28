"""The archive that goes with a report: what it rests on, redacted, the same bytes every time."""

import datetime
import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from specfloor.errors import UsageError
from specfloor.judge.evidence import CellEvidence
from specfloor.judge.run import CellResult
from specfloor.redaction.kinds import Replacement
from specfloor.redaction.redactor import Redactor
from specfloor.runs.records import (
    BlockKey,
    BlockRecord,
    CountersRecord,
    LaunchRecord,
    Record,
    RequestRecord,
)
from specfloor.runs.store import INFO, RECORDS, Run, read_run
from specfloor.vendor.logs import cut_log, read_log
from specfloor.vendor.report import BugReport, Judged

TEXT = "bug.md"
BASELINE = "baseline"
"""The folder of the run that the good side is from."""

_Content = str | dict[str, Any] | list[dict[str, Any]]
"""A text, an object of JSON, or the lines of a file of them."""


class Bundle(msgspec.Struct, frozen=True):
    """A report ready to be sent: its text, the files of its archive, and what was replaced."""

    text: str
    members: dict[str, bytes]
    replacements: tuple[Replacement, ...]
    date: datetime.datetime

    def archive(self) -> bytes:
        """Return the files as a tar archive compressed with gzip; the same files, the same bytes.

        Every file has the date of the run and belongs to nobody.
        """
        packed = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for name in sorted(self.members):
                entry = tarfile.TarInfo(name)
                entry.size = len(self.members[name])
                entry.mtime = int(self.date.timestamp())
                archive.addfile(entry, io.BytesIO(self.members[name]))
        return packed.getvalue()


def bundle(
    judged: Judged,
    reported: CellResult,
    report: BugReport,
    text: str,
    redactor: Redactor,
    *,
    texts: bool,
) -> Bundle:
    """Return the report and the files it rests on, with everything redacted.

    Args:
        judged: the run.
        reported: the cell that is reported.
        report: its report.
        text: the report as text.
        redactor: what replaces secrets and names; it learns from all files before it rewrites any.
        texts: whether answers may be in it; without them their hashes are.

    Raises:
        UsageError: a file cannot be read, or something that was replaced elsewhere is still in one.
    """
    raw: dict[str, _Content] = dict(_files(judged, reported, report, texts=texts))
    raw[TEXT] = text
    for name, content in raw.items():
        redactor.learn(name)
        redactor.learn(content)
    members: dict[str, bytes] = {}
    for name, content in raw.items():
        place = redactor.text(name, "names of files")
        members[place] = _encoded(content, redactor, place)
    for name, data in members.items():
        if left := redactor.leaks(f"{name}\n{data.decode()}"):
            raise UsageError(
                f"{', '.join(left)} would still be in {name} after redaction, so nothing was "
                "written; leave that file out and report this to specfloor"
            )
    date = datetime.datetime.fromisoformat(judged.run.info.started)
    return Bundle(members[TEXT].decode(), members, redactor.replacements, date)


def evidence_words(judged: Judged, reported: CellResult) -> set[str]:
    """Return the words that are evidence and stay: names of cells, launches, models, versions."""
    cell = reported.cell
    info = judged.run.info
    words = {cell.release, cell.family, cell.method, cell.workload, cell.tier, cell.id, info.run}
    words |= {*info.environment.packages, *info.environment.packages.values()}
    words |= {
        value for packages in info.environment.engines.values() for value in packages.values()
    }
    for record in judged.run.records:
        if isinstance(record, LaunchRecord):
            words |= {record.key.id, record.key.family, record.key.release}
    return {word for word in words if word}


def _files(
    judged: Judged, reported: CellResult, report: BugReport, *, texts: bool
) -> Iterator[tuple[str, _Content]]:
    run, cell = judged.run, reported.cell
    good = judged.good(cell)
    sides = [judged.evidence(cell)]
    other: Run | None = None
    if good and judged.basis.baseline_run:
        other = read_run(Path(judged.basis.baseline_run))
    elif good:
        sides.append(good)
    yield INFO, msgspec.to_builtins(run.info)
    basis = msgspec.structs.replace(
        judged.basis,
        wanted=tuple(one for one in judged.basis.wanted if one.cell in [s.cell for s in sides]),
        baseline_run=BASELINE if other else None,
    )
    yield "basis.json", msgspec.to_builtins(basis)
    yield "verdict.json", msgspec.to_builtins(reported)
    yield RECORDS, _records(run.records, sides, texts=texts)
    yield from _logs(run, sides)
    if other and good:
        yield f"{BASELINE}/{INFO}", msgspec.to_builtins(other.info)
        yield f"{BASELINE}/{RECORDS}", _records(other.records, [good], texts=texts)
        for name, log in _logs(other, [good]):
            yield f"{BASELINE}/{name}", log
    for name, text in report.attached:
        yield f"attached/{name}", text


def _records(
    records: Iterable[Record], sides: Iterable[CellEvidence], *, texts: bool
) -> list[dict[str, Any]]:
    """Return the records of some cells: their launches, and of blocks only their own."""
    blocks: dict[str, set[BlockKey]] = {}
    for side in sides:
        for arm in (*side.on, *side.off):
            own = {block.sent.block for block in (arm.natural, arm.forced) if block}
            blocks.setdefault(arm.key.id, set()).update(own)
    kept: list[dict[str, Any]] = []
    for record in records:
        launch = record.key.id if isinstance(record, LaunchRecord) else record.launch
        if launch not in blocks:
            continue
        if (
            isinstance(record, RequestRecord | CountersRecord | BlockRecord)
            and record.block not in blocks[launch]
        ):
            continue
        kept.append(msgspec.to_builtins(record if texts else _without_text(record)))
    return kept


def _without_text(record: Record) -> Record:
    """Return a request without what was generated, which token ids and calls give away too."""
    if not isinstance(record, RequestRecord):
        return record
    hashed = [
        f"sha256:{hashlib.sha256(t.encode()).hexdigest()}" for t in (record.text, record.reasoning)
    ]
    return msgspec.structs.replace(
        record, text=hashed[0], reasoning=hashed[1], token_ids=(), tool_calls=()
    )


def _logs(run: Run, sides: Iterable[CellEvidence]) -> Iterator[tuple[str, str]]:
    names = {
        name
        for side in sides
        for arm in (*side.on, *side.off)
        for name in (
            arm.launch.log if arm.launch else None,
            arm.fault.evidence if arm.fault else None,
        )
        if name
    }
    for name in sorted(names):
        yield name, read_log(run.folder, name)


def _encoded(content: _Content, redactor: Redactor, place: str) -> bytes:
    """Return a file's bytes, redacted; a log is redacted whole before it is cut."""
    if isinstance(content, str):
        text = redactor.text(content, place)
        return (cut_log(text) if place.endswith(".log") else text).encode()
    value = redactor.value(content, place)
    if isinstance(value, list):
        return b"".join(msgspec.json.encode(one) + b"\n" for one in value)
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def counts_by_kind(replacements: Iterable[Replacement]) -> Mapping[str, int]:
    """Return how many different things of each kind were replaced."""
    counts: dict[str, int] = {}
    for one in replacements:
        counts[one.kind] = counts.get(one.kind, 0) + 1
    return counts
