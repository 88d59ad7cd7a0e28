"""Rows of the ledger where Chinese readers meet them: in tables, reasons, page and bug text."""

import html
import re
from pathlib import Path

import pytest

from specfloor.bisect.report import as_text, conclude
from specfloor.bisect.run import search
from specfloor.catalog import load_catalog
from specfloor.cells import OFF, Cell
from specfloor.i18n import ledger_text, speaking
from specfloor.ledger import read_ledger
from specfloor.report.known import known_lines
from tests.unit.bisect.builders import Bench, state_of, truth
from tests.unit.builders import floor, launch, natural, report_only
from tests.unit.i18n.reading import english
from tests.unit.vendor.builders import write_run

CASES = Path(__file__).parents[2] / "cases"
OLD, NEW = "0.18.0", "0.23.0"
LATER = (3, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1)
"""Position 1 as ever, the later ones broken off."""
ROWS = {row.id: row for row in read_ledger().rows}
KEPT = "model runner v"
"""The name of a part of vLLM."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A run of a release with a known fault that shows, and of one that has its fix."""
    records, cells = [], []
    for release, accepted in ((OLD, LATER), (NEW, (3, 3, 2, 3))):
        cell = Cell(release, "glm-5", "mtp", 3, "code", "off", 1)
        cells.append(cell)
        records += [
            launch(OFF, cell=cell),
            *natural(cell=cell),
            launch(cell.arm, cell=cell),
            *natural(cell.arm, cell=cell, accepted=accepted),
        ]
    entries = (floor(0.6, family="glm-5"), report_only("speedup", family="glm-5"))
    return write_run(tmp_path_factory.mktemp("runs") / "r1", records, *entries, cells=cells)


def said(row):
    with speaking("zh"):
        return ledger_text(ROWS[row].symptom)


def flat(text):
    """Return a text without the breaks of lines and tables."""
    return re.sub(r"\s+", "", html.unescape(text))


@pytest.mark.parametrize("releases", [("--release", OLD), ("--release", OLD, "--release", NEW)])
def test_known_fixes(command, releases):
    asked = ("fixes", *releases, "--family", "glm-5", "--method", "mtp", "--all")
    text = command(*asked)
    assert english(text, KEPT) == []
    assert flat(said("10878"))[:8] in flat(text)
    programs = command(*asked, "--format", "json")
    assert ROWS["10878"].symptom in programs
    assert re.search(r"[\u4e00-\u9fff]", programs) is None


def test_triage(command):
    file = next((CASES / "logs" / "all-zero").glob("*.txt"))
    asked = ("triage", file, "--release", OLD, "--family", "glm-5", "--method", "mtp")
    text = command(*asked)
    assert said("7808") in text
    assert english(text, KEPT) == []
    programs = command(*asked, "--format", "json")
    assert ROWS["7808"].symptom in programs
    assert re.search(r"[\u4e00-\u9fff]", programs) is None


def test_what_a_run_is_about_to_confirm():
    cell = Cell(OLD, "glm-5", "mtp", 3, "code", "off", 1)
    with speaking("zh"):
        text = "\n".join(known_lines([cell], load_catalog(), read_ledger()))
    assert "  KNOWN  0.18.0 glm-5 mtp3：接受率故障 10878（0.18.0：受影响）" in text
    assert said("10878") in text
    assert english(text, KEPT) == []


def test_a_search_for_the_release(tmp_path):
    names = ("0.13.0rc1", "0.14.0rc1", "0.15.0rc1", "0.16.0rc1", "0.17.0rc1")
    ended = search(state_of(names), Bench(truth(names, 3)), lambda _: None, lambda _: None)
    with speaking("zh"):
        text = as_text(ended, conclude(ended, read_ledger()), tmp_path)
    assert said("10878") in text
    assert english(text, KEPT, "it is bad", "it is good", "as given") == []


def test_a_run_and_its_page(command, stored):
    text = command("report", stored, "--html")
    page = (stored / "index.html").read_text(encoding="utf-8")
    for shown in (text, page):
        assert flat(said("10878")) in flat(shown)
        assert ROWS["10878"].symptom not in shown


@pytest.mark.parametrize("style", ["text", "md", "html"])
def test_a_comparison(command, stored, style):
    text = command("compare", stored, "--format", style)
    assert flat(said("10878"))[:8] in flat(text)
    assert ROWS["10878"].symptom not in text


def test_a_report_to_the_vendor(typed, stored, tmp_path):
    text = tmp_path / "bug.md"
    typed("--lang", "zh", "bug", stored, "-o", text, "--archive", tmp_path / "bug.tar.gz")
    body = text.read_text(encoding="utf-8")
    assert said("10878") in body
    assert ROWS["10878"].symptom not in body
