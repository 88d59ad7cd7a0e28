"""Whether the configuration that was asked for is the one in effect."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from packaging.version import InvalidVersion, Version

from specfloor.catalog import Catalog
from specfloor.catalog.model import Family, Release
from specfloor.cells import Cell
from specfloor.host.variables import unread_variable_flags
from specfloor.i18n import N_, _
from specfloor.judge.asked import asked_of
from specfloor.judge.configuration_checks import (
    Check,
    drafts_check,
    same_method,
    settings_checks,
    thinking_check,
    tier_check,
)
from specfloor.judge.evidence import ArmEvidence, Block, CellEvidence
from specfloor.judge.setting import setting_of
from specfloor.judge.verdict import Verdict
from specfloor.ledger.model import Facet
from specfloor.runs.records import LaunchRecord, Purpose
from specfloor.runs.spoken import spoken
from specfloor.signals import counters
from specfloor.signals.counts import DraftCounts, pooled
from specfloor.triage.findings import Finding


class ConfigurationJudgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The checks of one cell's two arms.

    ``setting`` are the ledger's conditions that are known to hold with speculation on, or not to.
    ``notes`` say what else the engine does otherwise than its command or environment asks, and
    decide nothing.
    """

    cell: Cell
    verdict: Verdict
    findings: tuple[Finding, ...]
    reason: str
    checks: tuple[Check, ...]
    logs: tuple[str, ...]
    setting: dict[Facet, bool] = {}
    notes: tuple[str, ...] = ()


def judge_configuration(
    evidence: CellEvidence,
    release: Release,
    *,
    family: Family | None = None,
    catalog: Catalog | None = None,
    other_tiers: Mapping[str, Block] | None = None,
) -> ConfigurationJudgement:
    """Judge whether what was asked for is in effect, and speculation absent on the off arm.

    A check that nothing speaks to (a log without the line, say) neither passes nor fails, but at
    least the drafts themselves must have been seen.

    Args:
        evidence: the cell's records.
        release: the release that was asked for; its vLLM must be the one that answers.
        family: tells what a method drafts and how tiers are selected; without it neither is judged.
        catalog: tells which variables a release reads; without it nothing is said of them.
        other_tiers: blocks of the same prompts in other tiers, by tier.
    """
    cell = evidence.cell
    on = evidence.on[0] if evidence.on else None
    off = evidence.off[0] if evidence.off else None
    logs = tuple(arm.launch.log for arm in (on, off) if arm and arm.launch)
    if on is None or on.launch is None:
        fault = on.fault if on else None
        finding = fault.finding if fault else Finding.NO_DATA
        return ConfigurationJudgement(
            cell=cell,
            verdict=Verdict.FAIL if fault else Verdict.NO_DATA,
            findings=(finding,),
            reason=fault.sentence if fault else _("the server with speculation on was not started"),
            checks=(),
            logs=logs,
            setting=setting_of(cell, on) if on else {},
        )
    launches = [arm.launch for arm in (on, off) if arm and arm.launch]
    checks = (
        *(_check_version(release, launch) for launch in launches),
        *_checks_on(cell, on),
        *_checks_off(off),
        *(check for launch in launches for check in settings_checks(launch, asked_of(launch.argv))),
        *(_checks_of_family(cell, family, on, other_tiers or {}) if family else ()),
    )
    notes = _notes(launches, release, catalog)
    verdict, finding, reason = _said_of(checks, on)
    if notes:
        reason = _("{reason}. Note: {notes}").format(reason=reason, notes=_("; ").join(notes))
    return ConfigurationJudgement(
        cell, verdict, (finding,), reason, checks, logs, setting_of(cell, on), notes
    )


_DRAFTS = N_("drafts after the first requests")


def _said_of(checks: Sequence[Check], on: ArmEvidence) -> tuple[Verdict, Finding, str]:
    """Return what the checks of an arm that was started come to."""
    if broken := [check for check in checks if check.holds is False]:
        told = (
            _("{what}: asked for {asked}, found {found}").format(
                what=check.what, asked=check.asked, found=check.found
            )
            for check in broken
        )
        return Verdict.FAIL, Finding.CONFIG_NOT_IN_EFFECT, _("; ").join(told)
    if any(check.what == _(_DRAFTS) and check.holds is not None for check in checks):
        told = (
            _("{what}: {found}").format(what=check.what, found=check.found)
            for check in checks
            if check.holds
        )
        return Verdict.PASS, Finding.EXPECTED, _("; ").join(told)
    if fault := on.broken_off(Purpose.NATURAL):
        return Verdict.FAIL, fault.finding, fault.sentence
    reason = _("nothing counted the drafts: no request was answered, or none said what it drafted")
    return Verdict.NO_DATA, Finding.NO_DATA, reason


def _check_version(release: Release, launch: LaunchRecord) -> Check:
    """Return whether the vLLM that answers is the one the release pairs with.

    A run labelled with one release and made with another would compare a build with itself.
    """
    asked, found = _base(release.vllm), _base(launch.version)
    return Check(
        _("vLLM of the {label} arm").format(label=launch.key.arm.label),
        release.vllm,
        launch.version or _("not said"),
        None if asked is None or found is None else asked == found,
    )


def _base(version: str | None) -> str | None:
    """Return a version without development and local parts; None for what is no version."""
    try:
        return Version(version).base_version if version else None
    except InvalidVersion:
        return None


def _checks_of_family(
    cell: Cell, family: Family, arm: ArmEvidence, other_tiers: Mapping[str, Block]
) -> Iterator[Check]:
    assert arm.launch is not None
    asked, drafted = asked_of(arm.launch.argv), _drafted(arm)
    method = family.method(cell.method)
    found = (
        drafts_check(asked, cell, method, drafted) if method and drafted else None,
        tier_check(cell, family, arm.launch, arm.natural, other_tiers),
        thinking_check(cell, family, asked, arm.natural),
    )
    yield from (check for check in found if check)


def _notes(
    launches: list[LaunchRecord], release: Release, catalog: Catalog | None
) -> tuple[str, ...]:
    """Return what the engines do otherwise than asked, and what they were given and do not read."""
    found = [notice.text for launch in launches for notice in launch.notices]
    if catalog is None:
        return tuple(dict.fromkeys(found))
    for launch in launches:
        flags = unread_variable_flags(catalog, release, launch.variables or launch.env)
        found += [spoken(flag.message) for flag in flags]
    return tuple(dict.fromkeys(found))


def _checks_on(cell: Cell, arm: ArmEvidence) -> list[Check]:
    assert arm.launch is not None
    launch = arm.launch
    told = launch.speculative_config is not None
    method = asked_of(launch.argv).method or cell.method
    checks = [
        Check(
            _("method in the engine's log"),
            method,
            launch.resolved_method or (_("none") if told else _("no such line")),
            same_method(method, launch.resolved_method or "") if told else None,
        ),
        Check(
            _("num_speculative_tokens in the engine's log"),
            str(cell.k),
            str(launch.resolved_k) if launch.resolved_k is not None else _("no such line"),
            launch.resolved_k == cell.k if launch.resolved_k is not None else None,
        ),
        Check(
            _("series about drafts in /metrics"),
            _("some"),
            _count(launch.speculation_series),
            None if launch.speculation_series is None else bool(launch.speculation_series),
        ),
    ]
    drafted = _drafted(arm)
    checks.append(
        Check(
            _(_DRAFTS),
            _("more than 0 tokens"),
            _("no counts")
            if drafted is None
            else _("{drafted} tokens in {steps} steps").format(
                drafted=drafted.drafted, steps=drafted.steps
            ),
            None if drafted is None else drafted.drafted > 0,
        )
    )
    return checks


def _checks_off(arm: ArmEvidence | None) -> list[Check]:
    if arm is None or arm.launch is None:
        return []
    series = arm.launch.speculation_series
    return [
        Check(
            _("series about drafts on the off arm"),
            _("none"),
            _count(series),
            None if series is None else not series,
        )
    ]


def _count(series: tuple[str, ...] | None) -> str:
    if series is None:
        return _("no metrics")
    return _("{series} series").format(series=len(series)) if series else _("none")


def _drafted(arm: ArmEvidence) -> DraftCounts | None:
    """Return what the arm drafted by the counters, or by the per-request objects without them."""
    for block in (arm.natural, arm.forced):
        if block is not None and (counts := _drafted_in(block)) is not None:
            return counts
    return None


def _drafted_in(block: Block) -> DraftCounts | None:
    for record in block.counters:
        if record.index is None and not record.problem:
            return counters.total(record.by_engine)
    told = [request.speculation for request in block.requests if request.speculation]
    if not told:
        return None
    return pooled(
        DraftCounts(s.num_spec_steps, s.num_draft_tokens, s.num_accepted_draft_tokens) for s in told
    )
