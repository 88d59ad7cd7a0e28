"""What is said of the answers of both arms."""

from enum import StrEnum
from typing import Literal

import msgspec

from specfloor.i18n import N_
from specfloor.judge.output.agreement import Agreement
from specfloor.judge.output.paired import Pairs
from specfloor.judge.verdict import Verdict
from specfloor.triage.findings import Finding


class Check(StrEnum):
    """What an answer may be good or bad at; each is a paired test of the arms."""

    ANSWERED = N_("requests answered in full")
    ANSWER = N_("right answers")
    JSON = N_("valid JSON")
    TOOL_CALLS = N_("right tool calls")
    TEXT = N_("texts without garbage")
    LOOPS = N_("texts without a loop")
    ENDING = N_("answers that end by themselves")
    PARTING = N_("texts that agree in their first words")

    @property
    def of_task(self) -> bool:
        """Whether the prompt says what a good answer is."""
        return self in {Check.ANSWER, Check.JSON, Check.TOOL_CALLS}


class CheckResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One check over the prompts that both arms answered.

    ``pairs`` has the arm with speculation first; ``off_good`` is how many the off arm was good at,
    and ``again_good`` the same of its second launch. ``p_holm`` is the p-value of "no arm is
    worse", two-sided and adjusted over all tests of the verdict; with a second launch of the off
    arm, an arm is worse only if it is so against both. ``worse`` is the arm that is.

    ``loss_at_most`` is the upper limit of the share of prompts lost by speculation, ``allowed`` the
    share from which this does not pass; None for PARTING, which excludes nothing. ``lost`` and
    ``gained`` are the first prompts that only the off arm, and only the on arm, was good at.
    """

    check: Check
    pairs: Pairs
    off_good: int
    again_good: int | None
    p_holm: float
    worse: Literal["on", "off"] | None
    loss_at_most: float | None
    allowed: float | None
    lost: tuple[str, ...]
    gained: tuple[str, ...]

    @property
    def excluded(self) -> bool:
        """Whether a loss as large as what is allowed is excluded."""
        return self.loss_at_most is None or (
            self.allowed is not None and self.loss_at_most < self.allowed
        )


class OutputVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on the answers of an arm with speculation.

    FAIL: speculation breaks answers. PASS: a loss of ``LOSS_ALLOWED`` is excluded in everything
    that was checked. INCONCLUSIVE: neither, or the off arm or the workload cannot tell. NO_DATA: no
    prompt was answered by both arms.

    ``compared`` prompts were answered by both arms; ``failed`` requests of the on arm got no full
    answer, be it that the server refused or that the stream broke off. ``agreement`` compares the
    texts of the arms and ``self_agreement`` those of the off arm's two launches: both are reported,
    and equality of texts decides nothing. ``unlike`` holds the checks in which the two launches of
    the off arm differ.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    reason: str
    compared: int = 0
    failed: int = 0
    checks: tuple[CheckResult, ...] = ()
    agreement: Agreement | None = None
    self_agreement: Agreement | None = None
    unlike: tuple[Check, ...] = ()
