"""A new release against an old one, cell by cell, on the same prompts."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from specfloor.catalog.model import Family
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.i18n import N_, _
from specfloor.judge.cell import FAILED_ALLOWED, Rule
from specfloor.judge.evidence import ArmEvidence, Block, CellEvidence
from specfloor.judge.paired import (
    LAUNCH_SD,
    Launches,
    Quantity,
    judge_pairs,
    judge_upgrade,
    pair_values,
)
from specfloor.judge.same_text import generated
from specfloor.judge.times import clock_for, time_per_token
from specfloor.judge.verdict import Change, UpgradeVerdict, Verdict
from specfloor.runs.records import FindingRecord, Purpose, RequestRecord
from specfloor.signals.choose import choose
from specfloor.signals.counts import RequestCounts
from specfloor.triage.findings import Finding


class UpgradeJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a cell on a new release against the same cell on an old one.

    ``outcome`` is that of the acceptance rate, which decides: WORSE fails, and so does whatever
    shows nothing; ``quantities`` also holds length, time per output token and time to the first.
    A new release that ended with a fault where the old one measured every prompt is WORSE without
    quantities. ``refused`` says which settings differ when the two cannot be compared, and then
    nothing else is said.
    """

    cell: Cell
    baseline: str
    verdict: Verdict
    outcome: Change
    findings: tuple[Finding, ...]
    reason: str
    quantities: tuple[UpgradeVerdict, ...] = ()
    refused: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()


class Side(msgspec.Struct, frozen=True):
    """One release's evidence and the hardware it was measured on."""

    evidence: CellEvidence
    hardware: str


_VERDICTS = {
    Change.SAME: Verdict.PASS,
    Change.BETTER: Verdict.PASS,
    Change.WORSE: Verdict.FAIL,
    Change.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


def judge_cell_upgrade(
    old: Side | None, new: Side, family: Family, rule: Rule, name: str
) -> UpgradeJudgement:
    """Judge one cell of a new release against the same cell of an old one, paired by prompt.

    Args:
        old: the evidence of the old release; None when it has no such cell.
        new: the evidence of the new release.
        family: the cell's family.
        rule: error rates, and the margin within which two releases are the same.
        name: what to call the old side.
    """
    cell = new.evidence.cell
    launches = [arm.launch for arm in new.evidence.on if arm.launch]
    blank = UpgradeJudgement(
        cell=cell,
        logs=tuple(launch.log for launch in launches),
        baseline=old.evidence.cell.release if old else name,
        verdict=Verdict.NO_DATA,
        outcome=Change.INCONCLUSIVE,
        findings=(Finding.BASELINE_INVALID,),
        reason=_(
            "the baseline {name} has not every prompt of this cell; measure one with "
            "--no-early-stop"
        ).format(name=name),
    )
    before = _complete(old.evidence.on) if old else None
    after = _complete(new.evidence.on)
    if old is None or before is None:
        fault = _fault(old.evidence.on) if old else None
        said = (
            _("the baseline {name} could not be measured: {sentence}").format(
                name=name, sentence=fault.sentence
            )
            if fault
            else ""
        )
        return msgspec.structs.replace(blank, reason=said or blank.reason)
    if after is None:
        return _unmeasured(blank, old, new)
    if differing := differences(conditions(old), conditions(new)):
        return msgspec.structs.replace(
            blank,
            findings=(Finding.BASELINE_INVALID,),
            reason=_("not comparable: {differing}").format(differing=_("; ").join(differing)),
            refused=tuple(differing),
        )
    diverged = _diverged(before.requests, after.requests)
    drafts_k = method_of(family, cell.arm).drafts_k
    counts = [
        choose(block.requests, block.counters, k=cell.k, drafts_k=drafts_k).requests
        for block in (before, after)
    ]
    rate, length = _acceptance(counts[0], counts[1], diverged, rule)
    return msgspec.structs.replace(
        blank,
        verdict=_VERDICTS[rate.outcome],
        outcome=rate.outcome,
        findings=rate.findings or (Finding.EXPECTED,),
        reason=rate.reason,
        quantities=(rate, length, *_times(before, after, diverged, rule)),
    )


def _acceptance(
    old: Sequence[RequestCounts],
    new: Sequence[RequestCounts],
    diverged: Collection[str],
    rule: Rule,
) -> tuple[UpgradeVerdict, UpgradeVerdict]:
    """Judge the acceptance rate and the acceptance length."""
    rate, length = (
        judge_upgrade(
            old,
            new,
            quantity,
            diverged=diverged,
            alpha=rule.alpha,
            beta=rule.beta,
            margin=rule.margin,
        )
        for quantity in (Quantity.RATE, Quantity.LENGTH)
    )
    return _with_one_sided(rate, old, new), length


def _times(
    before: Block, after: Block, diverged: Collection[str], rule: Rule
) -> Iterator[UpgradeVerdict]:
    """Judge the time per output token and the time to the first."""
    both = (*before.requests, *after.requests)
    domains = {request.prompt_id: request.domain for request in both}
    clock = clock_for(both)
    takes: tuple[tuple[Quantity, Callable[[RequestRecord], float | None]], ...] = (
        (Quantity.TPOT, lambda request: time_per_token(request, clock)),
        (Quantity.TTFT, _first_token),
    )
    for quantity, take in takes:
        old, new = (
            {r.prompt_id: seconds for r in block.requests if (seconds := take(r))}
            for block in (before, after)
        )
        yield judge_pairs(
            pair_values(old, new, domains, diverged),
            quantity,
            alpha=rule.alpha,
            beta=rule.beta,
            margin=rule.margin,
            # one launch a release: its luck is in every prompt
            launches=Launches(LAUNCH_SD),
        )


def _unmeasured(blank: UpgradeJudgement, old: Side, new: Side) -> UpgradeJudgement:
    """Judge a new release of which not every prompt was measured; the old one has them all."""
    fault = _fault(new.evidence.on)
    if fault is None:
        return msgspec.structs.replace(
            blank,
            findings=(Finding.NO_DATA,),
            reason=_(
                "not every prompt of this cell was measured on {release}; a run to "
                "compare needs --no-early-stop"
            ).format(release=new.evidence.cell.release),
        )
    if old.hardware != new.hardware:
        # other hardware is reason enough for an engine not to start
        differing = differences({"hardware": old.hardware}, {"hardware": new.hardware})
        reason = _("not comparable: {differing}; {sentence}").format(
            differing=_("; ").join(differing), sentence=fault.sentence
        )
        return msgspec.structs.replace(blank, reason=reason, refused=tuple(differing))
    return msgspec.structs.replace(
        blank,
        verdict=Verdict.FAIL,
        outcome=Change.WORSE,
        findings=(fault.finding,),
        reason=_("every prompt was measured before, and now: {sentence}").format(
            sentence=fault.sentence
        ),
    )


def _fault(arms: tuple[ArmEvidence, ...]) -> FindingRecord | None:
    """Return the fault that kept the first launch of an arm from its natural block, if one did."""
    return arms[0].broken_off(Purpose.NATURAL) if arms else None


def _with_one_sided(
    verdict: UpgradeVerdict, old: Sequence[RequestCounts], new: Sequence[RequestCounts]
) -> UpgradeVerdict:
    """Take back SAME or BETTER where too many prompts have a rate under one release only.

    Which requests fail, or draft nothing any more, is no chance.
    """
    drafting = [{r.prompt_id for r in side if r.counts.drafted} for side in (old, new)]
    lone, either = len(drafting[0] ^ drafting[1]), len(drafting[0] | drafting[1])
    if verdict.outcome not in {Change.SAME, Change.BETTER} or lone <= FAILED_ALLOWED * either:
        return verdict
    return msgspec.structs.replace(
        verdict,
        outcome=Change.INCONCLUSIVE,
        findings=(Finding.INCONCLUSIVE,),
        reason=_(
            "{lone} of {either} prompts have an acceptance rate under one release "
            "only, the others failed or drafted nothing, so the rest show nothing; "
            "{reason}"
        ).format(lone=lone, either=either, reason=verdict.reason),
    )


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return one clause for each setting in which two sides differ."""
    return [
        _("{name} was {old} and is {new}").format(
            name=_condition(name),
            old=old.get(name, _("not set")),
            new=new.get(name, _("not set")),
        )
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]


_SAMPLING = N_("sampling")
_TEMPLATE = N_("template")


def _condition(name: str) -> str:
    """Return a condition as people read it; of what was sent the name itself stays."""
    kind, space, sent = name.partition(" ")
    return f"{_(kind)} {sent}" if space and kind in {_SAMPLING, _TEMPLATE} else _(name)


def conditions(side: Side, purpose: Purpose = Purpose.NATURAL) -> dict[str, str]:
    """Return what must be equal for two measurements of one cell to be comparable.

    That is the cell without its release, the hardware, what the first launch was sent for
    ``purpose``, and the rule by which its engine accepts.
    """
    cell = side.evidence.cell
    found = {
        "family": cell.family,
        "method": cell.method,
        "k": str(cell.k),
        "workload": cell.workload,
        "tier": cell.tier,
        N_("concurrency"): str(cell.concurrency),
        N_("hardware"): side.hardware,
    }
    arm = side.evidence.on[0]
    if block := arm.natural if purpose is Purpose.NATURAL else arm.forced:
        sent = block.sent
        found[N_("prompt set")] = sent.fingerprint
        found |= {f"{_SAMPLING} {name}": str(value) for name, value in sent.sampling.items()}
        found |= {f"{_TEMPLATE} {name}": str(value) for name, value in sent.template.items()}
    return found | _acceptance_rule(arm)


_RULE_FIELDS = ("rejection_sample_method", "draft_sample_method", "acceptance_method")
"""Fields of the speculative configuration that decide which drafted tokens are kept."""


def _acceptance_rule(arm: ArmEvidence) -> dict[str, str]:
    argv = arm.launch.argv if arm.launch else ()
    if "--speculative-config" not in argv:
        return {}
    config = json.loads(argv[argv.index("--speculative-config") + 1])
    return {name: str(config[name]) for name in _RULE_FIELDS if name in config}


def is_complete(arms: tuple[ArmEvidence, ...]) -> bool:
    """Whether every prompt was sent to the first launch of an arm, with natural stops."""
    return _complete(arms) is not None


def _complete(arms: tuple[ArmEvidence, ...]) -> Block | None:
    """Return the block of the first launch if every prompt of it was sent."""
    block = arms[0].natural if arms else None
    return block if block and len(block.requests) == block.sent.prompts else None


def _diverged(old: Iterable[RequestRecord], new: Iterable[RequestRecord]) -> set[str]:
    texts = {r.prompt_id: generated(r) for r in old if r.ok}
    return {
        r.prompt_id
        for r in new
        if r.ok and r.prompt_id in texts and texts[r.prompt_id] != generated(r)
    }


def _first_token(request: RequestRecord) -> float | None:
    return request.first_token_s if request.ok else None
