"""Adding rows to the ledger, and the one way its file is written."""

import itertools
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from packaging.version import InvalidVersion, Version

from specfloor.errors import UsageError
from specfloor.ledger.model import AVOIDED_BY, Basis, Kind, Ledger, Row
from specfloor.ledger.names import ANY, FAMILIES, METHODS


class _RowFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    row: tuple[Row, ...]


def add_rows(ledger: Ledger, rows: Iterable[Row]) -> Ledger:
    """Return the ledger with further rows, in its order.

    Raises:
        UsageError: a row contradicts itself or the ledger (see ``faults_of``), or is there already.
    """
    added = Ledger(ledger.horizon, ledger.tags, (*ledger.rows, *rows))
    for fault in faults_of(added):
        raise UsageError(fault)
    return in_order(added)


def read_rows(path: Path) -> tuple[Row, ...]:
    """Read rows from a TOML file of ``[[row]]`` tables, or JSON of the same shape.

    Raises:
        UsageError: the file cannot be read, or is not of that shape.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return msgspec.json.decode(text, type=_RowFile).row
        return msgspec.convert(tomllib.loads(text), _RowFile).row
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    except (tomllib.TOMLDecodeError, msgspec.DecodeError) as error:
        raise UsageError(f"{path}: {error}; docs/ledger.md shows the shape of a row") from None


def add_file(path: Path, ledger_path: Path) -> tuple[Row, ...]:
    """Add the rows of a file to a ledger file, in place and at once; return them.

    Raises:
        UsageError: as ``read_rows`` and ``add_rows``, or the ledger file cannot be read or written.
    """
    rows = read_rows(path)
    try:
        ledger = msgspec.json.decode(ledger_path.read_bytes(), type=Ledger)
        text = encode(add_rows(ledger, rows))
        draft = ledger_path.with_name(ledger_path.name + ".new")
        draft.write_text(text, encoding="utf-8")
        draft.replace(ledger_path)
    except OSError as error:
        raise UsageError(f"{ledger_path} cannot be rewritten ({error.strerror})") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{ledger_path} is not a ledger: {error}") from None
    return rows


def encode(ledger: Ledger) -> str:
    """Return the ledger file's text: JSON with one row a line, so that a change reads as one."""
    encoder = msgspec.json.Encoder()

    def lines(items: Sequence[msgspec.Struct]) -> str:
        return ",\n".join(encoder.encode(item).decode() for item in items)

    return (
        f'{{"horizon":{encoder.encode(ledger.horizon).decode()},\n'
        f'"tags":[\n{lines(ledger.tags)}\n],\n'
        f'"rows":[\n{lines(ledger.rows)}\n]}}\n'
    )


def in_order(ledger: Ledger) -> Ledger:
    """Return the ledger with tags by version and rows by date, the newest first, then by id."""
    return Ledger(
        ledger.horizon,
        tuple(sorted(ledger.tags, key=lambda tag: Version(tag.name))),
        tuple(sorted(ledger.rows, key=lambda row: (-row.date.toordinal(), row.id))),
    )


def faults_of(ledger: Ledger) -> list[str]:
    """Return what is wrong with a ledger beyond its shape, one sentence each."""
    tags = {tag.name for tag in ledger.tags}
    twice = [name for name, n in Counter(row.id for row in ledger.rows).items() if n > 1]
    found = [f"the ledger has row {name} already" for name in twice]
    for row in ledger.rows:
        found += [f"row {row.id}: {fault}" for fault in _faults_of_row(row, tags)]
    return found


def _faults_of_row(row: Row, tags: set[str]) -> Iterable[str]:
    yield from _unknown("family", row.families, {ANY, *FAMILIES})
    yield from _unknown("method", row.methods, {ANY, *METHODS})
    yield from _unknown("release in fixed_in", row.fixed_in, tags)
    yield from _unknown("release in affected", row.affected or (), tags)
    if not row.families or not row.methods:
        yield "families and methods name at least one each, or any"
    if not row.symptom.strip():
        yield "the symptom is empty"
    for names, what in ((row.fixed_in, "fixed_in"), (row.affected or (), "affected")):
        if not _ascending(names):
            yield f"{what} is not in order of version, each once"
    if both := sorted(set(row.fixed_in) & set(row.affected or ())):
        yield f"{', '.join(both)} cannot be fixed and affected"
    if (row.affected is None) != (row.basis is Basis.UNKNOWN):
        yield "affected is given with a basis, and left out when the basis is unknown"
    if (row.first_release is None) != (not row.fixed_in):
        yield "first_release is given when a release has the change, and only then"
    elif row.first_release is not None and row.first_release not in row.fixed_in:
        yield "first_release is not in fixed_in"
    if row.signature and row.kind not in (Kind.ACCEPTANCE, Kind.ACCURACY):
        yield "a signature belongs to a fault that moves acceptance"
    if odd := [facet for facet in row.avoid if facet not in row.when or facet not in AVOIDED_BY]:
        yield f"avoid names {odd[0]}, which is not among when or no setting undoes"


def _unknown(what: str, names: Iterable[str], known: set[str]) -> Iterable[str]:
    for name in names:
        if name not in known:
            yield f"{name} is no {what} the ledger knows"


def _ascending(names: Sequence[str]) -> bool:
    try:
        versions = [Version(name) for name in names]
    except InvalidVersion:
        return False
    return all(low < high for low, high in itertools.pairwise(versions))
