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
    names = [source.name for _, source, _ in opened]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"{double} is given twice; a file is counted once")
    found = []
    for file, source, inside in opened:
        role = read_role(file.role)
        if not file.role and len(opened) > 1:
            role = role_of_name(source.name)
        kind = _kind(file, source, role)
        if not (inside and kind in (Kind.UNKNOWN, Kind.EMPTY)):
            found.append(Input(source, role, kind))
    if not found:
        raise UsageError(f"none of the {len(opened)} files found is of a kind that is known")
    return found


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
    kind = kind_of(source.head)
    if kind is Kind.HTML:
        return Kind.METRICS
    if kind in (Kind.EMPTY, Kind.UNKNOWN):
        return Kind.METRICS if role.moment is not None else _BY_ROLE.get(file.role, kind)
    return kind
