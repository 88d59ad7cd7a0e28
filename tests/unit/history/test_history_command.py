"""``specfloor history`` as typed."""

import functools
import json
import sys

import msgspec
import pytest

from specfloor.history.index import HISTORY
from tests.unit.builders import CELL, both_arms, catalog
from tests.unit.history.builders import elsewhere, encode, entry, store

GLM52 = msgspec.structs.replace(CELL, release="0.23.0", family="glm-5.2", tier="high")


@pytest.fixture
def history(typed):
    return functools.partial(typed, "history")


@pytest.fixture
def reports(tmp_path):
    """A folder whose runs fell from 0.8 to 0.6 with the fifth, and one on another machine."""
    entries = [entry(day, 0.8 if day < 5 else 0.6, speedup=1.5) for day in range(1, 9)]
    entries.append(entry(9, 0.7, conditions=elsewhere(hardware="another")))
    entries.append(entry(10, cell=GLM52))
    (tmp_path / HISTORY).write_bytes(b"".join(map(encode, entries)))
    return tmp_path


def test_lines_are_shown_with_their_steps(history, reports):
    pytest.importorskip("ruptures")
    code, out, err = history(reports, "--family", CELL.family)
    assert (code, err) == (0, "")
    assert out.count(": acceptance rate (mean over requests), line ") == 2
    assert out.count(": speedup (geometric mean over launches), line ") == 1
    assert "on another\n" in out
    assert "Steps -25.0% from 0.800 to 0.600 with run run5 (cpu-2.0). Advisory: " in out
    assert "1 of the 6 runs that change points need." in out
    assert "No change point." in out
    (row,) = (line for line in out.splitlines() if "← steps" in line)
    assert row.split()[:4] == ["2026-05-05T10:00:00+00:00", "run5", "cpu-2.0", "0.600"]


def test_families_are_found_by_any_spelling(history, reports):
    for spelling in ("glm-5.2", "GLM_5_2"):
        code, out, _ = history(reports, "--family", spelling)
        assert code == 0
        assert out.count(", line ") == 1
        assert "run10" in out


def test_one_release_and_method(history, reports):
    _, out, _ = history(reports, "--release", "0.23.0", "--method", "mtp")
    assert out.count(", line ") == 1


def test_without_ruptures_the_trend_is_shown_and_one_sentence(history, reports, monkeypatch):
    monkeypatch.setitem(sys.modules, "ruptures", None)
    code, out, _ = history(reports)
    assert code == 0
    assert "run5" in out
    assert out.endswith(
        "Change points need ruptures, which is not here: pip install 'specfloor[changepoints]'.\n"
    )
    assert "No change point" not in out
    _, out, _ = history(reports, "--format", "json")
    assert {line["change_points"] for line in json.loads(out)["lines"]} == {None}


def test_json_for_programs(history, reports):
    pytest.importorskip("ruptures")
    _, out, _ = history(reports, "--family", CELL.family, "--format", "json")
    document = json.loads(out)
    assert document["schema"] == 1
    line = document["lines"][0]
    assert [spot["run"] for spot in line["spots"]] == [f"run{day}" for day in range(1, 9)]
    (change,) = line["change_points"]
    assert (change["run"], change["index"]) == ("run5", 4)


def test_csv_of_one_line_or_of_all_into_a_folder(history, reports):
    code, out, err = history(reports, "--format", "csv")
    assert (code, out) == (4, "")
    assert "4 lines fit, and a CSV file holds one" in err
    name = err.split(": ")[-1].split()[0]
    code, out, _ = history(reports, "--format", "csv", "--line", name)
    assert code == 0
    assert out.startswith("time,run,release,verdict,acceptance_rate,acceptance_length_pooled\n")
    code, out, _ = history(reports, "--format", "csv", "--into", reports / "otava")
    assert code == 0
    assert len(out.splitlines()) == 5
    assert len(list((reports / "otava").glob("*.csv"))) == 4


def test_damaged_lines_are_named_on_the_other_stream(history, reports):
    with (reports / HISTORY).open("ab") as file:
        file.write(b"broken\n")
    code, out, err = history(reports)
    assert code == 0
    assert "run10" in out
    assert err.startswith(f"skipped {reports / HISTORY} line 11: ")


def test_rebuild(history, tmp_path, monkeypatch):
    monkeypatch.setattr("specfloor.commands.history.load_catalog", catalog)
    store(tmp_path / "r1", both_arms())
    store(tmp_path / "r2", both_arms(), complete=False)
    code, out, err = history("--rebuild", tmp_path)
    assert code == 0
    assert out.count("r1") == 2
    assert "1 entries judged again, 0 lines kept as they were" in err
    assert f"skipped {tmp_path / 'r2'}: it did not come to its end" in err


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([entry(1, acceptance=None), entry(2, acceptance=None)], "no entry of {index} has accept"),
        ([], "{index} has no entries"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--release", CELL.release)])
def test_a_history_without_figures_says_so(history, tmp_path, entries, sentence, options):
    index = tmp_path / HISTORY
    index.write_bytes(b"".join(map(encode, entries)))
    code, out, err = history(tmp_path, *(options if entries else ()))
    assert (code, out) == (4, "")
    assert sentence.format(index=index) in err
    assert "without options" not in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{reports}/none"], "--rebuild"),
        (["{reports}", "--family", "glm-9"], "unknown family 'glm-9'; known here: glm-"),
        (["{reports}", "--line", "nothing"], "has no run that fits"),
        (["{reports}", "--into", "x"], "needs --format csv"),
    ],
)
def test_usage_errors_are_one_sentence(history, reports, arguments, sentence):
    code, out, err = history(*[argument.format(reports=reports) for argument in arguments])
    assert (code, out) == (4, "")
    assert sentence in err
    assert err.count("\n") == 1
