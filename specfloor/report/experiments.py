"""The tables of experiments."""

from collections.abc import Iterable

from tabulate import tabulate

from specfloor.experiments.base import ExperimentJudgement, Table
from specfloor.i18n import _
from specfloor.report.table import NOTHING, REPORTED


def experiment_sections(
    judgements: Iterable[ExperimentJudgement], style: str = "simple"
) -> list[tuple[str, str]]:
    """Return a heading and a text for each experiment: its answer, then its tables."""
    return [
        (
            _("{experiment} of {cell}: {verdict}").format(
                experiment=judgement.experiment,
                cell=judgement.cell.id,
                verdict=judgement.verdict or _(REPORTED),
            ),
            "\n\n".join((judgement.reason, *(_table(table, style) for table in judgement.tables))),
        )
        for judgement in judgements
    ]


def _table(table: Table, style: str) -> str:
    headers = [_(column) for column in table.columns]
    rows = [[_text(value) for value in row] for row in table.rows]
    return f"{table.title}\n{tabulate(rows, headers, tablefmt=style, disable_numparse=True)}"


def _text(value: str | float | None) -> str:
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else f"{value:.4g}"
