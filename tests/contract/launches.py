"""Every launch command of the catalogue: release by family by placement by arm."""

import datetime
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import Version

from specfloor.catalog import Catalog, load_catalog
from specfloor.catalog.model import Family, Method, Release
from specfloor.catalog.placement import place
from specfloor.cells import OFF, Arm
from specfloor.engines.command import SERVER_MODULE, method_of, server_command

OLDEST_VLLM = Version("0.13.0")
"""The oldest vLLM whose parser is run: the first of those that one set of libraries serves."""

BROUGHT_DRAFT = "draft-of-the-reader"
"""Stands for a draft's checkpoint where none is published."""


class Launch(msgspec.Struct, frozen=True):
    """One command of a release.

    ``placement`` is hardware and devices such as ``a3x16``, empty for the family's own flags;
    ``argv`` what follows the server's module; ``not_taken`` those of its flags that the catalogue
    says the release refuses.
    """

    release: str
    vllm: str
    family: str
    placement: str
    arm: Arm
    argv: tuple[str, ...]
    not_taken: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How a message names it."""
        return "-".join(filter(None, (self.release, self.family, self.placement, self.arm.label)))

    def flag(self, flag: str) -> str | None:
        """Return the value given to a flag, None when it is not there."""
        where = self.argv.index(flag) if flag in self.argv else None
        return None if where is None else self.argv[where + 1]

    def mapping(self, flag: str) -> dict[str, Any]:
        """Return the mapping given to a flag as JSON, empty when it is not there."""
        found: dict[str, Any] = json.loads(self.flag(flag) or "{}")
        return found


def releases_under_contract(catalog: Catalog) -> list[Release]:
    """Return the releases whose vLLM has a parser here."""
    return [r for r in catalog.releases.values() if Version(r.vllm) >= OLDEST_VLLM]


def launches(catalog: Catalog, release: Release, family: Family) -> list[Launch]:
    """Return every command with which a release serves a family; none when it has no method of it.

    A command without speculation is there when one with it is.
    """
    if release.platform != family.platform:
        return []
    arms = [
        Arm(method.name, k)
        for method in family.methods
        if _has(catalog, release, family, method)
        for k in method.k
    ]
    return [
        _launch(release, placed, label, arm)
        for label, placed in _placed(family)
        for arm in ([OFF, *arms] if arms else [])
    ]


@functools.cache
def all_launches() -> tuple[Launch, ...]:
    """Return every command of the releases under contract, in catalogue order."""
    catalog = load_catalog()
    return tuple(
        launch
        for release in releases_under_contract(catalog)
        for family in catalog.families.values()
        for launch in launches(catalog, release, family)
    )


def _has(catalog: Catalog, release: Release, family: Family, method: Method) -> bool:
    """Whether a release has a method for a family.

    Where the releases are not known, those since the first with the method count, else those since
    the one that documents the family, and the newest where none does or where only vLLM documents
    the method.
    """
    if method.releases is not None:
        return release.name in method.releases
    if release.platform == "cpu":
        return True
    since = method.first_release or (None if method.upstream else family.documented_in)
    same = [r for r in catalog.releases.values() if r.platform == release.platform]
    oldest = catalog.releases[since] if since else max(same, key=_date)
    # a release of an older branch can be the younger one
    on_its_branch = Version(release.vllm) >= Version(oldest.vllm)
    return on_its_branch and _date(release) >= _date(oldest)


def _date(release: Release) -> datetime.date:
    return datetime.date.fromisoformat(release.date) if release.date else datetime.date.max


def _placed(family: Family) -> Iterator[tuple[str, Family]]:
    """Yield the family as its own flags have it, then as each documented placement does."""
    yield "", family
    for placement in family.placements:
        # the command of one host; how many hosts there are is not part of it
        one = msgspec.structs.replace(placement, nodes=1)
        alone = msgspec.structs.replace(family, placements=(one,))
        yield (
            f"{placement.soc}x{placement.cards}",
            place(alone, placement.soc, placement.cards),
        )


def _launch(release: Release, family: Family, placement: str, arm: Arm) -> Launch:
    model = family.checkpoint.source
    command = server_command(
        Path("python"),
        release=release,
        family=family,
        arm=arm,
        model=model,
        draft=_draft(method_of(family, arm), model) if arm.speculates else None,
        port=8000,
    )
    start = command.argv.index(SERVER_MODULE) + 1
    return Launch(
        release=release.name,
        vllm=release.vllm,
        family=family.name,
        placement=placement,
        arm=arm,
        argv=command.argv[start:],
        not_taken=family.not_taken_by.get(release.name, ()),
    )


def _draft(method: Method, model: str) -> str | None:
    if method.draft == "target":
        return model
    if method.draft is None and method.name in ("eagle", "eagle3", "dflash", "draft_model"):
        return BROUGHT_DRAFT
    return method.draft
