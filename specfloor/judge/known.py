"""The faults a release is known to have, against what was measured on it."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.errors import UsageError
from specfloor.i18n import N_, _
from specfloor.judge.cell import AcceptanceJudgement
from specfloor.judge.configuration import ConfigurationJudgement
from specfloor.judge.floors import Quantity
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import Verdict
from specfloor.ledger.model import Facet, Kind, Ledger, Signature
from specfloor.ledger.names import ledger_family, ledger_method
from specfloor.triage.causes import Causes, KnownFix, facets_of_k, known_faults
from specfloor.triage.facts import ACCEPTANCE
from specfloor.triage.findings import Finding
from specfloor.triage.shares import Figures, Range
from specfloor.triage.signatures import Seen, seen_in

SAME_TEXTS = 0.9
"""Share of the prompts with the same text on both arms from which the target is as it should be:
near ties part a few greedy texts even without speculation."""


class State(StrEnum):
    """What a measurement says of a known fault."""

    SHOWN = N_("shown")
    """The cell fails, and its figures bear the fault's signature."""
    EXCLUDED = N_("not here")
    """The cell holds its floor, or its figures contradict the signature."""
    OPEN = N_("open")
    """Neither."""


class KnownFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault the release has or may have, and what the measurement says of it."""

    fix: KnownFix
    kind: Kind
    state: State
    why: str


class KnownFaultsJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a cell's known acceptance and accuracy faults.

    ``verdict`` is None where there is nothing to confirm: no fault is known, or the ledger does not
    know the release. ``as_of`` is the date up to which the ledger knows.
    """

    cell: Cell
    verdict: Verdict | None
    findings: tuple[Finding, ...]
    reason: str
    faults: tuple[KnownFault, ...]
    as_of: str
    logs: tuple[str, ...] = ()


def ledger_release(cell: Cell, catalog: Catalog) -> tuple[str | None, str | None]:
    """Return the release to ask the ledger about; else None and why it cannot be asked."""
    release = catalog.release(cell.release)
    if release.platform != "ascend":
        return None, _("the ledger is about vLLM-Ascend and does not cover {release}").format(
            release=cell.release
        )
    try:
        ledger_family(cell.family)
        ledger_method(cell.method)
    except UsageError as error:
        return None, str(error)
    return release.vllm_ascend or release.name, None


def known_before(
    cell: Cell, catalog: Catalog, ledger: Ledger, kind: Kind, setting: dict[Facet, bool]
) -> Causes | None:
    """Return the faults of one kind that a cell may meet; None where the ledger does not cover it.

    ``setting`` is what is known to hold beside k.
    """
    release = ledger_release(cell, catalog)[0]
    if release is None:
        return None
    return known_faults(
        ledger,
        release,
        (kind,),
        family=cell.family,
        method=cell.method,
        setting=facets_of_k(cell.k) | setting,
    )


def judge_known_faults(
    acceptance: AcceptanceJudgement,
    configuration: ConfigurationJudgement,
    catalog: Catalog,
    ledger: Ledger,
    upgrade: UpgradeJudgement | None = None,
) -> KnownFaultsJudgement | None:
    """Judge the known acceptance and accuracy faults of a cell by what was said of its acceptance.

    ``upgrade`` is what was said of it against an older release, if it was compared with one.
    None where the ledger does not cover the cell.
    """
    cell = acceptance.cell
    release = ledger_release(cell, catalog)[0]
    if release is None:
        return None
    seen = seen_of(acceptance, falls_of_upgrade(upgrade))
    holds = acceptance.verdict is Verdict.PASS and not _is_worse(upgrade)
    faults: list[KnownFault] = []
    unknown = None
    for kind in (Kind.ACCEPTANCE, Kind.ACCURACY):
        causes = known_faults(
            ledger,
            release,
            (kind,),
            family=cell.family,
            method=cell.method,
            setting=facets_of_k(cell.k) | configuration.setting,
            seen=[one.signature for one in seen],
        )
        unknown = causes.unknown
        for fix in causes.fixes:
            state, why = _state(fix, kind, acceptance, seen, ledger, holds=holds)
            faults.append(KnownFault(fix, kind, state, why))
    faults.sort(key=lambda fault: _ORDER[fault.state])
    verdict, findings, reason = _conclude(faults, acceptance, unknown, holds=holds)
    return KnownFaultsJudgement(
        cell=cell,
        verdict=verdict,
        findings=findings,
        reason=reason,
        faults=tuple(faults),
        as_of=ledger.horizon.date.isoformat(),
        logs=acceptance.logs,
    )


def seen_of(
    acceptance: AcceptanceJudgement, falls: Sequence[Range | None] = ()
) -> tuple[Seen, ...]:
    """Return the signatures of a cell whose acceptance does not hold; none of one that does.

    ``falls`` are by position, against an older release.
    """
    if not (falls or _fails(acceptance)) or acceptance.figures is None:
        return ()
    if Finding.ACCEPT_ZERO in acceptance.findings:
        # the verdict has its own test of a dead draft, which few requests that are alike satisfy
        whole = acceptance.figures.profile.whole
        return (Seen(Signature.ZERO, _("accepted: {whole} draft tokens").format(whole=whole)),)
    return seen_in(acceptance.figures, floor=_floor_rate(acceptance), falls=falls)


def falls_of_upgrade(upgrade: UpgradeJudgement | None) -> tuple[Range | None, ...]:
    """Return how far each position fell against an older release; empty unless it is worse."""
    if upgrade is None or not _is_worse(upgrade) or not upgrade.quantities:
        return ()
    return tuple(
        Range(-change.interval.high, -change.interval.low) if change.interval else None
        for change in upgrade.quantities[0].per_position
    )


def _is_worse(upgrade: UpgradeJudgement | None) -> bool:
    return upgrade is not None and upgrade.verdict is Verdict.FAIL


def _fails(acceptance: AcceptanceJudgement) -> bool:
    return acceptance.verdict is Verdict.FAIL and not ACCEPTANCE.isdisjoint(acceptance.findings)


def _floor_rate(acceptance: AcceptanceJudgement) -> float | None:
    floor = acceptance.floor
    if floor is None:
        return None
    if floor.quantity is Quantity.ACCEPTANCE_LENGTH:
        return (floor.value - 1) / acceptance.cell.k
    return floor.value


def _state(
    fix: KnownFix,
    kind: Kind,
    acceptance: AcceptanceJudgement,
    seen: Sequence[Seen],
    ledger: Ledger,
    *,
    holds: bool,
) -> tuple[State, str]:
    if seen and fix.fits is not None:
        verb = _("bear") if fix.fits else _("contradict")
        state = State.SHOWN if fix.fits else State.EXCLUDED
        return state, _("the figures {verb} its signature ({evidence})").format(
            verb=verb, evidence=seen[0].evidence
        )
    outputs = acceptance.outputs
    if kind is Kind.ACCURACY:
        if outputs and outputs.share >= SAME_TEXTS:
            return State.EXCLUDED, _("{outputs} prompts got the text of the off arm").format(
                outputs=outputs
            )
        return State.OPEN, _("the texts of both arms do not tell")
    if not holds:
        return State.OPEN, _("acceptance does not tell")
    signature = next(row.signature for row in ledger.rows if row.id == fix.change)
    if not _would_show(signature, acceptance.figures):
        return State.OPEN, _("these requests do not show how acceptance goes with time or length")
    return State.EXCLUDED, _("acceptance holds its floor")


def _would_show(signature: Signature | None, figures: Figures | None) -> bool:
    """Whether a fault of this signature would have shown in a cell that holds its floor."""
    if signature is Signature.DECAYS:
        return figures is not None and figures.over_time is not None
    if signature is Signature.LONG_INPUT:
        return figures is not None and figures.over_input is not None
    return True


def _conclude(
    faults: Sequence[KnownFault],
    acceptance: AcceptanceJudgement,
    unknown: str | None,
    *,
    holds: bool,
) -> tuple[Verdict | None, tuple[Finding, ...], str]:
    shown = [fault.fix for fault in faults if fault.state is State.SHOWN]
    if unknown:
        return None, (Finding.NO_DATA,), _("UNKNOWN: {unknown}").format(unknown=unknown)
    if not faults:
        return None, (Finding.EXPECTED,), _("no acceptance or accuracy fault is known")
    if shown:
        releases = _(", ").join(dict.fromkeys(fix.first_final or fix.mended_in for fix in shown))
        told = _("; ").join(fix.sentence for fix in shown)
        return (
            Verdict.FAIL,
            (Finding.KNOWN_FIX,),
            _("KNOWN_FIX({releases}): {told}").format(releases=releases, told=told),
        )
    still = [fault.fix for fault in faults if fault.state is State.OPEN]
    return _not_shown(still, acceptance, holds=holds)


def _not_shown(
    still: Sequence[KnownFix], acceptance: AcceptanceJudgement, *, holds: bool
) -> tuple[Verdict | None, tuple[Finding, ...], str]:
    """Conclude where no known fault is shown; ``still`` are open."""
    known = _("no known fault is shown here")
    if still:
        known += _("; open: {still}").format(still=_(", ").join(fix.change for fix in still))
    if not acceptance.sent:
        return (
            Verdict.NO_DATA,
            (Finding.NO_DATA,),
            _("{known}: acceptance was not measured").format(known=known),
        )
    if acceptance.verdict is None:
        return None, (Finding.EXPECTED,), _("{known} (acceptance has no floor)").format(known=known)
    if holds or not still:
        return Verdict.PASS, (Finding.EXPECTED,), known
    return (
        Verdict.INCONCLUSIVE,
        (Finding.INCONCLUSIVE,),
        _("{known}: acceptance does not tell").format(known=known),
    )


_ORDER = {state: rank for rank, state in enumerate((State.SHOWN, State.OPEN, State.EXCLUDED))}
