"""What triage says in the end, as a record with a schema, and how it is printed."""

from collections.abc import Iterator
from typing import Any

import msgspec

from specfloor.exits import Exit
from specfloor.triage.causes import KnownFix
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.diagnosis import Diagnosis, Link
from specfloor.triage.evidence import Warned
from specfloor.triage.findings import Finding

SCHEMA = 1
"""The version of the JSON; it changes when a key changes its meaning or goes, not for new ones."""
PARSE = "PARSE"
_SHOWN_FIXES = 8
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
    return "\n".join(_lines(report, bold="{}", item="  - {}", head="{}"))


def as_markdown(report: Report) -> str:
    """Return the report for an issue or a page."""
    return "\n".join(_lines(report, bold="**{}**", item="- {}", head="### {}"))


def _lines(report: Report, *, bold: str, item: str, head: str) -> Iterator[str]:
    scope = ", ".join(f"{name} {_spell(value)}" for name, value in report.verdict.scope.items())
    yield f"{bold.format(report.verdict.finding)}{f' ({scope})' if scope else ''}: " + (
        report.verdict.reason
    )
    if facts := [*_facts(report.extract), *_further(report.extract)]:
        yield from ("", head.format("What the files say"))
        yield from map(item.format, facts)
    if report.warnings:
        yield from ("", head.format("To know"))
        yield from (item.format(f"{warned.code}: {warned.message}") for warned in report.warnings)
    others = [entry for entry in report.findings[1:] if entry.known_fix is None]
    if others:
        yield from ("", head.format("Further findings"))
        yield from (item.format(f"{entry.finding}: {entry.reason}") for entry in others)
    fixes = [entry for entry in report.findings if entry.known_fix is not None]
    if fixes:
        yield from ("", head.format("Known fixes this release lacks, possible causes"))
        yield from (item.format(entry.reason) for entry in fixes[:_SHOWN_FIXES])
        if len(fixes) > _SHOWN_FIXES:
            yield item.format(f"and {len(fixes) - _SHOWN_FIXES} more (--format json has them)")
    if report.diagnosis.ledger and not report.diagnosis.ledger_unknown:
        yield from ("", f"Fix ledger: {report.diagnosis.ledger}.")
    if report.diagnosis.exonerated:
        yield from ("", head.format("Not the cause"))
        yield from map(item.format, report.diagnosis.exonerated)
    told = [entry for entry in report.findings if entry.known_fix is None] + fixes[:1]
    steps = list(dict.fromkeys(step for entry in told for step in entry.next))
    if steps:
        yield from ("", head.format("Next"))
        yield from map(item.format, steps)


def _facts(extract: dict[str, Any]) -> Iterator[str]:
    totals = extract.get("totals")
    if isinstance(totals, dict):
        yield f"overall: {_totals(totals)}"
    for key in ("by_engine", "by_server", "by_role", "by_file", "by_build", "by_model"):
        for name, one in (extract.get(key) or {}).items():
            yield f"{key.removeprefix('by_')} {name}: {_totals(one) if one else 'no drafts'}"
    for number, segment in enumerate(extract.get("segments") or (), start=1):
        version = f" ({segment['version']})" if segment.get("version") else ""
        yield f"run {number}{version}: {_totals(segment)}"
    for change in extract.get("change_points") or ():
        when = f" at {change['at']}" if change["at"] else ""
        yield (
            f"change after window {change['after_window']}{when}: "
            f"{change['before']:.1%} to {change['after']:.1%}"
        )
    for run in extract.get("runs") or ():
        yield _bench(run)
    for found in extract.get("configurations") or ():
        told = ", ".join(f"{k} {v}" for k, v in found.items() if v is not None)
        yield f"configuration: {told}"
    for name in ("vllm", "vllm_ascend"):
        if isinstance(extract.get(name), dict):
            yield f"{name}: {extract[name]['raw']}"
    for name in ("torch_npu", "cann", "driver", "tool_version", "npu_name", "device_count"):
        if extract.get(name) is not None:
            yield f"{name}: {extract[name]}"


def _further(extract: dict[str, Any]) -> Iterator[str]:
    """Yield the facts of further kinds, each under its name."""
    for name, inside in extract.items():
        if isinstance(inside, dict) and name.partition("_")[0] in _KINDS:
            yield from (f"{name}: {fact}" for fact in _facts(inside))


def _totals(totals: dict[str, Any]) -> str:
    parts = []
    if totals["draft_tokens"] is not None:
        drafts = f" in {totals['drafts']:,} drafts" if totals["drafts"] is not None else ""
        parts.append(
            f"{totals['accepted_tokens']:,} of {totals['draft_tokens']:,} tokens accepted{drafts}"
        )
    if totals["acceptance_rate"] is not None:
        parts.append(f"rate {totals['acceptance_rate']:.1%}")
    if totals["acceptance_length"] is not None:
        parts.append(f"length {totals['acceptance_length']:.2f}")
    if positions := totals.get("per_position"):
        told = " ".join("?" if p is None else f"{p:.2f}" for p in positions)
        parts.append(f"by position {told}")
    return ", ".join(parts)


def _bench(run: dict[str, Any]) -> str:
    arm = f" ({run['arm']})" if run.get("arm") else ""
    at = f" at {run['concurrency']}" if run["concurrency"] is not None else ""
    times = ", ".join(
        f"{name.removesuffix('_ms').upper()} {run[name]['mean']:.2f} ms"
        for name in ("ttft_ms", "tpot_ms")
        if "mean" in run.get(name, {})
    )
    spec = _totals(run["spec"]) if run["spec"] else "no acceptance"
    return f"{run['file']}{arm}{at}: {', '.join(filter(None, (times, spec)))}"


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


def _spell(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
