"""Panels about speed: what makes it, over concurrency, and how times are spread."""

from collections.abc import Iterator, Sequence

from specfloor.i18n import _, ended
from specfloor.judge.run import CellResult
from specfloor.judge.speed import LAUNCH_SD
from specfloor.judge.times import clock_of_cell
from specfloor.judge.verdict import SpeedSummary
from specfloor.report.html import words
from specfloor.report.html.context import Context
from specfloor.report.html.model import Dot, Dots, Level, Lines, Panel, Role, Series
from specfloor.report.html.series import first_token_times, quantile, shares, token_times


def decomposition(context: Context) -> Iterator[Panel]:
    """Yield speedup as acceptance length over step cost, each as a factor on the speed."""
    judgement = context.result.speed
    summary = judgement.summary if judgement else None
    if judgement is None or summary is None:
        return
    interval = summary.interval or summary.supposed_interval
    low, high = (interval.low, interval.high) if interval else (None, None)
    bounds = f" [{low:.2f}, {high:.2f}]" if interval else ""
    rows = [
        Dot(_(words.FACTOR_SPEEDUP), summary.speedup, f"{summary.speedup:.2f}{bounds}", low, high)
    ]
    prose = ""
    if summary.length and summary.step_cost:
        rows = [
            Dot(_(words.FACTOR_LENGTH), summary.length, f"× {summary.length:.2f}", role=Role.QUIET),
            Dot(
                _(words.FACTOR_COST),
                1 / summary.step_cost,
                f"÷ {summary.step_cost:.2f}",
                role=Role.OFF,
            ),
            *rows,
        ]
        prose = _(words.SPEED_PROSE).format(
            speedup=f"{summary.speedup:.2f}",
            length=f"{summary.length:.2f}",
            cost=f"{summary.step_cost:.2f}",
        )
        prose += _(words.SPEED_GAINS) if summary.speedup > 1 else _(words.SPEED_LOSES)
    levels = []
    if judgement.floor:
        value = judgement.floor.value
        levels.append(Level(_(words.FLOOR_VALUE).format(value=f"{value:g}"), value))
    yield Panel(
        _(words.SPEED_TITLE),
        prose,
        charts=(Dots(_(words.SPEED_FACTORS), tuple(rows), tuple(levels), base=1.0, log=True),),
        notes=(_launches(summary), _(words.SPEED_CLOCK).format(clock=_(judgement.clock))),
    )


def _launches(summary: SpeedSummary) -> str:
    if summary.launches == 1:
        return _(words.SPEED_ONE_PAIR).format(scatter=LAUNCH_SD)
    return _(words.SPEED_PAIRS).format(launches=summary.launches, scatter=summary.scatter)


def over_concurrency(context: Context) -> Iterator[Panel]:
    """Yield the speedup of a cell at each concurrency it was measured at, if there are several."""
    points = [
        (result.cell.concurrency, result.speed.summary)
        for result in context.siblings
        if result.speed and result.speed.summary
    ]
    if len(points) < 2:
        return
    intervals = [summary.interval or summary.supposed_interval for _, summary in points]
    x = tuple(float(concurrency) for concurrency, _ in points)
    y = tuple(summary.speedup for _, summary in points)
    series = Series(
        _(words.SPEEDUP),
        x,
        y,
        style="both",
        low=tuple(i.low for i in intervals if i) if all(intervals) else (),
        high=tuple(i.high for i in intervals if i) if all(intervals) else (),
    )
    yield Panel(
        _(words.CURVE_TITLE),
        flip_sentence(x, y),
        charts=(
            Lines(
                _(words.SPEEDUP),
                _(words.IN_FLIGHT),
                (series,),
                (Level(_(words.EVEN), 1.0, Role.OFF),),
                doubling=True,
            ),
        ),
    )


def flip_sentence(concurrencies: Sequence[float], speedups: Sequence[float]) -> str:
    """Return where speculation stops paying: between which of the concurrencies measured.

    A curve that crosses more than once has no flip point, and the sentence says what was seen.
    """
    pays = [f"{c:g}" for c, speedup in zip(concurrencies, speedups, strict=True) if speedup > 1]
    costs = [f"{c:g}" for c, speedup in zip(concurrencies, speedups, strict=True) if speedup <= 1]
    if not costs:
        return _(words.CURVE_PAYS).format(high=pays[-1])
    if not pays:
        return _(words.CURVE_COSTS)
    if float(pays[-1]) < float(costs[0]):
        return _(words.CURVE_FLIPS).format(low=pays[-1], high=costs[0])
    return _(words.CURVE_WAVERS).format(pays=_(", ").join(pays), costs=_(", ").join(costs))


def latencies(context: Context) -> Iterator[Panel]:
    """Yield how the times per output token and to the first token of both arms are spread."""
    evidence = context.evidence
    clock = clock_of_cell(evidence)
    kinds = (
        (
            _(words.TPOT_TITLE),
            token_times(evidence.off, clock),
            token_times(evidence.on, clock),
        ),
        (
            _(words.TTFT_TITLE),
            first_token_times(evidence.off),
            first_token_times(evidence.on),
        ),
    )
    for title, off, on in kinds:
        arms = [(_(words.OFF), Role.OFF, off), (_(words.ON), Role.ON, on)]
        drawn = [(label, role, times) for label, role, times in arms if len(times) > 1]
        if drawn:
            yield Panel(
                title,
                " ".join(ended(_latency(label, times)) for label, _role, times in drawn),
                charts=(_spread(drawn),),
            )


def _spread(arms: Sequence[tuple[str, Role, Sequence[float]]]) -> Lines:
    series = []
    for label, role, times in arms:
        x, y = shares(1e3 * seconds for seconds in times)
        # from zero, so that the least time is seen to be one
        series.append(Series(label, (x[0], *x), (0.0, *y), role, "steps"))
    return Lines(_(words.SHARE_CHART), words.MILLISECONDS, tuple(series), limits=(0.0, 1.0))


def _latency(label: str, times: Sequence[float]) -> str:
    return _(words.LATENCY).format(
        arm=label,
        median=f"{1e3 * quantile(times, 0.5):.3g}",
        p90=f"{1e3 * quantile(times, 0.9):.3g}",
        n=len(times),
    )


def siblings_of(result: CellResult, results: Sequence[CellResult]) -> tuple[CellResult, ...]:
    """Return the cells that differ from one in nothing but concurrency, itself among them."""
    own = _apart_from_concurrency(result)
    found = (other for other in results if _apart_from_concurrency(other) == own)
    return tuple(sorted(found, key=lambda other: other.cell.concurrency))


def _apart_from_concurrency(result: CellResult) -> tuple[object, ...]:
    cell = result.cell
    return cell.release, cell.family, cell.method, cell.k, cell.workload, cell.tier
