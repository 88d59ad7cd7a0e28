"""Floors: which entry is about which cell, and entries that cannot be."""

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.errors import UsageError
from specfloor.judge.floors import Floor, Quantity, ReportOnly, check_floors, read_floors
from tests.unit.builders import (
    CELL,
    DRIFTED,
    FIXTURES,
    GLM,
    catalog,
    floor,
    floors,
    report_only,
)

RATE, LENGTH, SPEEDUP, FLIP = Quantity

FLOOR = """
[[floor]]
family = "glm-9.1-tiny"
method = "mtp"
quantity = "acceptance_rate"
value = 0.5
source = "a run"
date = 2026-05-01
hardware = "two cores"
reason = "it was reached"
n = 40
"""
REPORTED = """
[[report_only]]
family = "glm-9.1-tiny"
method = "mtp"
quantity = "speedup"
reason = "nothing to go by"
"""


@pytest.fixture
def written(tmp_path):
    def write(*texts):
        paths = [tmp_path / f"{number}.toml" for number, _ in enumerate(texts)]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return read_floors(paths)

    return write


def test_a_floor_says_where_it_comes_from(written):
    found = written(FLOOR, REPORTED)
    (one,) = found.floors
    assert (one.value, one.source, str(one.date), one.n) == (0.5, "a run", "2026-05-01", 40)
    assert found.report_only[0].reason == "nothing to go by"
    history = '\n[[floor.history]]\nvalue = 0.6\nuntil = 2026-05-01\nreason = "sampler changed"\n'
    assert written(FLOOR + history).floors[0].history[0].value == 0.6


@pytest.mark.parametrize(
    "missing", ["source", "date", "hardware", "reason", "n", "value", "family"]
)
def test_a_floor_without_its_provenance_is_none(written, missing):
    text = "\n".join(line for line in FLOOR.splitlines() if not line.startswith(f"{missing} "))
    with pytest.raises(UsageError, match=rf"0\.toml: .*{missing}"):
        written(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FLOOR.replace("0.5", '"half"'), "Expected `float`"),
        (FLOOR.replace("acceptance_rate", "tokens"), "Invalid enum value 'tokens'"),
        (FLOOR.replace("n = 40", "n = 40\nvalu = 1"), "unknown field `valu`"),
        (REPORTED.replace("reason", "because"), "unknown field `because`"),
        ("floor = [", "Invalid value"),
        ("[[flor]]\nvalue = 1\n", "unknown field `flor`"),
    ],
)
def test_a_file_that_is_not_of_its_shape_names_itself(written, text, message):
    with pytest.raises(UsageError, match=rf"^floor file .*0\.toml: .*{message}"):
        written(text)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"none\.toml cannot be read \(No such file"):
        read_floors([tmp_path / "none.toml"])


def test_a_file_in_another_encoding_is_named(tmp_path):
    path = tmp_path / "floors.toml"
    path.write_bytes(FLOOR.replace("it was reached", "实测").encode("gbk"))
    with pytest.raises(UsageError, match=r"floors\.toml: 'utf-8' codec can't decode"):
        read_floors([path])


@pytest.mark.parametrize(
    ("quantity", "bad", "good"),
    [
        (RATE, (0.0, 1.0, -0.1, 71.0), 0.71),
        (LENGTH, (1.0, 0.7, 0.0), 2.9),
        (SPEEDUP, (0.0, -1.0), 0.9),
    ],
)
def test_a_value_out_of_its_range(written, quantity, bad, good):
    text = FLOOR.replace("acceptance_rate", quantity)
    for value in bad:
        with pytest.raises(UsageError, match=rf"the floor {value} for the {quantity} .* is out"):
            written(text.replace("0.5", str(value)))
    assert written(text.replace("0.5", str(good))).floors[0].value == good


def test_two_floors_for_the_same_cells(written):
    with pytest.raises(UsageError, match=r"two floors for the acceptance_rate of glm.*keep one"):
        written(FLOOR, FLOOR)
    with pytest.raises(UsageError, match=r"two report_only for the speedup of glm.*keep one"):
        written(REPORTED + REPORTED)


@pytest.mark.parametrize(
    "narrower",
    ["k = 3", 'workload = "code"', 'tier = "off"', "concurrency = 1", 'family = "glm_9_1_tiny"'],
)
def test_two_floors_that_share_cells(written, narrower):
    name = narrower.partition(" ")[0]
    other = "\n".join(line for line in FLOOR.splitlines() if not line.startswith(f"{name} "))
    with pytest.raises(UsageError, match=r"two floors share cells, the .* and the .*; part them"):
        written(FLOOR, f"{other}\n{narrower}\n")


def test_a_rate_and_a_length_are_both_the_floor_of_acceptance(written):
    length = FLOOR.replace("acceptance_rate", "acceptance_length").replace("0.5", "2.5")
    with pytest.raises(UsageError, match="two floors share cells"):
        written(FLOOR, length)
    assert len(written(FLOOR + "k = 1\n", length + "k = 3\n").floors) == 2


def test_a_speedup_and_where_it_flips_are_two_things(written):
    speed, flip = (FLOOR.replace("acceptance_rate", quantity) for quantity in (SPEEDUP, FLIP))
    assert len(written(speed, flip.replace("0.5", "16")).floors) == 2
    with pytest.raises(UsageError, match="two floors"):
        written(flip, flip)


def test_floors_that_share_no_cell_stand_together(written):
    parts = ('workload = "code"', 'workload = "structured-output"\nk = 3', 'workload = "x"\nk = 1')
    speed = FLOOR.replace("acceptance_rate", "speedup")
    assert len(written(*(f"{FLOOR}{part}\n" for part in parts), speed).floors) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("k = 1", "k = 3"),
        ('workload = "code"', 'workload = "x"'),
        ('tier = "off"', 'tier = "on"'),
        ("concurrency = 1", "concurrency = 4"),
    ],
)
def test_one_difference_sets_them_apart(written, one, other):
    assert len(written(f"{FLOOR}{one}\n", f"{FLOOR}{other}\n").floors) == 2


def test_a_report_only_that_a_floor_leaves_no_cell(written):
    reported = REPORTED.replace("speedup", "acceptance_rate")
    with pytest.raises(UsageError, match=r"the report_only for the .* is never used: a floor"):
        written(FLOOR, reported + 'workload = "code"\n')
    # the other way round it holds for the rest
    found = written(FLOOR + 'workload = "code"\n', reported)
    other = msgspec.structs.replace(CELL, workload="structured-output")
    assert isinstance(found.of(CELL, RATE, GLM), Floor)
    assert isinstance(found.of(other, RATE, GLM), ReportOnly)


@pytest.mark.parametrize(
    "narrower", ["k = 3", 'workload = "code"', 'tier = "off"', "concurrency = 1"]
)
def test_a_floor_that_leaves_it_some(written, narrower):
    reported = REPORTED.replace("speedup", "acceptance_rate")
    assert written(f"{FLOOR}{narrower}\n", reported).report_only
    with pytest.raises(UsageError, match="is never used: a floor"):
        written(f"{FLOOR}{narrower}\n", f"{reported}{narrower}\n")
    elsewhere = reported.replace("glm-9.1-tiny", "small").replace('"mtp"', '"ngram"')
    assert written(FLOOR, elsewhere).report_only


def test_a_message_names_the_whole_scope(written):
    with pytest.raises(UsageError) as caught:
        written(FLOOR + "k = 3\nconcurrency = 2\n", FLOOR + 'workload = "code"\n')
    assert str(caught.value) == (
        "two floors share cells, the acceptance_rate of glm-9.1-tiny mtp k=3, workload *, tier *, "
        "concurrency 2 and the acceptance_rate of glm-9.1-tiny mtp any k, workload code, tier *; "
        "part them"
    )


@pytest.mark.parametrize(
    "scope",
    [
        {},
        {"family": "GLM_9_1_TINY", "method": "MTP"},
        {"k": 3},
        {"workload": "code"},
        {"tier": "off"},
        {"concurrency": 1},
        {"k": 3, "workload": "code", "tier": "off", "concurrency": 1},
    ],
)
def test_an_entry_that_covers_the_cell(scope):
    assert floors(floor(**scope)).of(CELL, RATE, GLM) is not None


@pytest.mark.parametrize(
    "scope",
    [
        {"family": "small"},
        {"method": "draft_model"},
        {"k": 1},
        {"workload": "structured-output"},
        {"tier": "on"},
        {"concurrency": 2},
        {"quantity": "speedup"},
    ],
)
def test_an_entry_that_is_about_others(scope):
    assert floors(floor(**scope)).of(CELL, RATE, GLM) is None


def test_a_family_that_has_the_floors_of_another():
    drifted = msgspec.structs.replace(CELL, family=DRIFTED.name)
    mine, own = floor(), floor(family=DRIFTED.name)
    assert floors(mine).of(drifted, RATE, DRIFTED) == mine
    assert floors(own).of(drifted, RATE, DRIFTED) is None


def test_the_floor_of_acceptance_is_a_rate_or_a_length():
    rate, length = floor(), floor(2.5, "acceptance_length")
    assert floors(rate).of_acceptance(CELL, GLM) == rate
    assert floors(length).of_acceptance(CELL, GLM) == length
    assert floors(length, report_only()).of_acceptance(CELL, GLM) == length
    reported = report_only("acceptance_length")
    assert floors(rate, reported).of_acceptance(CELL, GLM) == rate
    assert floors(reported).of_acceptance(CELL, GLM) == reported
    assert floors(report_only(), reported).of_acceptance(CELL, GLM) == report_only()
    assert floors(floor(1.3, "speedup")).of_acceptance(CELL, GLM) is None


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (floor(family="glm-9.2"), "names a family that is not known"),
        (floor(method="eagle3"), "is never used: no cell"),
        (floor(k=2), "is never used: no cell"),
        (floor(workload="cod"), "is never used: no cell"),
        (report_only(tier="high"), "is never used: no cell"),
        (floor(family=DRIFTED.name), "is never used: glm-drifted has the floors of glm-9.1-tiny"),
    ],
)
def test_an_idle_entry_is_an_error(entry, message):
    with pytest.raises(UsageError, match=message):
        check_floors(floors(entry, report_only("speedup")), catalog(), [])


def test_a_cell_with_nothing_set_is_an_error():
    other = msgspec.structs.replace(CELL, workload="structured-output")
    only_code = floors(floor(workload="code"), report_only("speedup"))
    check_floors(only_code, catalog(), [CELL])
    with pytest.raises(UsageError, match=rf"no floor for the acceptance_rate of {other.id}; add a"):
        check_floors(only_code, catalog(), [CELL, other])
    with pytest.raises(UsageError, match=rf"no floor for the speedup of {CELL.id}"):
        check_floors(floors(floor()), catalog(), [CELL])
    check_floors(floors(floor(2.5, "acceptance_length"), floor(1.3, "speedup")), catalog(), [CELL])


def test_the_floors_of_this_repository():
    paths = sorted((FIXTURES / "floors").glob("*.toml"))
    assert paths
    check_floors(read_floors(paths), load_catalog(), [])
