"""The known faults of a release against what was measured on it."""

import msgspec

from specfloor.catalog import load_catalog
from specfloor.cells import OFF, Cell
from specfloor.judge.baseline import baseline_of_release
from specfloor.judge.book import JudgementBook
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.known import State, judge_known_faults, known_before, seen_of
from specfloor.judge.verdict import Verdict
from specfloor.ledger import read_ledger
from specfloor.ledger.model import Facet, Kind, Signature
from specfloor.triage.findings import Finding
from tests.unit import builders
from tests.unit.builders import (
    ACCEPTED,
    CELL,
    RULE,
    fault,
    floor,
    floors,
    launch,
    natural,
    report_only,
)

GLM = Cell("0.18.0", "glm-5", "mtp", 3, "code", "off", 1)
LATER = (3, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1)
"""Position 1 as ever, the later ones broken off."""


NEWER = msgspec.structs.replace(
    load_catalog().releases["0.30.0rc2"], name="0.99.0", vllm_ascend="0.99.0"
)


def catalog():
    """Return the catalogue with a release past the ledger, and the tests' own beside."""
    known, own = load_catalog(), builders.catalog()
    releases = known.releases | own.releases | {NEWER.name: NEWER}
    return msgspec.structs.replace(known, releases=releases, families=known.families | own.families)


def judged(cell, *, launched=None, on=None, entry=0.6, records=None):
    """Return the judgement of a run of one cell, made of natural blocks."""
    made = [
        launch(OFF, cell=cell),
        *natural(cell=cell),
        launch(cell.arm, cell=cell, **(launched or {})),
        *natural(cell.arm, cell=cell, **(on or {})),
    ]
    own = {"family": cell.family, "method": cell.method}
    kept = floor(entry, **own) if entry else report_only(**own)
    book = JudgementBook(
        RecordIndex(made if records is None else records),
        catalog(),
        floors(kept),
        RULE,
        hardware="here",
    )
    acceptance, configuration = book.acceptance(cell), book.configuration(cell)
    return judge_known_faults(acceptance, configuration, catalog(), read_ledger())


def states(judgement):
    return {fault.fix.change: fault.state for fault in judgement.faults}


def test_a_loss_that_bears_the_signature_is_the_known_fault():
    judgement = judged(GLM, on={"accepted": LATER})
    assert (judgement.verdict, judgement.findings) == (Verdict.FAIL, (Finding.KNOWN_FIX,))
    assert judgement.reason.startswith("KNOWN_FIX(0.23.0")
    assert judgement.faults[0].fix.change == "10878"
    assert states(judgement)["10878"] is State.SHOWN


def test_another_loss_is_not_that_fault():
    judgement = judged(GLM, on={"accepted": (0,) * 10})
    assert states(judgement)["10878"] is State.EXCLUDED
    assert State.SHOWN not in states(judgement).values()


def test_a_cell_that_holds_its_floor_excludes_it():
    judgement = judged(GLM)
    assert states(judgement)["10878"] is State.EXCLUDED
    assert judgement.verdict is Verdict.PASS
    assert "no known fault is shown here" in judgement.reason


def test_a_fall_of_no_shape_leaves_it_open():
    judgement = judged(GLM, on={"accepted": (1,), "answered": 8})
    assert State.OPEN in states(judgement).values()
    assert judgement.verdict in (Verdict.INCONCLUSIVE, Verdict.FAIL)


def test_without_a_floor_it_is_reported():
    judgement = judged(GLM, entry=None)
    assert judgement.verdict is None
    assert states(judgement)["10878"] is State.OPEN


def test_what_was_not_measured_shows_nothing():
    judgement = judged(GLM, records=[])
    assert judgement.verdict is Verdict.NO_DATA
    records = [fault(Finding.START_FAIL, GLM.arm, cell=GLM)]
    assert judged(GLM, records=records).verdict is Verdict.NO_DATA


def test_a_release_with_every_fix_has_nothing_to_confirm():
    cell = GLM.on_release("0.30.0rc2")
    judgement = judged(cell)
    known = states(judgement)
    assert "10878" not in known


def test_past_the_ledger_it_says_unknown():
    judgement = judged(GLM.on_release(NEWER.name))
    assert judgement.verdict is None
    assert judgement.findings == (Finding.NO_DATA,)
    assert "UNKNOWN: 0.99.0 is past what the ledger has read" in judgement.reason


def test_a_release_the_ledger_does_not_cover_is_not_judged():
    assert judged(CELL) is None
    assert known_before(CELL, catalog(), read_ledger(), Kind.ACCEPTANCE, {}) is None


def test_before_measuring_the_faults_are_known_by_what_is_planned():
    def rows(cell, setting):
        found = known_before(cell, catalog(), read_ledger(), Kind.ACCEPTANCE, setting)
        return [fix.change for fix in found.fixes]

    assert "10878" in rows(GLM, {})
    assert "10878" not in rows(msgspec.structs.replace(GLM, k=1), {})
    v4 = Cell("0.25.1rc1", "deepseek-v4-flash-0731", "dspark", 7, "code", "off", 1)
    assert "15422" in rows(v4, {})
    assert "15422" not in rows(v4, {Facet.DSA_CP: False})


def test_an_accuracy_fault_is_excluded_by_the_texts_of_both_arms():
    same = judged(GLM)
    accuracy = [fault for fault in same.faults if fault.kind is Kind.ACCURACY]
    assert accuracy
    assert {fault.state for fault in accuracy} == {State.EXCLUDED}
    other = judged(GLM, on={"text": "another text of {}"})
    accuracy = [fault for fault in other.faults if fault.kind is Kind.ACCURACY]
    assert {fault.state for fault in accuracy} == {State.OPEN}


def test_few_requests_that_are_all_dead_are_dead():
    records = [launch(OFF), *natural(), launch(CELL.arm)]
    records += natural(CELL.arm, accepted=(0,) * 40, vary=False, prompts=40, answered=4)
    (cell,) = builders.judged(records, floor(0.6)).cells
    assert Finding.ACCEPT_ZERO in cell.acceptance.findings
    assert [one.signature for one in seen_of(cell.acceptance)] == [Signature.ZERO]


def test_a_cell_that_holds_bears_no_signature():
    (cell,) = builders.judged(builders.both_arms(), floor(0.6), report_only("speedup")).cells
    assert seen_of(cell.acceptance) == ()


def test_an_older_release_that_was_better_shows_it_too():
    old = GLM.on_release("0.17.0rc1")
    records = []
    for cell, accepted in ((old, ACCEPTED), (GLM, LATER)):
        records += [launch(OFF, cell=cell), *natural(cell=cell), launch(cell.arm, cell=cell)]
        records += natural(cell.arm, cell=cell, accepted=accepted)
    index = RecordIndex(records)
    floor_ = floor(0.3, family=GLM.family, method=GLM.method)
    baseline = baseline_of_release(old.release, index, [old, GLM], "here")
    book = JudgementBook(index, catalog(), floors(floor_), RULE, hardware="here", baseline=baseline)
    assert book.acceptance(GLM).verdict is Verdict.PASS
    assert book.upgrade(GLM).verdict is Verdict.FAIL
    judgement = book.known(GLM)
    assert judgement.verdict is Verdict.FAIL
    assert states(judgement)["10878"] is State.SHOWN
    assert "acceptance fell at position 2" in judgement.faults[0].why
    # the older one is compared with nothing
    assert book.known(old).verdict is Verdict.PASS
