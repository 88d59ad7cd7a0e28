"""``specfloor plan``: what a run would start, on which devices, and what cannot run and why."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from specfloor.catalog.model import Soc
from specfloor.catalog.onsite import Site, part_cells
from specfloor.cells import Cell
from specfloor.commands._show import Format, as_json, format_option, table
from specfloor.errors import UsageError
from specfloor.experiments.asked import questions
from specfloor.experiments.base import Size
from specfloor.experiments.registry import EXPERIMENTS
from specfloor.forecast import Forecast, forecast
from specfloor.i18n import _
from specfloor.judge.floors import read_floors_in
from specfloor.judge.run import Wanted
from specfloor.ledger import read_ledger
from specfloor.load.sets import Workloads
from specfloor.plan import Selection, select_cells
from specfloor.report.known import known_lines
from specfloor.report.plan import duration, plan_table, refusal_table
from specfloor.runs.records import Purpose
from specfloor.session import plan_run
from specfloor.settings import Settings, site_of

_FIXTURES = Path("fixtures")


@click.command()
@click.option("--platform", type=click.Choice(["cpu", "ascend"]), default="ascend")
@click.option("--release", "releases", multiple=True, help="Release; `all` is every one.")
@click.option("--family", "families", multiple=True, help="Model family; `all` is every one.")
@click.option("--method", "methods", multiple=True, help="Method of drafting.")
@click.option("--spec-tokens", multiple=True, type=int, help="num_speculative_tokens.")
@click.option("--workload", "workloads", multiple=True)
@click.option("--tier", "tiers", multiple=True, help="Reasoning effort tier.")
@click.option("--concurrency", "concurrencies", multiple=True, type=int)
@click.option("--launches", type=int, help="Launches an arm for cells with a speed floor.")
@click.option("--soc", type=click.Choice(get_args(Soc)), help="NPUs to plan for, not this host's.")
@click.option("--cards", type=int, help="Devices to plan for, as engines count them.")
@click.option(
    "--experiments",
    type=click.Choice(get_args(Size)),
    is_flag=False,
    flag_value="full",
    metavar="[SIZE]",
    help="Show too of which cells each experiment is asked; small or full.",
)
@click.option(
    "--fixtures",
    type=click.Path(path_type=Path),
    default=_FIXTURES,
    show_default=True,
    help="Folder with floors and workloads.",
)
@format_option
def plan(
    *,
    fixtures: Path,
    launches: int | None,
    soc: Soc | None,
    cards: int | None,
    experiments: Size | None,
    style: Format,
    **selection: Any,  # noqa: ANN401 - the fields of a selection, as options name them
) -> int:
    """Show what a run would start, what it costs, and which cells cannot run and why.

    Nothing is started. Without --soc and --cards it plans for this host; a host without NPUs
    refuses nothing for want of them. Exits with 4 when no cell can run.
    """
    settings = Settings(
        selection=Selection(**selection),
        floors_dir=fixtures / "floors",
        workloads_dir=fixtures / "workloads",
        launches=launches,
        soc=soc,
        cards=cards,
        experiments=experiments,
    )
    site = site_of(settings)
    cells, refused = part_cells(select_cells(site.catalog, settings.selection), site)
    floors = read_floors_in(settings.floors_dir)
    wanted = [Wanted(cell, frozenset(Purpose)) for cell in cells]
    planned = plan_run(wanted, site.catalog, floors, settings)
    workloads = Workloads(settings.workloads_dir, settings.seed)
    expected = forecast(planned.launches, site.catalog, workloads)
    if style == "json":
        document = {
            "cells": [cell.id for cell in cells],
            "launches": [
                {
                    "launch": one.launch.key.id,
                    "blocks": len(one.launch.blocks),
                    "cards": one.cards,
                    "seconds": round(one.seconds),
                    "npu_hours": round(one.npu_hours, 2),
                }
                for one in expected
            ],
            "soc": site.soc,
            "devices": site.cards,
            "refused": {cell.id: reason for cell, reason in refused.items()},
        }
        if experiments:
            document["experiments"] = {
                name: {
                    "cells": [cell.id for cell in asked],
                    "left_out": {cell.id: why for cell, why in left_out.items()},
                }
                for name, (asked, left_out) in _questions(site, cells).items()
            }
        click.echo(as_json(document))
    else:
        _show(site, settings, cells, expected)
        if refused:
            click.echo(f"{refusal_table(refused)}\n")
        if experiments and cells:
            click.echo(f"{_experiments(site, cells, experiments)}\n")
    if not cells:
        raise UsageError(
            _("none of the {cells} cells can run here, for the reasons listed").format(
                cells=len(refused)
            )
        )
    if style == "text":
        _total(cells, expected)
    return 0


def _show(
    site: Site, settings: Settings, cells: Sequence[Cell], expected: Sequence[Forecast]
) -> None:
    """Print the hardware that is planned for, the cells, what is known of them, the launches."""
    if settings.selection.platform == "ascend":
        click.echo(f"{_hardware(site)}\n")
    for cell in cells:
        click.echo(_("cell {cell}").format(cell=cell.id))
    for line in known_lines(cells, site.catalog, read_ledger()):
        click.echo(line)
    if expected:
        click.echo(f"\n{plan_table(expected)}\n")


def _questions(
    site: Site, cells: Sequence[Cell]
) -> dict[str, tuple[tuple[Cell, ...], dict[Cell, str]]]:
    return {name: questions(cells, one, site.catalog) for name, one in EXPERIMENTS.items()}


def _experiments(site: Site, cells: Sequence[Cell], size: Size) -> str:
    """Return what each experiment is asked of.

    Not for how long: most choose their next launches by what the first ones found.
    """
    rows = [
        (name, "\n".join(cell.id for cell in asked), "\n".join(dict.fromkeys(left_out.values())))
        for name, (asked, left_out) in _questions(site, cells).items()
    ]
    heads = (_("experiment"), _("asked of"), _("not asked of others, since"))
    said = _(
        "experiments ({size}) have launches besides, which the total does not count: how many "
        "depends on what the first ones find"
    ).format(size=size)
    return f"{table(rows, heads, (None, None, 60))}\n\n{said}"


def _hardware(site: Site) -> str:
    if site.soc is None:
        return _(
            "no NPUs were found or named with --soc and --cards: nothing is refused for want of "
            "them, and families are planned with their own flags and devices"
        )
    if not site.cards:
        return _("planned for {soc}, of which no devices are known: give --cards too").format(
            soc=site.soc
        )
    return _("planned for {cards} devices of {soc}").format(cards=site.cards, soc=site.soc)


def _total(cells: Sequence[Cell], expected: Sequence[Forecast]) -> None:
    hours = sum(one.npu_hours for one in expected)
    click.echo(
        _("{cells} cells, {expected} launches, at most about {duration} h").format(
            cells=len(cells),
            expected=len(expected),
            duration=duration(sum(one.seconds for one in expected)),
        )
        + (_(", {hours:.1f} NPU-hours").format(hours=hours) if hours else "")
    )
