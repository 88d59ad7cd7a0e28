"""The command line: everything that needs no engine."""

import sys
from pathlib import Path

import click

from specfloor import __version__
from specfloor.catalog import load_catalog
from specfloor.commands.families import families
from specfloor.commands.fixes import fixes
from specfloor.commands.floors import floors
from specfloor.commands.references import references
from specfloor.commands.releases import releases
from specfloor.commands.selfcheck import selfcheck
from specfloor.commands.triage import triage
from specfloor.errors import UsageError
from specfloor.judge.run import RunResult, judge_stored
from specfloor.judge.verdict import Verdict
from specfloor.report.details import details_table
from specfloor.report.files import headline
from specfloor.report.paragraphs import paragraph
from specfloor.report.table import tables
from specfloor.report.upgrade import upgrade_headline, upgrade_table
from specfloor.runs.store import read_run

EXIT_PASS, EXIT_FAIL, EXIT_USAGE, EXIT_INCONCLUSIVE = 0, 1, 4, 10


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Tell whether a vLLM-Ascend release still gives speculative decoding that pays."""


@cli.command()
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
    for judgement in result.broken:
        click.echo(f"{paragraph(judgement, folder)}\n")
    if run.truncated:
        click.echo("The last record was cut off and is left out.")
    click.echo(headline(result, complete=run.info.complete))
    return exit_code(result)


for command in (families, fixes, floors, references, releases, selfcheck, triage):
    cli.add_command(command)


def exit_code(result: RunResult) -> int:
    """Return 0 when all holds, 1 with a FAIL, 10 when something could not be concluded."""
    verdicts = {judgement.verdict for judgement in result.broken}
    if Verdict.FAIL in verdicts:
        return EXIT_FAIL
    return EXIT_INCONCLUSIVE if verdicts else EXIT_PASS


def main() -> None:
    """Run the command line; usage errors are one sentence and exit code 4."""
    try:
        code = cli.main(standalone_mode=False)
    except UsageError as error:
        click.echo(f"specfloor: {error}", err=True)
        code = EXIT_USAGE
    except click.exceptions.Abort:
        code = 130  # 128 + SIGINT, as shells report it
    except click.ClickException as error:
        error.show()
        code = EXIT_USAGE
    sys.exit(code)
