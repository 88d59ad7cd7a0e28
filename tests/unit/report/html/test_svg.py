"""Drawings: repeatable, in the page's colours, escaped, small."""

import re

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specfloor.report.html.model import Dot, Dots, Level, Lines, Role, Series
from specfloor.report.html.svg import HUES, draw, drawing

DOTS = Dots(
    "share <of> steps",
    (Dot("a & b", 0.5, "0.500", 0.4, 0.6), Dot("published", 0.7, "0.7", role=Role.REFERENCE)),
    (Level("floor 0.45", 0.45),),
)
LINES = Lines(
    "rate",
    "seconds",
    (
        Series("one", tuple(range(50)), tuple(i / 50 for i in range(50)), Role.QUIET, "points"),
        Series("two", (1, 2, 3), (0.1, 0.2, 0.3), Role.OFF, low=(0, 0, 0), high=(1, 1, 1)),
    ),
    (Level("floor", 0.8),),
    limits=(0, 1),
)
FACTORS = Dots("factor", (Dot("speedup", 0.5, "0.50"),), base=1.0, log=True)
CURVE = Lines("speedup", "in flight", (Series("s", (1, 4), (2, 1), style="both"),),
              doubling=True)  # fmt: skip


def drawn(chart, name="d1"):
    with drawing():
        return draw(chart, name)


@pytest.mark.parametrize("chart", [DOTS, LINES, FACTORS, CURVE])
def test_the_same_chart_is_the_same_text(chart):
    assert drawn(chart) == drawn(chart)


@pytest.mark.parametrize("chart", [DOTS, LINES, FACTORS, CURVE])
def test_colours_are_variables_of_the_page(chart):
    assert not re.search("#[0-9a-fA-F]{6}", drawn(chart))


def test_each_role_has_its_colour():
    svg = drawn(DOTS)
    for role in (Role.ON, Role.REFERENCE, Role.FLOOR):
        assert f"var(--{role})" in svg


def test_text_is_text_and_escaped():
    svg = drawn(DOTS)
    for text in ("share &lt;of&gt; steps", "a &amp; b", "0.500", "floor 0.45"):
        assert f">{text}</text>" in svg
    assert 'aria-label="share &lt;of&gt; steps"' in svg


def test_ids_are_those_of_the_drawing():
    ids = re.findall('id="([^"]+)"', drawn(LINES, "x7"))
    assert ids
    assert all(one.startswith("x7-") for one in ids)
    assert set(re.findall('href="#([^"]+)"', drawn(LINES, "x7"))) <= set(ids)


def test_nothing_names_another_place():
    assert "http" not in drawn(LINES)


def test_a_drawing_is_small():
    assert len(drawn(DOTS)) < 4_000
    assert len(drawn(LINES)) < 8_000


def test_settings_of_the_user_do_not_matter(monkeypatch):
    plain = drawn(DOTS)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert drawn(DOTS) == plain
        assert mpl.rcParams["font.size"] == 30


def test_text_that_matplotlib_has_no_font_for():
    svg = drawn(Dots("接受率", (Dot("代码 $x", 0.5, "0.500"),)))
    assert ">接受率</text>" in svg
    assert ">代码 $x</text>" in svg


def test_every_role_has_a_hue():
    assert set(HUES) == set(Role)


positive = st.floats(1e-3, 1e5)
points = st.lists(st.tuples(positive, positive), min_size=1, max_size=5).map(
    lambda pairs: tuple(zip(*sorted(pairs), strict=True))
)


@settings(max_examples=20, deadline=None)
@given(points, st.booleans(), st.sampled_from(["line", "points", "both", "steps"]))
def test_any_values_can_be_drawn(xy, doubling, style):
    # warnings are errors: of limits that coincide, of scales that hold nothing
    x, y = xy
    series = Series("s", x, y, style=style, low=y, high=y)
    chart = Lines("y", "x", (series,), span=(x[0], x[-1]), doubling=doubling)
    assert drawn(chart).startswith("<svg")


@settings(max_examples=20, deadline=None)
@given(st.lists(positive, min_size=1, max_size=5), st.booleans())
def test_any_rows_can_be_drawn(values, log):
    rows = tuple(Dot("row", value, f"{value:g}", value, value) for value in values)
    chart = Dots("v", rows, (Level("floor", values[0]),), base=1.0 if log else None, log=log)
    assert drawn(chart).startswith("<svg")
