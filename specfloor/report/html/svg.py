"""Charts as SVG that sits in a page: small, in the page's own colours and type, and repeatable."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from specfloor.report.html.model import Chart, Dots, Lines, Role, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#1b1f24"
MUTED = "#5b6470"
GRID = "#dfe3e8"
HUES = {
    Role.ON: "#0b62c4",
    Role.OFF: "#7a828c",
    Role.REFERENCE: "#7b3fb5",
    Role.FLOOR: "#b3450b",
    Role.QUIET: "#9fb9dd",
}
_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    **{hue: f"--{role}" for role, hue in HUES.items()},
}
"""Colours drawn with, and the variables of the style sheet that stand in for them: one drawing
serves the light page and the dark one."""

_WIDTH = 4.4
"""Inches. At this width text stays readable on a phone, and three drawings fit a wide screen."""
_POINTS = 72
_ROW = 0.25
_HEIGHT = 2.4
_LABELS, _SCALE = 0.31, 0.36
"""Shares of the width for the labels of rows and for their scale; values have the rest."""
_TICKS = 0.1
_SETTINGS = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and copied
    "svg.hashsalt": "specfloor",  # ids would be random without one
    "font.size": 9.5,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": MUTED,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.unicode_minus": False,
    "text.color": INK,
    "text.parse_math": False,  # a name may hold a dollar sign
    "xtick.color": GRID,
    "xtick.labelcolor": MUTED,
    "xtick.labelsize": 9,
    "ytick.color": GRID,
    "ytick.labelcolor": MUTED,
    "ytick.labelsize": 9,
}
_STYLES = {
    Role.ON: ("-", "o"),
    Role.OFF: ("--", "s"),
    Role.REFERENCE: (":", "D"),
    Role.FLOOR: ("-", "|"),
    Role.QUIET: ("-", "o"),
}
"""Line and marker of each role, so that they differ without their colours."""


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with matplotlib's defaults and ours, whatever the user's own settings are."""
    # here and not above: it takes half a second, and most commands draw nothing
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context(), warnings.catch_warnings():
        # about a font that is not used: the reader's browser has its own
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)  # type: ignore[arg-type]
        yield


def draw(chart: Chart, name: str) -> str:
    """Return a chart as an ``svg`` element.

    Args:
        chart: what to draw.
        name: unique on the page; the ids inside begin with it.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    height = _HEIGHT if isinstance(chart, Lines) else 0.65 + _ROW * len(chart.rows)
    figure = Figure(figsize=(_WIDTH, height))
    figure.patch.set_visible(False)
    FigureCanvasSVG(figure)
    if isinstance(chart, Lines):
        _draw_lines(figure.add_axes((_TICKS, 0.18, 1 - _TICKS - 0.02, 0.7)), chart)
    else:
        bottom, top = 0.25 / height, 0.3 / height
        axes = figure.add_axes((_LABELS, bottom, _SCALE, 1 - bottom - top))
        _draw_dots(axes, chart)
    for axis in (figure.axes[0].xaxis, figure.axes[0].yaxis):
        # axes have no labels, and looking for a place for them takes as long as drawing ticks
        axis.set_label_coords(0, 0)
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return compact(file.getvalue(), name, title=chart.title)


def _draw_dots(axes: "Axes", chart: Dots) -> None:
    axes.patch.set_visible(False)
    if chart.log:
        axes.set_xscale("log", base=2)
    # with y it is not moved out of the way of ticks, which costs a fifth of the drawing
    axes.set_title(chart.title, x=-_LABELS / _SCALE, y=1, pad=4)
    axes.spines["left"].set_visible(False)
    rows = range(len(chart.rows))[::-1]
    axes.set_ylim(-0.6, len(chart.rows) - 0.4)
    axes.set_yticks([])
    axes.set_xlim(*_limits(chart))
    axes.xaxis.grid(visible=True, color=GRID, linewidth=0.6, clip_on=False)
    axes.set_axisbelow(True)
    if chart.log:
        low, high = axes.get_xlim()
        ticks = [t for t in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16) if low <= t <= high]
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
    else:
        axes.locator_params(axis="x", nbins=4)
    for y, row in zip(rows, chart.rows, strict=True):
        hue = HUES[row.role]
        if chart.base is not None:
            axes.plot([chart.base, row.value], [y, y], color=hue, linewidth=7, alpha=0.55,
                      solid_capstyle="butt", clip_on=False)  # fmt: skip
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [y, y], color=hue, linewidth=2, clip_on=False)
        axes.plot([row.value], [y], _STYLES[row.role][1], color=hue, markersize=5, clip_on=False)
        axes.annotate(
            row.label, (-_LABELS / _SCALE, y), xycoords=("axes fraction", "data"), va="center"
        )
        axes.annotate(row.text, ((1 - _LABELS) / _SCALE, y), xycoords=("axes fraction", "data"),
                      va="center", ha="right")  # fmt: skip
    for level in chart.levels:
        axes.axvline(level.value, color=HUES[level.role], linewidth=1.3, clip_on=False)
        axes.annotate(level.label, (level.value, 1.02), xycoords=("data", "axes fraction"),
                      ha="center", va="bottom", color=HUES[level.role])  # fmt: skip


def _limits(chart: Dots) -> tuple[float, float]:
    """Return a scale that holds every row, interval and level, with a little room."""
    values = [v for row in chart.rows for v in (row.value, row.low, row.high) if v is not None]
    values += [level.value for level in chart.levels]
    values += [] if chart.base is None else [chart.base]
    low, high = min(values), max(values)
    if chart.log:
        return low / 1.2, high * 1.2
    room = (high - low or abs(high) or 1) * 0.06
    return low - room, high + room


def _draw_lines(axes: "Axes", chart: Lines) -> None:
    axes.patch.set_visible(False)
    axes.set_title(chart.title, x=-_TICKS / (1 - _TICKS - 0.02), y=1, pad=8)
    axes.annotate(chart.x_label, (1, 0), xycoords="axes fraction", xytext=(0, -17),
                  textcoords="offset points", ha="right", va="top", color=MUTED)  # fmt: skip
    axes.yaxis.grid(visible=True, color=GRID, linewidth=0.6, clip_on=False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    if chart.doubling:
        axes.set_xscale("log", base=2)
    for series in chart.series:
        _draw_series(axes, series)
    for level in chart.levels:
        axes.axhline(level.value, color=HUES[level.role], linewidth=1.2, clip_on=False)
        axes.annotate(level.label, (1, level.value), xycoords=("axes fraction", "data"),
                      xytext=(0, 2), textcoords="offset points", ha="right",
                      color=HUES[level.role])  # fmt: skip
    if chart.limits:
        axes.set_ylim(*chart.limits)
    if chart.span and chart.span[0] < chart.span[1]:
        axes.set_xlim(*chart.span)
    measured = {x for series in chart.series for x in series.x} if chart.doubling else ()
    if ticks := chart.ticks or sorted(measured):
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    else:
        axes.locator_params(axis="x", nbins=6)
    axes.locator_params(axis="y", nbins=5)


def _draw_series(axes: "Axes", series: Series) -> None:
    hue = HUES[series.role]
    line, marker = _STYLES[series.role]
    if series.low:
        axes.vlines(series.x, series.low, series.high, color=hue, linewidth=2, clip_on=False)
    points = series.style in ("points", "both")
    axes.plot(
        series.x,
        series.y,
        color=hue,
        linestyle="none" if series.style == "points" else line,
        marker=marker if points else "none",
        markersize=3 if series.style == "points" else 5,
        markeredgewidth=0,
        linewidth=1.6,
        drawstyle="steps-post" if series.style == "steps" else "default",
        clip_on=False,
    )


_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_KEPT = {"fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size",
         "text-anchor", "stroke-opacity", "fill-opacity"}  # fmt: skip


def compact(svg: str, name: str, *, title: str) -> str:
    """Return matplotlib's SVG without what a page does not need, in the page's colours.

    Args:
        svg: a document as matplotlib writes it.
        name: unique on the page; ids begin with it.
        title: what a screen reader says of the drawing.
    """
    root = ET.fromstring(svg)  # noqa: S314, matplotlib wrote it just now
    for element in root.iter():
        # inside HTML there are no namespaces
        element.tag = element.tag.rpartition("}")[2]
        for key in [key for key in element.attrib if "}" in key]:
            element.set(key.rpartition("}")[2], element.attrib.pop(key))
    ids = {
        value.strip("#"): f"{name}-{number}"
        for number, value in enumerate(
            dict.fromkeys(use.get("href", "") for use in root.iter("use"))
        )
    }
    for child in [child for child in root if child.tag in ("metadata", "defs")]:
        root.remove(child)
    for element in root.iter():
        _simplify(element, ids)
    _flatten(root)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": title}
    return ET.tostring(root, encoding="unicode")


def _simplify(element: ET.Element, ids: dict[str, str]) -> None:
    element.tail = None
    if element.tag != "text":
        element.text = None
    attributes = element.attrib
    named = ids.get(attributes.pop("id", ""))
    if named:
        attributes["id"] = named
    if element.tag == "use":
        attributes["href"] = f"#{ids[attributes['href'].strip('#')]}"
        # its path carries the stroke already
        fill = re.search("fill: (#[0-9a-f]+)", attributes.get("style", ""))
        attributes["style"] = fill[0] if fill else ""
    for key in ("d", "x", "y"):
        if key in attributes:
            attributes[key] = _rounded(attributes[key].replace("\n", ""))
    transform = attributes.get("transform", "")
    if transform.startswith("rotate(-0 "):
        del attributes["transform"]
    elif transform:
        attributes["transform"] = _rounded(transform)
    if style := _style(attributes.pop("style", "")):
        attributes["style"] = style


def _style(style: str) -> str:
    pairs = (part.split(":", 1) for part in style.split(";") if ":" in part)
    kept = [(key.strip(), value.strip()) for key, value in pairs if key.strip() in _KEPT]
    return ";".join(
        f"{key}:var({_VARIABLES[value]})" if value in _VARIABLES else f"{key}:{_rounded(value)}"
        for key, value in kept
    )


def _rounded(text: str) -> str:
    return _NUMBER.sub(lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), text)


def _flatten(parent: ET.Element) -> None:
    """Put the children of groups that say nothing in the place of the groups."""
    children: list[ET.Element] = []
    for child in parent:
        _flatten(child)
        if child.tag == "g" and not child.attrib:
            children += child
        else:
            children.append(child)
    parent[:] = children
