"""``specfloor triage``: a diagnosis from files alone."""

from pathlib import Path
from typing import Any, Literal

import click
import msgspec

from specfloor.catalog.versions import read_version
from specfloor.commands._show import as_json, for_programs
from specfloor.errors import UsageError
from specfloor.triage.files import triage as triage_files
from specfloor.triage.given import Given, GivenFile, read_given
from specfloor.triage.report import as_markdown, as_text


@click.command()
@click.argument("paths", nargs=-1, metavar="FILE...")
@click.option("--release", metavar="VERSION", help="the vLLM-Ascend release that wrote the files")
@click.option("--family", metavar="NAME", help="the family of the model, to ask the fix ledger")
@click.option("--method", metavar="NAME", help="the method of drafting")
@click.option(
    "--spec-tokens", type=click.IntRange(min=1), metavar="K", help="num_speculative_tokens (k)"
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "md"]),
    default="text",
    callback=for_programs,
    help="text for people, json for programs, md for an issue",
)
@click.option(
    "--given",
    "given_file",
    type=click.Path(path_type=Path),
    help="a JSON file with files and their roles, config and baseline, instead of FILE...",
)
def triage(
    *,
    paths: tuple[str, ...],
    release: str | None,
    family: str | None,
    method: str | None,
    spec_tokens: int | None,
    style: Literal["text", "json", "md"],
    given_file: Path | None,
) -> int:
    """Say what logs, /metrics dumps, benchmark reports, responses or environment texts show.

    FILE may be a folder, which is searched, or - for standard input; the kind of each is found out
    by its content. Roles (off, on, before, after, old, new, prefill, decode, reference) are taken
    from names such as decode-after.prom. Exit code 0: healthy or nothing to judge; 1: a fault;
    10: no data, or not enough to tell.
    """
    if given_file is not None and paths:
        raise UsageError("--given names the files itself; leave FILE... out, or --given")
    if release is not None:
        read_version(release)  # refuses what is no version at all
    given, folder = Given(tuple(map(GivenFile, paths))), Path()
    if given_file is not None:
        given, folder = read_given(given_file), given_file.parent
    known: dict[str, Any] = {"method": method, "k": spec_tokens}
    config = given.config | {name: value for name, value in known.items() if value is not None}
    given = msgspec.structs.replace(given, config=config)
    report = triage_files(given, folder, release, family)
    if style == "json":
        click.echo(as_json(report))
    else:
        click.echo(as_markdown(report) if style == "md" else as_text(report))
    return report.exit_code
