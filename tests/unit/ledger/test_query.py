"""Answers checked by hand against the rows they come from, affected and not affected."""

import datetime

import pytest

from specfloor.errors import UsageError
from specfloor.ledger import read_ledger
from specfloor.ledger.edit import in_order
from specfloor.ledger.model import Basis, Facet, Horizon, Kind, Ledger, Row, Signature, Tag
from specfloor.ledger.query import (
    FAULTS,
    Standing,
    compare,
    feels_like,
    first_shipped,
    missing,
    standing,
    why_unknown,
)

LEDGER = read_ledger()


def row(name):
    return next(row for row in LEDGER.rows if row.id == name)


def listed(release, family, method, **asked):
    return {
        entry.row.id: entry.standing
        for entry in missing(LEDGER, release, family=family, method=method, **asked).entries
    }


HAND_CHECKED = [
    # low MTP acceptance with SFA, DSA-CP and k > 1: brought by 7033, cured in 0.22.1rc1 already
    ("10878", "0.15.0rc1", Standing.CLEAR),
    ("10878", "0.16.0rc1", Standing.AFFECTED),
    ("10878", "0.18.0rc1", Standing.AFFECTED),
    ("10878", "0.18.0", Standing.AFFECTED),
    ("10878", "0.20.2rc1", Standing.AFFECTED),
    ("10878", "0.21.0rc1", Standing.AFFECTED),
    ("10878", "0.22.1rc1", Standing.FIXED),
    ("10878", "0.23.0", Standing.FIXED),
    # published after 0.16.0rc1, from a branch that never had the fault
    ("10878", "0.13.0rc3", Standing.CLEAR),
    # GLM-5.2 DSpark on a rotated target: DSpark came with 0.24.0rc1
    ("12262", "0.23.0", Standing.CLEAR),
    ("12262", "0.24.0rc1", Standing.POSSIBLY),
    ("12262", "0.25.1rc1", Standing.FIXED),
    # freed window of the KV cache: 0.24.0rc1 is newer in number than 0.23.0 and has no fix
    ("13047", "0.23.0rc1", Standing.POSSIBLY),
    ("13047", "0.23.0", Standing.FIXED),
    ("13047", "0.24.0rc1", Standing.POSSIBLY),
    ("13047", "0.25.1rc1", Standing.FIXED),
    ("13047", "0.19.1rc1", Standing.CLEAR),
    # reduced vocabulary with DFlash
    ("9795", "0.18.0", Standing.CLEAR),
    ("9795", "0.19.1rc1", Standing.POSSIBLY),
    ("9795", "0.20.2rc1", Standing.POSSIBLY),
    ("9795", "0.21.0rc1", Standing.FIXED),
    # everything accepted
    ("13470", "0.23.0", Standing.CLEAR),
    ("13470", "0.26.0rc1", Standing.POSSIBLY),
    ("13470", "0.27.1rc1", Standing.FIXED),
    # cured in one release only, and back in every later one
    ("12775", "0.25.1rc1", Standing.POSSIBLY),
    ("12775", "0.26.0rc1", Standing.FIXED),
    ("12775", "0.27.1rc1", Standing.POSSIBLY),
    ("12775", "0.30.0rc2", Standing.POSSIBLY),
    # a fault no release was ever published with
    ("14236", "0.26.0rc1", Standing.CLEAR),
    # a change whose fault has no known origin
    ("10907", "0.22.1rc1", Standing.UNKNOWN),
    ("10907", "0.23.0", Standing.FIXED),
    # a feature
    ("11765", "0.23.0", Standing.ABSENT),
    ("11765", "0.24.0rc1", Standing.FIXED),
]


@pytest.mark.parametrize(("name", "release", "expected"), HAND_CHECKED)
def test_a_release_stands_to_a_row_as_its_lists_say(name, release, expected):
    assert standing(row(name), release) is expected


def test_glm_5_mtp_on_0_18_0_lacks_the_shared_buffer_fix_first_of_all():
    found = missing(LEDGER, "0.18.0", family="glm-5", method="mtp")
    first = found.entries[0]
    assert found.unknown is None
    assert (first.row.id, first.standing, first.named) == ("10878", Standing.AFFECTED, True)
    assert (first.first, first.first_final) == ("0.22.1rc1", "0.23.0")
    assert first.row.avoided_by == ("num_speculative_tokens 1",)
    assert "later positions fall" in feels_like(first.row)


@pytest.mark.parametrize("release", ["0.15.0rc1", "0.22.1rc1", "0.23.0", "0.30.0rc2"])
def test_releases_without_that_fault_are_not_told_of_it(release):
    assert "10878" not in listed(release, "glm-5", "mtp")


@pytest.mark.parametrize(
    ("name", "family", "method", "affected", "clear"),
    [
        ("12262", "glm-5.2", "dspark", "0.24.0rc1", "0.25.1rc1"),
        ("13047", "deepseek-v4-flash", "mtp", "0.24.0rc1", "0.23.0"),
        ("9795", "qwen3-dense", "dflash", "0.20.2rc1", "0.21.0rc1"),
        ("13470", "qwen3-dense", "dspark", "0.26.0rc1", "0.27.1rc1"),
        ("7139", "glm-5", "mtp", "0.16.0rc1", "0.17.0rc1"),
        ("15422", "deepseek-v4-pro-0813", "dspark", "0.25.1rc1", "0.26.0rc1"),
        ("13045", "gemma4", "mtp", "0.23.0", "0.28.0rc1"),
        ("15346", "glm-5.3", "mtp", "0.26.0rc1", "0.27.1rc1"),
        ("7603", "llama3-eagle", "ngram", "0.17.0rc1", "0.18.0rc1"),
        ("16166", "qwen3.6-moe", "dspark", "0.26.0rc1", "0.27.1rc1"),
        ("14883", "deepseek-v3.2", "mtp", "0.29.0rc1", "0.30.0rc1"),
    ],
)
def test_known_acceptance_faults_are_listed_where_they_are_and_nowhere_else(
    name, family, method, affected, clear
):
    assert listed(affected, family, method)[name] in (Standing.AFFECTED, Standing.POSSIBLY)
    assert name not in listed(clear, family, method)


def test_other_families_and_methods_are_not_told():
    assert "10878" not in listed("0.18.0", "glm-4.7", "mtp")
    assert "10878" not in listed("0.18.0", "glm-5", "eagle3")
    assert "12262" not in listed("0.24.0rc1", "glm-5.2", "mtp")


def test_a_family_may_be_named_as_the_catalogue_or_as_the_ledger_does():
    assert listed("0.23.0", "qwen3.6-dense", "mtp") == listed("0.23.0", "qwen3.5", "mtp")
    assert listed("0.23.0", "glm-5.2", "deepseek_mtp") == listed("0.23.0", "glm-5.2", "mtp")


def test_a_family_without_a_name_in_the_ledger_is_told_of_rows_about_any():
    rows = [entry.row for entry in missing(LEDGER, "0.18.0", family="mimo").entries]
    assert rows
    assert all("any" in row.families for row in rows)


@pytest.mark.parametrize("asked", [{"family": "glm-9"}, {"method": "telepathy"}])
def test_a_name_nobody_knows_is_refused(asked):
    with pytest.raises(UsageError, match=r"glm-9|telepathy"):
        missing(LEDGER, "0.18.0", **asked)


def test_strong_evidence_comes_before_weak_and_acceptance_before_the_rest():
    entries = missing(LEDGER, "0.18.0", family="qwen3.5-dense").entries
    order = [Standing.AFFECTED, Standing.POSSIBLY, Standing.UNKNOWN]
    ranks = [order.index(entry.standing) for entry in entries]
    assert ranks == sorted(ranks)
    kinds = [list(Kind).index(e.row.kind) for e in entries if e.standing is Standing.UNKNOWN]
    assert kinds == sorted(kinds)


def test_a_setting_leaves_out_what_needs_another():
    without = listed("0.18.0", "glm-5", "mtp", setting={Facet.K_ABOVE_1: False})
    assert "10878" not in without
    assert "8982" in without
    assert "10878" in listed("0.18.0", "glm-5", "mtp", setting={Facet.K_ABOVE_1: True})


def test_going_up_in_number_can_lose_fixes():
    found = compare(LEDGER, "0.23.0", "0.25.1rc1")
    lost = {change.row.id: change for change in found.lost}
    assert lost["12867"].old is Standing.FIXED
    assert lost["12867"].new is Standing.POSSIBLY
    assert lost["12255"].new is Standing.AFFECTED
    assert {c.row.id for c in found.gained} >= {"12662", "13191"}
    assert not set(lost) & {c.row.id for c in found.gained}


def test_the_way_back_swaps_gains_and_losses():
    there = compare(LEDGER, "0.18.0", "0.23.0", family="glm-5", method="mtp")
    back = compare(LEDGER, "0.23.0", "0.18.0", family="glm-5", method="mtp")
    assert [c.row.id for c in there.gained] == [c.row.id for c in back.lost]
    assert [c.row.id for c in there.lost] == [c.row.id for c in back.gained]
    assert there.gained[0].row.id == "10878"


def test_a_release_against_itself_gains_and_loses_nothing():
    same = compare(LEDGER, "0.23.0", "v0.23.0")
    assert (same.gained, same.lost) == ((), ())


@pytest.mark.parametrize(
    ("release", "why"),
    [
        ("0.30.0", "past"),
        ("0.31.0rc1", "past"),
        ("0.26.0rc2", "not read"),
        ("0.18.0rc2", "no release"),
        ("0.23.0.post2", "no release"),
        ("0.11.0rc3.dev0+gabc1234", "development build"),
        ("cpu-0.32.0", "not a vLLM-Ascend release"),
    ],
)
def test_beyond_what_was_read_the_answer_is_unknown_with_the_date(release, why):
    found = missing(LEDGER, release, family="glm-5", method="mtp")
    assert found.entries == ()
    assert why in found.unknown
    assert "2026-10-13" in found.unknown
    assert why in compare(LEDGER, "0.23.0", release).unknown


@pytest.mark.parametrize("release", ["0.18.0", "v0.18.0", "0.18.0+empty"])
def test_versions_of_the_field_are_known(release):
    assert why_unknown(LEDGER, release) is None
    assert missing(LEDGER, release).release == "0.18.0"


def test_what_first_shipped_a_change_is_told_by_date_not_by_number():
    # 0.13.0rc3 came out after 0.13.0, on the same branch
    assert first_shipped(LEDGER, row("6517")) == "0.13.0"
    assert first_shipped(LEDGER, row("10878")) == "0.22.1rc1"
    assert first_shipped(LEDGER, row("10878"), final=True) == "0.23.0"
    assert first_shipped(LEDGER, row("15237")) is None


def test_every_kind_and_signature_can_be_put_in_words():
    words = {feels_like(one) for one in LEDGER.rows}
    assert len(words) == len(Signature) + len(Kind)
    assert "100 %" in feels_like(row("13470"))


def test_features_are_no_faults():
    assert Kind.FEATURE not in FAULTS
    kinds = {e.row.kind for e in missing(LEDGER, "0.18.0").entries}
    assert kinds == FAULTS
    absent = missing(LEDGER, "0.18.0", kinds=[Kind.FEATURE], family="glm-5.2", method="dspark")
    assert {e.standing for e in absent.entries} == {Standing.ABSENT}


def small(**fields):
    """A ledger of two tags and one row, to check the rules away from the data."""
    tags = tuple(
        Tag(name, datetime.date(2026, 1, day)) for name, day in (("0.2.0", 1), ("0.1.1", 9))
    )
    base = {
        "id": "1",
        "date": datetime.date(2026, 1, 1),
        "kind": Kind.ACCEPTANCE,
        "families": ("any",),
        "methods": ("mtp",),
        "symptom": "drafts are bad",
        "evidence": "read",
        "source": "here",
    }
    horizon = Horizon("0.2.0", datetime.date(2026, 1, 9))
    return in_order(Ledger(horizon, tags, (Row(**(base | fields)),)))


def test_a_maintenance_release_has_a_fix_that_a_higher_number_lacks():
    ledger = small(
        first_release="0.1.1", fixed_in=("0.1.1",), basis=Basis.FEATURE_PRESENT, affected=("0.2.0",)
    )
    assert missing(ledger, "0.1.1").entries == ()
    assert [e.standing for e in missing(ledger, "0.2.0").entries] == [Standing.POSSIBLY]
    assert [c.row.id for c in compare(ledger, "0.1.1", "0.2.0").lost] == ["1"]
    assert compare(ledger, "0.1.1", "0.2.0").gained == ()


def test_lacking_a_fix_of_unknown_origin_is_unknown_not_affected():
    ledger = small(first_release="0.1.1", fixed_in=("0.1.1",))
    assert [e.standing for e in missing(ledger, "0.2.0").entries] == [Standing.UNKNOWN]


def test_what_brought_the_fault_makes_the_evidence_strong():
    ledger = small(basis=Basis.INTRODUCED_BY, introduced_by=(7,), affected=("0.2.0",))
    (entry,) = missing(ledger, "0.2.0").entries
    assert entry.standing is Standing.AFFECTED
    assert (entry.first, entry.first_final) == (None, None)
