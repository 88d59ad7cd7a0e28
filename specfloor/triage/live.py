"""From the judgements of a run to the chain: what a run of the suite tells it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.experiments.base import ExperimentJudgement
from specfloor.i18n import _
from specfloor.judge.book import JudgementBook
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.configuration import ConfigurationJudgement
from specfloor.judge.host import HostSummary, host_during
from specfloor.judge.known import (
    SAME_TEXTS,
    KnownFaultsJudgement,
    falls_of_upgrade,
    ledger_release,
    seen_of,
)
from specfloor.judge.run import CellResult, Judgement, RunResult, is_upgrade
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import SpeedSummary, Verdict
from specfloor.ledger.model import AVOIDED_BY, Facet, Ledger
from specfloor.runs.records import Environment, HostSampleRecord, LaunchKey, Record
from specfloor.triage.chain import diagnose
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.diagnosis import Diagnosis
from specfloor.triage.facts import ACCEPTANCE, ENDS, INVALID, Facts, Speed
from specfloor.triage.findings import Finding
from specfloor.triage.shares import Share
from specfloor.triage.signatures import Contrast, needs, odd_ones
from specfloor.triage.steps import Place

_DEVICE_FLAGS = frozenset({"device_unwell"})
_SETUP_FLAGS = frozenset({"variable_unknown", "variable_not_read", "cann_mismatch", "version_pair"})
_MEASURED = frozenset({Facet.CONCURRENCY, Facet.SAMPLING, Facet.GREEDY})
"""Facets of what is sent, not of how the server is set up."""

Hosts = Mapping[str, HostSummary]
"""What samples say of the machine, by launch."""


def diagnose_run(
    result: RunResult,
    environment: Environment,
    catalog: Catalog,
    ledger: Ledger,
    *,
    hosts: Hosts | None = None,
    beside: Iterable[RunResult] = (),
) -> dict[Cell, Diagnosis]:
    """Return a diagnosis of every cell of which something does not hold.

    Args:
        result: the judgements of the run.
        environment: where it was made.
        catalog: what is known of its releases and families.
        ledger: the fix ledger.
        hosts: what samples say of the machine, by launch, see ``hosts_of``.
        beside: other runs of the same cells under other settings, such as eager mode.
    """
    others = [cell for run in beside for cell in run.cells]
    found = {
        cell.cell: diagnose(
            facts_of(cell, environment, catalog, siblings=result.cells, hosts=hosts, beside=others),
            ledger,
        )
        for cell in result.cells
    }
    return {cell: diagnosis for cell, diagnosis in found.items() if diagnosis.links}


def hosts_of(records: Iterable[Record]) -> dict[str, HostSummary]:
    """Return what the samples of a run say of the machine, by launch."""
    samples: dict[str, list[HostSampleRecord]] = {}
    for record in records:
        if isinstance(record, HostSampleRecord):
            samples.setdefault(record.launch, []).append(record)
    return {launch: host_during(own) for launch, own in samples.items()}


def so_far(judgement: Judgement, book: JudgementBook) -> CellResult:
    """Return what is said of a judgement's cell while a run is still on.

    Every judgement waits for the requests with natural stops, so that acceptance and configuration
    can be asked for with it; what has not been measured yet is left out.
    """
    cell = judgement.cell
    if isinstance(judgement, ExperimentJudgement):
        return CellResult(cell, None, None, None, experiments=(judgement,))
    compared = isinstance(judgement, UpgradeJudgement | KnownFaultsJudgement)
    return CellResult(
        cell=cell,
        configuration=book.configuration(cell),
        acceptance=book.acceptance(cell),
        speed=judgement if isinstance(judgement, SpeedJudgement) else None,
        upgrade=book.upgrade(cell) if compared and is_upgrade(cell, book.baseline) else None,
    )


def facts_of(
    result: CellResult,
    environment: Environment,
    catalog: Catalog,
    *,
    siblings: Sequence[CellResult] = (),
    hosts: Hosts | None = None,
    beside: Sequence[CellResult] = (),
) -> Facts:
    """Return what the judgements of one cell tell the chain; ``siblings`` are its run's cells."""
    cell, acceptance, configuration = result.cell, result.acceptance, result.configuration
    release, unasked = ledger_release(cell, catalog)
    conclusions, off_failure = _conclusions(result)
    fell = any(c.finding in ACCEPTANCE for c in conclusions)
    engines = odd_ones(acceptance.figures.engines) if acceptance and acceptance.figures else {}
    if fell and engines:
        reason = _("only some engines are affected: {engines}").format(
            engines=_("; ").join(engines.values())
        )
        conclusions = (Conclusion(Finding.TOPOLOGY, reason), *conclusions)
    outputs = acceptance.outputs if acceptance else None
    summaries = _summaries(cell, hosts or {})
    flags = environment.flags
    return Facts(
        conclusions=conclusions,
        cell=cell,
        place=Place(
            platform=catalog.release(cell.release).platform,
            release=cell.release,
            family=cell.family,
            method=cell.method,
            k=cell.k,
            workload=cell.workload,
            tier=cell.tier,
        ),
        release=release,
        unasked=unasked,
        family=cell.family,
        method=cell.method,
        healthy=_healthy(acceptance) if acceptance else None,
        seen=seen_of(acceptance, falls_of_upgrade(result.upgrade)) if acceptance else (),
        contrasts=(*_tiers(result, siblings), *_settings(result, beside)) if fell else (),
        setting=configuration.setting if configuration else {},
        drafting=_drafting(cell, catalog),
        in_effect=_in_effect(configuration) if configuration else None,
        off_failure=off_failure,
        off_served=bool(outputs),
        same_texts=_("{outputs} prompts got the text of the off arm").format(outputs=outputs)
        if outputs and outputs.share >= SAME_TEXTS
        else None,
        speed=_speed(result.speed, siblings),
        environment=tuple(flag.message for flag in flags if flag.kind in _SETUP_FLAGS),
        devices=(
            *(
                Conclusion(Finding.HARDWARE, flag.message)
                for flag in flags
                if flag.kind in _DEVICE_FLAGS
            ),
            *(Conclusion(Finding.HARDWARE, s.sentence) for s in summaries if s.finding),
        ),
        sampled=any(summary.healthy is not None for summary in summaries),
    )


def _conclusions(result: CellResult) -> tuple[tuple[Conclusion, ...], Conclusion | None]:
    """Return what does not hold, each finding once, and how the arm without drafts failed."""
    found: dict[Finding, Conclusion] = {}
    off = None
    said = (result.acceptance, result.configuration, result.speed, result.upgrade)
    for judgement in (*said, *result.experiments):
        if judgement is None:
            continue
        invalid = Finding.BASELINE_INVALID in judgement.findings
        if judgement.verdict is not Verdict.FAIL and not invalid:
            continue
        # an upgrade is invalid for reasons of its own, not for those of the arm without drafts
        if invalid and judgement is not result.upgrade:
            off = off or Conclusion(Finding.BASELINE_INVALID, judgement.reason)
        for finding in judgement.findings:
            if finding not in (Finding.EXPECTED, Finding.KNOWN_FIX):
                found.setdefault(finding, Conclusion(finding, judgement.reason))
    ordered = sorted(found.values(), key=lambda c: (c.finding not in ENDS, c.finding in INVALID))
    return tuple(ordered), off


def _healthy(acceptance: AcceptanceJudgement) -> str | None:
    mean = acceptance.detail.mean if acceptance.detail else None
    if acceptance.verdict is not Verdict.PASS or mean is None or acceptance.floor is None:
        return None
    floor = acceptance.floor
    return _("{quantity} {mean:.3f} ({how}) holds the floor {floor:g}").format(
        quantity=floor.quantity, mean=mean.value, how=mean.how, floor=floor.value
    )


def _in_effect(configuration: ConfigurationJudgement) -> str | None:
    if configuration.verdict is not Verdict.PASS:
        return None
    held = sum(check.holds is True for check in configuration.checks)
    return _("it is in effect, by {held} checks").format(held=held)


def _drafting(cell: Cell, catalog: Catalog) -> dict[str, Any]:
    methods = catalog.family(cell.family).methods
    return next((method.config for method in methods if method.name == cell.method), {})


def _whole(result: CellResult) -> Share | None:
    figures = result.acceptance.figures if result.acceptance else None
    return figures.profile.whole if figures else None


def _differs_in(one: Cell, other: Cell, field: str) -> bool:
    changed = msgspec.structs.replace(one, **{field: getattr(other, field)})
    return one != other and changed == other


def _tiers(result: CellResult, siblings: Sequence[CellResult]) -> Iterator[Contrast]:
    """Yield whether the cell's tier stands alone among the tiers that were measured."""
    here = _whole(result)
    others = {
        one.cell.tier: whole
        for one in siblings
        if _differs_in(result.cell, one.cell, "tier") and (whole := _whole(one)) is not None
    }
    if here is None or not others:
        return
    tier = result.cell.tier
    odd = odd_ones({tier: here, **others})
    if tier in odd:
        yield Contrast(_("tier {tier}").format(tier=tier), only=True, evidence=odd[tier])
    elif not odd:
        told = _(", ").join(f"{name} {share}" for name, share in others.items())
        yield Contrast(
            _("tier {tier}").format(tier=tier),
            only=False,
            evidence=_("{here} here, {told}").format(here=here, told=told),
        )


def _settings(result: CellResult, beside: Sequence[CellResult]) -> Iterator[Contrast]:
    """Compare a cell with the same cell under other settings, of which one facet differs."""
    here, configuration = _whole(result), result.configuration
    for other in beside:
        there = _whole(other)
        if other.cell != result.cell or not (here and there and configuration):
            continue
        facet = _only_difference(
            configuration.setting, other.configuration.setting if other.configuration else {}
        )
        needed = needs(here, there) if facet else None
        if facet is not None and needed is not None:
            evidence = _("{here} with it, {there} without").format(here=here, there=there)
            yield Contrast(facet.value, needed, evidence, facet)


def _only_difference(here: Mapping[Facet, bool], there: Mapping[Facet, bool]) -> Facet | None:
    """Return the one facet that holds here and not there; None when several could be it.

    A facet and what follows from it are one: eager mode ends graph mode and its kinds.
    """
    lost = [
        facet
        for facet, holds in here.items()
        if holds and there.get(facet) is False and facet not in _MEASURED
    ]
    graphs = {Facet.GRAPH, Facet.FULL_GRAPH, Facet.PIECEWISE}
    if Facet.GRAPH in lost:
        lost = [facet for facet in lost if facet not in graphs - {Facet.GRAPH}]
    known = [facet for facet in lost if facet in AVOIDED_BY or facet is Facet.QUANTISED]
    return known[0] if len(known) == 1 else None


def _speed(judgement: SpeedJudgement | None, siblings: Sequence[CellResult]) -> Speed:
    summary = judgement.summary if judgement else None
    if judgement is None or summary is None:
        return Speed()
    return Speed(
        speedup=summary.speedup,
        length=summary.length,
        step_cost=summary.step_cost,
        flip=_flip(judgement.cell, summary, siblings),
    )


def _flip(cell: Cell, summary: SpeedSummary, siblings: Sequence[CellResult]) -> str | None:
    """Return that fewer requests at once pay where these lose, both for certain."""
    high = _bounds(summary)
    if high is None or high[1] >= 1:
        return None
    for one in siblings:
        fewer = one.cell.concurrency < cell.concurrency
        other = one.speed.summary if one.speed else None
        if other and fewer and _differs_in(cell, one.cell, "concurrency"):
            low = _bounds(other)
            if low is not None and low[0] > 1:
                return _(
                    "speedup {better:.2f} with {few} at once, {speedup:.2f} with {many}"
                ).format(
                    better=other.speedup,
                    few=one.cell.concurrency,
                    speedup=summary.speedup,
                    many=cell.concurrency,
                )
    return None


def _bounds(summary: SpeedSummary) -> tuple[float, float] | None:
    interval = summary.interval or summary.supposed_interval
    return (interval.low, interval.high) if interval else None


def _summaries(cell: Cell, hosts: Hosts) -> list[HostSummary]:
    """Return what samples say of the launches with the cell's drafts."""
    first = LaunchKey(cell.release, cell.family, cell.arm).id.removesuffix("0")
    return [summary for launch, summary in hosts.items() if launch.startswith(first)]
