"""What a release lacks, and what a change of release gains and loses.

Every answer comes from lists of releases, never from comparing versions: 0.23.0 is older in number
and has changes that 0.25.1rc1 lacks.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

import msgspec
from packaging.version import Version

from specfloor.catalog.versions import read_version
from specfloor.errors import UsageError
from specfloor.i18n import N_, _
from specfloor.ledger.model import Basis, Facet, Kind, Ledger, Row, Signature
from specfloor.ledger.names import ANY, ledger_family, ledger_method

FAULTS = frozenset(Kind) - {Kind.FEATURE}
"""The kinds of rows that are about something wrong."""


class Standing(StrEnum):
    """How a release stands to a row."""

    AFFECTED = N_("affected")
    """It has the fault: the change that brought it is known, and it is in."""
    POSSIBLY = N_("possibly affected")
    """It has the feature the fault sits in, and not the fix: at most affected."""
    UNKNOWN = N_("unknown")
    """It lacks the fix, and whether it has the fault is not known."""
    ABSENT = N_("absent")
    """It lacks the feature."""
    CLEAR = N_("not affected")
    """It lacks the fix and the fault alike."""
    FIXED = N_("fixed")
    """It has the fix, or the feature."""

    @property
    def is_weak(self) -> bool:
        """Whether it says nothing of the fault, so that it is shown only on request."""
        return self in (Standing.UNKNOWN, Standing.ABSENT)


_STRENGTH = {
    Standing.AFFECTED: 0,
    Standing.POSSIBLY: 1,
    Standing.UNKNOWN: 2,
    Standing.ABSENT: 3,
}
"""The standings of a release that lacks something, strong evidence first."""
_URGENCY = {kind: rank for rank, kind in enumerate(Kind)}


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row and how one release stands to it.

    ``named`` is whether the row names the family asked for, rather than any. ``first`` is the
    release that first shipped the change, by date; ``first_final`` the first that is no candidate.
    Both are None while no release has it.
    """

    row: Row
    standing: Standing
    named: bool
    first: str | None
    first_final: str | None


class Missing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a release lacks, strong evidence first.

    ``unknown`` says why nothing is known of this release, and then ``entries`` is empty, which does
    not mean that nothing is missing. ``as_of`` is the date up to which the ledger knows.
    """

    release: str
    as_of: datetime.date
    unknown: str | None
    entries: tuple[Entry, ...]


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row on which two releases differ."""

    row: Row
    old: Standing
    new: Standing
    named: bool

    @property
    def is_weak(self) -> bool:
        """Whether the standing of either release is."""
        return self.old.is_weak or self.new.is_weak


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What going from one release to another gains and loses, strong evidence first.

    Gained: the old release has, or may have, the fault, and the new one not; or the new one has the
    feature and the old one not. Lost: the other way round. ``unknown`` as in ``Missing``.
    """

    old: str
    new: str
    as_of: datetime.date
    unknown: str | None
    gained: tuple[Change, ...]
    lost: tuple[Change, ...]


def missing(
    ledger: Ledger,
    release: str,
    *,
    family: str | None = None,
    method: str | None = None,
    kinds: Collection[Kind] = FAULTS,
    setting: Mapping[Facet, bool] | None = None,
) -> Missing:
    """Return the rows whose change ``release`` lacks and that it may be the worse for.

    Args:
        ledger: the ledger.
        release: a release, as the catalogue or the field writes it.
        family: a family by its catalogue or ledger name; rows of any family count too. None is
            every family.
        method: a method as vLLM or the ledger names it, likewise.
        kinds: the kinds of rows wanted.
        setting: facets known to hold or not to hold; rows they rule out are left out.

    Raises:
        UsageError: the ledger has no such family or method.
    """
    name = _plain(release)
    unknown = why_unknown(ledger, release)
    if unknown:
        return Missing(name, ledger.horizon.date, unknown, ())
    filed = ledger_family(family) if family else None
    entries = [
        Entry(
            row,
            where,
            filed in row.families,
            first_shipped(ledger, row),
            first_shipped(ledger, row, final=True),
        )
        for row in rows_about(ledger, family, method, kinds)
        if (where := standing(row, name)) in _STRENGTH and not ruled_out(row, setting or {})
    ]
    entries.sort(key=lambda entry: _rank(entry.row, entry.standing, entry.named))
    return Missing(name, ledger.horizon.date, None, tuple(entries))


def compare(
    ledger: Ledger,
    old: str,
    new: str,
    *,
    family: str | None = None,
    method: str | None = None,
    kinds: Collection[Kind] = frozenset(Kind),
    setting: Mapping[Facet, bool] | None = None,
) -> Comparison:
    """Return what going from ``old`` to ``new`` gains and loses; arguments as for ``missing``."""
    before, after = _plain(old), _plain(new)
    reasons = [why for name in (old, new) if (why := why_unknown(ledger, name))]
    if reasons:
        return Comparison(before, after, ledger.horizon.date, "; ".join(reasons), (), ())
    filed = ledger_family(family) if family else None
    gained, lost = [], []
    for row in rows_about(ledger, family, method, kinds):
        if ruled_out(row, setting or {}):
            continue
        change = Change(
            row,
            standing(row, before),
            standing(row, after),
            filed in row.families,
        )
        if change.old in _STRENGTH and change.new not in _STRENGTH:
            gained.append(change)
        elif change.new in _STRENGTH and change.old not in _STRENGTH:
            lost.append(change)
    gained.sort(key=lambda change: _rank(change.row, change.old, change.named))
    lost.sort(key=lambda change: _rank(change.row, change.new, change.named))
    return Comparison(before, after, ledger.horizon.date, None, tuple(gained), tuple(lost))


def standing(row: Row, release: str) -> Standing:
    """Return how a release of the ledger stands to a row."""
    if release in row.fixed_in:
        return Standing.FIXED
    if row.kind is Kind.FEATURE:
        return Standing.ABSENT
    if row.affected is None:
        return Standing.UNKNOWN
    if release not in row.affected:
        return Standing.CLEAR
    return Standing.AFFECTED if row.basis is Basis.INTRODUCED_BY else Standing.POSSIBLY


def why_unknown(ledger: Ledger, release: str) -> str | None:
    """Return why the ledger knows nothing of a release, with the date it ends; None if it does."""
    horizon = ledger.horizon
    until = _("the ledger ends with {release} of {date}").format(
        release=horizon.release, date=horizon.date
    )
    try:
        found = read_version(release)
    except UsageError:
        return _("{release} is not a vLLM-Ascend release; {until}").format(
            release=release, until=until
        )
    if found.development_build:
        return _(
            "{release} is a development build, for which no release's list speaks; {until}"
        ).format(release=release, until=until)
    if found.version in ledger.order:
        return None
    if Version(found.version) > Version(horizon.release):
        return _("{version} is past what the ledger has read; {until}").format(
            version=found.version, until=until
        )
    if found.version in horizon.not_seen:
        return _("{version} exists and was not read; {until}").format(
            version=found.version, until=until
        )
    return _("{version} is no release the ledger has read; {until}").format(
        version=found.version, until=until
    )


def rows_about(
    ledger: Ledger,
    family: str | None,
    method: str | None,
    kinds: Collection[Kind] = frozenset(Kind),
) -> Iterable[Row]:
    """Yield the rows that concern a family and a method, in ledger order; None is every one."""
    families = {ledger_family(family), ANY} if family else None
    methods = {ledger_method(method), ANY} if method else None
    for row in ledger.rows:
        if (
            row.kind in kinds
            and (families is None or not families.isdisjoint(row.families))
            and (methods is None or not methods.isdisjoint(row.methods))
        ):
            yield row


def ruled_out(row: Row, setting: Mapping[Facet, bool]) -> bool:
    """Whether a setting leaves out something the row's fault needs."""
    return any(setting.get(facet) is False for facet in row.avoid)


def first_shipped(ledger: Ledger, row: Row, *, final: bool = False) -> str | None:
    """Return the release that first shipped a row's change, by date; ``final``: no candidate."""
    names = [name for name in row.fixed_in if not final or name in ledger.finals]
    return min(names, key=ledger.order.__getitem__, default=None)


def feels_like(row: Row) -> str:
    """Return what a user of an affected release would notice."""
    if row.kind is Kind.ACCEPTANCE:
        return (
            _(_SIGNATURES[row.signature]) if row.signature else _("acceptance falls, with no error")
        )
    return _(_KINDS[row.kind])


_SIGNATURES = {
    Signature.ZERO: N_("drafts are made and next to none is kept; answers stay right"),
    Signature.ALL_POSITIONS: N_("acceptance falls from the first position on; answers stay right"),
    Signature.LATER_POSITIONS: N_(
        "position 1 is as ever, later positions fall; answers stay right"
    ),
    Signature.TOO_GOOD: N_("acceptance reads 100 %, and answers are not the target's"),
    Signature.DECAYS: N_("acceptance falls as load or time goes on"),
    Signature.LONG_INPUT: N_("acceptance falls as the input gets longer"),
}
_KINDS = {
    Kind.ACCURACY: N_("wrong or worse answers, with or without lower acceptance"),
    Kind.CRASH: N_("the engine refuses to start or dies"),
    Kind.HANG: N_("the engine stops answering"),
    Kind.PERF: N_("slower, or less memory for the cache; acceptance as ever"),
    Kind.FEATURE: N_("the setting is refused or without effect"),
}


def _rank(row: Row, where: Standing, named: bool) -> tuple[int, int, bool, int, str]:
    return (
        _STRENGTH[where],
        _URGENCY[row.kind],
        not named,
        -row.date.toordinal(),
        row.id,
    )


def _plain(release: str) -> str:
    try:
        return read_version(release).version
    except UsageError:
        return release.strip()
