"""Stored runs against each other: which cells pair, and what a family's cells come to."""

import msgspec
import numpy as np
import pytest

from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.judge.comparison import compare_contenders, contenders, judge_family
from specfloor.judge.paired import PromptPair, Quantity, judge_pairs
from specfloor.judge.run import Basis, Wanted
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import Change, Verdict
from specfloor.runs.records import Environment, Purpose
from specfloor.runs.store import Run
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    ACCEPTED,
    CELL,
    RULE,
    catalog,
    fault,
    floors,
    info,
    launch,
    natural,
)

LESS = tuple(max(0, n - 1) for n in ACCEPTED)
OLD = CELL.on_release("cpu-1.0")
OTHER = msgspec.structs.replace(CELL, workload="structured-output")
SMALL = msgspec.structs.replace(
    CELL, family="small", method="ngram", k=4, workload="rewrite", tier="none"
)


def measured(cell, **block):
    return [launch(cell.arm, cell=cell), *natural(cell.arm, cell=cell, **block)]


def side(folder, cells, *, run="r1", cpu="a processor", complete=True, release=None, faults=()):
    """Return the one side of a run; ``cells`` maps cells to how their block differs."""
    records = [record for cell, block in cells.items() for record in measured(cell, **block)]
    machine = Environment("3.11.7", "Linux", cpu, 2, 2**33, {})
    about = info(run=run, environment=machine, complete=complete)
    asked = tuple(Wanted(c, frozenset(Purpose)) for c in (*cells, *(f[0] for f in faults)))
    records += [fault(finding, cell.arm, cell=cell) for cell, finding in faults]
    stored = Run(folder, about, tuple(records))
    (one,) = contenders(stored, Basis(asked, floors(), RULE), release)
    return one


def old(folder, *cells, **more):
    return side(folder, {cell.on_release("cpu-1.0"): {} for cell in cells or (CELL,)}, **more)


class TestPairing:
    def test_the_same_on_both_is_the_same(self, tmp_path):
        found = compare_contenders(old(tmp_path), side(tmp_path, {CELL: {}}), catalog())
        (family,) = found.families
        assert (family.family, family.outcome) == (CELL.family, Change.SAME)
        assert family.reason == "its one cell the same"
        assert (found.old.release, found.new.release) == ("cpu-1.0", "cpu-2.0")
        assert (family.missing, found.added) == ((), ())
        assert found.exit_code is Exit.HOLDS

    def test_one_worse_cell_makes_the_family_worse(self, tmp_path):
        new = side(tmp_path, {CELL: {}, OTHER: {"accepted": LESS}})
        found = compare_contenders(old(tmp_path, CELL, OTHER), new, catalog())
        (family,) = found.families
        assert family.outcome is Change.WORSE
        assert family.reason == f"1 of 2 cells worse, most {OTHER.pair_id} (-43.9%)"
        assert found.exit_code is Exit.FAILS

    def test_one_family_worse_outweighs_one_unknown(self, tmp_path):
        new = side(tmp_path, {CELL: {"accepted": LESS}, SMALL: {"answered": 3}})
        found = compare_contenders(old(tmp_path, CELL, SMALL), new, catalog())
        assert [f.outcome for f in found.families] == [Change.WORSE, Change.INCONCLUSIVE]
        assert found.exit_code is Exit.FAILS

    def test_better_is_said_and_holds(self, tmp_path):
        before = side(tmp_path, {OLD: {"accepted": LESS}})
        found = compare_contenders(before, side(tmp_path, {CELL: {}}), catalog())
        assert found.families[0].outcome is Change.BETTER
        assert found.exit_code is Exit.HOLDS

    def test_what_was_not_asked_on_one_side_is_named_and_in_no_verdict(self, tmp_path):
        before, after = old(tmp_path, CELL, OTHER), side(tmp_path, {CELL: {}, SMALL: {}})
        found = compare_contenders(before, after, catalog())
        (family,) = found.families
        assert family.outcome is Change.SAME
        assert family.missing == (OTHER.pair_id,)
        assert found.added == (SMALL.pair_id,)

    def test_a_family_without_any_cell_on_the_new_side_is_unknown(self, tmp_path):
        found = compare_contenders(old(tmp_path, SMALL), side(tmp_path, {CELL: {}}), catalog())
        (family,) = found.families
        assert family.outcome is Change.INCONCLUSIVE
        assert found.exit_code is Exit.UNDECIDED

    def test_nothing_in_common_is_no_pass(self, tmp_path):
        found = compare_contenders(
            old(tmp_path), side(tmp_path, {CELL: {}}), catalog(), families=["small"]
        )
        assert found.families == ()
        assert found.exit_code is Exit.UNDECIDED

    def test_only_the_families_asked_for(self, tmp_path):
        before, after = old(tmp_path, CELL, SMALL), side(tmp_path, {CELL: {}, SMALL: {}})
        found = compare_contenders(before, after, catalog(), families=["small"])
        assert [family.family for family in found.families] == ["small"]

    def test_other_hardware_is_refused_and_unknown(self, tmp_path):
        after = side(tmp_path, {CELL: {}}, cpu="another")
        found = compare_contenders(old(tmp_path), after, catalog())
        (cell,) = found.families[0].cells
        assert cell.refused == ("hardware was a processor, 2 cores and is another, 2 cores",)
        assert found.exit_code is Exit.UNDECIDED

    def test_a_cell_that_could_not_be_started_is_worse(self, tmp_path):
        """It has no block, so only what the run was asked tells of it."""
        after = side(tmp_path, {}, faults=[(CELL, Finding.START_FAIL)])
        found = compare_contenders(old(tmp_path), after, catalog())
        (family,) = found.families
        assert family.outcome is Change.WORSE
        assert family.reason == f"1 of one cell worse, most {CELL.pair_id} (START_FAIL)"
        assert found.exit_code is Exit.FAILS

    def test_a_cell_that_was_asked_and_not_measured_is_unknown(self, tmp_path):
        asked = Basis((Wanted(CELL, frozenset(Purpose)),), floors(), RULE)
        (after,) = contenders(Run(tmp_path, info(complete=False), ()), asked)
        found = compare_contenders(old(tmp_path), after, catalog())
        assert found.families[0].outcome is Change.INCONCLUSIVE
        assert not found.new.complete
        assert "was measured on cpu-2.0" in found.families[0].cells[0].reason


class TestContenders:
    def run(self, folder, *cells, purposes=frozenset(Purpose)):
        records = [record for cell in cells for record in measured(cell)]
        basis = Basis(tuple(Wanted(cell, purposes) for cell in cells), floors(), RULE)
        return Run(folder, info(), tuple(records)), basis

    def test_every_release_of_a_run_in_its_order(self, tmp_path):
        found = contenders(*self.run(tmp_path, OLD, CELL))
        assert [one.release for one in found] == ["cpu-1.0", "cpu-2.0"]
        assert list(found[0].measured.cells.values()) == [OLD]

    def test_one_release_of_it(self, tmp_path):
        (found,) = contenders(*self.run(tmp_path, OLD, CELL), release="CPU-2.0")
        assert found.release == "cpu-2.0"

    def test_a_release_it_has_not(self, tmp_path):
        with pytest.raises(UsageError, match=r"unknown release of .*known here: cpu-1.0, cpu-2.0"):
            contenders(*self.run(tmp_path, OLD, CELL), release="cpu-3.0")

    def test_a_run_of_speed_alone_has_nothing_to_compare(self, tmp_path):
        with pytest.raises(UsageError, match="asked for no acceptance"):
            contenders(*self.run(tmp_path, CELL, purposes=frozenset({Purpose.FORCED})))


def judged(pairs, workload="w"):
    """Return what is said of a cell with these pairs of rates."""
    verdict = judge_pairs(pairs, Quantity.RATE)
    return UpgradeJudgement(
        cell=msgspec.structs.replace(CELL, workload=workload),
        baseline="cpu-1.0",
        verdict=Verdict.PASS,
        outcome=verdict.outcome,
        findings=(),
        reason="",
        quantities=(verdict,),
    )


def noisy(rng, *, drop=0.0, noise=0.15, prompts=40):
    """Return rates of prompts under both releases, for engines that do not repeat themselves."""
    rates = rng.beta(8, 3, prompts)
    after = np.clip(rates * (1 - drop) + rng.normal(0, noise, prompts), 0, 1)
    before = np.clip(rates + rng.normal(0, noise, prompts), 0, 1)
    return [
        PromptPair(str(i), "d", float(x), float(y))
        for i, (x, y) in enumerate(zip(before, after, strict=True))
    ]


class TestErrorRates:
    """A family of several cells has as many chances of a false alarm as it has cells."""

    CELLS = 6
    FAMILIES = 400

    def outcomes(self, seed, drops):
        rng = np.random.default_rng(seed)
        for _ in range(self.FAMILIES):
            cells = [judged(noisy(rng, drop=drop), f"w{i}") for i, drop in enumerate(drops)]
            yield judge_family("f", cells, (), 0.05).outcome, cells

    def test_families_that_did_not_change_are_rarely_called_worse(self):
        found = list(self.outcomes(1, [0.0] * self.CELLS))
        worse = sum(outcome is Change.WORSE for outcome, _ in found) / self.FAMILIES
        alone = sum(any(c.outcome is Change.WORSE for c in cells) for _, cells in found)
        # two-sided 5 %, so half of it is worse; 400 families tell 2.5 % to within 1.6 %
        assert worse <= 0.025 + 0.016
        # which the cells taken alone do not hold: the adjustment has something to do
        assert alone / self.FAMILIES > 0.05

    def test_a_family_that_is_worse_only_taken_alone_is_no_pass(self):
        said = [
            outcome
            for outcome, cells in self.outcomes(1, [0.0] * self.CELLS)
            if any(cell.outcome is Change.WORSE for cell in cells)
        ]
        assert Change.INCONCLUSIVE in said
        assert not {Change.SAME, Change.BETTER} & set(said)

    def test_one_cell_of_many_that_lost_a_quarter_is_found(self):
        drops = [0.25, *[0.0] * (self.CELLS - 1)]
        found = [outcome is Change.WORSE for outcome, _ in self.outcomes(2, drops)]
        assert sum(found) / self.FAMILIES > 0.9

    def test_a_family_that_lost_a_fifth_is_never_the_same(self):
        assert {outcome for outcome, _ in self.outcomes(3, [0.2] * self.CELLS)} == {Change.WORSE}
