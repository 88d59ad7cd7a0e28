"""The acceptance and accuracy faults that a release is known to have are not shown on it.

The plan lists them as KNOWN. A cell passes when the measurement shows none of them, and fails with
the release that has the fix where its figures bear the signature of one.
"""

import pytest

from specfloor.cells import Cell


@pytest.mark.core
@pytest.mark.known_fixes
@pytest.mark.measures("natural")
def test_known_fixes(cell: Cell, judgements, hold):
    hold(judgements.known(cell))
