"""What is known of releases and families, as package data read through one function."""

import functools
import tomllib
from importlib import resources
from typing import TypeVar

import msgspec

from specfloor.catalog.model import Family, Release, Variable
from specfloor.catalog.versions import read_version
from specfloor.cells import pick
from specfloor.errors import UsageError

_T = TypeVar("_T")


class Catalog(msgspec.Struct, frozen=True):
    """Every release, family and environment variable specfloor knows, in data order."""

    releases: dict[str, Release]
    families: dict[str, Family]
    variables: dict[str, Variable] = {}

    def release(self, name: str) -> Release:
        """Return the release that ``name`` spells.

        A name of the catalogue in either spelling, or a version as the field writes it
        (``v0.18.0``, ``0.23.0+empty``).

        Raises:
            UsageError: no release is meant; a development build and the number of another product
                are named as such.
        """
        if name in self.releases:
            return self.releases[name]
        try:
            known = pick(name, list(self.releases), "release")
        except UsageError:
            if not name.strip().lower().removeprefix("v")[:1].isdigit():
                raise
            known = pick(self._version(name), list(self.releases), "release")
        return self.releases[known]

    def _version(self, text: str) -> str:
        found = read_version(text)
        if found.development_build:
            raise UsageError(
                f"{text.strip()} is a development build, which is no release: "
                f"name a release, or measure this build where it is installed"
            )
        return found.version

    def family(self, name: str) -> Family:
        """Return the family ``name``, or an alias of it, in either spelling, or UsageError."""
        if name in self.families:
            return self.families[name]
        names = {name: name for name in self.families}
        names |= {alias: f.name for f in self.families.values() for alias in f.aliases}
        return self.families[pick(name, names, "family")]


class _DataFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    release: tuple[Release, ...] = ()
    family: tuple[Family, ...] = ()
    variable: tuple[Variable, ...] = ()


@functools.cache
def load_catalog() -> Catalog:
    """Return the catalogue; raises msgspec.ValidationError when a data file is not of its shape.

    Small files that people edit are TOML; the long ones are JSON, which is read many times faster.
    """
    catalog = Catalog({}, {}, {})
    folder = resources.files(__name__) / "data"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.startswith(("releases-", "families-", "variables-")):
            data = _read(entry.read_bytes(), entry.name)
            for release in data.release:
                _add(catalog.releases, release.name, release)
            for family in data.family:
                _add(catalog.families, family.name, family)
            for variable in data.variable:
                _add(catalog.variables, variable.name, variable)
    return catalog


def _read(content: bytes, name: str) -> _DataFile:
    if name.endswith(".toml"):
        return msgspec.convert(tomllib.loads(content.decode()), _DataFile)
    return msgspec.json.decode(content, type=_DataFile)


def _add(table: dict[str, _T], name: str, value: _T) -> None:
    if name in table:
        raise ValueError(f"the catalogue has {name!r} twice")
    table[name] = value
