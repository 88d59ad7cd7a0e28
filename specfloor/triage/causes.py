"""Known faults of a release that fit what was found, from the ledger: possible causes."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from specfloor.i18n import _, ledger_text
from specfloor.ledger.model import Facet, Kind, Ledger, Row, Signature
from specfloor.ledger.query import Standing, feels_like, missing
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
_TRENDS = frozenset({Signature.DECAYS, Signature.LONG_INPUT})
"""Signatures of faults that come with time or length; the others are there from the first step."""
_DRAFT_EAGER = re.compile(r"\bdrafts?\b.*\beager\b|\benforce_eager\b", re.IGNORECASE)
"""Words of a row about a draft without its graph, for which the ledger has no facet."""


class KnownFix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of vLLM-Ascend that the release lacks and that mends a fault like the one found.

    ``kind`` is what the fault costs, ``evidence`` how sure it is that the release has it, ``fits``
    whether the figures bear its signature (None: the ledger or the figures have none). ``first`` is
    the release that first shipped the change, ``first_final`` the first that is no candidate; None
    while none has.
    ``configured`` are settings of the catalogue's own speculative configuration that the row is
    about, such as ``enforce_eager=true``.
    """

    release: str
    change: str
    kind: Kind
    evidence: str
    fits: bool | None
    symptom: str
    feels_like: str
    conditions: tuple[str, ...]
    avoided_by: tuple[str, ...]
    first: str | None
    first_final: str | None
    configured: tuple[str, ...] = ()

    @property
    def mended_in(self) -> str:
        """Which releases have the change first, in words."""
        shipped = self.first or _("no release")
        return (
            shipped
            if self.first_final in (None, self.first)
            else (
                _("{shipped}, then {first_final}").format(
                    shipped=shipped, first_final=self.first_final
                )
            )
        )

    @property
    def sentence(self) -> str:
        """The row in one sentence, without a full stop at the end."""
        fits = {True: _(", figures fit"), False: _(", figures do not fit"), None: ""}[self.fits]
        avoid = (
            _("; avoided by {avoided_by}").format(avoided_by=_(" or ").join(self.avoided_by))
            if self.avoided_by
            else ""
        )
        own = (
            _("; the catalogue's own configuration of the draft has {configured}").format(
                configured=_(", ").join(self.configured)
            )
            if self.configured
            else ""
        )
        said = _(
            "{change} ({release} is {evidence}{fits}): {symptom}; mended in {mended_in}{avoid}"
        ).format(
            change=self.change,
            release=self.release,
            evidence=_(self.evidence),
            fits=fits,
            symptom=ledger_text(self.symptom),
            mended_in=self.mended_in,
            avoid=avoid,
        )
        return said + own


class Causes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The known fixes that may be the cause, likeliest first; or why nothing can be said.

    ``as_of`` is the date up to which the ledger knows, as text.
    """

    release: str
    unknown: str | None
    fixes: tuple[KnownFix, ...]
    as_of: str


def possible_causes(
    ledger: Ledger,
    release: str,
    conclusion: Conclusion,
    *,
    family: str | None,
    method: str | None,
    k: int | None,
) -> Causes | None:
    """Return what the ledger knows of a release that may be behind a finding; None if not asked."""
    kinds = kinds_of(conclusion.finding)
    if not kinds:
        return None
    return known_faults(
        ledger,
        release,
        kinds,
        family=family,
        method=method,
        setting=facets_of_k(k),
        seen=(conclusion.signature,) if conclusion.signature else (),
    )


def kinds_of(finding: Finding | None) -> tuple[Kind, ...]:
    """Return the kinds of rows that may be behind a finding; none if the ledger has none."""
    return _KINDS.get(finding, ()) if finding else ()


def known_faults(
    ledger: Ledger,
    release: str,
    kinds: Collection[Kind],
    *,
    family: str | None,
    method: str | None,
    setting: Mapping[Facet, bool],
    seen: Sequence[Signature] = (),
    needed: Collection[Facet] = (),
    drafting: Mapping[str, Any] | None = None,
) -> Causes:
    """Return the faults that a release has, or may have.

    Those that the figures contradict come last; among the others come first those that take what
    the loss is shown to take, then strong evidence before weak, then those whose signature fits,
    then what takes fewer conditions that are not known to hold.

    Args:
        ledger: the ledger.
        release: the release, as the ledger or the field names it.
        kinds: the kinds of rows wanted.
        family: as the catalogue or the ledger names it; None is any.
        method: likewise.
        setting: facets known to hold or not; a fault that needs one that does not is left out.
        seen: the signatures that the figures bear, the one that says most first.
        needed: facets without which the loss is shown not to be there.
        drafting: the fields of the catalogue's speculative configuration, where it is known.
    """
    lacking = missing(ledger, release, family=family, method=method, kinds=kinds, setting=setting)
    ranked: list[tuple[tuple[int, ...], KnownFix]] = []
    for number, entry in enumerate(lacking.entries):
        if entry.standing not in _STRONG:
            continue
        row = entry.row
        fits = _fits(row, seen)
        place = seen.index(row.signature) if fits and row.signature else len(seen)
        against = sum(setting.get(facet) is False for facet in row.when)
        open_ = sum(facet not in setting for facet in row.when)
        wanted = sum(facet not in row.when for facet in needed)
        fix = KnownFix(
            release=lacking.release,
            change=row.id,
            kind=row.kind,
            evidence=entry.standing.value,
            fits=fits,
            symptom=row.symptom,
            feels_like=feels_like(row),
            conditions=row.conditions,
            avoided_by=row.avoided_by,
            first=entry.first,
            first_final=entry.first_final,
            configured=_configured(row, drafting or {}),
        )
        strength = _STRONG.index(entry.standing)
        ranked.append(((fits is False, wanted, strength, place, against, open_, number), fix))
    ranked.sort(key=lambda one: one[0])
    fixes = tuple(fix for _, fix in ranked)
    return Causes(lacking.release, lacking.unknown, fixes, lacking.as_of.isoformat())


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


def _configured(row: Row, drafting: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the settings of a speculative configuration that a row is about."""
    texts = (row.symptom, *row.conditions)
    about = {
        "enforce_eager": any(map(_DRAFT_EAGER.search, texts)),
        "parallel_drafting": Facet.PARALLEL_DRAFTING in row.when,
    }
    return tuple(f"{name}=true" for name, is_it in about.items() if is_it and drafting.get(name))


def _fits(row: Row, seen: Sequence[Signature]) -> bool | None:
    """Return whether figures bear a row's signature; None when they, or it, do not tell.

    Figures that only have a shape leave open whether it came with time or length; figures that show
    a trend contradict a fault that is there from the first step.
    """
    if row.signature is None or not seen:
        return None
    if row.signature in seen:
        return True
    if row.signature in _TRENDS and _TRENDS.isdisjoint(seen):
        return None
    return False
