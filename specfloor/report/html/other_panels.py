"""Panels about the machine, the configuration, the upgrade, and what experiments say."""

import statistics
from collections.abc import Callable, Iterator, Sequence

from specfloor.experiments.base import Curve, ExperimentJudgement
from specfloor.experiments.base import Table as ExperimentTable
from specfloor.host.npu_smi import Device
from specfloor.i18n import _
from specfloor.judge.host import host_during
from specfloor.report.html import words
from specfloor.report.html.context import Context
from specfloor.report.html.model import Chart, Lines, Panel, Role, Series, Table
from specfloor.report.html.series import MOST_POINTS, thinned
from specfloor.report.html.standing import sentence
from specfloor.runs.records import HostSampleRecord

_PERCENT = (0.0, 100.0)
_FEW = 40
"""Points of one device of up to 16 in a drawing, so that it stays within its size."""
_DEVICE_CHARTS: tuple[
    tuple[str, tuple[float, float] | None, Callable[[Device], float | None]], ...
] = (
    (words.AICORE_CHART, _PERCENT, lambda device: device.aicore_pct),
    (words.DEVICE_MEMORY_CHART, _PERCENT, lambda device: _percent(device.used_share)),
    (words.POWER_CHART, None, lambda device: device.power_w),
    (words.TEMPERATURE_CHART, None, lambda device: device.temp_c),
)


def machine(context: Context) -> Iterator[Panel]:
    """Yield what samples say of the machine during each launch of the cell.

    Drawn is the launch whose acceptance was measured; several launches would be the same again.
    """
    if not context.host:
        return
    launches: dict[str, list[HostSampleRecord]] = {}
    for sample in context.host:
        launches.setdefault(sample.launch, []).append(sample)
    first = context.evidence.on[0].key.id if context.evidence.on else None
    drawn = first if first in launches else next(iter(launches))
    samples = launches[drawn]
    yield Panel(
        _(words.HOST_TITLE),
        _(words.HOST_PROSE).format(launch=drawn),
        charts=(*_device_charts(samples), *_processor_chart(samples)),
        notes=tuple(
            _(words.HOST_NOTE).format(launch=launch, sentence=host_during(own).sentence)
            for launch, own in launches.items()
        ),
        wide=True,
    )


def _device_charts(samples: Sequence[HostSampleRecord]) -> Iterator[Lines]:
    """Yield a chart for each quantity that the devices tell: every device, and their median."""
    for title, limits, take in _DEVICE_CHARTS:
        devices: dict[tuple[int, int], list[tuple[float, float]]] = {}
        medians: list[tuple[float, float]] = []
        for sample in samples:
            taken = [(d, value) for d in sample.devices if (value := take(d)) is not None]
            for device, value in taken:
                devices.setdefault((device.npu, device.chip), []).append((sample.t_s, value))
            if taken:
                medians.append((sample.t_s, statistics.median(value for _, value in taken)))
        if len(medians) < 2:
            continue
        middle = _line(_(words.MEDIAN_DEVICE).format(n=len(devices)), medians, Role.ON)
        each = [_line(_(words.DEVICE), points, Role.QUIET, _FEW) for points in devices.values()]
        series = (*each, middle) if len(devices) > 1 else (middle,)
        yield Lines(_(title), _(words.SECONDS), series, limits=limits)


def _processor_chart(samples: Sequence[HostSampleRecord]) -> Iterator[Lines]:
    taken = [(sample.t_s, sample.processor) for sample in samples if sample.processor]
    if len(taken) < 2:
        return
    series = [_line(_(words.ALL_CORES), [(t, p.busy_pct) for t, p in taken], Role.OFF)]
    own = [(t, p.own_pct) for t, p in taken if p.own_pct is not None]
    if len(own) > 1:
        series.append(_line(_(words.OWN_CORES), own, Role.ON))
    yield Lines(_(words.PROCESSOR_CHART), _(words.SECONDS), tuple(series), limits=_PERCENT)


def _line(
    label: str, points: Sequence[tuple[float, float]], role: Role, most: int = MOST_POINTS
) -> Series:
    x, y = thinned([t for t, _ in points], [value for _, value in points], most)
    return Series(label, x, y, role)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def checks(context: Context) -> Iterator[Panel]:
    """Yield what was asked of the configuration and what was found."""
    judgement = context.result.configuration
    if judgement is None or not judgement.checks:
        return
    rows = tuple(
        (check.what, check.asked, check.found, _(words.HOLDS[check.holds]))
        for check in judgement.checks
    )
    yield Panel(
        _(words.CHECKS_TITLE),
        "",
        table=Table(tuple(map(_, words.CHECK_HEADERS)), rows),
        wide=True,
        folded=True,
    )


def upgrade(context: Context) -> Iterator[Panel]:
    """Yield the quantities of a cell against those of the release before it."""
    judgement = context.result.upgrade
    if judgement is None or not judgement.quantities:
        return
    rows = []
    for quantity in judgement.quantities:
        result = quantity.result
        if result is None:
            rows.append((_(quantity.quantity), *[words.NOTHING] * 4, quantity.outcome.value))
            continue
        interval = result.interval
        rows.append(
            (
                _(quantity.quantity),
                f"{result.old:.4g}",
                f"{result.new:.4g}",
                words.NOTHING if result.change is None else f"{result.change:+.1%}",
                _(words.SPAN).format(low=f"{interval.low:+.1%}", high=f"{interval.high:+.1%}")
                if interval
                else words.NOTHING,
                quantity.outcome.value,
            )
        )
    yield Panel(
        _(words.UPGRADE_TITLE).format(baseline=judgement.baseline),
        "",
        table=Table(tuple(map(_, words.UPGRADE_HEADERS)), tuple(rows), frozenset({1, 2, 3, 4})),
        wide=True,
    )


def experiments(context: Context) -> Iterator[Panel]:
    """Yield a panel for each experiment, and one for each further table of it."""
    for judgement in context.result.experiments:
        yield Panel(
            _(words.EXPERIMENT_TITLE).format(name=judgement.experiment),
            sentence(judgement.reason),
            charts=_charts(judgement),
            wide=True,
        )
        for table in judgement.tables:
            yield Panel(table.title, "", table=_table(table), wide=True)


def _charts(judgement: ExperimentJudgement) -> tuple[Chart, ...]:
    axes: dict[tuple[str, str, bool], list[Curve]] = {}
    for curve in judgement.curves:
        if curve.points:
            axes.setdefault((curve.x_label, curve.y_label, curve.log_x), []).append(curve)
    roles = (Role.ON, Role.OFF, Role.REFERENCE)
    return tuple(
        Lines(
            y_label,
            x_label,
            tuple(_curve(curve, roles[i % len(roles)]) for i, curve in enumerate(curves)),
            doubling=log_x,
        )
        for (x_label, y_label, log_x), curves in axes.items()
    )


def _curve(curve: Curve, role: Role) -> Series:
    points = curve.points
    lows = [point.low for point in points if point.low is not None]
    highs = [point.high for point in points if point.high is not None]
    banded = len(lows) == len(highs) == len(points)
    return Series(
        curve.name,
        tuple(point.x for point in points),
        tuple(point.y for point in points),
        role,
        "both",
        tuple(lows) if banded else (),
        tuple(highs) if banded else (),
    )


def _table(table: ExperimentTable) -> Table:
    numeric = frozenset(
        column
        for column in range(len(table.columns))
        if any(isinstance(row[column], float | int) for row in table.rows)
    )
    rows = tuple(tuple(_text(value) for value in row) for row in table.rows)
    return Table(tuple(map(_, table.columns)), rows, numeric)


def _text(value: str | float | None) -> str:
    if value is None:
        return words.NOTHING
    return value if isinstance(value, str) else f"{value:.4g}"
