"""The judgement of two arms' speed. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from specfloor.i18n import _
from specfloor.triage.conclusions import ACCEPTANCE_FAULTS, Conclusion, doubted
from specfloor.triage.evidence import Group
from specfloor.triage.findings import Finding
from specfloor.triage.given import Given
from specfloor.triage.roles import NEW, OFF, OLD, ON

SPEED_LOSS = 0.05
"""Loss of time per output token, or of generation speed; between scatter (2 %) and a loss (6 %)."""
THROUGHPUT_LOSS = 0.06
"""Loss of output throughput, on which the slowest request of a short run weighs."""
TTFT_LOSS = 0.25
"""Loss of time to first token: the draft's own prefill costs some percent, queues scatter more."""
AS_MANY = 0.1
"""Relative difference of the number of requests, and for the requests that ran at once."""


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
        ill = any(c.finding in ACCEPTANCE_FAULTS for c in found)
        return [slower(told, healthy=on.tally is not None and not ill, scope={})]
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
    if abs(on.speed.running / (off.speed.running or 1) - 1) <= AS_MANY:
        return None
    return _(
        "the arms ran {off:.1f} and {on:.1f} requests at once; their speeds cannot be compared"
    ).format(off=off.speed.running, on=on.speed.running)


def slower(told: str, *, healthy: bool, scope: dict[str, Any]) -> Conclusion:
    """Return the finding of a loss of speed; ``healthy``: acceptance is known and as it should."""
    if healthy:
        return Conclusion(
            Finding.SPEED_REGRESSION_ACCEPT_OK,
            _("slower though drafts are accepted: {told}").format(told=told),
            scope,
        )
    return Conclusion(
        Finding.SPEED_REGRESSION,
        _("slower, and acceptance is not known: {told}").format(told=told),
        scope,
        next=(_("capture acceptance of the same run: /metrics before and after it"),),
    )
