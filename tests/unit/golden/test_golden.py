"""The golden file: written from runs, read as references, refused when it is none."""

import functools
import json
from importlib import resources

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.catalog.references import FOLDER, beside, load_references, references_for
from specfloor.cells import Cell
from specfloor.errors import UsageError
from specfloor.golden.export import export
from specfloor.golden.model import VERSION, decode, encode, schema
from specfloor.golden.references import references_of
from specfloor.i18n import speaking
from specfloor.judge.run import Basis, Wanted, write_basis
from specfloor.runs.records import Purpose
from specfloor.runs.store import RunWriter, read_run
from tests.unit.builders import CELL, RULE, both_arms, catalog, floor, floors, info, report_only

FLOORS = (floor(0.6), report_only("speedup"))


@pytest.fixture
def stored(tmp_path):
    def store(records, *entries, name="r1", **fields):
        wanted = (Wanted(CELL, frozenset(Purpose)),)
        with RunWriter(tmp_path / name, info(run=name, **fields)) as writer:
            write_basis(Basis(wanted, floors(*(entries or FLOORS)), RULE), writer.folder)
            for record in records:
                writer.append(record)
            writer.complete()
        return writer.folder

    return store


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER, str(tmp_path / "references"))
    return tmp_path / "references"


def exported(*folders, **fields):
    own = {"owner": "somebody"}
    return export(map(read_run, folders), catalog(), **own | fields)


def test_a_whole_cell_is_exported_with_its_conditions(stored):
    made = exported(stored(both_arms()))
    (golden,) = made.file.golden
    assert made.left_out == ()
    assert (golden.family, golden.method, golden.k, golden.tier) == (
        "glm-9.1-tiny",
        "mtp",
        3,
        "off",
    )
    assert golden.rate.value == pytest.approx(0.683, abs=0.001)
    assert golden.rate.interval.low < golden.rate.value < golden.rate.interval.high
    assert golden.length.value == pytest.approx(1 + 3 * golden.rate_pooled.value)
    assert [round(p.value, 3) for p in golden.per_position] == [0.9, 0.7, 0.45]
    at = golden.conditions
    assert (at.release, at.hardware, at.prompts, at.evidence) == (
        "cpu-2.0",
        "a processor, 2 cores",
        40,
        "A",
    )
    assert at.sampling == {"temperature": 0.0}


@pytest.mark.parametrize(
    ("on", "entries", "why"),
    [
        ({"answered": 12}, (), "12 of 40 prompts were sent"),
        ({"failed": [1]}, (), "1 of 40 requests failed"),
        ({"accepted": (0,) * 10}, (), "its verdict is FAIL: ACCEPT_ZERO"),
        ({}, (floor(0.9), report_only("speedup")), "its verdict is FAIL: ACCEPT_REGRESSION"),
    ],
)
def test_what_is_not_whole_or_does_not_hold_is_left_out(stored, on, entries, why):
    made = exported(stored(both_arms(on=on), *entries))
    assert made.file.golden == ()
    assert why in made.left_out[0].why


def test_what_was_not_measured_is_left_out(stored):
    assert exported(stored([])).left_out[0].why == "no acceptance was measured"
    with speaking("zh"):
        assert exported(stored([], name="r2")).left_out[0].why == "没有测得接受率"


def test_of_the_same_cell_the_youngest_run_counts(stored):
    worse = {"accepted": (3, 2, 3, 0, 1, 3, 2, 3, 2, 1)}
    young = stored(both_arms(on=worse), name="young", started="2026-07-01T10:00:00+00:00")
    old = stored(both_arms(), name="old")
    (golden,) = exported(young, old).file.golden
    assert golden.date.isoformat() == "2026-07-01"
    (golden,) = exported(old).file.golden
    assert golden.date.isoformat() == "2026-05-01"


def test_export_and_import_give_the_same_references(stored):
    file = exported(stored(both_arms())).file
    again = decode(encode(file), "a file")
    assert again == file
    rate, length, profile = references_of(again, load_catalog(), name="g.json")
    golden = file.golden[0]
    assert rate.value == (golden.rate.value,)
    assert rate.interval == (
        golden.rate.interval.low,
        golden.rate.interval.high,
        golden.rate.interval.level,
    )
    assert length.value == (golden.length.value,)
    assert profile.value == tuple(p.value for p in golden.per_position)
    assert {
        (r.kind, r.owner, r.source, r.prompts, r.thinking) for r in (rate, length, profile)
    } == {("golden", "somebody", "g.json", 40, False)}


def file_of(**changes):
    whole = {
        "format": "specfloor-golden",
        "version": VERSION,
        "owner": "somebody",
        "golden": [
            {
                "family": "glm_5_2",
                "method": "mtp",
                "k": 3,
                "workload": "code",
                "tier": "max",
                "concurrency": 1,
                "date": "2026-05-01",
                "conditions": {
                    "release": "0.23.0",
                    "hardware": "16 × 910C",
                    "fingerprint": "9f02923a314e18b2222213c5e77448ed",
                    "prompts": 80,
                    "sampling": {"temperature": 0, "top_p": 0.95, "max_tokens": 4096},
                },
                "rate": {"value": 0.7},
                "rate_pooled": {"value": 0.71},
                "length": {"value": 3.13},
                "per_position": [{"value": 0.9}, {"value": 0.7}, {"value": 0.53}],
                "steps": 9000,
            }
        ],
    }
    whole["golden"][0] |= changes
    return whole


def data_of(**changes):
    return json.dumps(file_of(**changes)).encode()


@pytest.mark.parametrize(
    "change",
    [
        {"rate": {"value": 1.2}},
        {
            "rate": {
                "value": 0.7,
                "interval": {"low": 0.8, "high": 0.9, "level": 0.9, "method": "t"},
            }
        },
        {
            "rate": {
                "value": 0.7,
                "interval": {"low": 0.8, "high": 0.6, "level": 0.9, "method": "t"},
            }
        },
        {"length": {"value": 4.5}},
        {"length": {"value": 0.5}},
        {"k": 2},
        {"k": 0},
        {"per_position": [{"value": 0.5}, {"value": 0.7}]},
        {"steps": "many"},
        {"colour": "blue"},
        {"family": ""},
    ],
)
def test_what_cannot_be_is_refused(change):
    assert decode(data_of(), "g.json").golden[0].k == 3
    with pytest.raises(UsageError, match=r"^g.json is not as the golden format has it"):
        decode(data_of(**change), "g.json")


def test_another_format_and_a_newer_version_are_refused():
    newer = file_of() | {"version": VERSION + 1, "shape": "new"}
    with pytest.raises(UsageError, match="reads up to 1; update specfloor"):
        decode(json.dumps(newer).encode(), "g.json")
    for data in (b"[1]", b"{", b"{}", b'{"format": "another"}'):
        with pytest.raises(UsageError, match="is no golden file"):
            decode(data, "g.json")


def test_the_shipped_schema_is_current():
    shipped = (resources.files("specfloor.golden") / "golden.schema.json").read_bytes()
    assert shipped == schema(), "run `python -m specfloor.golden`"
    assert json.loads(shipped)["$defs"]["Golden"]["required"][:3] == ["family", "method", "k"]


# the commands


@pytest.fixture
def specfloor(monkeypatch, typed):
    monkeypatch.setattr("specfloor.commands.golden.load_catalog", catalog)
    return functools.partial(typed, "golden")


def test_the_command_writes_a_file_and_reads_it_as_references(specfloor, stored, tmp_path, folder):
    path = tmp_path / "g.json"
    code, out, err = specfloor("export", stored(both_arms()), "-o", path, "--owner", "us")
    assert (code, out, err) == (0, f"{path}: 1 cells, 0 left out\n", "")
    code, out, err = specfloor("import", path)
    assert (code, err) == (0, "")
    assert f"3 references of glm-9.1-tiny, kept in {folder / 'g.json'}" in out
    assert [r.owner for r in references_for() if r.owner == "us"] == ["us"] * 3
    assert len(references_for()) == len(load_references()) + 3


def test_an_imported_reference_stands_beside_its_cell(specfloor, tmp_path):
    path = tmp_path / "theirs.json"
    path.write_bytes(data_of(family="glm-5.2"))
    cell = Cell("0.23.0", "glm-5.2", "mtp", 3, "code", "max", 1)
    assert not any("somebody" in line for line in beside(cell, 99))
    specfloor("import", path)
    lines = [line for line in beside(cell, 99) if "somebody" in line]
    assert len(lines) == 3
    assert lines[0].startswith(
        "acceptance rate 0.7 (somebody, golden; thinking on; code; 80 prompts"
    )
    path.write_bytes(data_of(family="glm-5.2", rate={"value": 0.6}))
    specfloor("import", path)
    assert any(line.startswith("acceptance rate 0.6 (somebody") for line in beside(cell, 99))
    assert len([line for line in beside(cell, 99) if "somebody" in line]) == 3


def test_nothing_is_taken_when_one_file_is_bad(specfloor, tmp_path, folder):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(data_of())
    bad.write_bytes(b"{}")
    code, _, err = specfloor("import", good, bad)
    assert code == 4
    assert err.count("\n") == 1
    assert not folder.exists()


def test_a_run_that_gives_nothing(specfloor, stored, tmp_path):
    code, out, err = specfloor("export", stored([]), "-o", tmp_path / "g.json")
    assert (code, out) == (10, "")
    assert "no acceptance was measured" in err
    assert not (tmp_path / "g.json").exists()


def test_without_a_file_it_goes_to_standard_output(specfloor, stored):
    _, out, _ = specfloor("export", stored(both_arms()))
    assert len(decode(out.encode(), "-").golden) == 1


def test_files_that_cannot_be_read_or_written(specfloor, stored, tmp_path, folder):
    assert specfloor("import", tmp_path / "none.json")[0] == 4
    assert specfloor("export", stored(both_arms()), "-o", tmp_path / "no" / "g.json")[0] == 4
    folder.write_text("in the way")
    (tmp_path / "g.json").write_bytes(data_of())
    code, _, err = specfloor("import", tmp_path / "g.json")
    assert code == 4
    assert FOLDER in err


def test_imported_references_that_are_damaged_say_how_to_mend_it(folder):
    folder.mkdir()
    (folder / "x.json").write_text("{")
    with pytest.raises(UsageError, match="imported references, cannot be read"):
        references_for("glm-5.2")


def test_a_family_that_the_catalogue_lacks_is_listed_last(specfloor, tmp_path):
    path = tmp_path / "g.json"
    path.write_bytes(data_of(family="of-tomorrow"))
    _, out, _ = specfloor("import", path)
    assert "the catalogue has no family of-tomorrow" in out
    assert references_for()[-1].family == "of-tomorrow"
    assert msgspec.to_builtins(references_for()[-1])["kind"] == "golden"
