"""What the ledger knows of a release that may be behind a finding, and where it was looked."""

from collections.abc import Sequence

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.errors import UsageError
from specfloor.ledger import read_ledger
from specfloor.ledger.names import find_family, ledger_method
from specfloor.triage.causes import KnownFix, facets_of_k, kinds_of, known_faults
from specfloor.triage.findings import Finding


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows that may be behind a finding, likeliest first.

    ``asked`` is a sentence, without a full stop, on what the ledger was asked and up to when it
    knows, or why it has no answer.
    """

    fixes: tuple[KnownFix, ...]
    asked: str


def known_to_be(cell: Cell, findings: Sequence[Finding], catalog: Catalog) -> Known:
    """Return what the ledger has about a cell's findings."""
    kinds = tuple(dict.fromkeys(kind for finding in findings for kind in kinds_of(finding)))
    release = catalog.release(cell.release)
    ledger = read_ledger()
    if release.platform != "ascend":
        return Known(
            (), f"the ledger is about vLLM-Ascend, and {release.name} is none of its releases"
        )
    try:
        family, method = find_family(cell.family, catalog), ledger_method(cell.method)
    except UsageError as error:
        return Known((), str(error))
    if not kinds:
        return Known((), "the ledger has no kind of rows for these findings")
    causes = known_faults(
        ledger, release.name, kinds, family=family, method=method, setting=facets_of_k(cell.k)
    )
    if causes.unknown:
        return Known((), causes.unknown)
    of = ", ".join(kind.value for kind in kinds)
    return Known(
        causes.fixes,
        f"asked about {causes.release}, {family} and {cell.method} for rows of the kinds {of}, up "
        f"to {causes.as_of}: {len(causes.fixes)} may be behind it",
    )
