"""The panels of a cell, in the order that saves days. What is to be shown besides goes in here."""

from specfloor.report.html.acceptance_panels import against_floor, by_position, lowest, over_time
from specfloor.report.html.context import Context, Source
from specfloor.report.html.model import Panel
from specfloor.report.html.other_panels import checks, experiments, machine, upgrade
from specfloor.report.html.speed_panels import decomposition, latencies, over_concurrency

SOURCES: tuple[Source, ...] = (
    against_floor,
    by_position,
    over_time,
    decomposition,
    over_concurrency,
    latencies,
    experiments,
    machine,
    upgrade,
    lowest,
    checks,
)
"""Each makes panels of one kind, or none."""


def panels_of(context: Context) -> tuple[Panel, ...]:
    """Return everything that is shown of a cell."""
    return tuple(panel for source in SOURCES for panel in source(context))
