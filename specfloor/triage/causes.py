"""Known faults of a release that fit what was found, from the ledger: possible causes."""

from collections.abc import Sequence

import msgspec

from specfloor.ledger.model import Facet, Kind, Ledger, Row, Signature
from specfloor.ledger.query import Standing, feels_like, first_shipped, missing
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.findings import Finding

_KINDS: dict[Finding, tuple[Kind, ...]] = {
    Finding.ACCEPT_ZERO: (Kind.ACCEPTANCE,),
    Finding.ACCEPT_REGRESSION: (Kind.ACCEPTANCE,),
    Finding.ACCEPT_DRIFT: (Kind.ACCEPTANCE,),
    Finding.TOPOLOGY: (Kind.ACCEPTANCE,),
    Finding.SUSPICIOUS_ACCEPTANCE: (Kind.ACCEPTANCE, Kind.ACCURACY),
    Finding.OUTPUT_BROKEN: (Kind.ACCURACY,),
    Finding.SPEED_REGRESSION: (Kind.PERF, Kind.ACCEPTANCE),
    Finding.SPEED_REGRESSION_ACCEPT_OK: (Kind.PERF,),
    Finding.BATCH_FLIP: (Kind.PERF,),
    Finding.CRASH: (Kind.CRASH,),
    Finding.START_FAIL: (Kind.CRASH,),
    Finding.HANG: (Kind.HANG,),
    Finding.CONFIG_NOT_IN_EFFECT: (Kind.FEATURE,),
}
_STRONG = (Standing.AFFECTED, Standing.POSSIBLY)
"""Standings that say something for a release; of others it is only not known that it is free."""


class KnownFix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of vLLM-Ascend that the release lacks and that mends a fault like the one found.

    ``evidence`` is how sure it is that the release has the fault; ``fits`` whether the figures bear
    its signature (None: the ledger or the figures have none). ``first`` is the release that first
    shipped the change, ``first_final`` the first that is no candidate; None while none has.
    """

    release: str
    change: str
    evidence: str
    fits: bool | None
    symptom: str
    feels_like: str
    conditions: tuple[str, ...]
    avoided_by: tuple[str, ...]
    first: str | None
    first_final: str | None


class Causes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The known fixes that may be the cause, likeliest first; or why nothing can be said."""

    release: str
    unknown: str | None
    fixes: tuple[KnownFix, ...]


def possible_causes(
    ledger: Ledger,
    release: str,
    conclusion: Conclusion,
    *,
    family: str | None,
    method: str | None,
    k: int | None,
) -> Causes | None:
    """Return what the ledger knows of a release that may be behind a finding; None if not asked.

    Those whose signature the figures contradict come last; among the others strong evidence comes
    before weak, then those whose signature fits, then what takes fewer conditions that are not
    known to hold.
    """
    kinds = _KINDS.get(conclusion.finding) if conclusion.finding else None
    if kinds is None:
        return None
    lacking = missing(
        ledger, release, family=family, method=method, kinds=kinds, setting=facets_of_k(k)
    )
    holding = {facet for facet, holds in facets_of_k(k).items() if holds}
    ranked: list[tuple[tuple[bool, int, bool, int, int], KnownFix]] = []
    for number, entry in enumerate(lacking.entries):
        if entry.standing not in _STRONG:
            continue
        fits = _fits(entry.row, conclusion.signature)
        strength, open_ = _STRONG.index(entry.standing), len(set(entry.row.when) - holding)
        ranked.append(
            (
                (fits is False, strength, fits is not True, open_, number),
                KnownFix(
                    release=lacking.release,
                    change=entry.row.id,
                    evidence=entry.standing.value,
                    fits=fits,
                    symptom=entry.row.symptom,
                    feels_like=feels_like(entry.row),
                    conditions=entry.row.conditions,
                    avoided_by=entry.row.avoided_by,
                    first=first_shipped(ledger, entry.row),
                    first_final=first_shipped(ledger, entry.row, final=True),
                ),
            )
        )
    ranked.sort(key=lambda one: one[0])
    return Causes(lacking.release, lacking.unknown, tuple(fix for _, fix in ranked))


def facets_of_k(k: int | None) -> dict[Facet, bool]:
    """Return which conditions on k hold, where k is known."""
    if k is None:
        return {}
    return {
        Facet.K_IS_1: k == 1,
        Facet.K_ABOVE_1: k > 1,
        Facet.K_FROM_3: k >= 3,
        Facet.K_FROM_8: k >= 8,
    }


def deciding(conclusions: Sequence[Conclusion]) -> Conclusion | None:
    """Return the first conclusion of which the ledger may know the cause."""
    return next((c for c in conclusions if c.finding in _KINDS), None)


def _fits(row: Row, seen: Signature | None) -> bool | None:
    if row.signature is None or seen is None:
        return None
    return row.signature is seen
