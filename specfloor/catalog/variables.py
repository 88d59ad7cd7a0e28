"""Which environment variables a release heeds: one start script, two sets of kernels."""

from collections.abc import Mapping

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.model import Release


class Unread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable that is set and that this release does not read, though others do.

    ``last_read`` is the newest release, by version, that reads it.
    """

    name: str
    value: str
    last_read: str
    replaced_by: str | None = None


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable that one environment makes two releases act on differently.

    ``old`` and ``new`` are the values in effect; None where the release does not read it.
    """

    name: str
    old: str | None
    new: str | None
    replaced_by: str | None = None


def known_variables(catalog: Catalog) -> frozenset[str]:
    """Return every variable that some Ascend release reads besides vLLM's own."""
    return frozenset(name for r in catalog.releases.values() for name in r.variables or ())


def unread(
    catalog: Catalog, release: Release, environment: Mapping[str, str]
) -> tuple[Unread, ...]:
    """Return the variables set in ``environment`` that ``release`` no longer, or not yet, reads.

    Nothing is said of a release whose variables are unknown, nor of variables no release reads.
    """
    if release.variables is None:
        return ()
    readers = {
        name: other.name for other in catalog.releases.values() for name in other.variables or ()
    }
    return tuple(
        Unread(name, environment[name], readers[name], _replacement(catalog, name))
        for name in sorted(environment.keys() & readers.keys())
        if name not in release.variables
    )


def differences(
    catalog: Catalog, old: Release, new: Release, environment: Mapping[str, str]
) -> tuple[Difference, ...]:
    """Return what the same environment makes two releases do differently.

    A variable that is set and read by one of them only, or that is not set and has another default
    in each. Empty when the variables of either are unknown.
    """
    if old.variables is None or new.variables is None:
        return ()
    found = []
    for name in sorted(old.variables.keys() | new.variables.keys()):
        before, after = (_in_effect(release, environment, name) for release in (old, new))
        read_by_both = name in old.variables and name in new.variables
        if before != after and (name in environment or read_by_both):
            found.append(Difference(name, before, after, _replacement(catalog, name)))
    return tuple(found)


def _in_effect(release: Release, environment: Mapping[str, str], name: str) -> str | None:
    variables = release.variables or {}
    return environment.get(name, variables[name]) if name in variables else None


def _replacement(catalog: Catalog, name: str) -> str | None:
    variable = catalog.variables.get(name)
    return variable.replaced_by if variable else None
