"""A new release against an old one, cell by cell, on the same prompts."""

import json
from collections.abc import Iterable, Mapping

import msgspec

from specfloor.catalog.model import Family
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.judge.cell import Rule, time_per_token
from specfloor.judge.evidence import ArmEvidence, Block, CellEvidence
from specfloor.judge.paired import (
    LAUNCH_SD,
    Launches,
    Quantity,
    judge_pairs,
    judge_upgrade,
    pair_values,
)
from specfloor.judge.verdict import Change, UpgradeVerdict
from specfloor.runs.records import RequestRecord
from specfloor.signals.choose import choose
from specfloor.triage.findings import Finding


class UpgradeJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a cell on a new release against the same cell on an old one.

    ``outcome`` is that of the acceptance rate, which decides; ``quantities`` also holds length,
    time per output token and time to the first. ``refused`` says which settings differ when the
    two cannot be compared, and then nothing else is said.
    """

    cell: Cell
    baseline: str
    outcome: Change
    findings: tuple[Finding, ...]
    reason: str
    quantities: tuple[UpgradeVerdict, ...] = ()
    refused: tuple[str, ...] = ()


class Side(msgspec.Struct, frozen=True):
    """One release's evidence and the hardware it was measured on."""

    evidence: CellEvidence
    hardware: str


def judge_cell_upgrade(old: Side, new: Side, family: Family, rule: Rule) -> UpgradeJudgement:
    """Judge one cell of a new release against the same cell of an old one, paired by prompt."""
    cell = new.evidence.cell
    blank = UpgradeJudgement(
        cell=cell,
        baseline=old.evidence.cell.release,
        outcome=Change.INCONCLUSIVE,
        findings=(Finding.NO_DATA,),
        reason="one of the releases was not measured with speculation on",
    )
    before, after = _natural(old.evidence.on), _natural(new.evidence.on)
    if before is None or after is None:
        return blank
    if differing := differences(_settings(old), _settings(new)):
        return msgspec.structs.replace(
            blank,
            findings=(Finding.BASELINE_INVALID,),
            reason=f"not comparable: {'; '.join(differing)}",
            refused=tuple(differing),
        )
    diverged = _diverged(before.requests, after.requests)
    counts = [
        choose(
            block.requests,
            block.counters,
            k=cell.k,
            drafts_k=method_of(family, cell.arm).drafts_k,
        ).requests
        for block in (before, after)
    ]
    alpha, beta, margin = rule.alpha, rule.beta, rule.margin
    verdicts = [
        judge_upgrade(
            counts[0],
            counts[1],
            quantity,
            diverged=diverged,
            alpha=alpha,
            beta=beta,
            margin=margin,
        )
        for quantity in (Quantity.RATE, Quantity.LENGTH)
    ]
    domains = {r.prompt_id: r.domain for r in (*before.requests, *after.requests)}
    for quantity, take in ((Quantity.TPOT, time_per_token), (Quantity.TTFT, _first_token)):
        times = [
            {r.prompt_id: seconds for r in block.requests if (seconds := take(r))}
            for block in (before, after)
        ]
        verdicts.append(
            judge_pairs(
                pair_values(times[0], times[1], domains, diverged),
                quantity,
                alpha=alpha,
                beta=beta,
                margin=margin,
                # one launch a release: its luck is in every prompt
                launches=Launches(LAUNCH_SD),
            )
        )
    rate = verdicts[0]
    return msgspec.structs.replace(
        blank,
        outcome=rate.outcome,
        findings=rate.findings or (Finding.EXPECTED,),
        reason=rate.reason,
        quantities=tuple(verdicts),
    )


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return one clause for each setting in which two sides differ."""
    return [
        f"{name} was {old.get(name, 'not set')} and is {new.get(name, 'not set')}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]


def _settings(side: Side) -> dict[str, str]:
    """Return what must be equal for two measurements of one cell to be comparable."""
    cell = side.evidence.cell
    found = {
        "family": cell.family,
        "method": cell.method,
        "k": str(cell.k),
        "workload": cell.workload,
        "tier": cell.tier,
        "concurrency": str(cell.concurrency),
        "hardware": side.hardware,
    }
    arm = side.evidence.on[0]
    if arm.natural:
        sent = arm.natural.sent
        found["prompt set"] = sent.fingerprint
        found |= {f"sampling {name}": str(value) for name, value in sent.sampling.items()}
        found |= {f"template {name}": str(value) for name, value in sent.template.items()}
    return found | _acceptance_rule(arm)


_RULE_FIELDS = ("rejection_sample_method", "draft_sample_method", "acceptance_method")
"""Fields of the speculative configuration that decide which drafted tokens are kept."""


def _acceptance_rule(arm: ArmEvidence) -> dict[str, str]:
    argv = arm.launch.argv if arm.launch else ()
    if "--speculative-config" not in argv:
        return {}
    config = json.loads(argv[argv.index("--speculative-config") + 1])
    return {name: str(config[name]) for name in _RULE_FIELDS if name in config}


def _natural(arms: tuple[ArmEvidence, ...]) -> Block | None:
    return arms[0].natural if arms else None


def _diverged(old: Iterable[RequestRecord], new: Iterable[RequestRecord]) -> set[str]:
    texts = {r.prompt_id: r.text_sha256 for r in old if r.ok}
    return {
        r.prompt_id for r in new if r.ok and texts.get(r.prompt_id, r.text_sha256) != r.text_sha256
    }


def _first_token(request: RequestRecord) -> float | None:
    return request.first_token_s if request.ok else None
