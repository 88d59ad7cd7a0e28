"""``specfloor fixes`` as typed."""

import json

import pytest
from click.testing import CliRunner

from specfloor.commands.fixes import fixes
from specfloor.errors import UsageError
from specfloor.ledger import read_ledger
from specfloor.ledger.edit import encode


def run(*arguments):
    result = CliRunner().invoke(fixes, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


GLM5 = ("--release", "0.18.0", "--family", "glm-5", "--method", "mtp")


def test_what_a_release_lacks_is_told_with_what_it_feels_like_and_how_to_avoid_it():
    text = run(*GLM5)
    assert text.index("10878") < text.index("14883")
    for part in ("affected", "num_speculative_tokens 1", "0.22.1rc1", "2026-10-13", "--all lists"):
        assert part in text
    assert "13604" not in text
    assert "13604" in run(*GLM5, "--all")


def test_a_release_with_the_fix_is_not_told_of_it():
    assert "10878" not in run(
        "--release", "0.23.0", "--family", "glm-5", "--method", "mtp", "--all"
    )


def test_k_leaves_out_what_needs_more_drafts():
    assert "10878" not in run(*GLM5, "--spec-tokens", "1")
    assert "10878" in run(*GLM5, "--spec-tokens", "3")


def test_a_kind_narrows_the_list():
    text = run(*GLM5, "--kind", "crash", "--all")
    assert "crash" in text
    assert "10878" not in text


def test_two_releases_are_compared_both_ways():
    text = run("--release", "0.23.0", "--release", "0.25.1rc1")
    gains, loses = text.split("\nloses ")
    assert "12867" in loses
    assert "12867" not in gains
    assert "13191" in gains


def test_json_has_the_same_rows():
    found = json.loads(run(*GLM5, "--format", "json"))
    assert found["unknown"] is None
    assert found["entries"][0]["row"]["id"] == "10878"
    assert found["entries"][0]["avoided_by"] == ["num_speculative_tokens 1"]
    both = json.loads(run("--release", "0.23.0", "--release", "0.25.1rc1", "--format", "json"))
    assert "12867" in {change["row"]["id"] for change in both["lost"]}


@pytest.mark.parametrize("release", ["0.31.0", "0.26.0rc2", "0.18.0rc2"])
def test_what_was_not_read_is_unknown_with_the_date(release):
    text = run("--release", release, "--family", "glm-5")
    assert "UNKNOWN" in text
    assert "2026-10-13" in text
    assert "UNKNOWN" in run("--release", "0.23.0", "--release", release)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "--release once"),
        (("--release", "0.18.0") * 3, "--release once"),
        (("--release", "8.5.0"), "CANN"),
        (("--release", "cpu-0.32.0"), "not a version"),
        (("--release", "0.18.0", "--family", "glm-9"), "unknown family"),
        (("--release", "0.18.0", "--method", "telepathy"), "telepathy"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(arguments, why):
    with pytest.raises(UsageError, match=why):
        CliRunner().invoke(fixes, arguments, catch_exceptions=False)


@pytest.fixture
def row(tmp_path):
    """A file with a row to add."""
    row = {
        "id": "20001",
        "date": "2026-10-12",
        "kind": "perf",
        "families": ["any"],
        "methods": ["mtp"],
        "symptom": "Drafting is slow",
        "evidence": "issue",
        "source": "issue",
    }
    file = tmp_path / "row.json"
    file.write_text(json.dumps({"row": [row]}), encoding="utf-8")
    return file


@pytest.fixture
def copy(tmp_path):
    """A ledger to add to."""
    ledger = tmp_path / "ledger.json"
    ledger.write_text(encode(read_ledger()), encoding="utf-8")
    return ledger


def test_add_puts_a_row_into_the_ledger_named(row, copy):
    assert run("add", str(row), "--ledger", str(copy)) == "added 1: 20001\n"
    assert '"20001"' in copy.read_text(encoding="utf-8")


def test_add_to_the_ledger_that_is_shown_says_where_its_chinese_goes(row, copy, monkeypatch):
    monkeypatch.setattr("specfloor.commands.fixes.ledger_file", lambda: copy)
    said = run("add", str(row))
    assert "their symptoms and conditions stay English until ledger.po has their Chinese" in said
    assert '"20001"' in copy.read_text(encoding="utf-8")
