"""The ledger that ships: of its shape, in its order, and in step with the catalogue."""

import datetime
import json

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.ledger import ledger_file, read_ledger
from specfloor.ledger.edit import encode, faults_of, in_order
from specfloor.ledger.model import AVOIDED_BY, Basis, Facet, Kind, Ledger
from specfloor.ledger.names import ANY, FAMILIES, METHODS, WITHOUT_ROWS
from specfloor.ledger.query import first_shipped, why_unknown

LEDGER = read_ledger()
ASCEND = {name: f for name, f in load_catalog().families.items() if f.platform == "ascend"}
RELEASES = {name: r for name, r in load_catalog().releases.items() if r.platform == "ascend"}


def test_the_file_is_as_the_project_writes_it():
    text = ledger_file().read_text(encoding="utf-8")
    assert text == encode(in_order(LEDGER))
    assert msgspec.json.decode(text, type=Ledger) == LEDGER


def test_no_row_contradicts_itself_or_the_rest():
    assert faults_of(LEDGER) == []


def test_it_has_every_row_and_the_date_it_ends():
    assert len(LEDGER.rows) == 493
    assert LEDGER.horizon.release == "0.30.0rc2"
    assert LEDGER.horizon.date == datetime.date(2026, 10, 13)


def test_every_row_names_its_source():
    assert [row.id for row in LEDGER.rows if not (row.evidence and row.source)] == []
    assert [row.id for row in LEDGER.rows if row.pr and str(row.pr) != row.id] == []


def test_the_releases_of_catalogue_and_ledger_are_the_same():
    assert {tag.name for tag in LEDGER.tags} == set(RELEASES)


@pytest.mark.parametrize("release", sorted(RELEASES))
def test_a_release_of_the_catalogue_is_known_and_dated_alike(release):
    assert why_unknown(LEDGER, release) is None
    (tag,) = [tag for tag in LEDGER.tags if tag.name == release]
    # one dates the tag, the other the release note's window
    apart = abs(tag.date - datetime.date.fromisoformat(RELEASES[release].date))
    assert apart <= datetime.timedelta(days=5)


def test_every_ledger_family_is_mapped_and_only_to_families_there_are():
    used = {name for row in LEDGER.rows for name in row.families} - {ANY}
    assert used <= set(FAMILIES)
    assert {family for families in FAMILIES.values() for family in families} <= set(ASCEND)


def test_every_ascend_family_is_filed_once_or_said_to_have_no_name():
    filed = [family for families in FAMILIES.values() for family in families]
    assert len(filed) == len(set(filed))
    assert set(filed) | set(WITHOUT_ROWS) == set(ASCEND)
    assert not set(filed) & set(WITHOUT_ROWS)


def test_a_ledger_name_that_is_a_catalogue_name_covers_that_family():
    names = {name: family.name for family in ASCEND.values() for name in family.aliases}
    names |= {name: name for name in ASCEND}
    assert {n for n in FAMILIES if n in names and names[n] not in FAMILIES[n]} == set()


def test_every_method_is_one_of_the_ledgers():
    assert {name for row in LEDGER.rows for name in row.methods} - {ANY} <= set(METHODS)
    methods = {method.name for family in ASCEND.values() for method in family.methods}
    assert methods <= set(METHODS)


def test_what_the_catalogue_says_of_first_releases_is_what_the_ledger_has():
    wrong = [
        (family.name, method.name)
        for family in ASCEND.values()
        for method in family.methods
        if method.releases is not None and method.first_release not in method.releases
    ]
    assert wrong == []


def test_every_facet_is_used_or_can_be_avoided():
    used = {facet for row in LEDGER.rows for facet in row.when}
    assert set(AVOIDED_BY) <= set(Facet)
    assert used <= set(Facet)
    assert set(AVOIDED_BY) - used == set()


def test_acceptance_rows_with_figures_have_a_signature():
    bare = [r.id for r in LEDGER.rows if r.kind is Kind.ACCEPTANCE and r.before and not r.signature]
    assert bare == []


def test_the_first_release_of_a_change_never_ships_before_the_first_of_all():
    dates = {tag.name: tag.date for tag in LEDGER.tags}
    late = [
        row.id
        for row in LEDGER.rows
        if row.first_release and dates[row.first_release] < dates[first_shipped(LEDGER, row)]
    ]
    assert late == []


def test_strong_evidence_names_what_brought_the_fault():
    assert [
        row.id
        for row in LEDGER.rows
        if row.basis is Basis.INTRODUCED_BY and not (row.introduced_by or row.affected == ())
    ] == []


def test_the_file_is_one_row_a_line():
    lines = ledger_file().read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith('{"id"')]
    assert len(rows) == len(LEDGER.rows)
    assert json.loads(rows[0].rstrip(","))["id"] == LEDGER.rows[0].id
