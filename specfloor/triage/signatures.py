"""What the shape of a loss says of its cause, judged from counts and their intervals.

A signature is called only when an interval excludes that the figures look like it by chance. All
intervals are at ``LEVEL``, so that a cell whose eight or so figures are all looked at is called
wrongly in well under one of ten cases; the tests simulate how often, both ways.
"""

from collections.abc import Mapping, Sequence

import msgspec

from specfloor.i18n import _
from specfloor.ledger.model import Facet, Signature
from specfloor.triage.shares import Figures, Profile, Range, Share, Trend, fall_between
from specfloor.triage.standing import PERFECT_RATE, PERFECT_TOKENS, ZERO_FIRST, ZERO_RATE

ALIVE = 0.15
"""Acceptance of position 1 that a dead draft must exclude. Drafts that work keep 0.5 to 0.9 of it,
and the worst of the ledger that is only damaged 0.27; dead ones keep 0.012 and less."""
DEAD_NEXT = 0.02
"""Chance that a position is accepted when the one before it was, below which it is dead. A draft
that works keeps tens of percent, down to the last of 15 positions."""
DEAD_LEAST = 50
"""Drafts accepted at a position below which nothing is said of the next: 50 at a chance of 0.1
would leave the next with none in 0.5 % of the cases, and drafts keep far more."""
STEEP = 0.45
"""What is left, from position 1 to a later one, of the chance to be accepted after the one before,
below which positions fall apart rather than fade. The steepest profile that vLLM-Ascend's own tests
hold for healthy keeps 0.49 (Qwen3-Next, MTP: 0.85 0.46 0.19); most keep 0.75 or more."""
POSITION_DROP = 0.08
"""Fall of the acceptance of one position that is told, as a fraction of the drafts; a position that
fell less for certain is called as it was."""
POSITION_SLIP = 0.02
"""Fall of one position that is still a release's or a machine's scatter."""
ODD = 0.5
"""Share of the others' acceptance under which an engine or a tier is called ill: they see other
requests, so only what no mix of requests explains counts."""
TREND = 0.15
"""Share of the acceptance that must be lost from one end to the other for a trend to be one."""


class Contrast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a loss is and where it is not, of two measurements that differ in one thing.

    ``what`` names the thing (a facet, a tier); ``only`` is whether the loss is there only with it,
    and False that it is there without it as well.
    """

    what: str
    only: bool
    evidence: str
    facet: Facet | None = None

    def __str__(self) -> str:
        """Return it as a clause."""
        told = (
            _("only with {what}: {evidence}") if self.only else _("also without {what}: {evidence}")
        )
        return told.format(what=self.what, evidence=self.evidence)


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A signature that the figures bear.

    ``positions`` are those that fell, counted from 0. ``against`` is whether there were figures to
    compare with; without them the shape alone speaks.
    """

    signature: Signature
    evidence: str
    positions: tuple[int, ...] = ()
    against: bool = False


def seen_in(
    figures: Figures, *, floor: float | None = None, falls: Sequence[Range | None] = ()
) -> tuple[Seen, ...]:
    """Return the signatures that figures bear, those that say most first.

    Args:
        figures: of one cell, or of some files.
        floor: the acceptance rate that is expected, a fraction; None without one.
        falls: how far each position fell against a healthy profile; empty without one.
    """
    whole = extreme(figures.profile)
    if whole is not None:
        return (whole,)
    found = [_trend(figures.over_time, Signature.DECAYS, _("of the run"))]
    found.append(_trend(figures.over_input, Signature.LONG_INPUT, _("by length of the input")))
    found.append(shape_of_falls(falls) or shape_alone(figures.profile, floor))
    return tuple(one for one in found if one is not None)


def extreme(profile: Profile) -> Seen | None:
    """Return whether nothing or everything is accepted."""
    whole = profile.whole
    if whole.trials >= PERFECT_TOKENS and whole.value >= PERFECT_RATE:
        return Seen(Signature.TOO_GOOD, _("accepted: {whole} draft tokens").format(whole=whole))
    first = profile.positions[0] if profile.positions else None
    dead = whole.value < ZERO_RATE and (first is None or first.value < ZERO_FIRST)
    if dead and whole.trials and (first or whole).high < ALIVE:
        told = _(", position 1: {first} drafts").format(first=first) if first else ""
        return Seen(
            Signature.ZERO, _("accepted: {whole} draft tokens{told}").format(whole=whole, told=told)
        )
    return None


def shape_of_falls(falls: Sequence[Range | None]) -> Seen | None:
    """Return the shape of a fall by position against a healthy profile; None when it is open.

    Position 1 has fallen when more than ``POSITION_SLIP`` is certain, and is as it was when
    ``POSITION_DROP`` is excluded.
    """
    if not falls or falls[0] is None:
        return None
    fallen = tuple(i for i, fall in enumerate(falls) if fall and fall.low > POSITION_SLIP)
    if not fallen:
        return None
    told = _(", ").join(
        _("{i} by {span}").format(i=i + 1, span=_span(f))
        for i, f in enumerate(falls)
        if f and i in fallen
    )
    evidence = _("acceptance fell at position {told}").format(told=told)
    if fallen[0] == 0:
        return Seen(Signature.ALL_POSITIONS, evidence, fallen, against=True)
    if falls[0].high < POSITION_DROP:
        evidence += _("; position 1 changed by {span}").format(span=_span(falls[0]))
        return Seen(Signature.LATER_POSITIONS, evidence, fallen, against=True)
    return None


def shape_alone(profile: Profile, floor: float | None) -> Seen | None:
    """Return what positions show without a profile to compare with.

    A draft fades: the chance to be accepted after the position before does not rise with the
    position. So the rate that is expected is a bound on position 1: were every chance the same, c,
    the rate would be (c + c² + … + cᵏ) ÷ k, and position 1 of a healthy draft is c or more. Drafts
    that copy (n-grams, suffixes) do rise: where a later chance is higher for certain, the bound is
    not used.
    """
    if not profile.positions or profile.positions[0] is None or not profile.full:
        return None
    first = profile.positions[0]
    rises = any(one is not None and one.low > first.high for one in profile.after[1:])
    least = _even_chance(floor, len(profile.positions)) if floor and not rises else None
    if least is not None and first.high < least - POSITION_SLIP:
        return Seen(
            Signature.ALL_POSITIONS,
            _(
                "position 1 is accepted in {first} drafts, and the rate {floor:.3f} "
                "takes {least:.3f}"
            ).format(first=first, floor=floor, least=least),
            tuple(range(len(profile.positions))),
        )
    apart = falls_apart(profile)
    if apart and (least is None or first.high >= least):
        place = apart[0]
        return Seen(
            Signature.LATER_POSITIONS,
            _(
                "position {place} is accepted after the one before it in {after}, "
                "position 1 in {first} drafts"
            ).format(place=place + 1, after=profile.after[place], first=first),
            apart,
        )
    return None


def dead_positions(profile: Profile) -> tuple[int, ...]:
    """Return the positions, from 0, that accept next to nothing though the one before works."""
    if not profile.full:
        return ()
    for place, here in enumerate(profile.after[1:], start=1):
        if here is not None and here.trials >= DEAD_LEAST and here.value < DEAD_NEXT:
            return tuple(range(place, len(profile.after)))
    return ()


def falls_apart(profile: Profile) -> tuple[int, ...]:
    """Return the positions, from 0, from the first on that breaks off where the one before works.

    It is dead, or its chance is under ``STEEP`` of position 1's for certain.
    """
    first = profile.after[0] if profile.after else None
    if first is None or not profile.full:
        return ()
    for place, here in enumerate(profile.after[1:], start=1):
        if here is not None and here.high < STEEP * first.low:
            return tuple(range(place, len(profile.after)))
    return dead_positions(profile)


def fallen_positions(here: Profile, there: Sequence[float | None]) -> tuple[int, ...]:
    """Return the positions, from 0, that accept ``POSITION_DROP`` less than they should, or worse.

    For telling, not for judging: it compares values, not intervals.
    """
    return tuple(
        i
        for i, (now, before) in enumerate(zip(here.positions, there, strict=False))
        if now is not None and before is not None and before - now.value > POSITION_DROP
    )


def needs(here: Share, there: Share) -> bool | None:
    """Return whether a loss seen here needs what is not there, on the same prompts.

    True when ``there`` accepts more for certain, False when it accepts as little; None is open.
    """
    fall = fall_between(there, here)
    if fall.low > POSITION_SLIP:
        return True
    return False if fall.high < POSITION_DROP else None


def odd_ones(shares: Mapping[str, Share]) -> dict[str, str]:
    """Return the names whose acceptance no mix of requests explains, each with its evidence.

    An engine (or a tier) is odd when it keeps less than ``ODD`` of the best of the others for
    certain. With all of them ill there is no odd one.
    """
    found = {}
    for name, here in shares.items():
        best = max((s for n, s in shares.items() if n != name), key=lambda s: s.low, default=None)
        if best is not None and here.high < ODD * best.low:
            found[name] = _(
                "{name} accepts {here} draft tokens, the best of the others {best}"
            ).format(name=name, here=here, best=best)
    return found


def _trend(trend: Trend | None, signature: Signature, order: str) -> Seen | None:
    if trend is None or trend.fall.low <= TREND * trend.first:
        return None
    ends = _(" and ").join(f"{end:,.0f}" for end in trend.ends)
    return Seen(
        signature,
        _(
            "acceptance falls from {first:.3f} to {last:.3f} over the third parts "
            "{order} (around {ends}; {requests} requests each; fall {span})"
        ).format(
            first=trend.first,
            last=trend.last,
            order=order,
            ends=ends,
            requests=trend.requests,
            span=_span(trend.fall),
        ),
        against=True,
    )


def _even_chance(rate: float, k: int) -> float:
    """Return c of (c + … + cᵏ) ÷ k = ``rate``, by bisection to a millionth."""
    low, high = 0.0, 1.0
    for _half in range(20):
        middle = (low + high) / 2
        if sum(middle**i for i in range(1, k + 1)) / k < rate:
            low = middle
        else:
            high = middle
    return low


def _span(one: Range) -> str:
    return _("{low:.3f} to {high:.3f}").format(low=one.low, high=one.high)
