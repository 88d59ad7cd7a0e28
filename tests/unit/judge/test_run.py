"""A whole run judged, live and from its folder: the same records, the same words."""

import json

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.errors import UsageError
from specfloor.judge.run import Basis, Wanted, judge_stored, read_basis, write_basis
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import LaunchRecord, Purpose
from specfloor.runs.store import RunWriter, read_run
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    CELL,
    GLM,
    RULE,
    both_arms,
    catalog,
    fault,
    floor,
    floors,
    info,
    judged,
    launch,
    natural,
    report_only,
)

NATURAL, FORCED = Purpose.NATURAL, Purpose.FORCED
OTHER = msgspec.structs.replace(CELL, workload="structured-output")


def test_every_judgement_in_the_order_that_saves_days():
    (cell,) = judged(both_arms(), floor(0.6), report_only("speedup")).cells
    assert cell.judgements == [cell.configuration, cell.acceptance, cell.speed]
    assert cell.verdict is Verdict.PASS


def test_only_what_was_wanted_is_judged():
    (cell,) = judged(both_arms(), purposes=[NATURAL]).cells
    assert cell.speed is None
    assert cell.judgements == [cell.configuration, cell.acceptance]
    (cell,) = judged(both_arms(), purposes=[FORCED]).cells
    assert cell.judgements == [cell.speed]
    assert cell.verdict is None


@pytest.mark.parametrize(
    ("records", "worst"),
    [
        (both_arms(), Verdict.PASS),
        (both_arms(on={"accepted": (0,) * 10}), Verdict.FAIL),
        ([fault(Finding.START_FAIL, CELL.arm), launch(OFF)], Verdict.FAIL),
        ([fault(Finding.START_FAIL, OFF), launch(CELL.arm), *natural(CELL.arm)], Verdict.NO_DATA),
        ([], Verdict.NO_DATA),
    ],
)
def test_the_worst_verdict_is_that_of_the_cell(records, worst):
    result = judged(records, floor(0.6), report_only("speedup"))
    assert result.cells[0].verdict is worst
    assert bool(result.broken) is (worst is not Verdict.PASS)


def test_inconclusive_is_worse_than_a_pass_and_better_than_no_data():
    records = both_arms()
    (cell,) = judged(records, floor(0.6), floor(1.3, "speedup")).cells
    assert cell.speed.verdict is Verdict.INCONCLUSIVE
    assert cell.verdict is Verdict.INCONCLUSIVE
    assert judged(records, floor(0.6), floor(1.3, "speedup")).broken == [cell.speed]


def test_cells_are_judged_apart():
    records = [*both_arms(), *natural(cell=OTHER), *natural(OTHER.arm, cell=OTHER, accepted=(0, 0))]
    result = judged(records, floor(0.6), cells=[CELL, OTHER], purposes=[NATURAL])
    assert [cell.verdict for cell in result.cells] == [Verdict.PASS, Verdict.FAIL]
    assert len(result.judgements) == 4
    assert [one.cell for one in result.broken] == [OTHER]


@pytest.fixture
def stored(tmp_path):
    def store(records, *entries):
        basis = Basis((Wanted(CELL, frozenset(Purpose)),), floors(*entries), RULE)
        with RunWriter(tmp_path / "r", info()) as writer:
            write_basis(basis, writer.folder)
            for record in records:
                writer.append(record)
        return writer.folder

    return store


@pytest.mark.parametrize(
    "records",
    [
        both_arms(launches=3),
        both_arms(on={"accepted": (0,) * 10, "answered": 31}),
        [fault(Finding.START_FAIL, CELL.arm, cause="no memory"), *both_arms()[:20]],
        [],
    ],
)
def test_a_stored_run_gives_the_same_words(stored, records):
    entries = (floor(0.6), floor(1.3, "speedup"))
    folder = stored(records, *entries)
    again = judge_stored(read_run(folder), catalog())
    live = judged(records, *entries)
    assert msgspec.json.encode(again) == msgspec.json.encode(live)


def test_a_basis_survives_its_file_byte_for_byte(stored, tmp_path):
    folder = stored([], floor(0.6, k=3), report_only("speedup"))
    basis = read_basis(folder)
    assert basis == Basis(
        (Wanted(CELL, frozenset(Purpose)),), floors(floor(0.6, k=3), report_only("speedup")), RULE
    )
    assert json.loads((folder / "basis.json").read_text())["wanted"][0]["purposes"] == [
        "forced",
        "natural",
    ]
    write_basis(basis, tmp_path)
    assert (tmp_path / "basis.json").read_bytes() == (folder / "basis.json").read_bytes()


@pytest.mark.parametrize("text", ["", "{}", '{"wanted": [], "rule": {"alpha": 2}}'])
def test_a_basis_that_is_none(stored, text):
    folder = stored([])
    (folder / "basis.json").write_text(text)
    with pytest.raises(UsageError, match=r"basis\.json is not a basis\.json of this version"):
        judge_stored(read_run(folder), catalog())


def test_a_run_without_a_basis(stored):
    folder = stored([])
    (folder / "basis.json").unlink()
    with pytest.raises(UsageError, match="without it a run cannot be judged again"):
        judge_stored(read_run(folder), catalog())


def test_a_run_of_a_family_that_is_not_known_any_more(stored):
    folder = stored(both_arms())
    others = catalog(msgspec.structs.replace(GLM, name="glm-10", aliases=()))
    with pytest.raises(UsageError, match=r"unknown family 'glm-9\.1-tiny'; known here: glm-10"):
        judge_stored(read_run(folder), others)


def test_a_configuration_in_effect_is_no_pass_of_a_cell_that_is_only_reported():
    (cell,) = judged(both_arms()).cells
    assert cell.configuration.verdict is Verdict.PASS
    assert cell.verdict is None


def test_a_configuration_that_is_not_in_effect_fails_the_cell():
    records = [
        msgspec.structs.replace(r, resolved_k=1)
        if isinstance(r, LaunchRecord) and r.key.arm.speculates
        else r
        for r in both_arms()
    ]
    (cell,) = judged(records).cells
    assert cell.verdict is Verdict.FAIL
