"""What is said of one cell, by which rule, and what judging its acceptance and speed share."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from specfloor.cells import Cell
from specfloor.i18n import N_, _
from specfloor.judge.evidence import ArmEvidence, CellEvidence
from specfloor.judge.floors import Floor, ReportOnly
from specfloor.judge.mixed import Slo
from specfloor.judge.same_text import OutputAgreement
from specfloor.judge.times import Clock
from specfloor.judge.verdict import (
    ALPHA,
    BETA,
    MARGIN,
    AcceptanceSummary,
    AcceptanceVerdict,
    Estimate,
    SpeedSummary,
    SpeedVerdict,
    Verdict,
)
from specfloor.runs.records import FindingRecord
from specfloor.signals.counts import Rung
from specfloor.triage.findings import Finding
from specfloor.triage.shares import Figures

FAILED_ALLOWED = 0.05
"""Share of requests without a full answer from which the rest may not pass: which ones fail is no
chance, and what they would have accepted is not known."""
COLLAPSE = 0.5
"""Share of the floor under which acceptance has not merely fallen: most of the draft is wrong."""
NO_ENTRY = N_("none was set")
"""Why a cell has no floor when nobody said why."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How floors are judged: error rates, the margin, what the prompts are, limits of a load."""

    alpha: float = ALPHA
    beta: float = BETA
    margin: float = MARGIN
    sampled: bool = False
    slo: Slo | None = None


class AcceptanceJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a cell's acceptance.

    ``verdict`` is None when the cell is reported without a floor, for the reason ``report_only``.
    ``failed`` of ``sent`` requests got no full answer, of ``prompts`` that the block has.
    ``outputs`` compares the texts of both arms.
    ``reconciliation`` says how the rungs that were there together agree. ``figures`` are what the
    counts show besides their mean, for triage.
    """

    cell: Cell
    verdict: Verdict | None
    findings: tuple[Finding, ...]
    reason: str
    floor: Floor | None
    report_only: str | None
    prompts: int = 0
    sent: int = 0
    failed: int = 0
    rung: Rung | None = None
    reconciliation: str = ""
    outputs: OutputAgreement | None = None
    detail: AcceptanceVerdict | None = None
    summary: AcceptanceSummary | None = None
    figures: Figures | None = None
    logs: tuple[str, ...] = ()

    def mean(self, unit: Literal["rate", "length"]) -> Estimate | None:
        """Return the mean over requests, with the verdict's interval where that is of ``unit``."""
        if self.detail and self.detail.mean and self.detail.unit == unit:
            return self.detail.mean
        if self.summary is None:
            return None
        return self.summary.rate_mean if unit == "rate" else self.summary.length_mean


class SpeedJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a cell's speedup; fields as in :class:`AcceptanceJudgement`.

    ``off_s`` and ``on_s`` are the median time per output token of each arm over its requests, in
    seconds, taken as ``clock`` says.
    """

    cell: Cell
    verdict: Verdict | None
    findings: tuple[Finding, ...]
    reason: str
    floor: Floor | None
    report_only: str | None
    clock: Clock = Clock.AFTER_FIRST
    off_s: float | None = None
    on_s: float | None = None
    detail: SpeedVerdict | None = None
    summary: SpeedSummary | None = None
    logs: tuple[str, ...] = ()


def fault_sentence(fault: FindingRecord, off_fault: FindingRecord | None) -> str:
    """Return what is said of a fault, and whether the arm without speculation had one too."""
    if off_fault is None:
        return fault.sentence
    so = (
        _(" too, so speculation is not the cause")
        if off_fault.finding is fault.finding
        else _(": {sentence}").format(sentence=off_fault.sentence)
    )
    return _("{sentence}. With speculation off a launch ended with {finding}{so}").format(
        sentence=fault.sentence, finding=off_fault.finding, so=so
    )


def off_fault(evidence: CellEvidence) -> FindingRecord | None:
    """Return the first fault of the arm without speculation."""
    return next((arm.fault for arm in evidence.off if arm.fault), None)


def logs_of(evidence: CellEvidence) -> tuple[str, ...]:
    """Return the logs of both arms' launches, as far as there are any."""
    arms: Sequence[ArmEvidence] = (*evidence.on, *evidence.off)
    return tuple(
        dict.fromkeys(
            log
            for arm in arms
            if (log := arm.launch.log if arm.launch else arm.fault and arm.fault.evidence)
        )
    )


def floor_or_reason(entry: Floor | ReportOnly | None) -> tuple[Floor | None, str | None]:
    """Return the floor of an entry, or the reason for none."""
    if isinstance(entry, Floor):
        return entry, None
    return None, entry.reason if entry else None
