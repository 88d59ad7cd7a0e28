"""Where in a line a fault is likelier to begin, by what the ledger knows of the changes there.

The ledger's own rows show what a change is worth: each fault whose first release is known, left out
of the ledger and then searched for with the rest. The weights below find those of acceptance and
accuracy in 4.0 launches in the mean, over the releases on the way from first to last, where
weights that are all alike take 5.2 (``tests/unit/bisect/test_prior.py``).
"""

import itertools
from collections.abc import Sequence

from specfloor.errors import UsageError
from specfloor.ledger.model import Kind, Ledger, Row
from specfloor.ledger.names import ledger_family, ledger_method
from specfloor.ledger.query import Standing, rows_about, standing, why_unknown

STARTS = 4.0
"""Weight of a fault of acceptance or accuracy that is known to begin with a release."""
MAY_START = 2.0
"""Weight of one whose feature first appears there."""
CHANGED = 1.0
"""Weight of every change to this family or method that a release is the first on the line to have:
where people worked, things break. As much as the weight that every release has to begin with."""
OF_ANY = 0.2
"""Share of it for a change that is about any family."""

_HAS = {Standing.AFFECTED: STARTS, Standing.POSSIBLY: MAY_START}


def weights(
    names: Sequence[str], ledger: Ledger, *, family: str, method: str
) -> tuple[tuple[float, ...], str]:
    """Return the weight of every release after the first of being the first bad one, and why.

    Args:
        names: releases in the order of a line.
        ledger: what is known of them.
        family: the catalogue's name of the family.
        method: the method as vLLM names it.
    """
    blank = (1.0,) * (len(names) - 1)
    try:
        filed = ledger_family(family)
        rows = list(rows_about(ledger, family, ledger_method(method)))
    except UsageError as error:
        return blank, f"alike: {error}"
    known = [why_unknown(ledger, name) is None for name in names]
    if sum(known) < 2:
        return blank, "alike: the ledger does not know these releases"
    found = tuple(
        1.0 + sum(_weight(row, old, new, named=filed in row.families) for row in rows)
        if here and before
        else 1.0
        for (old, before), (new, here) in itertools.pairwise(zip(names, known, strict=True))
    )
    return found, f"by {len(rows)} rows of the ledger about {family} with {method}"


def _weight(row: Row, old: str, new: str, *, named: bool) -> float:
    before, after = standing(row, old), standing(row, new)
    weight = 0.0
    if row.kind in (Kind.ACCEPTANCE, Kind.ACCURACY) and before not in _HAS:
        weight += _HAS.get(after, 0.0)
    if after is Standing.FIXED and before is not Standing.FIXED:
        weight += CHANGED if named else CHANGED * OF_ANY
    return weight
