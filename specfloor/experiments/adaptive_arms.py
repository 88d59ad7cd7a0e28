"""The arms of the mixed load: what each is called, how it is launched, what it is sent."""

from collections.abc import Mapping
from typing import NamedTuple

from specfloor.catalog import Catalog
from specfloor.catalog.model import Family
from specfloor.cells import OFF, Arm, Cell
from specfloor.experiments import mechanisms
from specfloor.experiments.base import arm_launch
from specfloor.experiments.mechanisms import Mechanism
from specfloor.judge.schedule import Schedule
from specfloor.plan import Overrides
from specfloor.runs.records import BlockKey, LaunchKey, Purpose

KINDS: Mapping[str, tuple[str, ...]] = {
    "structured": ("structured", "rewrite"),
    "open": ("chat", "story"),
}
"""Kinds of request and the workloads that are of them, the first that a family has: answers that
drafts guess well, and answers that they guess badly."""


class Start(NamedTuple):
    """One arm and how it is launched."""

    name: str
    arm: Arm
    variant: str
    overrides: Overrides

    def key(self, cell: Cell, repeat: int) -> LaunchKey:
        """Return the key of one of its launches."""
        return arm_launch(cell, self.arm, self.variant, repeat)


def workloads_of(family: Family) -> dict[str, str]:
    """Return the workload of each kind that a family has."""
    there = (*family.workloads, *family.more_workloads)
    found = {kind: [name for name in names if name in there] for kind, names in KINDS.items()}
    return {kind: names[0] for kind, names in found.items() if names}


def load_block(cell: Cell, catalog: Catalog, most: int, label: str) -> BlockKey:
    """Return the key of a block of the blend; ``label`` is its share of the capacity."""
    workload = "+".join(workloads_of(catalog.family(cell.family)).values())
    return BlockKey(workload, cell.tier, most, Purpose.FORCED, label)


def capacity_key(cell: Cell) -> LaunchKey:
    """Return the key of the launch that the capacity is measured with."""
    return arm_launch(cell, cell.arm, "mixed-capacity", 0)


def arms_of(cell: Cell, catalog: Catalog, schedule: Schedule) -> tuple[Start, ...]:
    """Return every arm, those that others are compared with before them."""
    found: dict[str, Start] = {}
    for mechanism in mechanisms.offered(cell, catalog):
        off, fixed = compared_with(mechanism)
        variant = "mixed-v2" if mechanism.env else "mixed"
        for name, arm in ((off, OFF), (fixed, cell.arm)):
            found.setdefault(name, Start(name, arm, variant, mechanisms.fixed(mechanism)))
        overrides = mechanisms.adaptive(mechanism, cell, catalog, schedule)
        variant = f"adaptive-{mechanism.name}"
        found[mechanism.name] = Start(mechanism.name, cell.arm, variant, overrides)
    return tuple(found.values())


def compared_with(mechanism: Mechanism) -> tuple[str, str]:
    """Return the names of the off and the fixed arm that a mechanism is compared with.

    They run on the same model runner: what the runner changes is not the mechanism's.
    """
    runner = " on V2" if mechanism.env else ""
    return f"off{runner}", f"fixed{runner}"
