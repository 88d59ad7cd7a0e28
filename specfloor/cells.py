"""The key of everything measured: one cell of release × family × method × workload."""

import functools
import re
from typing import Self

import msgspec

from specfloor.errors import UsageError


@functools.cache
def slug(name: str) -> str:
    """Return a name as test ids spell it: lower case, ``-`` and ``.`` as ``_``."""
    return re.sub(r"[-.]", "_", name.strip().lower())


class Arm(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """What one server launch does about drafts: nothing (``off``) or one method with one k.

    ``method`` is empty and ``k`` is 0 on the off arm, which starts with no speculative
    configuration at all (a schedule with k = 0 is not the same thing).
    """

    method: str = ""
    k: int = 0

    def __post_init__(self) -> None:
        if bool(self.method) != (self.k > 0):
            raise ValueError(f"an arm has both a method and k > 0, or neither: {self}")

    @property
    def speculates(self) -> bool:
        """Whether this arm drafts."""
        return bool(self.method)

    @property
    def label(self) -> str:
        """``off``, or method and k written together as in test ids (``mtp3``)."""
        return f"{slug(self.method)}{self.k}" if self.method else "off"


OFF = Arm()


class Cell(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One thing the suite judges, and its key in records, floors, ids and reports.

    ``k`` is ``num_speculative_tokens``; ``concurrency`` the number of requests kept in flight.
    """

    release: str
    family: str
    method: str
    k: int
    workload: str
    tier: str
    concurrency: int

    @property
    def arm(self) -> Arm:
        """The arm with speculation on."""
        return Arm(self.method, self.k)

    @property
    def id(self) -> str:
        """The test id, such as ``cpu-0.32.0-glm_moe_tiny-mtp3-code-off-c1``."""
        return f"{self.release}-{self.pair_id}"

    @property
    def pair_id(self) -> str:
        """The id without the release: what two releases have in common."""
        return "-".join(
            (
                slug(self.family),
                self.arm.label,
                slug(self.workload),
                slug(self.tier),
                f"c{self.concurrency}",
            )
        )

    def on_release(self, release: str) -> Self:
        """Return the same cell of another release."""
        return msgspec.structs.replace(self, release=release)


def pick(asked: str, known: dict[str, str] | list[str] | tuple[str, ...], what: str) -> str:
    """Return the known name that ``asked`` spells, in either spelling, or raise UsageError.

    Args:
        asked: what the user wrote, ``glm-4.7`` or ``glm_4_7``.
        known: the names there are; a mapping also gives aliases (alias to name).
        what: the noun for the message, such as ``family``.
    """
    table = {slug(alias): name for alias, name in known.items()} if isinstance(known, dict) else {}
    table |= {slug(name): name for name in (known.values() if isinstance(known, dict) else known)}
    try:
        return table[slug(asked)]
    except KeyError:
        names = ", ".join(sorted(set(table.values()))) or "none"
        raise UsageError(f"unknown {what} {asked!r}; known here: {names}") from None
