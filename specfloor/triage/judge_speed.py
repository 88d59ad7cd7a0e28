"""The judgement of two arms' speed. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from specfloor.i18n import _
from specfloor.triage.balance import balance_of, break_even
from specfloor.triage.conclusions import ACCEPTANCE_FAULTS, Conclusion, doubted
from specfloor.triage.evidence import Group
from specfloor.triage.findings import Finding
from specfloor.triage.given import Given
from specfloor.triage.roles import NEW, OFF, OLD, ON
from specfloor.triage.tally import Tally

SPEED_LOSS = 0.05
"""Loss of time per output token, or of generation speed; between scatter (2 %) and a loss (6 %)."""
THROUGHPUT_LOSS = 0.06
"""Loss of output throughput, on which the slowest request of a short run weighs."""
TTFT_LOSS = 0.25
"""Loss of time to first token: the draft's own prefill costs some percent, queues scatter more."""
AS_MANY = 0.1
"""Relative difference of the number of requests, and for the requests that ran at once."""


class Drafts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the drafts of an arm that lost speed.

    ``tally`` is None where acceptance is not known. ``holds`` says why it is as it should be, where
    it was compared with something expected; ``fell`` is whether it is not, and ``unsure`` whether
    the sample is too small to tell. ``apart`` says why the loss cannot be acceptance's, whatever it
    is. ``speed`` is the arm's over that without drafts, None where the two do not tell the cost of
    a step.
    """

    tally: Tally | None = None
    k: int | None = None
    holds: str | None = None
    fell: bool = False
    unsure: bool = False
    apart: str | None = None
    speed: float | None = None


def drafts_of(
    tally: Tally | None,
    found: Sequence[Conclusion],
    *,
    k: int | None = None,
    speed: float | None = None,
    apart: str | None = None,
) -> Drafts:
    """Return what is known of an arm's drafts; ``found`` is what was concluded of acceptance."""
    fell = any(c.finding in ACCEPTANCE_FAULTS for c in found)
    unsure = any(c.finding is Finding.INCONCLUSIVE for c in found)
    held = next((c.reason for c in found if c.finding is Finding.EXPECTED), None)
    holds = None if fell or unsure or tally is None else held
    return Drafts(tally, k, holds, fell=fell, unsure=unsure, apart=apart, speed=speed)


def speed_of_logs(
    compared: Mapping[str, Group],
    subjects: Sequence[Group],
    found: Sequence[Conclusion],
    given: Given,
) -> list[Conclusion]:
    """Compare the generation speed in two logs: without and with speculation, or of two builds.

    ``found`` is what is known so far.
    """
    off = compared.get(OFF) or compared.get(OLD)
    if off is None:
        return []
    on = next((group for group in subjects if group.role in (ON, NEW)), subjects[0])
    if unlike := _unlike(off, on, given):
        return [Conclusion(Finding.BASELINE_INVALID, unlike)]
    if off.speed is None or on.speed is None:
        return []
    told = _("{before:.1f} tokens/s {old} and {after:.1f} {new}").format(
        before=off.speed.typical, old=off.role, after=on.speed.typical, new=on.role or ON
    )
    if on.speed.typical < (1 - SPEED_LOSS) * off.speed.typical:
        same = off.role == OFF and _as_many(off, on)
        ratio = on.speed.typical / off.speed.typical if same else None
        drafts = drafts_of(on.tally, found, k=on.k, speed=ratio)
        return [slower(told, drafts, scope={})]
    if on.tally is None:
        return []
    return doubted([Conclusion(Finding.EXPECTED, told)], on.doubt or off.doubt)


def _unlike(off: Group, on: Group, given: Given) -> str | None:
    """Return why two arms cannot be compared; None when they can."""
    if off.role == OFF and off.tally is not None:
        return _("the arm without speculation has drafts")
    if off.role == OFF and off.speed is None and on.speed is not None:
        return _("the arm without speculation shows no speed to compare with")
    if off.speed is None or on.speed is None or given.config.get("same_load") is True:
        return None
    if _as_many(off, on):
        return None
    return _(
        "the arms ran {off:.1f} and {on:.1f} requests at once; their speeds cannot be compared"
    ).format(off=off.speed.running, on=on.speed.running)


def _as_many(off: Group, on: Group) -> bool:
    """Whether the arms ran as many requests at once, so that their speeds compare their steps."""
    if off.speed is None or on.speed is None:
        return False
    return abs(on.speed.running / (off.speed.running or 1) - 1) <= AS_MANY


def slower(told: str, drafts: Drafts, scope: dict[str, Any]) -> Conclusion:
    """Return the finding of a loss of speed.

    The draft is cleared only where its acceptance was compared and holds, where acceptance has no
    part in what was lost, or where next to nothing is rejected, so that no draft could have been
    faster by as much as counts as a loss.
    """
    balance = balance_of(drafts.tally, drafts.k, drafts.speed)
    cleared = None
    if drafts.tally is not None and not drafts.fell:
        cleared = drafts.holds or drafts.apart
        if cleared is None and balance is not None and balance.left <= SPEED_LOSS:
            cleared = _(
                "{rate:.1%} of its tokens are accepted, and one that loses none would be "
                "{left:.0%} faster at most"
            ).format(rate=drafts.tally.rate, left=balance.left)
    if cleared is not None:
        return Conclusion(
            Finding.SPEED_REGRESSION_ACCEPT_OK,
            _("slower though drafts are accepted: {told}").format(told=told),
            scope,
            cleared=cleared,
            balance=balance,
        )
    if drafts.tally is None or drafts.tally.rate is None:
        return Conclusion(
            Finding.SPEED_REGRESSION,
            _("slower, and acceptance is not known: {told}").format(told=told),
            scope,
            next=(_("capture acceptance of the same run: /metrics before and after it"),),
        )
    even = break_even(balance) if balance else None
    told = _("; ").join(filter(None, (told, even)))
    if drafts.fell:
        return Conclusion(
            Finding.SPEED_REGRESSION,
            _("slower, and acceptance is not as it should be ({measured}): {told}").format(
                measured=measured(drafts.tally), told=told
            ),
            scope,
            balance=balance,
        )
    return Conclusion(
        Finding.SPEED_REGRESSION,
        _("slower, and whether acceptance is as it should be is open ({measured}): {told}").format(
            measured=measured(drafts.tally), told=told
        ),
        scope,
        # what is too little to compare has its own next step: more requests
        next=() if drafts.unsure else (judging_acceptance(),),
        balance=balance,
    )


def measured(tally: Tally) -> str:
    """Return acceptance in a few words, the length where it is known."""
    if tally.length is None:
        return _("{rate:.1%} accepted").format(rate=tally.rate)
    return _("{rate:.1%} accepted, length {length:.2f}").format(
        rate=tally.rate, length=tally.length
    )


def judging_acceptance() -> str:
    """Return what gives measured acceptance something to be judged by."""
    return _(
        "judge the acceptance first: give a baseline of it in --given, or the same kind of file of "
        "a run of this model that is known to be good, named so (reference.log)"
    )
