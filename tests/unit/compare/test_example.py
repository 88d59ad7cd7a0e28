"""The example in the documentation has the shape that the command gives, whatever its numbers."""

import itertools
from pathlib import Path

from specfloor.report.upgrade import HEADERS

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "compare.md"


def cells(line):
    return [part.strip() for part in line.strip("|").split("|")]


def test_the_example_is_of_this_version():
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# Upgrade cpu-0.28.0 → cpu-0.32.0: ")
    assert [line for line in lines if line.startswith("## ")] == [
        "## What was compared",
        "## What the ledger says",
        "## Families",
        "## Cells",
    ]
    heads = [cells(a) for a, b in itertools.pairwise(lines) if b.startswith("|--")]
    assert heads == [["family", "outcome", "why"], list(HEADERS[2:])]
    assert any("Not covered: cpu-0.28.0" in line for line in lines)
