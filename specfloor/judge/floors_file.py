"""Writing floors into a file that people also edit: what they wrote around them stays."""

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table

from specfloor.catalog import load_catalog
from specfloor.errors import UsageError
from specfloor.i18n import _
from specfloor.judge.baseline import hardware_class
from specfloor.judge.floors import Floor, Quantity, Scope, read_floors
from specfloor.judge.proposals import Origin, Proposal, propose
from specfloor.judge.run import RunResult
from specfloor.runs.records import RunInfo
from specfloor.whole import write_whole

_SCOPE = Scope.__struct_fields__


def update_floors(
    result: RunResult,
    info: RunInfo,
    *,
    folder: Path,
    fresh: Path,
    margin: float,
    reason: str | None = None,
) -> list[str]:
    """Write the floors that a run supports, and return a line for each floor, written or kept.

    Args:
        result: the judgements of the run.
        info: the run; it must have come to its end.
        folder: where the floor files are.
        fresh: the file that cells without a floor get theirs in.
        margin: share of the lower end of an interval that is left as room.
        reason: why floors may be lowered; without one they only rise.

    Raises:
        UsageError: the run did not come to its end, or a file cannot be written.
    """
    if not info.complete:
        raise UsageError(f"the run {info.run} did not come to its end and supports no floor")
    origin = Origin(
        run=info.run,
        date=datetime.date.fromisoformat(info.started[:10]),
        hardware=hardware_class(info.environment),
    )
    files = sorted(folder.glob("*.toml"))
    proposals, kept = propose(
        result, read_floors(files), load_catalog(), origin=origin, margin=margin, reason=reason
    )
    write_floors(proposals, files, fresh)
    lines = []
    for one in proposals:
        before = _("{old:g} to ").format(old=one.old.value) if one.old else ""
        lines.append(
            _("floor of the {where}: {before}{new:g}").format(
                where=one.new.where, before=before, new=one.new.value
            )
        )
    lines += [
        _("floor kept, {quantity} of {cell}: {why}").format(
            quantity=one.quantity, cell=one.cell.id, why=one.why
        )
        for one in kept
    ]
    return lines


def write_floors(proposals: Iterable[Proposal], files: Iterable[Path], fresh: Path) -> list[Path]:
    """Write each proposal into the file its old floor is in, new ones into ``fresh``.

    Comments and the order of entries stay. Returns the files that changed.

    Raises:
        UsageError: a file cannot be read or written, or none of ``files`` holds a floor to be
            replaced.
    """
    documents = {path: _read(path) for path in {*files, fresh} if path.exists()}
    documents.setdefault(fresh, tomlkit.document())
    changed: dict[Path, None] = {}
    for proposal in proposals:
        if proposal.old is None:
            _entries(documents[fresh]).append(_table(proposal.new))
            changed[fresh] = None
            continue
        path, table = _find(proposal.old, documents)
        table.update(_plain(proposal.new))
        changed[path] = None
    for path in changed:
        try:
            write_whole(path, _spaced(tomlkit.dumps(documents[path])).encode())
        except OSError as error:
            raise UsageError(f"floor file {path} cannot be written ({error.strerror})") from None
    return list(changed)


def _read(path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"floor file {path} cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, TOMLKitError) as error:
        raise UsageError(
            f"floor file {path} is not TOML ({error}); mend it, or name another with --into"
        ) from None


def _spaced(text: str) -> str:
    """Return TOML with an empty line before every entry that follows another directly."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("[[") and lines and lines[-1] and not lines[-1].startswith("#"):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _find(floor: Floor, documents: dict[Path, tomlkit.TOMLDocument]) -> tuple[Path, Table]:
    scope = {name: value for name, value in _plain(floor).items() if name in _SCOPE}
    for path, document in documents.items():
        for table in _entries(document):
            entry = msgspec.convert(table.unwrap(), Floor)
            if {n: v for n, v in _plain(entry).items() if n in _SCOPE} == scope:
                return path, table
    raise UsageError(f"the floor for the {floor.where} is in none of the floor files any more")


def _entries(document: tomlkit.TOMLDocument) -> AoT:
    if "floor" not in document:
        document["floor"] = tomlkit.aot()
    entries = document["floor"]
    assert isinstance(entries, AoT)
    return entries


def _table(floor: Floor) -> Table:
    table = tomlkit.table()
    table.update(_plain(floor))
    return table


def _plain(floor: Floor) -> dict[str, Any]:
    """Return the fields that are set, as TOML values; the history as inline tables on lines."""
    fields = {
        name: value
        for name, value in msgspec.structs.asdict(floor).items()
        if value is not None and name not in ("history", "launches", "pinned")
    }
    fields["quantity"] = str(floor.quantity)
    if floor.quantity is Quantity.SPEEDUP:
        fields["launches"] = floor.launches
    if floor.history:
        history = tomlkit.array()
        for former in floor.history:
            line = tomlkit.inline_table()
            line.update(msgspec.structs.asdict(former))
            history.append(line)
        fields["history"] = history.multiline(True)
    return fields
