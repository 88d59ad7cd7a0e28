"""Did a reasoning-effort tier lose its acceptance, in its reasoning or in its answers?"""

from collections.abc import Sequence

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.model import Family
from specfloor.cells import Cell
from specfloor.experiments.base import Bench, ExperimentJudgement, Table, arm_launch, cell_block
from specfloor.experiments.thinking import thinking_apart
from specfloor.i18n import _
from specfloor.judge.cell import Rule
from specfloor.judge.effort import TierResult, judge_tiers
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.floors import Floors
from specfloor.judge.verdict import Verdict
from specfloor.progress import LaunchProgress
from specfloor.runs.records import Purpose
from specfloor.triage.findings import Finding


class EffortDetail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was found of each tier, for the JSON file."""

    tiers: tuple[TierResult, ...]


class Effort:
    """Sends every tier of a family the same prompts, in one launch."""

    name = "effort"
    varies = ("tier",)

    def why_not(self, cell: Cell, catalog: Catalog) -> str | None:
        """A family with one tier has nothing to compare."""
        if len(catalog.family(cell.family).tiers) < 2:
            return f"{cell.family} has one effort tier only"
        return None

    def measure(self, bench: Bench, cell: Cell) -> None:
        """Send the tiers one after the other."""
        family = bench.catalog.family(cell.family)
        key = arm_launch(cell, cell.arm, self.name, 0)
        plans = {}
        for one in _cells(cell, family):
            block = cell_block(one, Purpose.NATURAL, cell.concurrency)
            plans[block] = bench.block_plan(key, block)
        LaunchProgress(self.name, 1, bench.say).begin(f"tiers {' '.join(family.tiers)}")
        bench.launch(key, plans, thinking_apart(family))

    def judge(
        self, index: RecordIndex, cell: Cell, catalog: Catalog, floors: Floors, rule: Rule
    ) -> ExperimentJudgement:
        """Judge each tier, and say which one lost its draft while others hold."""
        family = catalog.family(cell.family)
        key = arm_launch(cell, cell.arm, self.name, 0)
        launch, fault = index.launch(key), index.fault(key.id)
        blank = ExperimentJudgement(
            cell,
            self.name,
            Verdict.FAIL if fault else Verdict.NO_DATA,
            (fault.finding if fault else Finding.NO_DATA,),
            fault.sentence if fault else _("no tier was measured"),
            logs=index.logs(cell, self.name),
        )
        blocks = {
            one.tier: block
            for one in _cells(cell, family)
            if (block := index.block(key, cell_block(one, Purpose.NATURAL, cell.concurrency)))
            and block.requests
        }
        if launch is None or not blocks:
            return blank
        tiers = judge_tiers(blocks, launch, cell=cell, family=family, floors=floors, rule=rule)
        said = msgspec.structs.replace(blank, detail=EffortDetail(tiers), tables=(_table(tiers),))
        if fault:
            reason = _("{sentence}. Until then: {reason}").format(
                sentence=fault.sentence, reason=_reason(tiers)
            )
            return msgspec.structs.replace(said, reason=reason)
        missing = [tier for tier in family.tiers if tier not in blocks]
        verdict, findings = _verdict(tiers, missing)
        not_sent = (
            _(". Not measured: {missing}").format(missing=_(", ").join(missing)) if missing else ""
        )
        return msgspec.structs.replace(
            said, verdict=verdict, findings=findings, reason=_reason(tiers) + not_sent
        )


def _cells(cell: Cell, family: Family) -> list[Cell]:
    return [msgspec.structs.replace(cell, tier=tier) for tier in family.tiers]


_SEVERITY = (None, Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.NO_DATA, Verdict.FAIL)


def _verdict(
    tiers: Sequence[TierResult], missing: Sequence[str]
) -> tuple[Verdict | None, tuple[Finding, ...]]:
    """Return the worst verdict, and the findings of the tiers that have it, each once."""
    worst = max((one.verdict for one in tiers), key=_SEVERITY.index)
    if missing and worst is not Verdict.FAIL:
        return Verdict.NO_DATA, (Finding.NO_DATA,)
    return worst, tuple(dict.fromkeys(one.finding for one in tiers if one.verdict is worst))


def _reason(tiers: Sequence[TierResult]) -> str:
    """Return what is wrong, by the name of the tier, and how the others are."""
    holding = [one.tier for one in tiers if one.verdict in (None, Verdict.PASS)]
    failing = any(one.verdict is Verdict.FAIL for one in tiers)
    told = [one for one in tiers if not failing or one.tier not in holding]
    said = _("; ").join(
        _("tier {tier}: {reason}").format(tier=one.tier, reason=one.reason) for one in told
    )
    if not failing:
        return said
    if all(one.verdict is Verdict.FAIL for one in tiers) and len(tiers) > 1:
        return _("{said}. No tier is without fault, so the tier is not what decides").format(
            said=said
        )
    if not holding:
        return said
    several = len(holding) > 1
    names = _(", ").join(holding)
    return (
        _("{said}. Tiers {names} hold").format(said=said, names=names)
        if several
        else _("{said}. Tier {names} holds").format(said=said, names=names)
    )


def _table(tiers: Sequence[TierResult]) -> Table:
    columns = (
        *("tier", _("in effect"), _("thinking"), _("part"), "requests"),
        *(_("acceptance (mean)"), "from", "to", _("length (pooled)"), "floor", "verdict"),
    )
    rows: list[tuple[str | float | None, ...]] = []
    for one in tiers:
        thinking = _("{thinking} of {answered}").format(
            thinking=one.thinking, answered=one.answered
        )
        for number, part in enumerate(one.parts):
            interval = part.mean.interval
            whole = number == 0
            rows.append(
                (
                    one.tier if whole else "",
                    (one.effect or _("not known")) if whole else "",
                    thinking if whole else "",
                    part.part,
                    str(part.mean.n),
                    part.mean.value,
                    interval.low if interval else None,
                    interval.high if interval else None,
                    part.total.length,
                    one.floor if whole else "",
                    (one.verdict or "reported") if whole else "",
                )
            )
    return Table(_("Acceptance by tier and part"), columns, tuple(rows))
