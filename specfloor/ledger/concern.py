"""What a change of release gains and loses for the families and methods that someone runs."""

from collections.abc import Iterable

import msgspec

from specfloor.ledger.model import Ledger
from specfloor.ledger.query import Comparison, compare, rows_about


def compare_for(
    ledger: Ledger, old: str, new: str, concerns: Iterable[tuple[str, str]]
) -> Comparison:
    """Return what going from ``old`` to ``new`` gains and loses for some families and methods.

    Args:
        ledger: the ledger.
        old: a release, as the catalogue or the field writes it.
        new: likewise.
        concerns: pairs of family and method, by the names of the catalogue or the ledger.

    Raises:
        UsageError: both releases are covered, and the ledger has no such family or method.
    """
    found = compare(ledger, old, new)
    if found.unknown:
        return found
    about = {row.id for pair in concerns for row in rows_about(ledger, *pair)}
    return msgspec.structs.replace(
        found,
        gained=tuple(change for change in found.gained if change.row.id in about),
        lost=tuple(change for change in found.lost if change.row.id in about),
    )
