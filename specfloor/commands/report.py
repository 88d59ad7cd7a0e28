"""``specfloor report``: judge a stored run again."""

from pathlib import Path

import click

from specfloor.catalog import load_catalog
from specfloor.cells import pick
from specfloor.i18n import _
from specfloor.judge.run import RunResult, judge_stored
from specfloor.ledger import read_ledger
from specfloor.report.details import details_table
from specfloor.report.experiments import experiment_sections
from specfloor.report.files import PAGE, headline, write_page
from specfloor.report.paragraphs import paragraph
from specfloor.report.table import tables
from specfloor.report.upgrade import upgrade_headline, upgrade_table
from specfloor.runs.store import read_run
from specfloor.triage.live import diagnose_run, hosts_of

_LONGEST_NAME = 200
"""Characters of a page's name without its ending; file systems take 255 bytes."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--cell", "cell_ids", multiple=True, metavar="ID", help="show this cell alone")
@click.option("--html", is_flag=True, help=f"write the page of the run, {PAGE}, into its folder")
@click.option(
    "--beside",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="a run of the same cells under other settings (eager, say), to tell what a loss takes",
)
def report(folder: Path, cell_ids: tuple[str, ...], html: bool, others: tuple[Path, ...]) -> int:
    """Judge a stored run again, from its records alone."""
    run = read_run(folder)
    catalog = load_catalog()
    result = _only(judge_stored(run, catalog), cell_ids)
    for release, table in tables(result.cells).items():
        click.echo(f"{release}\n{table}\n")
    if details := details_table(result.cells):
        click.echo(f"{details}\n")
    if compared := upgrade_table(result.cells):
        click.echo(
            _("upgrade: {headline}\n{compared}\n").format(
                headline=upgrade_headline(result.cells), compared=compared
            )
        )
    said = [judgement for cell in result.cells for judgement in cell.experiments]
    for heading, text in experiment_sections(said):
        click.echo(f"{heading}\n{text}\n")
    diagnoses = diagnose_run(
        result,
        run.info.environment,
        catalog,
        read_ledger(),
        hosts=hosts_of(run.records),
        beside=[judge_stored(read_run(other), catalog) for other in others],
    )
    for judgement in result.broken:
        click.echo(f"{paragraph(judgement, folder, diagnoses.get(judgement.cell))}\n")
    if run.truncated:
        click.echo(_("The last record was cut off and is left out."))
    if html:
        name = _page_of(result) if cell_ids else PAGE
        click.echo(_("page: {path}").format(path=write_page(result, run, catalog, diagnoses, name)))
    click.echo(headline(result, complete=run.info.complete))
    return result.exit_code


def _page_of(result: RunResult) -> str:
    """Return the name of a page of some cells: all of theirs, or how many follow the first."""
    first, *others = (cell.cell.id for cell in result.cells)
    whole = "+".join((first, *others))
    return f"{whole if len(whole) <= _LONGEST_NAME else f'{first}+{len(others)}'}.html"


def _only(result: RunResult, cell_ids: tuple[str, ...]) -> RunResult:
    """Return the judgements of the cells that were named, or of all without a name."""
    if not cell_ids:
        return result
    known = [cell.cell.id for cell in result.cells]
    wanted = {pick(one, known, "cell") for one in cell_ids}
    return RunResult(tuple(cell for cell in result.cells if cell.cell.id in wanted))
