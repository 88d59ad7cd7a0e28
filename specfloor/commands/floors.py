"""``specfloor floors``: raise floors to what a stored run supports."""

from pathlib import Path

import click

from specfloor.catalog import load_catalog
from specfloor.judge.floors_file import update_floors
from specfloor.judge.run import judge_stored, read_basis
from specfloor.runs.store import read_run

_FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("run", type=_FOLDER)
@click.option("--into", type=_FOLDER, required=True, help="File for floors of cells without one.")
@click.option("--reason", help="Why floors are also lowered to what the run supports.")
def floors(run: Path, into: Path, reason: str | None) -> int:
    """Raise the floors beside INTO to what the stored RUN supports.

    A floor is the lower end of a cell's interval less the run's margin, from a run that came to its
    end with every prompt measured. What stays as it is, and why, is said.
    """
    stored = read_run(run)
    lines = update_floors(
        judge_stored(stored, load_catalog()),
        stored.info,
        folder=into.parent,
        fresh=into,
        margin=read_basis(run).rule.margin,
        reason=reason,
    )
    click.echo("\n".join(lines))
    return 0
