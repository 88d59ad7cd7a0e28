"""The page as a file: beside the records, by the suite and by the command."""

import functools

import msgspec
import pytest

from specfloor.judge.run import Basis, Wanted, write_basis
from specfloor.report.files import write_page
from specfloor.runs.records import Purpose
from specfloor.runs.store import RunWriter, read_run
from tests.unit.builders import CELL, RULE, both_arms, catalog, floors, info, judged
from tests.unit.report.html.markup import Markup
from tests.unit.report.html.pages import HOLDS

OTHER = msgspec.structs.replace(CELL, workload="structured-output")


@pytest.fixture
def folder(tmp_path):
    """A stored run of two cells."""
    wanted = tuple(Wanted(cell, frozenset(Purpose)) for cell in (CELL, OTHER))
    with RunWriter(tmp_path / "r1", info()) as writer:
        write_basis(Basis(wanted, floors(*HOLDS), RULE), writer.folder)
        for record in both_arms():
            writer.append(record)
        writer.complete()
    return writer.folder


@pytest.fixture
def report(monkeypatch, typed, folder):
    """Run ``specfloor report`` on the run; return exit code, output and errors."""
    monkeypatch.setattr("specfloor.commands.report.load_catalog", catalog)
    return functools.partial(typed, "report", folder)


def test_a_page_is_written_beside_the_records(folder):
    run = read_run(folder)
    path = write_page(judged(run.records, *HOLDS), run, catalog())
    assert path == folder / "index.html"
    assert Markup(path.read_text(encoding="utf-8")).one("h1").text == (
        "Every cell with a floor holds it"
    )


def test_a_folder_that_cannot_be_written_is_said(report, folder):
    (folder / "index.html").mkdir()
    code, _, err = report("--html")
    assert code == 4
    assert f"{folder / 'index.html'} cannot be written" in err


def test_the_command_writes_the_page_and_judges_as_before(report, folder):
    code, out, _ = report("--html")
    plain_code, plain, _ = report()
    assert code == plain_code == 10
    page = folder / "index.html"
    assert out.replace(f"page: {page}\n", "") == plain
    assert len(Markup(page.read_text(encoding="utf-8")).all("details", of="cell")) == 2


def test_the_command_shows_one_cell(report, folder):
    code, out, _ = report("--html", "--cell", CELL.id)
    assert code == 0
    assert OTHER.id not in out
    page = folder / f"{CELL.id}.html"
    (cell,) = Markup(page.read_text(encoding="utf-8")).all("details", of="cell")
    assert cell["id"] == f"cell-{CELL.id}"
    assert "open" in cell.attributes


def test_the_name_of_a_page_of_many_cells_is_one_that_a_file_may_have(report, folder, monkeypatch):
    monkeypatch.setattr("specfloor.commands.report._LONGEST_NAME", len(CELL.id))
    report("--html", "--cell", CELL.id, "--cell", OTHER.id)
    assert [path.name for path in folder.glob("*.html")] == [f"{CELL.id}+1.html"]


def test_a_cell_that_the_run_has_not(report):
    code, _, err = report("--cell", "code")
    assert code == 4
    assert "unknown cell 'code'" in err
    assert CELL.id in err
