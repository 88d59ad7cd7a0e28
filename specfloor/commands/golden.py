"""``specfloor golden``: acceptance as a file, written from runs and read as references."""

from pathlib import Path

import click

from specfloor.catalog import load_catalog
from specfloor.catalog.references import keep_references
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.golden.export import export as export_runs
from specfloor.golden.model import encode, read
from specfloor.golden.references import references_of
from specfloor.i18n import _
from specfloor.runs.store import read_run
from specfloor.whole import write_whole


@click.group()
def golden() -> None:
    """Write acceptance of stored runs as a golden file, or read one as references."""


@golden.command("export")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="the file (default: standard output)"
)
@click.option(
    "--owner", default="specfloor", show_default=True, help="who measured this, for its readers"
)
@click.option("--source", metavar="URL", help="where the file will be found, if it is published")
def export_golden(
    runs: tuple[Path, ...], output: Path | None, owner: str, source: str | None
) -> int:
    """Write the acceptance of RUNS, by family, method, k, workload, tier and hardware.

    Cells that were not measured whole, or that do not hold, are left out and named. Exit code 10
    when nothing is left.
    """
    made = export_runs(map(read_run, runs), load_catalog(), owner=owner, source=source)
    for one in made.left_out:
        click.echo(_("left out: {cell}: {why}").format(cell=one.cell.id, why=one.why), err=True)
    n = len(made.file.golden)
    if not n:
        click.echo(_("No cell of these runs makes a golden figure; nothing is written."), err=True)
        return Exit.UNDECIDED
    if output is None:
        click.echo(encode(made.file).decode(), nl=False)
        return Exit.HOLDS
    _write(output, encode(made.file))
    click.echo(
        _("{output}: {n} cells, {left_out} left out").format(
            output=output, n=n, left_out=len(made.left_out)
        )
    )
    return Exit.HOLDS


@golden.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def import_golden(files: tuple[Path, ...]) -> None:
    """Take golden FILES for references, which `specfloor references` and reports then show.

    A file of the same name that was imported before is replaced. All are checked before any is
    taken.
    """
    catalog = load_catalog()
    read_files = [(path, references_of(read(path), catalog, name=path.name)) for path in files]
    for path, references in read_files:
        kept = keep_references(references, path.stem)
        families = sorted({reference.family for reference in references})
        click.echo(
            _(
                "{path}: {references} references of {families}, kept in {kept} "
                "(remove that file to forget them)"
            ).format(
                path=path,
                references=len(references),
                families=_(", ").join(families) or _("no family"),
                kept=kept,
            )
        )
        for family in families:
            if family not in catalog.families:
                click.echo(
                    _("the catalogue has no family {family}; listed only without --family").format(
                        family=family
                    )
                )


def _write(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}); name another with -o"
        ) from None
