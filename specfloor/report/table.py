"""The table of a run: one row a cell and domain, one table a release."""

from collections.abc import Iterable, Sequence

from tabulate import tabulate

from specfloor.cells import Cell
from specfloor.i18n import N_, _
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.floors import Quantity
from specfloor.judge.run import CellResult
from specfloor.judge.verdict import DomainAcceptance, Estimate, Interval, Verdict

# a mean is over requests and weighs each the same, a pooled figure weighs long ones more
HEADERS = (
    N_("family"),
    N_("method"),
    "k",
    N_("workload"),
    N_("domain"),
    N_("tier"),
    "c",
    N_("acceptance (mean)"),
    N_("floor"),
    N_("length (pooled)"),
    N_("speedup"),
    N_("floor"),
    N_("verdict"),
)
NOTHING = "-"
REPORTED = N_("reported")
"""In the verdict column: measured, and there is no floor to hold."""


def tables(results: Iterable[CellResult], style: str = "simple") -> dict[str, str]:
    """Return one table per release, in the order given; ``style`` is a format of tabulate.

    A line under a table names the cells that pass although speculation does not pay in them.
    """
    by_release: dict[str, list[CellResult]] = {}
    for result in results:
        by_release.setdefault(result.cell.release, []).append(result)
    return {release: _table(cells, style) for release, cells in by_release.items()}


def _table(results: Sequence[CellResult], style: str) -> str:
    rows = [row for result in results for row in _rows(result)]
    table = tabulate(rows, [_(h) for h in HEADERS], tablefmt=style, disable_numparse=True)
    return "\n\n".join(filter(None, [table, _without_gain(results)]))


def _without_gain(results: Iterable[CellResult]) -> str | None:
    """Return the line about cells whose acceptance passes and whose speed, without floor, is low.

    The speedup is taken as the table shows it: what reads 1.00 is not below 1.
    """
    slow = [
        f"{result.cell.pair_id} {_speedup(speed)}"
        for result in results
        if result.verdict is Verdict.PASS
        and (result.acceptance and result.acceptance.verdict is Verdict.PASS)
        and (speed := result.speed)
        and not speed.floor
        and speed.summary
        and round(speed.summary.speedup, 2) < 1
    ]
    if not slow:
        return None
    said = (
        _("1 cell passes on acceptance; its speed has no floor and is below 1: {cells}")
        if len(slow) == 1
        else _("{n} cells pass on acceptance; their speed has no floor and is below 1: {cells}")
    )
    return said.format(n=len(slow), cells=_(", ").join(slow))


def _rows(result: CellResult) -> list[tuple[str, ...]]:
    cell, acceptance, speed = result.cell, result.acceptance, result.speed
    summary = acceptance.summary if acceptance else None
    domains = summary.per_domain if summary else ()
    lone = domains[0].domain if len(domains) == 1 else ""
    head = (cell.family, cell.method, str(cell.k), cell.workload)
    whole = (
        *head,
        lone or (_("all") if domains else NOTHING),
        cell.tier,
        str(cell.concurrency),
        _acceptance(acceptance),
        _acceptance_floor(acceptance),
        with_interval(summary.length_pooled) if summary else NOTHING,
        _speedup(speed),
        f"{speed.floor.value:.2f}" if speed and speed.floor else NOTHING,
        result.verdict or _(REPORTED),
    )
    if len(domains) < 2:
        return [whole]
    return [whole, *(_domain_row(head, cell, domain) for domain in domains)]


def _domain_row(head: Sequence[str], cell: Cell, domain: DomainAcceptance) -> tuple[str, ...]:
    below = _(" below") if domain.below else ""
    return (
        *head,
        domain.domain,
        cell.tier,
        str(cell.concurrency),
        with_interval(domain.mean) + below,
        *[NOTHING] * 5,
    )


def _acceptance(judgement: AcceptanceJudgement | None) -> str:
    mean = judgement.mean("rate") if judgement else None
    return with_interval(mean) if mean else NOTHING


def _acceptance_floor(judgement: AcceptanceJudgement | None) -> str:
    if judgement is None or judgement.floor is None:
        return NOTHING
    value = f"{judgement.floor.value:.3f}"
    if judgement.floor.quantity is Quantity.ACCEPTANCE_LENGTH:
        return _("{value} length").format(value=value)
    return value


def _speedup(judgement: SpeedJudgement | None) -> str:
    summary = judgement.summary if judgement else None
    if summary is None:
        return NOTHING
    return f"{summary.speedup:.2f}{_bounds(summary.interval, 2)}"


def with_interval(estimate: Estimate) -> str:
    """Return an estimate as a cell of a table shows it."""
    return f"{estimate.value:.3f}{_bounds(estimate.interval, 3)}"


def _bounds(interval: Interval | None, digits: int) -> str:
    return f" [{interval.low:.{digits}f}, {interval.high:.{digits}f}]" if interval else ""
