"""``specfloor history``: what runs found over time, and where it steps."""

from pathlib import Path

import click

from specfloor.catalog import load_catalog
from specfloor.cells import pick
from specfloor.commands._show import as_json, for_programs
from specfloor.errors import UsageError
from specfloor.history.changes import ChangePoint, change_points
from specfloor.history.index import HISTORY, History, Skipped, read_history, rebuild
from specfloor.history.lines import Line, Wanted, lines_of
from specfloor.history.otava import as_csv, write_files
from specfloor.i18n import _
from specfloor.report.history import as_document, as_text


@click.command()
@click.argument("reports", type=click.Path(path_type=Path), default="reports")
@click.option("--family", metavar="NAME", help="only this model family")
@click.option("--method", metavar="NAME", help="only this method of drafting")
@click.option("--release", metavar="NAME", help="only runs of this release")
@click.option("--line", metavar="ID", help="only this line")
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "csv"]),
    default="text",
    callback=for_programs,
    help="text for people, json for programs, csv for Apache Otava",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="with --format csv: a file for each line, and Otava's configuration",
)
@click.option("--rebuild", "again", is_flag=True, help="judge every run in REPORTS again first")
def history(
    *,
    reports: Path,
    family: str | None,
    method: str | None,
    release: str | None,
    line: str | None,
    style: str,
    into: Path | None,
    again: bool,
) -> None:
    """Show what the runs in REPORTS (default: reports) found over time, line by line.

    A line is a quantity of a cell on one kind of hardware under one set of conditions. Change
    points are a hint where to look and decide nothing.
    """
    if into and style != "csv":
        raise UsageError("--into is where CSV files go and needs --format csv")
    if again:
        _rebuild(reports)
    found = read_history(reports)
    _warn(found.skipped)
    lines = lines_of(found.entries, _wanted(found, family, method, release, line))
    if not lines:
        raise UsageError(_no_lines(found, reports))
    if style == "csv":
        _export(lines, into)
        return
    without = None
    changes: dict[str, tuple[ChangePoint, ...]] = {}
    try:
        changes = {one.id: change_points([s.value for s in one.spots]) for one in lines}
    except UsageError as missing:
        without = str(missing)
    if style == "json":
        click.echo(as_json(as_document(lines, changes, found.skipped)))
    else:
        click.echo(as_text(lines, changes, without))


def _no_lines(found: History, reports: Path) -> str:
    """Return why there is nothing to show."""
    index = reports / HISTORY
    if not found.entries:
        return f"{index} has no entries; a run that comes to its end below {reports} adds some"
    if not lines_of(found.entries):
        return (
            f"no entry of {index} has acceptance or speed: runs that only made experiments, or "
            "measured nothing, have neither; `specfloor report RUN` shows what they found"
        )
    return f"{index} has no run that fits; without options `specfloor history {reports}` shows all"


def _rebuild(reports: Path) -> None:
    done = rebuild(reports, load_catalog())
    click.echo(
        _("{judged} entries judged again, {kept} lines kept as they were").format(
            judged=done.judged, kept=done.kept
        ),
        err=True,
    )
    _warn(done.skipped)


def _warn(skipped: tuple[Skipped, ...]) -> None:
    for one in skipped:
        click.echo(_("skipped {where}: {why}").format(where=one.where, why=one.why), err=True)


def _wanted(
    found: History, family: str | None, method: str | None, release: str | None, line: str | None
) -> Wanted:
    """Return what is asked for, by the names in the entries; UsageError when there is no such."""
    cells = [entry.cell for entry in found.entries]
    known = (
        ("family", family, _families(sorted({cell.family for cell in cells}))),
        ("method", method, {cell.method: cell.method for cell in cells}),
        ("release", release, {cell.release: cell.release for cell in cells}),
    )
    picked = {what: pick(asked, names, what) for what, asked, names in known if asked is not None}
    return Wanted(**picked, line=line)


def _families(names: list[str]) -> dict[str, str]:
    """Return families by their names and aliases; the catalogue may know a name no longer."""
    aliases = {
        alias: family.name
        for family in load_catalog().families.values()
        if family.name in names
        for alias in family.aliases
    }
    return aliases | {name: name for name in names}


def _export(lines: tuple[Line, ...], into: Path | None) -> None:
    if into:
        for path in write_files(lines, into):
            click.echo(path)
        return
    if len(lines) > 1:
        ids = ", ".join(f"{one.id} ({one.cell}, {one.quantity})" for one in lines[:3])
        raise UsageError(
            f"{len(lines)} lines fit, and a CSV file holds one; name it with --line, or a folder "
            f"with --into: {ids}{', …' if len(lines) > 3 else ''}"
        )
    click.echo(as_csv(lines[0]), nl=False)
