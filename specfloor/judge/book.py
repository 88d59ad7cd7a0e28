"""All judgements of a run, each made once, when it is first asked for."""

import functools

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.model import Family
from specfloor.cells import Cell
from specfloor.experiments.base import ExperimentJudgement
from specfloor.experiments.registry import EXPERIMENTS
from specfloor.judge.baseline import Baseline
from specfloor.judge.cell import AcceptanceJudgement, Rule, SpeedJudgement
from specfloor.judge.cell_acceptance import judge_cell_acceptance
from specfloor.judge.cell_speed import judge_cell_speed
from specfloor.judge.configuration import ConfigurationJudgement, judge_configuration
from specfloor.judge.evidence import Block, RecordIndex
from specfloor.judge.floors import Floors, Quantity
from specfloor.judge.known import KnownFaultsJudgement, judge_known_faults
from specfloor.judge.upgrade import Side, UpgradeJudgement, judge_cell_upgrade
from specfloor.ledger import read_ledger


class JudgementBook:
    """Judges cells from an index of records, live or read back; the same records, the same words.

    A judgement is kept: ask for it only once the records it rests on are in the index.

    Args:
        index: the records.
        catalog: what is known of the families.
        floors: the floors in force.
        rule: how to judge.
        hardware: what the records were measured on.
        baseline: what an upgrade is judged against; None when nothing is.
    """

    def __init__(
        self,
        index: RecordIndex,
        catalog: Catalog,
        floors: Floors,
        rule: Rule,
        *,
        hardware: str,
        baseline: Baseline | None = None,
    ) -> None:
        self.baseline = baseline
        self._hardware = hardware
        self._index = index
        self._catalog = catalog
        self._floors = floors
        self._rule = rule
        self.acceptance = functools.cache(self._acceptance)
        self.speed = functools.cache(self._speed)
        self.configuration = functools.cache(self._configuration)
        self.upgrade = functools.cache(self._upgrade)
        self.known = functools.cache(self._known)
        self.experiment = functools.cache(self._experiment)

    def _acceptance(self, cell: Cell) -> AcceptanceJudgement:
        family = self._catalog.family(cell.family)
        entry = self._floors.of_acceptance(cell, family)
        return judge_cell_acceptance(self._index.evidence(cell), family, entry, self._rule)

    def _speed(self, cell: Cell) -> SpeedJudgement:
        family = self._catalog.family(cell.family)
        entry = self._floors.of(cell, Quantity.SPEEDUP, family)
        return judge_cell_speed(
            self._index.evidence(cell), entry, self.acceptance(cell), self._rule
        )

    def _configuration(self, cell: Cell) -> ConfigurationJudgement:
        family = self._catalog.family(cell.family)
        return judge_configuration(
            self._index.evidence(cell),
            self._catalog.release(cell.release),
            family=family,
            catalog=self._catalog,
            other_tiers=self._other_tiers(cell, family),
        )

    def _other_tiers(self, cell: Cell, family: Family) -> dict[str, Block]:
        """Return what the same prompts gave in other tiers, as far as they have been measured."""
        found = {}
        for tier in family.tiers.keys() - {cell.tier}:
            arms = self._index.evidence(msgspec.structs.replace(cell, tier=tier)).on
            if arms and (block := arms[0].natural):
                found[tier] = block
        return found

    def _upgrade(self, cell: Cell) -> UpgradeJudgement:
        assert self.baseline is not None
        return judge_cell_upgrade(
            self.baseline.side(cell),
            Side(self._index.evidence(cell), self._hardware),
            self._catalog.family(cell.family),
            self._rule,
            self.baseline.name,
        )

    def _known(self, cell: Cell) -> KnownFaultsJudgement | None:
        compared = self.baseline is not None and self.baseline.compares(cell)
        return judge_known_faults(
            self.acceptance(cell),
            self.configuration(cell),
            self._catalog,
            read_ledger(),
            self.upgrade(cell) if compared else None,
        )

    def _experiment(self, name: str, cell: Cell) -> ExperimentJudgement:
        return EXPERIMENTS[name].judge(self._index, cell, self._catalog, self._floors, self._rule)
