"""From floors to the bounds of alerts."""

from collections.abc import Iterable

import msgspec

from specfloor.catalog.model import Family
from specfloor.cells import slug
from specfloor.errors import UsageError
from specfloor.judge.floors import Floor, Floors, Quantity


class Bound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The least acceptance of a model. ``model`` is its served name, empty for every one."""

    quantity: Quantity
    value: float
    source: str
    family: str = ""
    model: str = ""


def bounds_of(floors: Floors, family: Family, model: str) -> tuple[Bound, ...]:
    """Return the least acceptance rate and length that any floor of a family allows.

    Traffic is a mixture of workloads, so an alert may only ask what every one of them has to reach.

    Raises:
        UsageError: the family has no floor of its acceptance.
    """
    name = slug(family.floors_of or family.name)
    own = [floor for floor in floors.floors if slug(floor.family) == name]
    lowest = [
        found
        for quantity in (Quantity.ACCEPTANCE_RATE, Quantity.ACCEPTANCE_LENGTH)
        if (found := _lowest(own, quantity))
    ]
    if not lowest:
        raise UsageError(
            f"{family.name} has no floor of its acceptance; measure one with the suite and "
            f"--floors-update, or give --floor RATE"
        )
    return tuple(
        Bound(floor.quantity, floor.value, f"{floor.where}, since {floor.date}", family.name, model)
        for floor in lowest
    )


def _lowest(floors: Iterable[Floor], quantity: Quantity) -> Floor | None:
    own = [floor for floor in floors if floor.quantity is quantity]
    return min(own, key=lambda floor: floor.value, default=None)
