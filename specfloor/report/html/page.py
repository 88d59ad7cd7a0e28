"""From a judged run to the page's model: pure, and without the time of day."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.i18n import _
from specfloor.judge.baseline import hardware_class
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.run import CellResult, RunResult
from specfloor.report.html import words
from specfloor.report.html.cell_view import view
from specfloor.report.html.context import Context
from specfloor.report.html.machine import environment, launches_table, settings
from specfloor.report.html.model import CellView, Link, Page, Standing
from specfloor.report.html.overview import answer, matrix_row, row, trouble
from specfloor.report.html.speed_panels import siblings_of
from specfloor.report.html.standing import BROKEN, WORST_FIRST, rank, standing_of
from specfloor.runs.records import HostSampleRecord
from specfloor.runs.spoken import spoken
from specfloor.runs.store import Run
from specfloor.triage.diagnosis import Diagnosis

MOST_CHARTS = 140
"""Charts drawn on a page, those of the worst cells first. Each takes 20 ms and up to 10 kB, and the
page of 10,000 records has 5 s and 2 MB."""
MOST_DETAILED = 150
"""Cells with panels, the worst first: words and tables of one take 5 kB."""


def build_page(
    result: RunResult,
    run: Run,
    catalog: Catalog,
    diagnoses: Mapping[Cell, Diagnosis] = MappingProxyType({}),
) -> Page:
    """Return what the page of a run says.

    Args:
        result: the judgements of the run.
        run: its folder, its ``run.json`` and its records.
        catalog: what is known of its releases and families.
        diagnoses: of the cells of which something does not hold, as far as there are any.
    """
    cells = result.cells
    standings = [standing_of(cell) for cell in cells]
    counts = Counter(standings)
    releases = tuple(dict.fromkeys(cell.cell.release for cell in cells))
    families = tuple(dict.fromkeys(cell.cell.family for cell in cells))
    return Page(
        run=run.info.run,
        started=run.info.started,
        hardware=hardware_class(run.info.environment),
        standing=next((one for one in WORST_FIRST if counts[one]), Standing.NO_DATA),
        answer=answer(standings),
        warnings=(
            *(() if run.info.complete else (_(words.INCOMPLETE),)),
            *((_(words.TRUNCATED),) if run.truncated else ()),
            *(spoken(flag.message) for flag in run.info.environment.flags),
        ),
        counts=tuple((one, counts[one]) for one in WORST_FIRST if counts[one]),
        troubles=tuple(
            trouble(cell, diagnoses.get(cell.cell)) for cell in cells if standing_of(cell) in BROKEN
        ),
        releases=releases,
        families=families,
        matrix=tuple(matrix_row(family, releases, cells) for family in families),
        columns=tuple(
            msgspec.structs.replace(column, label=_(column.label)) for column in words.COLUMNS
        ),
        rows=tuple(row(cell) for cell in cells),
        cells=_within_bounds(
            tuple(
                view(
                    context,
                    run.info.run,
                    alone=len(cells) == 1,
                    diagnosis=diagnoses.get(context.cell),
                )
                for context in _contexts(cells, run, catalog)
            )
        ),
        environment=environment(run.info.environment),
        settings=settings(run.info),
        launches=launches_table(run.records),
        files=tuple(Link(name, _(what)) for name, what in words.FILES),
    )


def _within_bounds(views: tuple[CellView, ...]) -> tuple[CellView, ...]:
    """Take drawings, then panels, from the best cells of a page that would have too many."""
    charts = 0
    kept: dict[str, CellView] = {}
    for place, one in enumerate(sorted(views, key=lambda one: rank(one.standing))):
        charts += sum(len(panel.charts) for panel in one.panels)
        if place >= MOST_DETAILED:
            kept[one.anchor] = msgspec.structs.replace(one, drawn=False, panels=())
        else:
            kept[one.anchor] = msgspec.structs.replace(one, drawn=charts <= MOST_CHARTS)
    return tuple(kept[one.anchor] for one in views)


def _contexts(cells: Sequence[CellResult], run: Run, catalog: Catalog) -> list[Context]:
    index = RecordIndex(run.records)
    host: dict[str, list[HostSampleRecord]] = defaultdict(list)
    for record in run.records:
        if isinstance(record, HostSampleRecord):
            host[record.launch].append(record)
    contexts = []
    for cell in cells:
        evidence = index.evidence(cell.cell)
        samples = [one for arm in (*evidence.off, *evidence.on) for one in host[arm.key.id]]
        contexts.append(Context(cell, evidence, siblings_of(cell, cells), catalog, tuple(samples)))
    return contexts
