"""The table of an upgrade: one row a cell that two releases have."""

from collections.abc import Iterable

from tabulate import tabulate

from specfloor.i18n import N_, _
from specfloor.judge.run import CellResult
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import Change, Interval, UpgradeVerdict
from specfloor.report.table import NOTHING

HEADERS = (
    N_("release"),
    N_("against"),
    N_("cell"),
    N_("acceptance old"),
    N_("new"),
    N_("change"),
    N_("least visible"),
    N_("length"),
    N_("time per token"),
    N_("to first token"),
    N_("texts differ"),
    N_("outcome"),
)


def upgrade_table(results: Iterable[CellResult], style: str = "simple") -> str:
    """Return the comparisons of a run as a table, or nothing when there are none."""
    rows = [upgrade_row(result.upgrade) for result in results if result.upgrade]
    return (
        tabulate(rows, [_(h) for h in HEADERS], tablefmt=style, disable_numparse=True)
        if rows
        else ""
    )


def upgrade_headline(results: Iterable[CellResult]) -> str:
    """Return the answer in one line, or nothing when no release is compared with another."""
    outcomes = [result.upgrade.outcome for result in results if result.upgrade]
    counts = ((outcomes.count(change), change) for change in Change)
    return _(", ").join(f"{n} {change}" for n, change in counts if n)


def upgrade_row(judgement: UpgradeJudgement) -> tuple[str, ...]:
    """Return one comparison as the columns of :data:`HEADERS`."""
    cell = judgement.cell
    head = (cell.release, judgement.baseline, cell.pair_id)
    if not judgement.quantities:
        return (
            *head,
            *[NOTHING] * 8,
            _("{what}: {why}").format(what=judgement.outcome, why=judgement.reason),
        )
    rate, length, per_token, first = judgement.quantities
    result = rate.result
    return (
        *head,
        f"{result.old:.3f}" if result else NOTHING,
        f"{result.new:.3f}" if result else NOTHING,
        _change(rate),
        f"{result.least_visible:.1%}" if result and result.least_visible else NOTHING,
        _change(length),
        _change(per_token),
        _change(first),
        str(rate.diverged),
        judgement.outcome,
    )


def _change(verdict: UpgradeVerdict) -> str:
    result = verdict.result
    if result is None or result.change is None:
        return NOTHING
    return f"{result.change:+.1%}{_bounds(result.interval)}"


def _bounds(interval: Interval | None) -> str:
    return f" [{interval.low:+.1%}, {interval.high:+.1%}]" if interval else ""
