"""A cell's bug report: what goes into the vendor's form, gathered from a stored run."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import OFF, Cell
from specfloor.i18n import _, ledger_text
from specfloor.judge.book import JudgementBook
from specfloor.judge.evidence import ArmEvidence, Block, CellEvidence, RecordIndex
from specfloor.judge.run import (
    Basis,
    CellResult,
    Judgement,
    RunResult,
    book_of,
    judge_run,
    read_basis,
)
from specfloor.judge.verdict import Verdict
from specfloor.ledger import read_ledger
from specfloor.report.paragraphs import paragraph
from specfloor.runs.store import Run, read_run
from specfloor.triage.diagnosis import Diagnosis
from specfloor.triage.findings import Finding
from specfloor.triage.live import diagnose_run, hosts_of
from specfloor.vendor import words
from specfloor.vendor.environment import Surroundings, surroundings
from specfloor.vendor.figures import Measured, Row, measure_good, positions, rows
from specfloor.vendor.form import (
    SPEED,
    Form,
    form_of,
    keywords,
    searches,
    title,
)
from specfloor.vendor.host_fault import host_fault
from specfloor.vendor.logs import read_log
from specfloor.vendor.prompts import Choice, prompts_on_acceptance, prompts_on_speed
from specfloor.vendor.reproduce import Serve, bodies, find_prompts, serve, served_name


class BugReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that the text is made of.

    ``said`` are the paragraphs of what does not hold, ``excerpts`` names and ends of the logs of
    servers that failed. ``good`` names the good side, None when the
    run has none. ``requests`` are bodies to send, in the order of ``choice``, or ``no_requests``
    says why there are none. ``others`` are further cells of the run that fail. ``profile`` is the
    acceptance by position; ``attached`` names and texts of the user's own files. ``diagnosis`` is
    the chain of causes, None where nothing of the cell fails; ``checked`` are the ledger's rows
    about the release, with what the measurement says of each. ``host_fault`` is what of the host
    kept every server from starting, None where nothing shows that it was the host.
    """

    cell: Cell
    form: Form
    title: str
    findings: tuple[Finding, ...]
    said: tuple[str, ...]
    excerpts: tuple[tuple[str, str], ...]
    good: str | None
    figures: tuple[Row, ...]
    profile: tuple[Row, ...]
    environment: Surroundings
    attached: tuple[tuple[str, str], ...]
    off: Serve
    on: Serve
    choice: Choice
    requests: tuple[str, ...]
    no_requests: str | None
    diagnosis: Diagnosis | None
    checked: tuple[str, ...]
    keywords: tuple[str, ...]
    searches: tuple[str, ...]
    others: tuple[str, ...]
    host_fault: str | None = None


HERE = Path("fixtures", "workloads")
"""The prompts of a checkout, in the folder that one is in."""


class Wishes(msgspec.Struct, frozen=True):
    """What the user asked of a report besides the cell.

    ``workloads`` is where the prompts are, None for where the run had them, else :data:`HERE`;
    ``attached`` names and texts of files to include; ``texts`` whether prompts and answers may be
    shown.
    """

    workloads: Path | None = None
    attached: tuple[tuple[str, str], ...] = ()
    texts: bool = True


class Judged(msgspec.Struct, frozen=True):
    """A stored run with all that is said of it."""

    run: Run
    basis: Basis
    book: JudgementBook
    cells: tuple[CellResult, ...]

    @classmethod
    def read(cls, folder: Path, catalog: Catalog) -> Self:
        """Read and judge a run; UsageError when that cannot be done."""
        run = read_run(folder)
        basis = read_basis(folder)
        book = book_of(run, basis, catalog)
        return cls(run, basis, book, judge_run(basis.wanted, book).cells)

    def evidence(self, cell: Cell) -> CellEvidence:
        """Return what the run has about a cell."""
        return RecordIndex(self.run.records).evidence(cell)

    def good(self, cell: Cell) -> CellEvidence | None:
        """Return the evidence of the baseline of a cell, if it has one."""
        side = self.book.baseline.side(cell) if self.book.baseline else None
        return side.evidence if side and side.evidence.cell != cell else None


def report_of(judged: Judged, reported: CellResult, catalog: Catalog, wishes: Wishes) -> BugReport:
    """Gather the report of one cell of a run.

    Args:
        judged: the run.
        reported: the cell to report.
        catalog: what is known of releases and families.
        wishes: what the user asked for.
    """
    run, book = judged.run, judged.book
    cell = reported.cell
    family, release = catalog.family(cell.family), catalog.release(cell.release)
    evidence = judged.evidence(cell)
    good = judged.good(cell)
    bad = Measured(reported.acceptance, reported.speed)
    better = measure_good(good, family, judged.basis.rule) if good else None
    broken = _broken(reported)
    findings = _findings(broken)
    form = form_of(findings)
    on_speed = bool(findings) and SPEED.issuperset(findings)
    choice = (
        prompts_on_speed(evidence) if on_speed else prompts_on_acceptance(evidence, good, family)
    )
    block = _block(evidence, forced=on_speed)
    of_run = Path(str(run.info.settings.get("workloads_dir", HERE)))
    prompts = find_prompts(
        block, family, [wishes.workloads] if wishes.workloads else [of_run, HERE]
    )
    wanted = [
        prompts.by_id[one.prompt_id] for one in choice.shown if one.prompt_id in prompts.by_id
    ]
    arms = (*evidence.on, *evidence.off)
    on = evidence.on[0] if evidence.on else None
    off = evidence.off[0] if evidence.off else None
    argv = on.launch.argv if on and on.launch else ()
    requests: tuple[str, ...] = ()
    if block and wanted and wishes.texts:
        requests = bodies(block, served_name(argv, family), wanted)
    causes = [arm.fault.cause for arm in arms if arm.fault and arm.fault.cause]
    return BugReport(
        cell=cell,
        form=form,
        title=title(form, _in_few_words(bad, findings), cell, family, release),
        findings=findings,
        said=tuple(paragraph(j, Path()) for j in broken),
        excerpts=tuple(_ends(run.folder, arms)),
        good=_name_of_good(book, good),
        figures=rows(bad, better),
        profile=positions(bad, better),
        environment=surroundings(
            run.info.environment, release, arms, run.records, attached=bool(wishes.attached)
        ),
        attached=wishes.attached,
        off=serve(off, OFF, cell, family, release),
        on=serve(on, cell.arm, cell, family, release),
        choice=choice,
        requests=requests,
        no_requests=prompts.missing if wishes.texts else _(words.NOT_SHOWN),
        diagnosis=_diagnosis(judged, cell, catalog),
        checked=tuple(_checked(reported)),
        keywords=keywords(cell, family),
        searches=searches(cell, family, release, causes[0] if causes else None),
        others=tuple(
            f"{one.cell.id}: {', '.join(_findings(_broken(one)))}"
            for one in judged.cells
            if one.verdict is Verdict.FAIL and one.cell != cell
        ),
        host_fault=host_fault(evidence),
    )


def worst(results: Sequence[CellResult]) -> CellResult | None:
    """Return the failing cell to report when none is named; None when no cell fails.

    Acceptance comes before everything else, furthest below its floor first, then the order of the
    run: it is what no error shows, and other failures often follow from it.
    """
    failing = [one for one in results if one.verdict is Verdict.FAIL]
    return min(failing, key=_share_of_floor, default=None)


def _share_of_floor(result: CellResult) -> float:
    judged = result.acceptance
    if judged is None or judged.verdict is not Verdict.FAIL:
        return 2.0
    detail = judged.detail
    if detail is None or detail.mean is None:
        return 1.0 if judged.summary is None else 0.0
    return detail.mean.value / detail.floor


def _broken(result: CellResult) -> list[Judgement]:
    """Return what does not hold of a cell, failures before what is undecided; all if all holds."""
    order = [Verdict.FAIL, Verdict.NO_DATA, Verdict.INCONCLUSIVE]
    broken = [j for j in result.judgements if j.verdict in order]
    fails = [j for j in broken if j.verdict is Verdict.FAIL]
    return fails or sorted(broken, key=lambda j: order.index(j.verdict or Verdict.FAIL))


def _findings(judgements: Iterable[Judgement]) -> tuple[Finding, ...]:
    """Return what was found; that a fix is known says nothing of what is wrong."""
    found = dict.fromkeys(finding for j in judgements for finding in j.findings)
    return tuple(finding for finding in found if finding is not Finding.KNOWN_FIX) or tuple(found)


def _checked(result: CellResult) -> Iterator[str]:
    for fault in result.known.faults if result.known else ():
        fix = fault.fix
        number = f"#{fix.change}" if fix.change.isdigit() else fix.change
        yield _(words.CHECKED).format(
            change=number,
            symptom=ledger_text(fix.symptom),
            mended_in=fix.mended_in,
            state=_(fault.state),
            why=fault.why,
        )


def _diagnosis(judged: Judged, cell: Cell, catalog: Catalog) -> Diagnosis | None:
    run = judged.run
    found = diagnose_run(
        RunResult(judged.cells),
        run.info.environment,
        catalog,
        read_ledger(),
        hosts=hosts_of(run.records),
    )
    return found.get(cell)


def _block(evidence: CellEvidence, *, forced: bool) -> Block | None:
    for arm in (*evidence.on, *evidence.off):
        ordered = (arm.forced, arm.natural) if forced else (arm.natural, arm.forced)
        if block := next((block for block in ordered if block), None):
            return block
    return None


EXCERPT = 40
"""Lines of a failed server's log that are in the text itself."""


def _ends(folder: Path, arms: Iterable[ArmEvidence]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(arm.fault.evidence for arm in arms if arm.fault):
        if name and (lines := read_log(folder, name).splitlines()):
            yield name, "\n".join(lines[-EXCERPT:])


def _name_of_good(book: JudgementBook, good: CellEvidence | None) -> str | None:
    if good is None or book.baseline is None:
        return None
    release, name = good.cell.release, book.baseline.name
    return (
        release
        if name == release
        else _("{release} (run {name})").format(release=release, name=name)
    )


_FEW_WORDS = {
    Finding.ACCEPT_ZERO: "no draft is accepted",
    Finding.SUSPICIOUS_ACCEPTANCE: "acceptance is too good to be true",
    Finding.CONFIG_NOT_IN_EFFECT: "speculative configuration is not in effect",
    Finding.START_FAIL: "server does not start",
    Finding.CRASH: "server crashes",
    Finding.HANG: "server stops answering",
    Finding.OUTPUT_BROKEN: "answers are broken",
}


def _in_few_words(bad: Measured, findings: Sequence[Finding]) -> str:
    """Return the finding for a title."""
    first = findings[0] if findings else None
    speed, detail = bad.speed, bad.acceptance.detail if bad.acceptance else None
    if first in SPEED and speed and speed.summary and speed.floor:
        return f"speedup {speed.summary.speedup:.2f}, expected at least {speed.floor.value:g}"
    if first in _FEW_WORDS:
        return _FEW_WORDS[first]
    if detail and detail.mean:
        what = "acceptance rate" if detail.unit == "rate" else "acceptance length"
        return f"{what} {detail.mean.value:.3f}, expected at least {detail.floor:.3g}"
    if bad.summary:
        return f"acceptance rate {bad.summary.rate_mean.value:.3f}"
    return first.value if first else "question"
