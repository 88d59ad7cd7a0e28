"""``specfloor compare``: stored runs against each other, prompt by prompt."""

from pathlib import Path

import click

from specfloor.catalog import load_catalog
from specfloor.commands._show import as_json, for_programs
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.judge.comparison import Comparison, Contender, compare_contenders, contenders
from specfloor.judge.run import read_basis
from specfloor.ledger import read_ledger
from specfloor.ledger.concern import compare_for
from specfloor.report.comparison import Compared, as_document, as_markdown, as_text
from specfloor.runs.store import read_run


@click.command()
@click.argument("sides", nargs=-1, required=True, metavar="OLD NEW [NEW…]")
@click.option("--family", "families", multiple=True, metavar="NAME", help="only this model family")
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "md", "html", "json"]),
    default="text",
    callback=for_programs,
    help="text for a terminal, md for a pull request, html for a page, json for programs",
)
def compare(sides: tuple[str, ...], families: tuple[str, ...], style: str) -> int:
    """Compare stored runs with the first, cell by cell, on the same prompts.

    Each is the folder of a run, or FOLDER:RELEASE for one release of it; a folder with several
    releases counts as that many sides, in its order. The exit code is 1 when a family is worse and
    10 when none is and one is unknown.
    """
    named = [one for asked in sides for one in _read(asked)]
    if len(named) < 2:
        raise UsageError(
            "`specfloor compare` takes two sides or more, the old one first: folders of runs, or "
            "FOLDER:RELEASE"
        )
    keys = [(folder, side.release) for folder, side in named]
    for folder, release in keys:
        if keys.count((folder, release)) > 1:
            raise UsageError(f"{release} of {folder} is named twice; name each side once")
    catalog = load_catalog()
    only = [catalog.family(name).name for name in families]
    (_, old), *others = named
    compared = [_with_ledger(compare_contenders(old, new, catalog, only)) for _, new in others]
    match style:
        case "json":
            click.echo(as_json(as_document(compared)))
        case "md":
            click.echo(as_markdown(compared))
        case "html":
            # here and not above: what only prints text need not wait for the template engine
            from specfloor.report.html.compare import render_comparisons  # noqa: PLC0415

            click.echo(render_comparisons(compared))
        case _:
            click.echo(as_text(compared))
    codes = {one.comparison.exit_code for one in compared}
    return next(code for code in (Exit.FAILS, Exit.UNDECIDED, Exit.HOLDS) if code in codes)


def _read(asked: str) -> list[tuple[Path, Contender]]:
    """Return the sides that one argument names, each with the folder of its run."""
    folder, release = Path(asked), None
    if not folder.exists() and ":" in asked:
        path, _, release = asked.rpartition(":")
        folder = Path(path)
    run = read_run(folder)
    return [(folder.resolve(), side) for side in contenders(run, read_basis(folder), release)]


def _with_ledger(comparison: Comparison) -> Compared:
    """Return a comparison beside what the ledger says of the families and methods in it."""
    concerns = {
        (cell.cell.family, cell.cell.method)
        for family in comparison.families
        for cell in family.cells
    }
    old, new = comparison.old.release, comparison.new.release
    return Compared(comparison, compare_for(read_ledger(), old, new, sorted(concerns)))
