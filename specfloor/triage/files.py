"""Triage of files alone: open, recognise, read, judge, and ask the ledger."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from specfloor.catalog import load_catalog
from specfloor.catalog.pairs import releases_for
from specfloor.i18n import _
from specfloor.ledger import read_ledger
from specfloor.ledger.model import Facet
from specfloor.ledger.names import find_family
from specfloor.triage.causes import facets_of_k
from specfloor.triage.chain import diagnose
from specfloor.triage.conclusions import Conclusion, doubted, in_order
from specfloor.triage.environment import warn_of_environment
from specfloor.triage.evidence import Run, Warned
from specfloor.triage.facts import ACCEPTANCE, Facts, Speed
from specfloor.triage.findings import Finding
from specfloor.triage.given import Given
from specfloor.triage.inputs import open_inputs
from specfloor.triage.judge_speed import measured
from specfloor.triage.kinds import Kind
from specfloor.triage.parts import READERS, Part
from specfloor.triage.report import Report, build_report
from specfloor.triage.roles import OFF
from specfloor.triage.signatures import Seen
from specfloor.triage.steps import Place
from specfloor.triage.told import (
    drafting_of,
    is_known,
    only_method,
    place_of,
    release_of,
    warn_of_k,
    warn_of_logs,
    warn_of_release,
)
from specfloor.triage.unjudged import published, unjudged, with_captures


def triage(
    given: Given, folder: Path | None = None, release: str | None = None, family: str | None = None
) -> Report:
    """Read the files that are given, judge them, and look for known causes.

    Args:
        given: files, configuration and baseline.
        folder: what relative paths are relative to; the working directory by default.
        release: the release of vLLM-Ascend that made them; an environment text may say it too.
        family: the family of the model, in any spelling.

    Raises:
        UsageError: a file cannot be read, or the family is unknown.
    """
    known_family = find_family(family, load_catalog()) if family else None
    inputs = open_inputs(given, folder or Path())
    parts = [
        part
        for kinds, read in READERS
        if (own := [one for one in inputs if one.kind in kinds])
        for part in read(own, given)
    ]
    environments = [part.environment for part in parts if part.environment]
    asked, release = release, release or release_of(environments, given)
    warnings = [warned for part in parts for warned in part.warnings]
    warnings += warn_of_release(asked, environments, given)
    warnings += warn_of_logs(
        release, known_family, [run for part in parts for run in part.runs], load_catalog()
    )
    for environment in environments:
        warnings += warn_of_environment(environment, given, load_catalog(), release)
    damaged = [one.source.damaged for one in inputs if one.source.damaged]
    warnings += [Warned("damaged_file", sentence) for sentence in damaged]
    warnings += [
        Warned(
            "unrecognised_file",
            _("{file} is packed as {archive} and was not read").format(
                file=one.source.name, archive=one.source.archive
            ),
        )
        for one in inputs
        if one.kind is Kind.ARCHIVE
    ]
    found = [conclusion for part in parts for conclusion in part.concluded]
    conclusions = in_order(doubted(found, damaged[0] if damaged else None))
    if not any(c.finding is Finding.CONFIG_NOT_IN_EFFECT for c in conclusions):
        warnings += warn_of_k(_ks(parts, given))
    facts = _facts(conclusions, parts, given, release, known_family)
    tally = unjudged(conclusions, [part.runs for part in parts])
    if tally is not None:
        k = len(tally.positions) or facts.place.k
        beside = published(family or known_family, facts.method, k)
        facts = msgspec.structs.replace(facts, measured=measured(tally), published=beside)
        conclusions = with_captures(
            conclusions,
            facts.place,
            one_scrape=any(warned.code == "since_start" for warned in warnings),
            off=any(one.role.group == OFF for one in inputs),
        )
    return build_report(
        files={one.source.name: one.kind.value for one in inputs},
        extract=_joined(parts),
        conclusions=conclusions,
        warnings=tuple(dict.fromkeys(warnings)),
        diagnosis=diagnose(facts, read_ledger()),
    )


def _ks(parts: Sequence[Part], given: Given) -> dict[str, set[int]]:
    """Return the values of k by who says them: the user, and the files of each kind."""
    said: dict[str, set[int]] = {_("as told"): {given.k} if given.k else set()}
    for part in parts:
        found = said.setdefault(part.name, set())
        if part.environment and part.environment.k:
            found.add(part.environment.k)
        for run in part.runs:
            shown = len(run.tally.positions) if run.tally else 0
            found.update(k for k in (run.k, shown) if k)
    return said


def _facts(
    conclusions: Sequence[Conclusion],
    parts: Sequence[Part],
    given: Given,
    release: str | None,
    family: str | None,
) -> Facts:
    """Return what files tell the chain."""
    runs = [run for part in parts for run in part.runs]
    method = given.config.get("method")
    if not isinstance(method, str):
        said = [run.method for run in runs if run.method]
        method = next(filter(is_known, said), None)
        method = method if said else only_method(family, load_catalog())
    k = given.k or next((run.k for run in runs if run.k), None)
    setting = facets_of_k(k) | ({Facet.ADAPTIVE: True} if given.adaptive else {})
    shown = [c for c in conclusions if c.finding in ACCEPTANCE and c.signature is not None]
    healthy = next((c.cleared for c in conclusions if c.cleared), None)
    balance = next((c.balance for c in conclusions if c.balance), None)
    devices = tuple(c for c in conclusions if c.finding is Finding.HARDWARE)
    platform, named = place_of(release, runs, load_catalog())
    return Facts(
        conclusions=tuple(c for c in conclusions if c not in devices),
        place=Place(
            platform=platform,
            release=named,
            family=family,
            method=method,
            k=k,
        ),
        release=release,
        unasked=None if release else _unasked(runs),
        family=family,
        method=method,
        healthy=healthy,
        seen=tuple(
            Seen(c.signature, _("; ").join(c.evidence) or c.reason)
            for c in shown[:1]
            if c.signature is not None
        ),
        setting=setting,
        drafting=drafting_of(family, method, load_catalog()),
        off_failure=next((c for c in conclusions if c.scope.get("arm") == OFF), None),
        speed=Speed(balance.speed, balance.length, balance.step_cost) if balance else Speed(),
        devices=devices,
        sampled=any(part.devices_seen for part in parts),
        devices_clear=all(part.devices_clear for part in parts if part.name == "npu_smi"),
    )


def _unasked(runs: Sequence[Run]) -> str:
    """Return why the ledger was not asked, with the releases that a log's vLLM belongs to."""
    told = _("not asked: the release is not known; give --release")
    versions = {run.version.partition("+")[0] for run in runs if run.version}
    pairs = [
        _("{releases} for vLLM {version}").format(releases=_(", ").join(names), version=version)
        for version in sorted(versions)
        if (names := releases_for(load_catalog(), version))
    ]
    return f"{told} ({_('; ').join(pairs)})" if pairs else told


def _joined(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the extract of the first part, and those of further ones under their names."""
    first, *others = parts
    whole: dict[str, Any] = msgspec.to_builtins(first.extract)
    for part in others:
        number = sum(name.partition("_")[0] == part.name for name in whole) + 1
        name = f"{part.name}_{number}" if part.name in whole else part.name
        whole[name] = msgspec.to_builtins(part.extract)
    return whole
