"""The files that are given: opened, each with its role and its kind."""

from pathlib import Path

import msgspec

from specfloor.errors import UsageError
from specfloor.triage.given import Given, GivenFile
from specfloor.triage.kinds import Kind, kind_of
from specfloor.triage.roles import Role, read_role, role_of_name
from specfloor.triage.source import Source, open_source


class Input(msgspec.Struct, frozen=True):
    """One file: where it comes from, what it is to the others, and its kind."""

    source: Source
    role: Role
    kind: Kind


def open_inputs(given: Given, folder: Path) -> list[Input]:
    """Return what is given, opened and recognised; of a folder, only what is of a known kind.

    Raises:
        UsageError: there is nothing to read, a file cannot be read or is given twice.
    """
    opened = [
        (file, source, inside)
        for file in given.files
        for source, inside in open_source(file.path, folder)
    ]
    if not opened:
        raise UsageError(
            "there is no file to read; give a log, a /metrics dump, a benchmark report, a response "
            "or an environment text, - for standard input, or --given FILE"
        )
    opened = _each_once(opened)
    found = []
    for file, source, inside in opened:
        role = read_role(file.role)
        if not file.role and len(opened) > 1:
            role = role_of_name(source.name)
        kind = _kind(file, source, role)
        if kind is Kind.ARCHIVE and not inside:
            raise UsageError(
                f"{source.name} is packed as {source.archive}; unpack it and give what is in it, "
                "or send a log through standard input (specfloor triage -)"
            )
        if not (inside and kind in (Kind.UNKNOWN, Kind.EMPTY)):
            found.append(Input(source, role, kind))
    if all(one.kind is Kind.ARCHIVE for one in found):
        raise UsageError(f"none of the {len(opened)} files found is of a kind that is known")
    return found


def _each_once(
    opened: list[tuple[GivenFile, Source, bool]],
) -> list[tuple[GivenFile, Source, bool]]:
    """Return what was opened without the second names that a folder has for a file.

    Raises:
        UsageError: a file is given twice, under one name or under two.
    """
    seen: dict[object, tuple[GivenFile, Source]] = {}
    once = []
    for file, source, inside in opened:
        first, other = seen.setdefault(source.identity or source.name, (file, source))
        if other is source:
            once.append((file, source, inside))
        elif first is not file or not inside:
            also = "" if other.name == source.name else f" (as {other.name} too)"
            raise UsageError(f"{source.name} is given twice{also}; a file is counted once")
    return once


_BY_ROLE = {
    "npu_smi": Kind.NPU_SMI,
    "env": Kind.ENVIRONMENT,
    "bench": Kind.BENCH_TEXT,
    "response": Kind.RESPONSE,
    "stream": Kind.STREAM,
    "log": Kind.LOG,
}


def _kind(file: GivenFile, source: Source, role: Role) -> Kind:
    """Return the kind by content; what content does not tell, the role may."""
    if source.archive:
        return Kind.ARCHIVE
    kind = kind_of(source.head)
    if kind is Kind.HTML:
        return Kind.METRICS
    if kind in (Kind.EMPTY, Kind.UNKNOWN):
        return Kind.METRICS if role.moment is not None else _BY_ROLE.get(file.role, kind)
    return kind
