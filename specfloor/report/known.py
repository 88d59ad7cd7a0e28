"""The known faults of planned cells, for the plan: what a run is about to confirm or refute."""

from collections.abc import Iterable

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.i18n import _
from specfloor.judge.known import known_before
from specfloor.ledger.model import Kind, Ledger

_KINDS = (Kind.ACCEPTANCE, Kind.ACCURACY)


def known_lines(cells: Iterable[Cell], catalog: Catalog, ledger: Ledger) -> list[str]:
    """Return a line for each known acceptance or accuracy fault that cells may meet.

    Cells that differ only in what is sent meet the same faults and are told once. A release that
    the ledger has not read gets one line that says so; one it does not cover none.
    """
    lines: dict[str, None] = {}
    alike = {(cell.release, cell.family, cell.arm): cell for cell in cells}
    for cell in alike.values():
        place = f"{cell.release} {cell.family} {cell.arm.label}"
        for kind in _KINDS:
            causes = known_before(cell, catalog, ledger, kind, {})
            if causes is None:
                break
            if causes.unknown:
                lines[
                    _("  UNKNOWN faults of {release}: {unknown}").format(
                        release=cell.release, unknown=causes.unknown
                    )
                ] = None
            for fix in causes.fixes:
                lines[
                    _("  KNOWN  {place}: {kind} fault {sentence}").format(
                        place=place, kind=_(kind), sentence=fix.sentence
                    )
                ] = None
    return list(lines)
