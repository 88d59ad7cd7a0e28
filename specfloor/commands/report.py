"""``specfloor report``: judge a stored run again."""

from pathlib import Path

import click

from specfloor.catalog import load_catalog
from specfloor.judge.run import judge_stored
from specfloor.report.details import details_table
from specfloor.report.experiments import experiment_sections
from specfloor.report.files import headline
from specfloor.report.paragraphs import paragraph
from specfloor.report.table import tables
from specfloor.report.upgrade import upgrade_headline, upgrade_table
from specfloor.runs.store import read_run


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def report(folder: Path) -> int:
    """Judge a stored run again, from its records alone."""
    run = read_run(folder)
    result = judge_stored(run, load_catalog())
    for release, table in tables(result.cells).items():
        click.echo(f"{release}\n{table}\n")
    if details := details_table(result.cells):
        click.echo(f"{details}\n")
    if compared := upgrade_table(result.cells):
        click.echo(f"upgrade: {upgrade_headline(result.cells)}\n{compared}\n")
    said = [judgement for cell in result.cells for judgement in cell.experiments]
    for heading, text in experiment_sections(said):
        click.echo(f"{heading}\n{text}\n")
    for judgement in result.broken:
        click.echo(f"{paragraph(judgement, folder)}\n")
    if run.truncated:
        click.echo("The last record was cut off and is left out.")
    click.echo(headline(result, complete=run.info.complete))
    return result.exit_code
