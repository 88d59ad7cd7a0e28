"""The prior: whether it is worth its weights, and what it does where nothing is known."""

import functools
import itertools
import statistics

import msgspec
import pytest

from specfloor.bisect.line import line_of
from specfloor.bisect.prior import weights
from specfloor.bisect.search import Answer, next_probe
from specfloor.catalog import load_catalog
from specfloor.ledger import read_ledger
from specfloor.ledger.model import Kind
from specfloor.ledger.names import ANY, FAMILIES

LEDGER = read_ledger()
LINE = line_of(load_catalog(), LEDGER, "0.7.1rc1", "0.30.0rc2").names


def test_a_known_fault_of_the_family_is_where_the_search_begins():
    names = ("0.13.0rc1", "0.14.0rc1", "0.15.0rc1", "0.16.0rc1", "0.17.0rc1")
    found, why = weights(names, LEDGER, family="glm-5", method="mtp")
    # 10878 began with 0.16.0rc1
    row = next(row for row in LEDGER.rows if row.id == "10878")
    assert row.affected[0] == "0.16.0rc1"
    without = msgspec.structs.replace(
        LEDGER, rows=tuple(one for one in LEDGER.rows if one is not row)
    )
    before, _ = weights(names, without, family="glm-5", method="mtp")
    assert [a - b for a, b in zip(found, before, strict=True)][:3] == [
        0,
        0,
        pytest.approx(4),
    ]
    assert "rows of the ledger about glm-5 with mtp" in why


def test_families_and_methods_have_priors_of_their_own():
    one, _ = weights(LINE, LEDGER, family="glm-5.2", method="mtp")
    other, _ = weights(LINE, LEDGER, family="qwen3-moe", method="eagle3")
    assert one != other
    assert min(*one, *other) >= 1


def test_what_the_ledger_does_not_know_is_alike_and_says_so():
    found, why = weights(("cpu-0.28.0", "cpu-0.32.0"), LEDGER, family="glm-5", method="mtp")
    assert found == (1,)
    assert "does not know these releases" in why
    found, why = weights(("0.18.0", "0.23.0"), LEDGER, family="glm_moe_tiny", method="mtp")
    assert found == (1,)
    assert "glm_moe_tiny" in why
    found, _ = weights(("a", "0.18.0", "b", "0.23.0"), LEDGER, family="glm-5", method="mtp")
    assert found == (1, 1, 1), "a step to or from an unknown release has no rows of its own"


@functools.cache
def launches(priors, first_bad):
    answers = {}
    while probe := next_probe(priors, answers):
        answers[probe.place] = Answer.GOOD if probe.place < first_bad else Answer.BAD
    return len(answers)


def test_faults_of_the_ledger_are_found_sooner_than_with_weights_alike():
    """Each known beginning is left out of the ledger, then searched for with the rest of it."""
    alike = (1.0,) * (len(LINE) - 1)
    ours, plain = [], []
    for row in LEDGER.rows:
        if row.kind not in (Kind.ACCEPTANCE, Kind.ACCURACY) or not row.affected:
            continue
        there = [name for name in LINE if name in row.affected]
        if not there or there[0] == LINE[0]:
            continue
        place = LINE.index(there[0])
        rest = msgspec.structs.replace(
            LEDGER, rows=tuple(one for one in LEDGER.rows if one.id != row.id)
        )
        # one family and method a row, so that no row counts more than another
        family = next((FAMILIES[f][0] for f in row.families if FAMILIES.get(f)), "qwen3-moe")
        method = next((m for m in row.methods if m != ANY), "mtp")
        priors, _ = weights(LINE, rest, family=family, method=method)
        ours.append(launches(priors, place))
        plain.append(launches(alike, place))
    assert len(ours) > 40
    assert statistics.mean(ours) < statistics.mean(plain) - 0.7


def test_the_weights_are_as_many_as_the_steps_of_the_line():
    found, _ = weights(LINE, LEDGER, family="glm-5", method="mtp")
    assert len(found) == len(list(itertools.pairwise(LINE)))
