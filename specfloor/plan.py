"""From a selection to cells, and from cells to launches: what will be started, in which order."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.model import Family, Method, Release
from specfloor.cells import OFF, Arm, Cell, slug
from specfloor.errors import UsageError
from specfloor.runs.records import BlockKey, LaunchKey, Purpose

_Named = TypeVar("_Named")
_T = TypeVar("_T")


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user narrowed the matrix to; an empty field means the default set.

    ``all`` alone names every release or family of the platform.
    """

    platform: str = "cpu"
    releases: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    spec_tokens: tuple[int, ...] = ()
    workloads: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    concurrencies: tuple[int, ...] = ()


class Overrides(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one launch is started with besides what its family says, or instead of it.

    ``speculative`` are fields of the speculative configuration, ``serve`` flags of the server as in
    a family, ``env`` variables.
    """

    speculative: dict[str, Any] = {}
    serve: dict[str, str] = {}
    env: dict[str, str] = {}


class Launch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One server start and the blocks sent to it, in order."""

    key: LaunchKey
    blocks: tuple[BlockKey, ...]
    overrides: Overrides = Overrides()


@dataclasses.dataclass(frozen=True)
class Plan:
    """Every launch of a run, in the order they are started."""

    launches: tuple[Launch, ...]

    def last_launch(self, cell: Cell, purpose: Purpose) -> int:
        """Return the index of the last launch that ``cell`` needs for ``purpose``.

        Raises:
            KeyError: the plan has none for it.
        """
        block = BlockKey(cell.workload, cell.tier, cell.concurrency, purpose)
        return max(self._last[cell.release, cell.family, arm, block] for arm in (OFF, cell.arm))

    @functools.cached_property
    def _last(self) -> dict[tuple[str, str, Arm, BlockKey], int]:
        """The last launch that sends a block, found once: a matrix has many thousand cells."""
        return {
            (launch.key.release, launch.key.family, launch.key.arm, block): index
            for index, launch in enumerate(self.launches)
            for block in launch.blocks
        }


def select_cells(catalog: Catalog, selection: Selection) -> tuple[Cell, ...]:
    """Return the cells of a selection, in catalogue order.

    With nothing named, the default release of the platform, its core families, their core methods
    with the default k, their workloads, the default tier, concurrency 1.

    Raises:
        UsageError: a name is unknown, or the selection leaves no cell.
    """
    cells = tuple(
        Cell(release.name, family.name, method.name, k, workload, tier, concurrency)
        for release, family in itertools.product(
            _releases(catalog, selection), _families(catalog, selection)
        )
        if release.platform == family.platform
        for method in _methods(family, selection)
        for k in _spec_tokens(method, selection)
        for workload, tier in itertools.product(
            _among(
                (*family.workloads, *family.more_workloads),
                selection.workloads,
                default=len(family.workloads),
            ),
            _among(tuple(family.tiers), selection.tiers, default=1),
        )
        for concurrency in dict.fromkeys(selection.concurrencies) or (1,)
    )
    _check_every_name_counts(catalog, selection, cells)
    return cells


def _check_every_name_counts(
    catalog: Catalog, selection: Selection, cells: Collection[Cell]
) -> None:
    """Raise UsageError for a name that no cell bears: a misspelling must not pass in silence."""
    asked = (
        ("--release", {r.name for r in _named(selection.releases, catalog.release)}, "release"),
        ("--family", {f.name for f in _named(selection.families, catalog.family)}, "family"),
        ("--method", set(selection.methods), "method"),
        ("--spec-tokens", set(map(str, selection.spec_tokens)), "k"),
        ("--workload", set(selection.workloads), "workload"),
        ("--tier", set(selection.tiers), "tier"),
    )
    for option, names, field in asked:
        borne = {slug(str(getattr(cell, field))) for cell in cells}
        for name in sorted(names):
            if slug(name) not in borne:
                raise UsageError(
                    f"{option} {name} leaves no cell to run; "
                    f"`specfloor families` lists what each family has"
                )
    if not cells:
        raise UsageError("the selection leaves no cell to run")


EVERY = "all"
"""As a release or family of a selection: every one of the platform."""


def _named(names: Sequence[str], known: Callable[[str], _Named]) -> list[_Named]:
    return [] if names == (EVERY,) else [known(name) for name in names]


def _releases(catalog: Catalog, selection: Selection) -> list[Release]:
    if selection.releases == (EVERY,):
        return [r for r in catalog.releases.values() if r.platform == selection.platform]
    if selection.releases:
        # in the order given: the first is the baseline
        found = [catalog.release(name) for name in selection.releases]
        return list({release.name: release for release in found}.values())
    return [
        release
        for release in catalog.releases.values()
        if release.platform == selection.platform and release.default
    ]


def _families(catalog: Catalog, selection: Selection) -> list[Family]:
    if selection.families == (EVERY,):
        return [f for f in catalog.families.values() if f.platform == selection.platform]
    if selection.families:
        found = [catalog.family(name) for name in selection.families]
        return list({family.name: family for family in found}.values())
    return [family for family in catalog.families.values() if family.core]


def _methods(family: Family, selection: Selection) -> list[Method]:
    if selection.methods:
        asked = {slug(name) for name in selection.methods}
        return [method for method in family.methods if slug(method.name) in asked]
    # a family of which nothing is core has its first method: it was asked for by name
    return [method for method in family.methods if method.core] or list(family.methods[:1])


def _spec_tokens(method: Method, selection: Selection) -> tuple[int, ...]:
    # any k may be asked for: an engine that cannot do it says so
    return tuple(dict.fromkeys(selection.spec_tokens)) or method.k[:1]


def _among(
    known: tuple[str, ...], asked: tuple[str, ...], default: int | None = None
) -> tuple[str, ...]:
    if not asked:
        return known[:default]
    wanted = {slug(name) for name in asked}
    return tuple(name for name in known if slug(name) in wanted)


class Demand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cell, what it is measured for, and in how many rounds of launches its speed is."""

    cell: Cell
    purposes: frozenset[Purpose]
    rounds: int = 1


def plan_launches(demands: Iterable[Demand]) -> Plan:
    """Group cells into launches.

    The launches of one release and family form rounds. Within a round each arm is started once,
    off first; the next round runs in the opposite order (ABBA), so that a steady drift of the host
    weighs on both arms alike. Blocks for acceptance are sent in the first round only, blocks for
    speed in as many rounds as their cells ask for.
    """
    groups: dict[tuple[str, str], dict[Arm, dict[BlockKey, int]]] = {}
    for demand in demands:
        cell = demand.cell
        arms = groups.setdefault((cell.release, cell.family), {OFF: {}})
        for purpose in sorted(demand.purposes):
            block = BlockKey(cell.workload, cell.tier, cell.concurrency, purpose)
            rounds = demand.rounds if purpose is Purpose.FORCED else 1
            # both arms always run
            for arm in (OFF, cell.arm):
                wanted = arms.setdefault(arm, {})
                wanted[block] = max(wanted.get(block, 0), rounds)
    planned = [
        Launch(LaunchKey(release, family, arm, repeat), blocks)
        for (release, family), arms in groups.items()
        for repeat in range(
            max((rounds for wanted in arms.values() for rounds in wanted.values()), default=0)
        )
        for arm, wanted in in_turn(list(arms.items()), repeat)
        if (blocks := _blocks_of_round(wanted, repeat))
    ]
    return Plan(tuple(planned))


def in_turn(arms: Sequence[_T], repeat: int) -> Sequence[_T]:
    """Return arms in the order of a round: every second round runs backwards (ABBA).

    So a steady drift of the host weighs on all arms alike.
    """
    return arms if repeat % 2 == 0 else arms[::-1]


def _blocks_of_round(wanted: Mapping[BlockKey, int], repeat: int) -> tuple[BlockKey, ...]:
    # natural blocks first: they decide most verdicts, and an engine that dies later has given them
    ordered = sorted(wanted, key=lambda block: block.purpose is Purpose.FORCED)
    return tuple(block for block in ordered if wanted[block] > repeat)
