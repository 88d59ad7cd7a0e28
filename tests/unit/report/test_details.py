"""The table behind the verdicts on acceptance."""

import pytest

from specfloor.report.details import HEADERS, details_table
from tests.unit.builders import both_arms, floor, judged


@pytest.mark.parametrize("least", [floor(0.6), floor(2.0, "acceptance_length")])
def test_the_mean_is_the_rate_whatever_the_floor_is_of(least):
    header, row = details_table(judged(both_arms(launches=3), least).cells, "tsv").splitlines()
    columns = [name.strip() for name in header.split("\t")]
    assert columns == list(HEADERS)
    assert row.split("\t")[columns.index("mean over requests")].startswith("0.683 [")
