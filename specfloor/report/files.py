"""The files of a run made from its judgements: index.html, summary.md and verdicts.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.references import beside
from specfloor.cells import Cell
from specfloor.errors import UsageError
from specfloor.experiments.base import ExperimentJudgement
from specfloor.i18n import N_, _
from specfloor.judge.baseline import hardware_class
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.configuration import ConfigurationJudgement
from specfloor.judge.known import KnownFaultsJudgement
from specfloor.judge.run import Judgement, RunResult
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import Verdict
from specfloor.report.details import details_table
from specfloor.report.experiments import experiment_sections
from specfloor.report.html.page import build_page
from specfloor.report.paragraphs import paragraph
from specfloor.report.table import tables
from specfloor.report.upgrade import upgrade_headline, upgrade_table
from specfloor.runs.records import RunInfo
from specfloor.runs.store import Run
from specfloor.triage.diagnosis import Diagnosis
from specfloor.whole import write_whole

SCHEMA = 1
"""Version of the shape of verdicts.json."""
PAGE = "index.html"
_NONE: Mapping[Cell, Diagnosis] = {}
_KINDS: Mapping[type[Judgement], str] = {
    ConfigurationJudgement: N_("configuration"),
    AcceptanceJudgement: N_("acceptance"),
    SpeedJudgement: N_("speed"),
    UpgradeJudgement: N_("upgrade"),
    KnownFaultsJudgement: N_("known faults"),
    ExperimentJudgement: N_("experiments"),
}
"""What verdicts are on, in the order in which they are said."""


def write_summary(
    result: RunResult,
    info: RunInfo,
    folder: Path,
    diagnoses: Mapping[Cell, Diagnosis] = _NONE,
) -> None:
    """Write ``summary.md`` into the run's folder, for people.

    ``diagnoses`` are those of cells of which something does not hold.
    """
    text = markdown(result, info, folder, diagnoses)
    write_whole(folder / "summary.md", text.encode())


def write_verdicts(
    result: RunResult,
    info: RunInfo,
    folder: Path,
    diagnoses: Mapping[Cell, Diagnosis] = _NONE,
) -> None:
    """Write ``verdicts.json`` into the run's folder, for programs: judge in English for it.

    ``diagnoses`` are those of cells of which something does not hold.
    """
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "run": info.run,
        **msgspec.structs.asdict(result),
        "diagnoses": list(diagnoses.values()),
    }
    encoded = msgspec.json.format(msgspec.json.encode(document), indent=1)
    write_whole(folder / "verdicts.json", encoded + b"\n")


def write_page(
    result: RunResult,
    run: Run,
    catalog: Catalog,
    diagnoses: Mapping[Cell, Diagnosis] = _NONE,
    name: str = PAGE,
) -> Path:
    """Write a run as one page of HTML into its folder and return its path.

    Args:
        result: the judgements to show.
        run: the run, read back.
        catalog: what is known of its releases and families.
        diagnoses: those of cells of which something does not hold.
        name: of the file.

    Raises:
        UsageError: it cannot be written.
    """
    # here and not above: what only prints text need not wait for the template engine
    from specfloor.report.html.render import render  # noqa: PLC0415

    path = run.folder / name
    page = render(build_page(result, run, catalog, diagnoses))
    try:
        write_whole(path, page.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})") from None
    return path


def markdown(
    result: RunResult,
    info: RunInfo,
    folder: Path,
    diagnoses: Mapping[Cell, Diagnosis] = _NONE,
) -> str:
    """Return the run as Markdown: the answer, the tables, what does not hold, then the rest.

    A CI server may cut what is long, and people stop reading: so details come last.
    """
    parts = [f"# {headline(result, complete=info.complete)}"]
    parts.append(
        _("Run {run}, {started}, {hardware}.").format(
            run=info.run, started=info.started, hardware=hardware_class(info.environment)
        )
    )
    for release, table in tables(result.cells, "github").items():
        parts.append(f"## {release}\n\n{table}")
    if result.broken:
        parts.append(_("## What does not hold"))
        parts += [f"```\n{paragraph(j, folder, diagnoses.get(j.cell))}\n```" for j in result.broken]
    if compared := upgrade_table(result.cells, "github"):
        parts.append(
            _("## Upgrade: {headline}\n\n{compared}").format(
                headline=upgrade_headline(result.cells), compared=compared
            )
        )
    said = [judgement for cell in result.cells for judgement in cell.experiments]
    parts += [f"## {heading}\n\n{text}" for heading, text in experiment_sections(said, "github")]
    if details := details_table(result.cells, "github"):
        parts.append(_("## Acceptance in detail\n\n{details}").format(details=details))
    if published := _published(result):
        parts.append(_("## Published figures\n\n") + "\n".join(published))
    return "\n\n".join(parts) + "\n"


def _published(result: RunResult) -> list[str]:
    """Return what others publish for the cells of a run, as a list; figures to read, not floors."""
    return [f"- {cell.cell.pair_id}: {line}" for cell in result.cells for line in beside(cell.cell)]


def headline(result: RunResult, *, complete: bool) -> str:
    """Return the answer in one line: how many verdicts of each kind, on what, of how many cells."""
    counts = dict.fromkeys(Verdict, 0)
    reported = 0
    for judgement in result.judgements:
        if judgement.verdict is None:
            reported += 1
        else:
            counts[judgement.verdict] += 1
    said = _(", ").join(f"{n} {verdict}" for verdict, n in counts.items() if n) or _(
        "nothing judged"
    )
    unfinished = "" if complete else _(" (the run did not come to its end)")
    also = _(", {n} reported").format(n=reported) if reported else ""
    return f"{said}{also}{_unit(result)}{unfinished}"


def _unit(result: RunResult) -> str:
    """Return what is counted: a cell has a verdict on each of several things, its row the worst."""
    judged = [cell for cell in result.cells if cell.judgements]
    if not judged:
        return ""
    found = {type(judgement) for cell in judged for judgement in cell.judgements}
    kinds = _(", ").join(_(word) for kind, word in _KINDS.items() if kind in found)
    said = (
        _(": verdicts on {kinds} of 1 cell")
        if len(judged) == 1
        else _(": verdicts on {kinds} of {n} cells")
    )
    return said.format(kinds=kinds, n=len(judged))
