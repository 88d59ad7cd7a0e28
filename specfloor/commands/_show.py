"""How commands print tables, unknowns and JSON."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import click
import msgspec

from specfloor.i18n import ENGLISH, N_, _, use

Format = Literal["text", "json"]

UNKNOWN = N_("unknown")
"""What is printed for None: never nothing, which reads as "no"."""


def for_programs(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    """Speak English where a format is for programs."""
    if value in {"json", "csv"}:
        use(ENGLISH)
    return value


class Share(click.FloatRange):
    """A fraction above 0, up to 1; a NaN, which no comparison finds out of range, is none."""

    def __init__(self, *, whole: bool) -> None:
        """Take whether 1 itself is one."""
        super().__init__(min=0, max=1, min_open=True, max_open=not whole)

    def convert(
        self,
        value: Any,  # noqa: ANN401 - as click has it
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the fraction."""
        found: float = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value} is no number.", param, ctx)
        return found


format_option = click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json"]),
    default="text",
    callback=for_programs,
    help="text for people, json for programs",
)


def table(
    rows: Iterable[Sequence[str]], headers: Sequence[str], widths: Sequence[int | None] = ()
) -> str:
    """Return a table of text; ``widths`` wrap columns, None leaves one as it is."""
    from tabulate import tabulate  # noqa: PLC0415 - a quarter of what triage takes to start

    return tabulate(
        list(rows),
        headers,
        tablefmt="simple",
        disable_numparse=True,
        maxcolwidths=list(widths) or None,
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and values, one a line."""
    from tabulate import tabulate  # noqa: PLC0415

    return tabulate(list(pairs), tablefmt="plain", disable_numparse=True)


def known(value: object) -> str:
    """Return a value as text, None as unknown, a truth as yes or no."""
    if value is None:
        return _(UNKNOWN)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value)


def as_json(value: object) -> str:
    """Return a record or plain value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
