"""The judgement of acceptance: one group's figures by themselves, and against what is expected.

The margins between the thresholds and what they tell apart are wide: zero is under 2 % over
hundreds of draft tokens, a regression 8 points or more, a drift more than half of the first value,
and health within 2 points.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from specfloor.i18n import _
from specfloor.ledger.model import Signature
from specfloor.triage.conclusions import Conclusion, doubted
from specfloor.triage.evidence import Group, Part
from specfloor.triage.findings import Finding
from specfloor.triage.given import Given
from specfloor.triage.roles import EXPECTATIONS, NEW, OLD
from specfloor.triage.shares import falls_against, falls_of, profile_of
from specfloor.triage.signatures import (
    Seen,
    dead_positions,
    extreme,
    fallen_positions,
    falls_apart,
    shape_alone,
    shape_of_falls,
)
from specfloor.triage.standing import (
    PERFECT_RATE,
    PERFECT_TOKENS,
    TOLERANCE,
    UNSEEN,
    ZERO_RATE,
    ZERO_TOKENS,
    Expected,
    Standing,
    half_width,
    is_zero,
    standing_of,
)
from specfloor.triage.tally import Tally, total
from specfloor.triage.timeline import end_of

DRIFT_SHARE = 0.5
"""What is left of the first value, below which it is a drift."""
DRIFT_END = 1 / 6
"""Share of the draft tokens, at either end of a run, that are compared."""
_DRIFT_LEAST_PARTS = 3


def expected_of(compared: Mapping[str, Group], given: Given) -> Expected | None:
    """Return what to compare with: the baseline, else an older or a reference run."""
    base = given.baseline
    if base is not None and (base.acceptance_rate is not None or base.acceptance_length):
        rate = base.acceptance_rate
        if rate is None and base.k and base.acceptance_length:
            rate = (base.acceptance_length - 1) / base.k
        if rate is not None:
            first = () if base.per_position_0 is None else (base.per_position_0,)
            points = base.tolerance_points
            return Expected(
                _("the baseline"),
                rate,
                TOLERANCE if points is None else points / 100,
                base.k,
                base.acceptance_length,
                base.per_position or first,
                base.model,
            )
    for role in EXPECTATIONS:
        tally = compared[role].tally if role in compared else None
        if tally is not None and tally.rate is not None and tally.draft_tokens >= ZERO_TOKENS:
            return Expected(
                _("the {role} run").format(role=role),
                tally.rate,
                k=len(tally.positions) or None,
                length=None if tally.emitted_tokens is not None else tally.length,
                positions=tally.per_position,
                version=compared[role].version,
                tally=tally,
            )
    return None


def acceptance_of(group: Group, expected: Expected | None, given: Given) -> list[Conclusion]:
    """Judge the acceptance of one group; without anything expected, only what is wrong anyhow."""
    tally = group.tally
    scope = group.scope | _builds(group, expected, given)
    if tally is None:
        return _of_bare_rate(group, expected, scope)
    if expected is not None and expected.k and group.k and expected.k != group.k:
        reason = _("{source} is of k = {expected} and this is k = {k}").format(
            source=expected.source, expected=expected.k, k=group.k
        )
        return [Conclusion(Finding.BASELINE_INVALID, reason, scope), *_absolute(group, scope)]
    faults = _engine_faults(group, expected, scope) or _run_faults(group, expected, scope)
    if given.synthetic:
        reason = _("acceptance is set by the rejection sampler, not by the draft")
        return [Conclusion(Finding.WORKLOAD_INVALID, reason, scope)]
    compared = [c for c in faults if c.finding is Finding.ACCEPT_REGRESSION]
    if compared and expected is not None and given.adaptive:
        reason = _("drafts are adaptive: acceptance falls by design; speed and accuracy decide")
        faults = [c for c in faults if c not in compared]
        faults.append(Conclusion(Finding.BASELINE_INVALID, reason, scope))
    if tally.draft_tokens >= PERFECT_TOKENS and (tally.rate or 0) >= PERFECT_RATE:
        reason = _("{rate:.1%} of {draft_tokens:,} draft tokens accepted").format(
            rate=tally.rate, draft_tokens=tally.draft_tokens
        )
        shape = _shape(extreme(profile_of(tally)))
        faults.append(Conclusion(Finding.SUSPICIOUS_ACCEPTANCE, reason, scope, **shape))
    if faults or expected is None:
        return faults
    return doubted([_health(group, tally, expected, scope)], group.doubt)


def _health(group: Group, tally: Tally, expected: Expected, scope: dict[str, Any]) -> Conclusion:
    worst = min(
        (run.tally for run in group.runs if run.tally and run.tally.rate is not None),
        key=lambda one: one.rate or 0.0,
        default=tally,
    )
    standing = standing_of(tally, expected)
    told = f"{tally.rate:.1%}" if tally.rate is not None else _("an unknown rate")
    if standing is Standing.UNSURE or standing_of(worst, expected) is Standing.BELOW:
        drafts = (
            _("{drafts} drafts").format(drafts=tally.drafts)
            if tally.drafts
            else _("{draft_tokens} draft tokens").format(draft_tokens=tally.draft_tokens)
        )
        reason = _("{drafts} are too few to tell {told} from {rate:.1%}").format(
            drafts=drafts, told=told, rate=expected.rate
        )
        return Conclusion(
            Finding.INCONCLUSIVE,
            reason,
            scope,
            next=(_("send more requests of the same workload and give the log or metrics again"),),
        )
    reason = _("{told} accepted where {source} has {rate:.1%}").format(
        told=told, source=expected.source, rate=expected.rate
    )
    silent = [name for run in group.runs for name in run.generating]
    if silent:
        scope = {**scope, "engines": silent}
        return Conclusion(
            Finding.TOPOLOGY,
            _("engines generate without drafts: {silent}").format(silent=silent),
            scope,
        )
    return Conclusion(Finding.EXPECTED, reason, scope)


def _of_bare_rate(
    group: Group, expected: Expected | None, scope: dict[str, Any]
) -> list[Conclusion]:
    if group.bare_rate is None:
        return []
    reason = _(
        "V0's gauge says {bare_rate:.1%} since the start, of an unknown number of drafts"
    ).format(bare_rate=group.bare_rate)
    if expected is None and group.bare_rate >= ZERO_RATE:
        return []
    return [Conclusion(Finding.INCONCLUSIVE, reason, scope)]


def _engine_faults(
    group: Group, expected: Expected | None, scope: dict[str, Any]
) -> list[Conclusion]:
    """Return a finding when some engines are ill and others not; all of them are a run's matter."""
    engines: dict[str, list[Tally]] = {}
    drifting: set[str] = set()
    for run in group.runs:
        for name, tally in run.engines.items():
            if tally is not None:
                engines.setdefault(name, []).append(tally)
        drifting |= {name for name, parts in run.engine_parts.items() if _drift(parts)}
    tallies = {name: found for name, one in engines.items() if (found := total(one))}
    ill = [name for name, t in tallies.items() if _is_ill(name, t, tallies, expected)]
    ill += [name for name in tallies if name in drifting and name not in ill]
    enough = [name for name, t in tallies.items() if t.draft_tokens >= ZERO_TOKENS]
    if not ill or not set(enough) - set(ill):
        return []
    told = _(", ").join(f"{name} ({tallies[name].rate:.1%})" for name in ill)
    others = total(t for name, t in tallies.items() if name not in ill)
    rest = f"{others.rate:.1%}" if others and others.rate is not None else _("unknown")
    worst = tallies[ill[0]]
    return [
        Conclusion(
            Finding.TOPOLOGY,
            _("only some engines are affected: {told}; the others accept {rest}").format(
                told=told, rest=rest
            ),
            {**scope, "engines": sorted(ill)},
            **_shape(extreme(profile_of(worst))),
        )
    ]


def _is_ill(
    name: str, tally: Tally, engines: Mapping[str, Tally], expected: Expected | None
) -> bool:
    if is_zero(tally):
        return True
    if expected is not None:
        return standing_of(tally, expected) is Standing.BELOW
    others = total(t for other, t in engines.items() if other != name)
    if others is None or others.rate is None or tally.rate is None:
        return False
    # engines see different requests, so only a loss that no mix of requests explains counts
    half = others.rate * DRIFT_SHARE
    return tally.draft_tokens >= ZERO_TOKENS and half - tally.rate > half_width(tally, half)


def _run_faults(group: Group, expected: Expected | None, scope: dict[str, Any]) -> list[Conclusion]:
    found = [*_absolute(group, scope), *_between_runs(group, scope)]
    for run in group.runs:
        if run.tally is None:
            continue
        if is_zero(run.tally):
            if group.tally is not None and not is_zero(group.tally):
                found.append(_zero(run.tally, {**scope, "version": run.version}))
            continue
        if drift := _drift(run.parts):
            first, last = drift
            found.append(
                Conclusion(
                    Finding.ACCEPT_DRIFT,
                    _("acceptance falls inside one run, from {first:.1%} to {last:.1%}").format(
                        first=first, last=last
                    ),
                    scope,
                    signature=Signature.DECAYS,
                )
            )
        elif expected is not None and standing_of(run.tally, expected) is Standing.BELOW:
            found.append(_regression(run.tally, expected, scope))
    whole = group.tally
    if not found and expected and whole and standing_of(whole, expected) is Standing.BELOW:
        found.append(_regression(whole, expected, scope))
    return found


def _absolute(group: Group, scope: dict[str, Any]) -> list[Conclusion]:
    """Return what is wrong whatever is expected: nothing accepted, or dead later positions."""
    tally = group.tally
    if tally is None:
        return []
    if is_zero(tally):
        return [_zero(tally, scope)]
    profile = profile_of(tally)
    dead = dead_positions(profile)
    if not dead:
        return []
    # what is dead may have fallen before, to a rest that has too few trials to be called dead
    dead = falls_apart(profile) or dead
    reason = _(
        "from position {first} on next to nothing is accepted, though position "
        "{alive} is in {rate:.0%} of the drafts"
    ).format(first=dead[0] + 1, alive=dead[0], rate=tally.per_position[dead[0] - 1])
    return [
        Conclusion(
            Finding.ACCEPT_REGRESSION,
            reason,
            {**scope, "positions": list(dead)},
            signature=Signature.LATER_POSITIONS,
            evidence=(
                _("position {dead} after the one before it: {after}").format(
                    dead=dead[0] + 1, after=profile.after[dead[0]]
                ),
            ),
        )
    ]


def _zero(tally: Tally, scope: dict[str, Any]) -> Conclusion:
    reason = _(
        "{accepted_tokens:,} of {draft_tokens:,} draft tokens accepted: drafting costs time and "
        "gains nothing; look at the draft before the hardware"
    ).format(accepted_tokens=tally.accepted_tokens, draft_tokens=tally.draft_tokens)
    until = _(
        "serve without --speculative-config until the cause is mended: as fast or faster, with the "
        "same answers"
    )
    shape = _shape(extreme(profile_of(tally)))
    return Conclusion(Finding.ACCEPT_ZERO, reason, scope, next=(until,), **shape)


def _shape(seen: Seen | None) -> dict[str, Any]:
    """Return the fields of a conclusion that say what its figures look like."""
    return {"signature": seen.signature, "evidence": (seen.evidence,)} if seen else {}


def _between_runs(group: Group, scope: dict[str, Any]) -> list[Conclusion]:
    """Return a finding when a restart made it worse, and it has stayed so."""
    runs = [run for run in group.runs if run.tally and run.tally.rate is not None]
    for number, (before, after) in enumerate(pairwise(runs), start=1):
        assert before.tally is not None
        assert after.tally is not None
        was = Expected(
            _("the run before"), before.tally.rate or 0.0, TOLERANCE + UNSEEN, tally=before.tally
        )
        last = runs[-1].tally
        if before.tally.draft_tokens < ZERO_TOKENS or len(before.tally.positions) != len(
            after.tally.positions
        ):
            continue
        if standing_of(after.tally, was) is not Standing.BELOW or last is None:
            continue
        if standing_of(last, was) is Standing.BELOW:
            reason = _(
                "{before:.1%} accepted before the restart{old}, {rate:.1%} after it{new}"
            ).format(
                before=before.tally.rate,
                old=f" ({before.version})" if before.version else "",
                rate=after.tally.rate,
                new=f" ({after.version})" if after.version else "",
            )
            return [
                Conclusion(
                    Finding.ACCEPT_REGRESSION,
                    reason,
                    {
                        **scope,
                        "from": before.version or _("run {number}").format(number=number),
                        "to": after.version or _("run {number}").format(number=number + 1),
                    },
                    **_shape(_shape_of_loss(after.tally, was)),
                )
            ]
    return []


def _regression(tally: Tally, expected: Expected, scope: dict[str, Any]) -> Conclusion:
    reason = _("{rate:.1%} accepted where {source} has {expected:.1%}").format(
        rate=tally.rate, source=expected.source, expected=expected.rate
    )
    profile = profile_of(tally)
    fallen = dead_positions(profile) or fallen_positions(profile, expected.positions)
    if fallen and len(expected.positions) > 1:
        scope = {**scope, "positions": list(fallen)}
        reason += _("; fallen positions: {fallen}").format(
            fallen=_(", ").join(str(place + 1) for place in fallen)
        )
    return Conclusion(
        Finding.ACCEPT_REGRESSION,
        reason,
        scope,
        **_shape(_shape_of_loss(tally, expected)),
    )


def _shape_of_loss(tally: Tally, expected: Expected) -> Seen | None:
    """Return what the positions show of a loss, against those expected or by themselves."""
    profile = profile_of(tally)
    if expected.tally is not None:
        falls = falls_of(profile, profile_of(expected.tally))
    else:
        falls = falls_against(profile, expected.positions)
    return shape_of_falls(falls) or shape_alone(profile, expected.rate)


def _drift(parts: Sequence[Part]) -> tuple[float, float] | None:
    """Return the rates at the two ends of a run when the last has lost more than half."""
    if len(parts) < _DRIFT_LEAST_PARTS:
        return None
    first, last = end_of(parts, DRIFT_END), end_of(parts, DRIFT_END, last=True)
    if first is None or last is None or first.rate is None or last.rate is None:
        return None
    if min(first.draft_tokens, last.draft_tokens) < ZERO_TOKENS:
        return None
    error = math.hypot(half_width(first, first.rate), half_width(last, first.rate))
    left = last.rate < DRIFT_SHARE * first.rate and first.rate - last.rate > error
    return (first.rate, last.rate) if left else None


def _builds(group: Group, expected: Expected | None, given: Given) -> dict[str, Any]:
    """Return which builds are compared, where an old and a new one are."""
    if group.role != NEW:
        return {}
    old = given.config.get(OLD) or (expected.version if expected else None)
    return {"from": old or OLD, "to": given.config.get(NEW) or group.version or NEW}
