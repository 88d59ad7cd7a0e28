"""Golden acceptance from stored runs."""

import datetime
from collections.abc import Iterable

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.golden.model import (
    FORMAT,
    VERSION,
    Bounds,
    Conditions,
    Golden,
    GoldenFile,
    Rate,
    TokensPerStep,
)
from specfloor.i18n import _
from specfloor.judge.baseline import hardware_class
from specfloor.judge.cell import AcceptanceJudgement
from specfloor.judge.evidence import CellEvidence, RecordIndex
from specfloor.judge.run import RunResult, judge_stored
from specfloor.judge.verdict import Estimate, Interval, Verdict
from specfloor.runs.store import Run


class LeftOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cell of a run that makes no golden, and why."""

    cell: Cell
    why: str


class Exported(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file, and what is not in it."""

    file: GoldenFile
    left_out: tuple[LeftOut, ...]


def export(
    runs: Iterable[Run], catalog: Catalog, *, owner: str, source: str | None = None
) -> Exported:
    """Return the golden acceptance of runs.

    A cell is golden when every prompt of its set was measured and answered (an early stop leaves a
    mean that leans to where it stopped), and when nothing is shown to be wrong with it. Of the same
    cell on the same release and hardware in several runs the youngest run counts.

    Args:
        runs: stored runs, in any order.
        catalog: what is known of the families.
        owner: who measured this.
        source: where the file will be found, if it is published.

    Raises:
        UsageError: a run cannot be judged.
    """
    found: dict[tuple[object, ...], Golden] = {}
    left_out: list[LeftOut] = []
    for run in sorted(runs, key=lambda run: run.info.started):
        for one in of_run(run, judge_stored(run, catalog), catalog):
            if isinstance(one, LeftOut):
                left_out.append(one)
            else:
                found[_place(one)] = one
    golden = tuple(found[place] for place in sorted(found, key=str))
    file = GoldenFile(format=FORMAT, version=VERSION, owner=owner, source=source, golden=golden)
    return Exported(file, tuple(left_out))


def of_run(run: Run, result: RunResult, catalog: Catalog) -> Iterable[Golden | LeftOut]:
    """Yield what each cell of a judged run gives."""
    index = RecordIndex(run.records)
    date = datetime.datetime.fromisoformat(run.info.started).date()
    hardware = hardware_class(run.info.environment)
    for one in result.cells:
        judged = one.acceptance
        summary = judged.summary if judged else None
        if judged is None or summary is None:
            yield LeftOut(one.cell, _("no acceptance was measured"))
        elif why := _why_not(judged):
            yield LeftOut(one.cell, why)
        else:
            yield Golden(
                family=one.cell.family,
                method=one.cell.method,
                k=one.cell.k,
                workload=one.cell.workload,
                tier=one.cell.tier,
                concurrency=one.cell.concurrency,
                date=date,
                conditions=_conditions(index.evidence(one.cell), judged, catalog, hardware),
                rate=_rate(summary.rate_mean),
                rate_pooled=_rate(summary.rate_pooled),
                length=_length(summary.length_pooled),
                per_position=tuple(map(_rate, summary.per_position)),
                steps=summary.counts.steps,
            )


def _why_not(judged: AcceptanceJudgement) -> str | None:
    said = _("its verdict is {verdict}: {findings}").format(
        verdict=judged.verdict, findings=_(", ").join(judged.findings)
    )
    if judged.verdict is Verdict.FAIL:
        return said
    if judged.sent < judged.prompts:
        return _("{sent} of {prompts} prompts were sent; measure with --no-early-stop").format(
            sent=judged.sent, prompts=judged.prompts
        )
    if judged.failed:
        return _("{failed} of {sent} requests failed").format(
            failed=judged.failed, sent=judged.sent
        )
    return None if judged.verdict in (None, Verdict.PASS) else said


def _conditions(
    evidence: CellEvidence, judged: AcceptanceJudgement, catalog: Catalog, hardware: str
) -> Conditions:
    cell = evidence.cell
    family = catalog.family(cell.family)
    release = catalog.release(cell.release)
    block = evidence.on[0].natural
    assert block is not None  # it has a summary
    method = method_of(family, cell.arm)
    return Conditions(
        release=cell.release,
        hardware=hardware,
        fingerprint=block.sent.fingerprint,
        prompts=block.sent.prompts,
        sampling=block.sent.sampling,
        template=block.sent.template,
        checkpoint=family.checkpoint.source,
        draft=method.draft,
        vllm=release.vllm,
        evidence=judged.rung,
    )


def _place(golden: Golden) -> tuple[object, ...]:
    """Return what makes two figures those of the same thing."""
    g, at = golden, golden.conditions
    return (g.family, g.method, g.k, g.workload, g.tier, g.concurrency, at.release, at.hardware)


def _bounds(interval: Interval | None) -> Bounds | None:
    if interval is None:
        return None
    return Bounds(interval.low, interval.high, interval.level, interval.method)


def _rate(estimate: Estimate) -> Rate:
    return Rate(estimate.value, _bounds(estimate.interval))


def _length(estimate: Estimate) -> TokensPerStep:
    return TokensPerStep(estimate.value, _bounds(estimate.interval))
