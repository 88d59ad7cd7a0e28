"""Adding a row: what is accepted, what is refused, and that the file stays in order."""

from pathlib import Path

import msgspec
import pytest

from specfloor.errors import UsageError
from specfloor.ledger import read_ledger
from specfloor.ledger.edit import add_file, add_rows, encode, faults_of, read_rows
from specfloor.ledger.model import Ledger

GOOD = """
[[row]]
id = "20001"
pr = 20001
date = 2026-10-12
kind = "acceptance"
families = ["glm-5.3"]
methods = ["mtp"]
symptom = "The second draft step starts from the wrong position"
conditions = ["K>1", "P/D"]
when = ["k>1", "pd"]
avoid = ["k>1"]
signature = "later-positions"
first_release = "0.30.0rc1"
fixed_in = ["0.30.0rc1", "0.30.0rc2"]
basis = "feature_present"
affected = ["0.28.0rc1", "0.29.0rc1"]
evidence = "commit message"
source = "vllm-ascend commit"
"""


@pytest.fixture
def ledger_path(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(encode(read_ledger()), encoding="utf-8")
    return path


def write(tmp_path, text, name="rows.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_is_added_where_its_date_puts_it(tmp_path, ledger_path):
    added = add_file(write(tmp_path, GOOD), ledger_path)
    after = msgspec.json.decode(ledger_path.read_bytes(), type=Ledger)
    assert [row.id for row in added] == ["20001"]
    assert len(after.rows) == len(read_ledger().rows) + 1
    dates = [row.date for row in after.rows]
    assert dates == sorted(dates, reverse=True)
    assert faults_of(after) == []
    assert list(tmp_path.glob("*.new")) == []


def test_the_other_lines_of_the_file_stay_as_they_were(tmp_path, ledger_path):
    before = ledger_path.read_text(encoding="utf-8").splitlines()
    add_file(write(tmp_path, GOOD), ledger_path)
    after = ledger_path.read_text(encoding="utf-8").splitlines()
    assert len(after) == len(before) + 1
    assert [line for line in after if '"20001"' not in line] == before


def test_json_says_the_same_as_toml(tmp_path):
    (row,) = read_rows(write(tmp_path, GOOD))
    text = msgspec.json.encode({"row": [row]}).decode()
    assert read_rows(write(tmp_path, text, "rows.json")) == (row,)


def test_the_order_of_adding_does_not_matter(tmp_path):
    one = read_rows(write(tmp_path, GOOD))
    two = read_rows(write(tmp_path, GOOD.replace("20001", "20002")))
    first = add_rows(add_rows(read_ledger(), one), two)
    second = add_rows(add_rows(read_ledger(), two), one)
    assert encode(first) == encode(second)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"glm-5.3"', '"glm-9"', "glm-9 is no family"),
        ('["mtp"]', '["telepathy"]', "telepathy is no method"),
        ('"0.30.0rc2"]', '"0.31.0"]', "0.31.0 is no release in fixed_in"),
        ('affected = ["0.28.0rc1"', 'affected = ["0.28.1"', "0.28.1 is no release in affected"),
        ('"0.30.0rc1", "0.30.0rc2"', '"0.30.0rc2", "0.30.0rc1"', "not in order of version"),
        ('affected = ["0.28.0rc1", "0.29.0rc1"]', "", "left out when the basis is unknown"),
        ('basis = "feature_present"', "", "left out when the basis is unknown"),
        ('"0.29.0rc1"]', '"0.30.0rc1"]', "cannot be fixed and affected"),
        ('first_release = "0.30.0rc1"', "", "first_release is given when"),
        ('first_release = "0.30.0rc1"', 'first_release = "0.29.0rc1"', "not in fixed_in"),
        ('kind = "acceptance"', 'kind = "crash"', "signature belongs"),
        ('avoid = ["k>1"]', 'avoid = ["async"]', "avoid names async"),
        (
            'symptom = "The second draft step starts from the wrong position"',
            'symptom = " "',
            "empty",
        ),
        ('families = ["glm-5.3"]', "families = []", "at least one"),
        ('id = "20001"', 'id = "10878"', "has row 10878 already"),
    ],
)
def test_a_row_that_cannot_be_true_is_refused(tmp_path, ledger_path, old, new, why):
    assert old in GOOD
    before = ledger_path.read_bytes()
    with pytest.raises(UsageError, match=why):
        add_file(write(tmp_path, GOOD.replace(old, new)), ledger_path)
    assert ledger_path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GOOD.replace("symptom", "sympton"), "sympton"),
        (GOOD.replace('evidence = "commit message"', ""), "evidence"),
        (GOOD.replace('kind = "acceptance"', 'kind = "vibes"'), "vibes"),
        (GOOD.replace('when = ["k>1", "pd"]', 'when = ["k>7"]'), "k>7"),
        (GOOD.replace("date = 2026-10-12", 'date = "soon"'), "date"),
        ("[[row", "rows.toml"),
        ("", "row"),
    ],
)
def test_a_file_of_another_shape_is_refused_with_where(tmp_path, ledger_path, text, why):
    with pytest.raises(UsageError, match=why) as refused:
        add_file(write(tmp_path, text), ledger_path)
    assert "rows.toml" in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path, ledger_path):
    with pytest.raises(UsageError, match=r"nowhere\.toml cannot be read"):
        add_file(tmp_path / "nowhere.toml", ledger_path)


def test_a_file_that_is_no_text_is_refused(tmp_path, ledger_path):
    path = tmp_path / "rows.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not text"):
        add_file(path, ledger_path)


def test_a_ledger_that_is_none_is_refused(tmp_path):
    broken = write(tmp_path, "{}", "ledger.json")
    with pytest.raises(UsageError, match="not a ledger"):
        add_file(write(tmp_path, GOOD), broken)


def test_a_ledger_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be rewritten"):
        add_file(write(tmp_path, GOOD), tmp_path / "no" / "ledger.json")


def test_the_row_the_guide_shows_can_be_added(tmp_path, ledger_path):
    guide = Path(__file__).parents[3] / "docs" / "ledger.md"
    shown = guide.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    assert len(add_file(write(tmp_path, shown), ledger_path)) == 1
