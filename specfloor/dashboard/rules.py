"""Recording and alert rules of Prometheus, as plain values."""

from collections.abc import Iterator, Sequence
from typing import Any

from specfloor.dashboard.bounds import Bound
from specfloor.dashboard.names import (
    ACCEPTED_TOKENS,
    BY_POSITION,
    DRAFT_TOKENS,
    DRAFTS,
    Names,
)
from specfloor.judge.floors import Quantity
from specfloor.triage.standing import ZERO_FIRST, ZERO_RATE, ZERO_TOKENS

WINDOW_S = 300
"""Seconds over which rates are taken: long enough for thousands of drafts under light traffic."""
_WINDOW = f"{WINDOW_S // 60}m"
_LEAST = f"{ZERO_TOKENS / WINDOW_S:g}"
"""Draft tokens a second, below which the rate in a window is mostly scatter."""
DIFFER = 0.15
"""Acceptance by which engines of one model may differ: nearly twice the 8 points that are called a
regression in the field, since each engine has its own requests."""
FIRST_LEFT = 0.75
"""Share of its own past that the acceptance of position 0 must keep. It depends least on the length
of the draft and falls when the hidden state or the embedding that the draft gets is wrong."""
_PAST = ("6h", "1h")
"""The past that position 0 is compared with: over so long, ending so long ago."""
_EVERY = "30s"
_BY = "by (job, model_name)"
_MODEL = "{{ $labels.model_name }}"
_WHO = f"Engine {{{{ $labels.engine }}}} of {_MODEL}"
_SHARE = "{{ $value | humanizePercentage }}"

Rule = dict[str, Any]


def rules(names: Names, bounds: Sequence[Bound] = ()) -> dict[str, Any]:
    """Return a rule file for the series of a release.

    Without ``bounds`` there is no alert about a floor.
    """
    if names.counters:
        recording, alerts = _recording(names), _alerts(bounds)
    else:
        recording, alerts = _recording_of_gauges(names), _alerts_of_gauges(bounds)
    return {
        "groups": [
            {"name": "specfloor-recording", "interval": _EVERY, "rules": list(recording)},
            {"name": "specfloor-alerts", "interval": _EVERY, "rules": list(alerts)},
        ]
    }


def _recording(names: Names) -> Iterator[Rule]:
    rates = {
        "drafts": names.counter(DRAFTS),
        "draft_tokens": names.counter(DRAFT_TOKENS),
        "accepted_tokens": names.counter(ACCEPTED_TOKENS),
        "generation_tokens": names.series("generation_tokens_total"),
    }
    for name, series in rates.items():
        yield _record(f"{name}:rate", f"rate({series}[{_WINDOW}])")
    drafts, tokens, accepted = (
        f"specfloor:{name}:rate" for name in ("drafts", "draft_tokens", "accepted_tokens")
    )
    # "> 0" leaves an idle engine without a sample: no drafts is not a rate of 0
    yield _record("acceptance_rate", f"{accepted} / ({tokens} > 0)")
    yield _record("acceptance_length", f"1 + {accepted} / ({drafts} > 0)")
    yield _record("draft_length", f"{tokens} / ({drafts} > 0)")
    yield _record(
        "acceptance_by_position",
        f"rate({names.counter(BY_POSITION)}[{_WINDOW}]) "
        f"/ ignoring (position) group_left () ({drafts} > 0)",
    )
    # counts are added before anything is divided
    for name, of in (("drafts", drafts), ("draft_tokens", tokens), ("accepted_tokens", accepted)):
        yield _record(f"model_{name}:rate", f"sum {_BY} ({of})")
    drafts, tokens, accepted = (
        f"specfloor:model_{name}:rate" for name in ("drafts", "draft_tokens", "accepted_tokens")
    )
    yield _record("model_acceptance_rate", f"{accepted} / ({tokens} > 0)")
    yield _record("model_acceptance_length", f"1 + {accepted} / ({drafts} > 0)")


def _alerts(bounds: Sequence[Bound]) -> Iterator[Rule]:
    enough = f"specfloor:draft_tokens:rate >= {_LEAST}"
    yield _alert(
        "SpecfloorAcceptanceCollapsed",
        f"(specfloor:acceptance_rate < {ZERO_RATE} and {enough}) unless ignoring (position) "
        f'(specfloor:acceptance_by_position{{position="0"}} >= {ZERO_FIRST})',
        lasting="5m",
        severity="critical",
        summary=f"{_WHO} accepts {_SHARE} of its draft tokens",
        description=(
            "Drafts are made and next to none is kept: every step confirms one token. Look at the "
            "draft before the hardware: specfloor triage on the server's log, with --release."
        ),
    )
    for bound in bounds:
        yield _below_floor(bound)
    yield _alert(
        "SpecfloorEnginesDiffer",
        f"max {_BY} (specfloor:acceptance_rate and {enough}) "
        f"- min {_BY} (specfloor:acceptance_rate and {enough}) > {DIFFER}",
        lasting="10m",
        severity="warning",
        summary=f"Engines of {_MODEL} differ by {_SHARE} in acceptance",
        description=(
            "One of several engines drafts worse than the others on the same traffic: compare "
            "their start lines and environments."
        ),
    )
    over, ago = _PAST
    first = 'specfloor:acceptance_by_position{position="0"}'
    yield _alert(
        "SpecfloorFirstPositionFell",
        f"({first} < {FIRST_LEFT} * avg_over_time({first}[{over}] offset {ago})) "
        f"and ignoring (position) {enough}",
        lasting="15m",
        severity="warning",
        summary=f"{_WHO} accepts {_SHARE} at position 0",
        description=(
            f"That is less than {FIRST_LEFT:.0%} of its mean over {over} until {ago} ago. Traffic "
            "may have changed; if not, the draft gets a wrong hidden state or embedding."
        ),
    )
    yield _alert(
        "SpecfloorNoDrafts",
        "specfloor:generation_tokens:rate >= 1 and specfloor:drafts:rate == 0",
        lasting="10m",
        severity="warning",
        summary=f"{_WHO} generates tokens and drafts none",
        description=(
            "It has a speculative configuration, or it would not export the counters. The prefill "
            "side of a P/D deployment is like this: leave it out with --match."
        ),
    )


def _below_floor(bound: Bound) -> Rule:
    if bound.quantity is Quantity.ACCEPTANCE_RATE:
        name, told = "model_acceptance_rate", _SHARE
    else:
        name, told = "model_acceptance_length", '{{ printf "%.2f" $value }} tokens a step'
    return _floor_alert(
        bound,
        f"specfloor:{name}{_of(bound)} < {bound.value:g} "
        f"and specfloor:model_draft_tokens:rate >= {_LEAST}",
        told,
    )


def _floor_alert(bound: Bound, expression: str, told: str) -> Rule:
    alert = _alert(
        "SpecfloorAcceptanceBelowFloor",
        expression,
        lasting="10m",
        severity="warning",
        summary=f"Acceptance of {_MODEL} is {told}, the floor is {bound.value:g}",
        description=f"Floor: {bound.source}.",
    )
    about = {"quantity": bound.quantity.value, "family": bound.family, "served_as": bound.model}
    alert["labels"] |= {name: value for name, value in about.items() if value}
    return alert


def _recording_of_gauges(names: Names) -> Iterator[Rule]:
    gauge = names.series("spec_decode_draft_acceptance_rate")
    yield _record("acceptance_rate:since_start", gauge)
    yield _record("draft_tokens:rate", f"rate({names.counter(DRAFT_TOKENS)}[{_WINDOW}])")


def _alerts_of_gauges(bounds: Sequence[Bound]) -> Iterator[Rule]:
    drafting = "specfloor:draft_tokens:rate > 0"
    yield _alert(
        "SpecfloorAcceptanceCollapsed",
        f"specfloor:acceptance_rate:since_start < {ZERO_RATE} and {drafting}",
        lasting="5m",
        severity="critical",
        summary=f"{_MODEL} accepts {_SHARE} of its draft tokens",
        description="V0 exports the rate since its start, so a later collapse shows late.",
    )
    for bound in bounds:
        if bound.quantity is Quantity.ACCEPTANCE_RATE:
            expression = (
                f"specfloor:acceptance_rate:since_start{_of(bound)} < {bound.value:g} "
                f"and {drafting}"
            )
            yield _floor_alert(bound, expression, _SHARE)


def _of(bound: Bound) -> str:
    if not bound.model:
        return ""
    quoted = bound.model.replace("\\", "\\\\").replace('"', '\\"')
    return f'{{model_name="{quoted}"}}'


def _record(name: str, expression: str) -> Rule:
    return {"record": f"specfloor:{name}", "expr": expression}


def _alert(
    name: str, expression: str, *, lasting: str, severity: str, summary: str, description: str
) -> Rule:
    return {
        "alert": name,
        "expr": expression,
        "for": lasting,
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "description": description},
    }
