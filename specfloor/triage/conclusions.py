"""What the judges conclude, and which conclusion decides."""

from collections.abc import Iterable
from typing import Any

import msgspec

from specfloor.i18n import _
from specfloor.ledger.model import Signature
from specfloor.triage.balance import Balance
from specfloor.triage.findings import Finding

ACCEPTANCE_FAULTS = (
    Finding.ACCEPT_ZERO,
    Finding.ACCEPT_REGRESSION,
    Finding.ACCEPT_DRIFT,
    Finding.TOPOLOGY,
)
"""The findings that say that drafts are not accepted as they should be."""


class Conclusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One finding with its reason, whom it is about, and what to do next.

    ``signature`` is the shape of the figures and ``evidence`` the counts that show it.
    ``finding`` None is PARSE: read, and nothing to judge. ``beside`` marks what only a tool without
    acceptance says, which does not stand in the way of what other files show. Of a loss of speed
    ``cleared`` says why it is not the draft's, and ``balance`` what a step costs and gives.
    """

    finding: Finding | None
    reason: str
    scope: dict[str, Any] = {}
    next: tuple[str, ...] = ()
    signature: Signature | None = None
    evidence: tuple[str, ...] = ()
    beside: bool = False
    cleared: str | None = None
    balance: Balance | None = None


def nothing_to_judge() -> Conclusion:
    """Return what is said of a file that was read and shows neither health nor a fault."""
    return Conclusion(None, _("read; there is nothing to judge it by"))


_RANK = {
    finding: rank
    for rank, finding in enumerate(
        (
            Finding.CRASH,
            Finding.START_FAIL,
            Finding.HANG,
            Finding.TOPOLOGY,
            Finding.ACCEPT_ZERO,
            Finding.ACCEPT_DRIFT,
            Finding.ACCEPT_REGRESSION,
            Finding.SUSPICIOUS_ACCEPTANCE,
            Finding.OUTPUT_BROKEN,
            Finding.CONFIG_NOT_IN_EFFECT,
            Finding.WORKLOAD_INVALID,
            Finding.BASELINE_INVALID,
            Finding.BATCH_FLIP,
            Finding.SPEED_REGRESSION_ACCEPT_OK,
            Finding.SPEED_REGRESSION,
            Finding.HARDWARE,
            Finding.UNSUPPORTED_FORMAT,
            Finding.INCONCLUSIVE,
            Finding.NO_DATA,
            Finding.EXPECTED,
        )
    )
}
"""The first wins: what ended the run, then acceptance, then what makes the evidence worthless, then
speed. No data and too little data outrank health."""


def in_order(conclusions: Iterable[Conclusion]) -> tuple[Conclusion, ...]:
    """Return conclusions with the one that decides first; PARSE, alone, when nothing else is said.

    What only a tool without acceptance says does not count as said, and comes after it.
    """
    ranked = sorted(
        conclusions,
        key=lambda c: (
            c.finding is None or (c.beside and c.finding is Finding.NO_DATA),
            _RANK.get(c.finding, 0) if c.finding else 0,
        ),
    )
    if not ranked:
        return (nothing_to_judge(),)
    first, *others = ranked
    return (first, *(c for c in others if c.finding is not None))


def doubted(found: list[Conclusion], doubt: str | None) -> list[Conclusion]:
    """Turn health that damaged evidence shows into INCONCLUSIVE."""
    if doubt is None:
        return found
    return [
        Conclusion(
            Finding.INCONCLUSIVE,
            _("looks healthy ({reason}), but {doubt}").format(reason=c.reason, doubt=doubt),
            c.scope,
        )
        if c.finding is Finding.EXPECTED
        else c
        for c in found
    ]
