"""``specfloor bug``: a report to the vendor from a stored run."""

import getpass
import platform
from collections.abc import Sequence
from pathlib import Path

import click

from specfloor.catalog import load_catalog
from specfloor.commands._show import table
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.i18n import _
from specfloor.judge.run import CellResult
from specfloor.judge.verdict import Verdict
from specfloor.redaction.kinds import Replacement
from specfloor.redaction.redactor import Redactor
from specfloor.vendor.bundle import Bundle, bundle, counts_by_kind, evidence_words
from specfloor.vendor.report import Judged, Wishes, report_of, worst
from specfloor.vendor.text import as_text
from specfloor.whole import write_whole

_EXITS = {Verdict.FAIL: Exit.FAILS, Verdict.PASS: Exit.HOLDS, None: Exit.HOLDS}


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--cell", "asked", metavar="ID", help="the cell to report (default: the worst)")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="the text of the issue")
@click.option("--archive", type=click.Path(path_type=Path), help="the archive to attach to it")
@click.option(
    "--attach",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="a text to include, such as the output of collect_env.py or npu-smi; may be repeated",
)
@click.option(
    "--workloads",
    type=click.Path(path_type=Path),
    help="the folder of prompts (default: where the run had them, else fixtures/workloads)",
)
@click.option("--without-texts", is_flag=True, help="leave out prompts, and answers but for hashes")
@click.option("--show-redactions", is_flag=True, help="list what was replaced, never what it was")
def bug(
    *,
    folder: Path,
    asked: str | None,
    output: Path | None,
    archive: Path | None,
    files: tuple[Path, ...],
    workloads: Path | None,
    without_texts: bool,
    show_redactions: bool,
) -> int:
    """Write the text of a vendor's issue on a failing cell of RUN, and an archive of evidence.

    Secrets, and the names and addresses of people and machines, are replaced before anything is
    written; read both files before you send them. Exit code: that of the reported cell.
    """
    catalog = load_catalog()
    judged = Judged.read(folder, catalog)
    reported = _named(judged.cells, asked) if asked else worst(judged.cells)
    if reported is None:
        click.echo(_nothing(judged.cells))
        return _exit_of(judged.cells)
    attached = tuple((path.name, _read(path)) for path in files)
    report = report_of(
        judged, reported, catalog, Wishes(workloads, attached, texts=not without_texts)
    )
    redactor = Redactor(evidence_words(judged, reported), hosts=[platform.node()], users=_users())
    made = bundle(judged, reported, report, as_text(report), redactor, texts=not without_texts)
    name = f"bug-{reported.cell.id}"
    output = output or folder / f"{name}.md"
    archive = archive or folder / f"{name}.tar.gz"
    _write(output, made.text.encode())
    _write(archive, made.archive())
    click.echo(made.text.splitlines()[0])
    if report.host_fault:
        click.echo(
            _(
                "no server was started, and the host is at fault, not the release: {why}; mend it "
                "and run again before you send this"
            ).format(why=report.host_fault)
        )
    if report.others:
        click.echo(
            _("{others} more cells fail; --cell ID reports another").format(
                others=len(report.others)
            )
        )
    click.echo(
        _("text:    {output}\narchive: {archive} ({members} files)").format(
            output=output, archive=archive, members=len(made.members)
        )
    )
    click.echo(_replaced(made, show=show_redactions))
    if report.no_requests and not without_texts:
        click.echo(
            _("The text has no requests to send: {why}").format(why=report.no_requests), err=True
        )
    return _exit_of([reported])


def _named(cells: Sequence[CellResult], asked: str) -> CellResult:
    """Return the cell with an id, or the only one whose id ends so (the release left out)."""
    found = [one for one in cells if one.cell.id == asked]
    found = found or [one for one in cells if one.cell.pair_id == asked]
    if len(found) != 1:
        ids = ", ".join(one.cell.id for one in cells) or "none"
        what = _("no cell") if not found else _("more than one cell")
        raise UsageError(f"the run has {what} {asked!r}; it has: {ids}")
    return found[0]


def _nothing(cells: Sequence[CellResult]) -> str:
    undecided = [
        one.cell.id for one in cells if one.verdict in (Verdict.INCONCLUSIVE, Verdict.NO_DATA)
    ]
    said = _("No cell of this run fails: there is nothing to report.")
    if undecided:
        said += _(" Undecided or without data: {undecided}.").format(
            undecided=_(", ").join(undecided)
        )
    return _("{said} --cell ID reports one all the same.").format(said=said)


def _exit_of(cells: Sequence[CellResult]) -> Exit:
    exits = {_EXITS.get(one.verdict, Exit.UNDECIDED) for one in cells}
    return next((e for e in (Exit.FAILS, Exit.UNDECIDED) if e in exits), Exit.HOLDS)


def _users() -> list[str]:
    try:
        return [getpass.getuser()]
    except (OSError, KeyError):  # a container's user need have no name
        return []


def _replaced(made: Bundle, *, show: bool) -> str:
    if not made.replacements:
        return _("replaced: nothing was found that names a person or a machine, or is a secret")
    counts = counts_by_kind(made.replacements)
    said = _("replaced: {items}").format(
        items=_(", ").join((f"{n} {_(kind)}" for kind, n in counts.items()))
    )
    if not show:
        return _("{said}; --show-redactions lists them").format(said=said)
    return f"{said}\n{table(map(_row, made.replacements), ('kind', 'as', 'times', 'where'))}"


def _row(one: Replacement) -> tuple[str, ...]:
    return (one.kind, one.pseudonym, str(one.count), ", ".join(one.places))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"--attach {path} cannot be read ({error.strerror})") from None


def _write(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}); name another with -o and --archive"
        ) from None
