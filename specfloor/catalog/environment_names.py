"""Names of environment variables that engines read, to tell a misspelled one from a setting.

A switch that is spelled wrong raises no error: the engine runs, without what was asked for.
"""

import difflib
import functools
from collections.abc import Collection, Iterable, Mapping
from importlib import resources

import msgspec
from packaging.version import InvalidVersion, Version

from specfloor.catalog import Catalog
from specfloor.catalog.variables import known_variables

PREFIXES = ("VLLM_", "HCCL_", "ASCEND_", "ATB_")
"""Variables that are the engine's, its plugin's or the vendor's libraries'."""
_ALIKE = 0.8
"""Similarity (difflib's ratio) from which a name is taken for a slip of another."""
_COMPLETE = ("VLLM_", "HCCL_")
"""Families of names of which the lists are whole, so that a name outside them is unknown. Of the
others only some are listed, and one is called unknown only when it looks like a slip of those."""


class _Vllm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    versions: tuple[str, ...]
    read: dict[str, tuple[str, str]]


class _Ascend(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: tuple[str, ...]
    names: frozenset[str]


class EnvironmentNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names by who reads them; ``vllm.read`` maps each to the first and last version seen to."""

    vllm: _Vllm
    ascend: _Ascend


class Unknown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable that is set and that nothing known here reads; ``nearest`` looks most like it."""

    name: str
    nearest: str | None


@functools.cache
def load_names() -> EnvironmentNames:
    """Return the lists; raises msgspec.ValidationError when the data file is not of its shape."""
    file = resources.files(__package__) / "data" / "environment-names.json"
    return msgspec.json.decode(file.read_bytes(), type=EnvironmentNames)


def nearest_name(name: str, known: Collection[str]) -> str | None:
    """Return the known name that a name is likely a slip of; None when none is alike."""
    return next(iter(difflib.get_close_matches(name, known, 1, _ALIKE)), None)


def unknown_names(catalog: Catalog, environment: Iterable[str]) -> tuple[Unknown, ...]:
    """Return the names of ``environment`` that no release, vLLM or library known here reads.

    Only names with one of :data:`PREFIXES` are looked at.
    """
    names = load_names()
    known = names.vllm.read.keys() | names.ascend.names | known_variables(catalog)
    found = []
    for name in sorted(environment):
        if name in known or not name.startswith(PREFIXES):
            continue
        nearest = nearest_name(name, known)
        if nearest or name.startswith(_COMPLETE):
            found.append(Unknown(name, nearest))
    return tuple(found)


def not_read_by_vllm(version: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables set that vLLM read once and ``version`` no longer does.

    Maps each name to the last version seen to read it. A version between the last one that read a
    name and the first one seen without it may be either, and nothing is said of it.
    """
    names = load_names().vllm
    try:
        asked = Version(version)
    except InvalidVersion:
        return {}
    seen = sorted(map(Version, names.versions))
    found = {}
    for name in sorted(environment.keys() & names.read.keys()):
        last = Version(names.read[name][1])
        without = next((one for one in seen if one > last), None)
        if without is not None and asked >= without:
            found[name] = str(last)
    return found
