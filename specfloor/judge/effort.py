"""Whether a reasoning-effort tier lost its acceptance, from the blocks of one launch."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from specfloor.catalog.model import Family
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.i18n import _
from specfloor.judge.acceptance import is_dead, judge_acceptance
from specfloor.judge.cell import COLLAPSE, Rule
from specfloor.judge.cell_acceptance import acceptance_floor
from specfloor.judge.configuration_checks import tier_check
from specfloor.judge.estimate import mean_estimate
from specfloor.judge.evidence import Block
from specfloor.judge.floors import Floor, Floors
from specfloor.judge.looping import answer_loops
from specfloor.judge.verdict import Estimate, Verdict
from specfloor.runs.records import LaunchRecord
from specfloor.signals.choose import choose
from specfloor.signals.counts import DraftCounts, RequestCounts, pooled
from specfloor.signals.parts import Parts, split_parts
from specfloor.triage.findings import Finding

Part = Literal["whole", "reasoning", "answer"]

LEAST = 8
"""Requests from which the acceptance of a part is compared with that of others."""


class PartAcceptance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The acceptance of one part of the answers of a tier; ``mean`` is over requests."""

    part: Part
    total: DraftCounts
    mean: Estimate


class TierResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of one tier; ``verdict`` is None when it is only reported.

    ``effect`` says how it is known that the tier became a prompt of its own, None when nothing
    tells. ``thinking`` of ``answered`` requests came with reasoning. ``reason`` is a clause.
    """

    tier: str
    verdict: Verdict | None
    finding: Finding
    reason: str
    effect: str | None = None
    answered: int = 0
    thinking: int = 0
    floor: float | None = None
    parts: tuple[PartAcceptance, ...] = ()

    def part(self, part: Part) -> PartAcceptance | None:
        """Return the acceptance of a part; None when it has too few requests or none."""
        found = next((one for one in self.parts if one.part == part), None)
        return found if found and found.mean.n >= LEAST else None


def judge_tiers(
    blocks: Mapping[str, Block],
    launch: LaunchRecord,
    *,
    cell: Cell,
    family: Family,
    floors: Floors,
    rule: Rule,
) -> tuple[TierResult, ...]:
    """Judge every tier by its own floor, by whether it is in effect, and beside the others.

    Args:
        blocks: by tier, those that were sent to ``launch``.
        launch: the launch with speculation.
        cell: one cell of the question; its tier is not looked at.
        family: the cell's family.
        floors: the floors in force.
        rule: how to judge.
    """
    found = [
        _judge(
            blocks,
            launch,
            cell=msgspec.structs.replace(cell, tier=tier),
            family=family,
            floors=floors,
            rule=rule,
        )
        for tier in blocks
    ]
    return tuple(_beside(one, [other for other in found if other is not one]) for one in found)


def _judge(
    blocks: Mapping[str, Block],
    launch: LaunchRecord,
    *,
    cell: Cell,
    family: Family,
    floors: Floors,
    rule: Rule,
) -> TierResult:
    """Judge one tier by itself."""
    replace, block = msgspec.structs.replace, blocks[cell.tier]
    method = method_of(family, cell.arm)
    signals = choose(block.requests, block.counters, k=cell.k, drafts_k=method.drafts_k)
    check = tier_check(
        cell, family, launch, block, {t: b for t, b in blocks.items() if t != cell.tier}
    )
    answers = [request for request in block.requests if request.ok]
    entry = floors.of_acceptance(cell, family)
    result = TierResult(
        tier=cell.tier,
        verdict=Verdict.NO_DATA,
        finding=Finding.NO_DATA,
        reason=_("; ").join(signals.gaps) or _("no request drafted a token"),
        effect=check.found if check and check.holds is not None else None,
        answered=len(answers),
        thinking=sum(bool(request.reasoning) for request in answers),
        floor=entry.value if isinstance(entry, Floor) else None,
        parts=_parts(block, signals.requests),
    )
    if check and check.holds is False:
        return replace(
            result,
            verdict=Verdict.FAIL,
            finding=Finding.CONFIG_NOT_IN_EFFECT,
            reason=_("it is not in effect: it was sent {found}").format(found=check.found),
        )
    if not result.parts:
        return result
    if is_dead(signals.requests):
        return replace(
            result,
            verdict=Verdict.FAIL,
            finding=Finding.ACCEPT_ZERO,
            reason=_("drafts are made and none is accepted"),
        )
    if not isinstance(entry, Floor):
        rate = result.parts[0].mean.value
        return replace(
            result,
            verdict=None,
            finding=Finding.EXPECTED,
            reason=_("acceptance {rate:.3f} as mean over requests, without a floor").format(
                rate=rate
            ),
        )
    verdict = judge_acceptance(
        signals.requests,
        acceptance_floor(entry, cell, rule, None if rule.sampled else block.sent.prompts),
        draft_is_target=method.draft == "target",
        rung=signals.rung,
        looping=sum(answer_loops(request) for request in answers),
    )
    return replace(
        result,
        verdict=verdict.verdict,
        finding=verdict.findings[0] if verdict.findings else Finding.EXPECTED,
        reason=verdict.reason,
    )


def _parts(block: Block, requests: Sequence[RequestCounts]) -> tuple[PartAcceptance, ...]:
    by_prompt = {request.prompt_id: request for request in block.requests if request.ok}
    split = [split_parts(by_prompt[counts.prompt_id], counts) for counts in requests]
    known: list[Parts] = [parts for parts in split if parts is not None]
    found: list[tuple[Part, list[DraftCounts]]] = [("whole", [r.counts for r in requests])]
    # a part of some requests only would not be that of the whole
    if known and len(known) == len(split):
        found.append(("reasoning", [parts.reasoning for parts in known]))
        found.append(("answer", [parts.answer for parts in known]))
    return tuple(
        PartAcceptance(part, pooled(drafted), mean_estimate(rates, low=0, high=1))
        for part, counts in found
        if (drafted := [one for one in counts if one.drafted])
        and (rates := [one.accepted / one.drafted for one in drafted])
    )


def _beside(result: TierResult, others: Sequence[TierResult]) -> TierResult:
    """Let a tier fail whose draft collapsed while that of another holds.

    A tier may well draft worse than another, since it writes another text; but not half as well,
    with no interval in between.
    """
    if result.verdict is Verdict.FAIL:
        return result
    pairs: tuple[tuple[Part, tuple[Part, ...]], ...] = (
        ("whole", ("whole",)),
        ("reasoning", ("reasoning", "whole")),
        ("answer", ("answer", "whole")),
    )
    for part, against in pairs:
        own = result.part(part)
        for other in others:
            best = next((found for kind in against if (found := other.part(kind))), None)
            if own and best and _high(own) < COLLAPSE * _low(best):
                what = (
                    _("acceptance")
                    if part == "whole"
                    else _("acceptance in its {part}").format(part=part)
                )
                return msgspec.structs.replace(
                    result,
                    verdict=Verdict.FAIL,
                    finding=Finding.ACCEPT_REGRESSION,
                    reason=_("{what} collapsed to {mean:.3f}, where {tier} has {best:.3f}").format(
                        what=what, mean=own.mean.value, tier=other.tier, best=best.mean.value
                    ),
                )
    return result


def _high(one: PartAcceptance) -> float:
    return one.mean.interval.high if one.mean.interval else 1.0


def _low(one: PartAcceptance) -> float:
    return one.mean.interval.low if one.mean.interval else 0.0
