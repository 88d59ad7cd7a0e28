"""What triage says in the end, as a record with a schema, and how it is printed."""

from collections.abc import Iterator
from typing import Any

import msgspec

from specfloor.exits import Exit
from specfloor.i18n import N_, _
from specfloor.triage.causes import KnownFix
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.devices import device_tables
from specfloor.triage.diagnosis import Diagnosis, Link
from specfloor.triage.evidence import Warned
from specfloor.triage.findings import Finding

SCHEMA = 1
"""The version of the JSON; it changes when a key changes its meaning or goes, not for new ones."""
PARSE = "PARSE"
_SHOWN_FIXES = 8
_SHOWN_PARTS = 8
"""Engines, files or servers up to which each has a line of its own; of more, ``_SHOWN_LEAST``."""
_SHOWN_LEAST = 4
_KINDS = ("metrics", "response", "bench", "env", "npu")
_HEALTHY = (Finding.EXPECTED.value, PARSE)
_UNDECIDED = (
    Finding.NO_DATA.value,
    Finding.INCONCLUSIVE.value,
    Finding.BASELINE_INVALID.value,
    Finding.WORKLOAD_INVALID.value,
    Finding.UNSUPPORTED_FORMAT.value,
)


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"finding": "class"}):
    """The finding that decides, or PARSE; whom it is about; and why."""

    finding: str
    scope: dict[str, Any]
    reason: str


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One finding: why, whom it is about, and the experiments or captures that come next.

    ``known_fix`` is set for KNOWN_FIX, which names a possible cause.
    """

    finding: str
    reason: str
    scope: dict[str, Any] = {}
    next: tuple[str, ...] = ()
    known_fix: KnownFix | None = None


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of it, in the shape of the JSON (docs/triage.md)."""

    schema: int
    files: dict[str, str]
    extract: dict[str, Any]
    verdict: Verdict
    warnings: tuple[Warned, ...]
    findings: tuple[Entry, ...]
    diagnosis: Diagnosis

    @property
    def exit_code(self) -> int:
        """0 when nothing is wrong, 10 when nothing can be said, 1 for a fault."""
        if self.verdict.finding in _HEALTHY:
            return Exit.HOLDS
        return Exit.UNDECIDED if self.verdict.finding in _UNDECIDED else Exit.FAILS


def build_report(
    files: dict[str, str],
    extract: dict[str, Any],
    conclusions: tuple[Conclusion, ...],
    warnings: tuple[Warned, ...],
    diagnosis: Diagnosis,
) -> Report:
    """Put a report together; the first conclusion decides."""
    first = conclusions[0]
    if diagnosis.ledger_unknown and diagnosis.ledger:
        warnings = (*warnings, Warned("ledger_unknown", diagnosis.ledger))
    entries = [_entry(conclusion, diagnosis) for conclusion in conclusions]
    fixes = [_of_fix(link.fix, link) for link in diagnosis.links if link.fix is not None]
    return Report(
        schema=SCHEMA,
        files=files,
        extract=extract,
        verdict=Verdict(_name(first), first.scope, first.reason),
        warnings=warnings,
        findings=(*entries, *fixes),
        diagnosis=diagnosis,
    )


def as_text(report: Report) -> str:
    """Return the report for a terminal."""
    return "\n".join(_lines(report, bold="{}", item="  - {}", head="{}", table="simple"))


def as_markdown(report: Report) -> str:
    """Return the report for an issue or a page."""
    return "\n".join(_lines(report, bold="**{}**", item="- {}", head="### {}", table="github"))


def _lines(report: Report, *, bold: str, item: str, head: str, table: str) -> Iterator[str]:
    scope = ", ".join(
        f"{name} {_spell(_from_one(name, value))}" for name, value in report.verdict.scope.items()
    )
    yield _("{what}: {why}").format(
        what=f"{bold.format(report.verdict.finding)}{f' ({scope})' if scope else ''}",
        why=report.verdict.reason,
    )
    if facts := [*_facts(report.extract), *_further(report.extract)]:
        yield from ("", head.format(_("What the files say")))
        yield from map(item.format, facts)
    for devices in device_tables(report.extract, table):
        yield from ("", devices)
    if report.warnings:
        yield from ("", head.format(_("To know")))
        yield from (
            item.format(_("{what}: {why}").format(what=warned.code, why=warned.message))
            for warned in report.warnings
        )
    others = [entry for entry in report.findings[1:] if entry.known_fix is None]
    if others:
        yield from ("", head.format(_("Further findings")))
        yield from (
            item.format(_("{what}: {why}").format(what=entry.finding, why=entry.reason))
            for entry in others
        )
    if published := report.diagnosis.published:
        title = _("Published by others, beside {measured} here; it decides nothing")
        yield from ("", head.format(title.format(measured=report.diagnosis.measured)))
        yield from map(item.format, published)
    fixes = [entry for entry in report.findings if entry.known_fix is not None]
    if fixes:
        yield from ("", head.format(_("Known fixes this release lacks, possible causes")))
        yield from (item.format(entry.reason) for entry in fixes[:_SHOWN_FIXES])
        if len(fixes) > _SHOWN_FIXES:
            yield item.format(
                _("and {fixes} more (--format json has them)").format(
                    fixes=len(fixes) - _SHOWN_FIXES
                )
            )
    if lacking := report.diagnosis.lacking:
        yield from ("", head.format(_("Known faults of this release that may matter here")))
        yield from (item.format(fix.sentence) for fix in lacking[:_SHOWN_FIXES])
        if len(lacking) > _SHOWN_FIXES:
            yield item.format(
                _("and {fixes} more (--format json has them)").format(
                    fixes=len(lacking) - _SHOWN_FIXES
                )
            )
    if report.diagnosis.ledger and not report.diagnosis.ledger_unknown:
        yield from ("", _("Fix ledger: {ledger}.").format(ledger=report.diagnosis.ledger))
    if report.diagnosis.exonerated:
        yield from ("", head.format(_("Not the cause")))
        yield from map(item.format, report.diagnosis.exonerated)
    told = [entry for entry in report.findings if entry.known_fix is None] + fixes[:1]
    steps = list(dict.fromkeys(step for entry in told for step in entry.next))
    if steps:
        yield from ("", head.format(_("Next")))
        yield from map(item.format, steps)


_SPLITS = {
    "by_engine": N_("engine"),
    "by_server": N_("server"),
    "by_role": N_("role"),
    "by_file": N_("file"),
    "by_build": N_("build"),
    "by_model": N_("model"),
}


def _facts(extract: dict[str, Any]) -> Iterator[str]:
    totals = extract.get("totals")
    if isinstance(totals, dict):
        yield _("overall: {totals}").format(totals=_totals(totals))
    said = [[totals]]
    for key, what in _SPLITS.items():
        split = extract.get(key) or {}
        # what is there alone, or split the same way as before, was said
        if (figures := list(split.values())) not in said:
            said.append(figures)
            yield from _of_split(_(what), split)
    for number, segment in enumerate(extract.get("segments") or (), start=1):
        version = f" ({segment['version']})" if segment.get("version") else ""
        yield _("run {number}{version}: {totals}").format(
            number=number, version=version, totals=_totals(segment)
        )
    for change in extract.get("change_points") or ():
        when = _(" at {time}").format(time=change["at"]) if change["at"] else ""
        yield (
            _("change after window {window}{when}: {before:.1%} to {after:.1%}").format(
                window=change["after_window"],
                when=when,
                before=change["before"],
                after=change["after"],
            )
        )
    for run in extract.get("runs") or ():
        yield _bench(run)
    for found in extract.get("configurations") or ():
        told = _(", ").join(
            f"{'vLLM' if name == 'version' else name} {value}"
            for name, value in found.items()
            if value is not None
        )
        yield _("configuration: {told}").format(told=told)
    for name in ("vllm", "vllm_ascend"):
        if isinstance(extract.get(name), dict):
            yield f"{name}: {extract[name]['raw']}"
    if extract.get("tool_version") is not None:
        yield _("npu-smi {version} shows {chips} chips").format(
            version=extract["tool_version"], chips=extract["device_count"]
        )
    for name in ("torch_npu", "cann", "driver", "npu_name"):
        if extract.get(name) is not None:
            yield f"{name}: {extract[name]}"


def _of_split(what: str, split: dict[str, dict[str, Any] | None]) -> Iterator[str]:
    """Yield a line for each part; of many, for those that accept least, and one for the rest."""

    def rate(name: str) -> float:
        one = split[name]
        return one["acceptance_rate"] or 0.0 if one else 1.0  # no drafts are no low rate

    least = sorted(split, key=rate)
    shown = set(split if len(split) <= _SHOWN_PARTS else least[:_SHOWN_LEAST])
    for name, one in split.items():
        if name in shown:
            yield _("{what} {name}: {totals}").format(
                what=what, name=name, totals=_totals(one) if one else _("no drafts")
            )
    if rest := [name for name in least if name not in shown]:
        yield _("{what}, {others} others: rate {least:.1%} to {most:.1%}").format(
            what=what, others=len(rest), least=max(rate(rest[0]), 0.0), most=rate(rest[-1])
        )


def _further(extract: dict[str, Any]) -> Iterator[str]:
    """Yield the facts of further kinds, each under its name."""
    for name, inside in extract.items():
        if isinstance(inside, dict) and name.partition("_")[0] in _KINDS:
            yield from (_("{what}: {why}").format(what=name, why=fact) for fact in _facts(inside))


def _totals(totals: dict[str, Any]) -> str:
    parts = []
    if totals["draft_tokens"] is not None:
        drafts = (
            _(" in {drafts:,} drafts").format(drafts=totals["drafts"])
            if totals["drafts"] is not None
            else ""
        )
        parts.append(
            _("{accepted:,} of {drafted:,} tokens accepted{drafts}").format(
                accepted=totals["accepted_tokens"], drafted=totals["draft_tokens"], drafts=drafts
            )
        )
    if totals["acceptance_rate"] is not None:
        parts.append(_("rate {rate:.1%}").format(rate=totals["acceptance_rate"]))
    if totals["acceptance_length"] is not None:
        parts.append(_("length {length:.2f}").format(length=totals["acceptance_length"]))
    if positions := totals.get("per_position"):
        told = " ".join("?" if p is None else f"{p:.2f}" for p in positions)
        parts.append(_("by position {told}").format(told=told))
    return _(", ").join(parts)


def _bench(run: dict[str, Any]) -> str:
    arm = f" ({run['arm']})" if run.get("arm") else ""
    at = (
        _(" at {concurrency}").format(concurrency=run["concurrency"])
        if run["concurrency"] is not None
        else ""
    )
    times = _(", ").join(
        _("{upper} {run:.2f} ms").format(
            upper=name.removesuffix("_ms").upper(), run=run[name]["mean"]
        )
        for name in ("ttft_ms", "tpot_ms")
        if "mean" in run.get(name, {})
    )
    spec = _totals(run["spec"]) if run["spec"] else _("no acceptance")
    return _("{what}: {found}").format(
        what=f"{run['file']}{arm}{at}", found=_(", ").join(filter(None, (times, spec)))
    )


def _entry(conclusion: Conclusion, diagnosis: Diagnosis) -> Entry:
    steps = conclusion.next + tuple(
        str(step)
        for link in diagnosis.links
        if (link.finding, link.sentence) == (conclusion.finding, conclusion.reason)
        for step in link.next
    )
    return Entry(_name(conclusion), conclusion.reason, conclusion.scope, steps)


def _of_fix(fix: KnownFix, link: Link) -> Entry:
    scope = {"release": fix.release, "change": fix.change}
    steps = tuple(map(str, link.next))
    return Entry(Finding.KNOWN_FIX.value, link.sentence, scope, steps, fix)


def _name(conclusion: Conclusion) -> str:
    return PARSE if conclusion.finding is None else conclusion.finding.value


def _from_one(name: str, value: object) -> object:
    """Return positions as people count them, from 1; the JSON has them as vLLM's labels do."""
    if name == "positions" and isinstance(value, list):
        return [place + 1 for place in value]
    return value


def _spell(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
