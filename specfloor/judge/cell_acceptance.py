"""The acceptance of one cell: its evidence against its floor."""

from collections.abc import Sequence

import msgspec

from specfloor.catalog.model import Family
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.i18n import N_, _
from specfloor.judge import acceptance
from specfloor.judge.acceptance import is_dead, is_too_good, judge_acceptance
from specfloor.judge.cell import (
    COLLAPSE,
    FAILED_ALLOWED,
    NO_ENTRY,
    AcceptanceJudgement,
    Rule,
    fault_sentence,
    floor_or_reason,
    logs_of,
    off_fault,
)
from specfloor.judge.estimate import summarize_acceptance
from specfloor.judge.evidence import Block, CellEvidence
from specfloor.judge.figures import figures_of
from specfloor.judge.floors import Floor, Quantity, ReportOnly
from specfloor.judge.looping import answer_loops
from specfloor.judge.same_text import compare_outputs
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import FindingRecord, Purpose
from specfloor.runs.spoken import spoken
from specfloor.signals.choose import BlockSignals, choose
from specfloor.signals.counts import RequestCounts
from specfloor.triage.findings import Finding
from specfloor.triage.signatures import odd_ones


def judge_cell_acceptance(
    evidence: CellEvidence, family: Family, entry: Floor | ReportOnly | None, rule: Rule
) -> AcceptanceJudgement:
    """Judge the acceptance of one cell.

    Args:
        evidence: the cell's records.
        family: the cell's family.
        entry: the floor or the reason for none.
        rule: how to judge.
    """
    cell = evidence.cell
    on = evidence.on[0] if evidence.on else None
    floor, report_only = floor_or_reason(entry)
    blank = AcceptanceJudgement(
        cell=cell,
        verdict=Verdict.NO_DATA,
        findings=(Finding.NO_DATA,),
        reason=_("this cell was not measured"),
        floor=floor,
        report_only=report_only,
        logs=logs_of(evidence),
    )
    if on is None:
        return blank
    fault = on.broken_off(Purpose.NATURAL)
    if on.natural is None:
        return _faulted(blank, fault, off_fault(evidence)) if fault else blank
    method = method_of(family, cell.arm)
    signals = choose(on.natural.requests, on.natural.counters, k=cell.k, drafts_k=method.drafts_k)
    off = evidence.off[0].natural if evidence.off else None
    measured = msgspec.structs.replace(
        blank,
        prompts=on.natural.sent.prompts,
        sent=len(on.natural.requests),
        failed=sum(not request.ok for request in on.natural.requests),
        rung=signals.rung,
        reconciliation=signals.reconciliation.sentence,
        outputs=compare_outputs(on.natural.requests, off.requests if off else ()),
        figures=figures_of(on.natural, signals),
    )
    judged = _judge(
        measured, signals, on.natural, floor, rule, draft_is_target=method.draft == "target"
    )
    if fault:
        return _faulted(judged, fault, off_fault(evidence))
    return _with_health(_with_engines(_with_failures(judged)))


def acceptance_floor(
    floor: Floor, cell: Cell, rule: Rule, population: int | None
) -> acceptance.Floor:
    """Return a floor with the rule it is judged by; UsageError when they do not go together.

    ``population`` is the number of prompts of a fixed set, None for a sample.
    """
    length = floor.quantity is Quantity.ACCEPTANCE_LENGTH
    return acceptance.Floor(
        value=floor.value,
        unit="length" if length else "rate",
        k=cell.k if length else None,
        population=population,
        alpha=rule.alpha,
        beta=rule.beta,
        margin=rule.margin,
    )


def _judge(
    measured: AcceptanceJudgement,
    signals: BlockSignals,
    block: Block,
    floor: Floor | None,
    rule: Rule,
    *,
    draft_is_target: bool,
) -> AcceptanceJudgement:
    replace = msgspec.structs.replace
    if not signals.requests:
        return _without_requests(measured, signals, block)
    population = None if rule.sampled else block.sent.prompts
    if floor is None:
        summary = summarize_acceptance(signals.requests, alpha=rule.alpha, beta=rule.beta)
        if summary is None:
            return replace(measured, reason=_(_NO_DRAFTS))
        wrong = _wrong_without_floor(signals.requests, draft_is_target=draft_is_target)
        return replace(
            measured,
            verdict=Verdict.FAIL if wrong else None,
            findings=(wrong or Finding.EXPECTED,),
            reason=_(
                "measured {rate_pooled:.3f} (pooled) on {requests} requests; no "
                "floor: {report_only}"
            ).format(
                rate_pooled=summary.rate_pooled.value,
                requests=summary.requests,
                report_only=measured.report_only or _(NO_ENTRY),
            ),
            summary=summary,
        )
    verdict = judge_acceptance(
        signals.requests,
        acceptance_floor(floor, measured.cell, rule, population),
        draft_is_target=draft_is_target,
        rung=signals.rung,
        looping=sum(answer_loops(request) for request in block.requests if request.ok),
    )
    return replace(
        measured,
        verdict=verdict.verdict,
        findings=verdict.findings,
        reason=verdict.reason,
        detail=verdict,
        summary=verdict.summary,
    )


def _wrong_without_floor(
    requests: Sequence[RequestCounts], *, draft_is_target: bool
) -> Finding | None:
    """Return what is wrong with acceptance whatever the floor would be."""
    if is_dead(requests):
        return Finding.ACCEPT_ZERO
    if is_too_good(requests) and not draft_is_target:
        return Finding.SUSPICIOUS_ACCEPTANCE
    return None


_NO_DRAFTS = N_("no request drafted a token, so there is no acceptance to judge")


def _without_requests(
    measured: AcceptanceJudgement, signals: BlockSignals, block: Block
) -> AcceptanceJudgement:
    """Judge a block of which at most the total is known."""
    replace = msgspec.structs.replace
    why = _("; ").join(signals.gaps)
    if signals.total is None or not signals.total.drafted:
        reason = why or _(_NO_DRAFTS)
        if measured.sent and measured.failed == measured.sent:
            reason = _("all {sent} requests failed, the first with: {error}").format(
                sent=measured.sent, error=spoken(block.requests[0].error or "")
            )
        return replace(measured, reason=reason)
    rate = signals.total.rate
    return replace(
        measured,
        verdict=Verdict.INCONCLUSIVE,
        findings=(Finding.INCONCLUSIVE,),
        reason=_(
            "only the total of the block is known, {rate:.3f} of {drafted} drafted "
            "tokens, and without counts of each request it has no interval; run at "
            "concurrency 1, where the counters give each request's ({why})"
        ).format(rate=rate, drafted=signals.total.drafted, why=why),
    )


def _faulted(
    judged: AcceptanceJudgement, fault: FindingRecord, off_fault: FindingRecord | None
) -> AcceptanceJudgement:
    """Return the judgement of a cell whose engine failed; what was measured stays in it."""
    so_far = _(". Until then: {reason}").format(reason=judged.reason) if judged.sent else ""
    return msgspec.structs.replace(
        judged,
        verdict=Verdict.FAIL,
        findings=(fault.finding, *((Finding.BASELINE_INVALID,) if off_fault else ())),
        reason=f"{fault_sentence(fault, off_fault)}{so_far}",
    )


_SAME_TEXTS = 0.5
"""Share of the prompts with the same text on both arms below which the texts do not look as always.
Near ties part some greedy texts even without speculation; a target that answers something else
parts nearly all."""


def _with_failures(judged: AcceptanceJudgement) -> AcceptanceJudgement:
    """Take back a PASS of which too many requests failed."""
    if judged.verdict is not Verdict.PASS or judged.failed <= FAILED_ALLOWED * judged.sent:
        return judged
    return msgspec.structs.replace(
        judged,
        verdict=Verdict.INCONCLUSIVE,
        findings=(Finding.INCONCLUSIVE,),
        reason=_(
            "{failed} of {sent} requests failed, too many for the rest to pass; {reason}"
        ).format(failed=judged.failed, sent=judged.sent, reason=judged.reason),
    )


def _with_engines(judged: AcceptanceJudgement) -> AcceptanceJudgement:
    """Fail a cell of which some engines keep less than the requests explain, whatever the mean.

    The mean over a group of engines hides one that has lost its draft, and its users do not.
    """
    odd = odd_ones(judged.figures.engines) if judged.figures else {}
    if not odd:
        return judged
    others = tuple(finding for finding in judged.findings if finding is not Finding.EXPECTED)
    return msgspec.structs.replace(
        judged,
        verdict=Verdict.FAIL,
        findings=(Finding.TOPOLOGY, *others),
        reason=_("only some engines are affected: {engines}; {reason}").format(
            engines="; ".join(odd.values()), reason=judged.reason
        ),
    )


def _fall(judged: AcceptanceJudgement) -> str:
    mean = judged.detail.mean if judged.detail else None
    low = (
        mean is not None and judged.floor is not None and mean.value < COLLAPSE * judged.floor.value
    )
    return _("collapsed") if low or Finding.ACCEPT_ZERO in judged.findings else _("fell")


_COLLAPSED = {Finding.ACCEPT_ZERO, Finding.ACCEPT_REGRESSION}


def _with_health(judged: AcceptanceJudgement) -> AcceptanceJudgement:
    """Add to a collapse what looked healthy meanwhile: it is what sends people to the hardware."""
    if not _COLLAPSED & set(judged.findings):
        return judged
    seen = [
        _("the server answered {answered} of {sent} requests").format(
            answered=judged.sent - judged.failed, sent=judged.sent
        )
    ]
    if judged.outputs:
        seen.append(
            _("{outputs} prompts got the text of the off arm").format(outputs=judged.outputs)
        )
    said = _("{reason}. While acceptance {fall}, ").format(reason=judged.reason, fall=_fall(judged))
    if judged.failed or (judged.outputs and judged.outputs.share < _SAME_TEXTS):
        said += _(" and ").join(seen)
    else:
        said += _(
            "everything else looked healthy: {seen}; so look at the draft before the hardware"
        ).format(seen=_(" and ").join(seen))
    return msgspec.structs.replace(judged, reason=said)
