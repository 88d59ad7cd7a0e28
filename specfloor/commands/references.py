"""``specfloor references``: what others publish, with the conditions it holds under."""

from collections.abc import Iterable

import click

from specfloor.catalog.references import Reference, conditions, figure, references_for
from specfloor.commands._show import UNKNOWN, Format, as_json, format_option, table
from specfloor.i18n import N_, _

_HEADERS = (
    N_("family"),
    N_("method"),
    "k",
    N_("figure"),
    N_("published by"),
    N_("conditions"),
    N_("source"),
)
_WIDTHS = (None, None, None, 26, 14, 56, 40)


@click.command()
@click.option("--family", metavar="NAME", help="only of this family, in either spelling")
@click.option("--method", metavar="NAME", help="only of this method, as vLLM spells it")
@click.option(
    "--spec-tokens",
    type=click.IntRange(min=1),
    metavar="K",
    help="only of this many drafted tokens, or of a number not told",
)
@format_option
def references(
    family: str | None, method: str | None, spec_tokens: int | None, style: Format
) -> None:
    """Show figures that others have published.

    They are references and not floors: of other checkpoints, workloads and hardware. Those with
    the nearest conditions come first within a family, method and k.
    """
    found = references_for(family, method, spec_tokens)
    if style == "json":
        click.echo(as_json(found))
    elif found:
        click.echo(table(map(_row, found), [_(h) for h in _HEADERS], _WIDTHS))
    else:
        k = f"k = {spec_tokens}" if spec_tokens else None
        click.echo(
            _("No published figure is known for {what}.").format(what=_joined((family, method, k)))
        )


def _row(reference: Reference) -> tuple[str, ...]:
    return (
        reference.family,
        reference.method,
        _(UNKNOWN) if reference.k is None else str(reference.k),
        figure(reference),
        f"{reference.owner} ({reference.kind})",
        _("; ").join(conditions(reference)),
        reference.source,
    )


def _joined(asked: Iterable[str | None]) -> str:
    return " · ".join(text for text in asked if text)
