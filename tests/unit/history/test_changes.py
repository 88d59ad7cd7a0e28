"""Change points: rarely where there is none, mostly where there is one."""

import sys

import numpy as np
import pytest

from specfloor.errors import UsageError
from specfloor.history.changes import LEAST_RUNS, change_points

LEVEL, SD = 0.8, 0.01


@pytest.fixture(autouse=True)
def _with_ruptures(request):
    if "without" not in request.node.name:
        pytest.importorskip("ruptures")


def noise(rng, n, kind="normal"):
    """Return ``n`` runs that did not change."""
    values = LEVEL + SD * (rng.standard_t(3, n) if kind == "heavy tails" else rng.normal(0, 1, n))
    if kind == "one odd run":
        values[rng.integers(n)] -= 15 * SD
    if kind == "greedy":
        values = LEVEL + rng.choice([0, 0, 0, 0.001, -0.002], n)
    if kind == "runs that resemble the last":
        for i in range(1, n):
            values[i] += 0.3 * (values[i - 1] - LEVEL)
    return values


@pytest.mark.parametrize("runs", [6, 8, 12, 20, 40])
@pytest.mark.parametrize(
    "kind", ["normal", "heavy tails", "one odd run", "greedy", "runs that resemble the last"]
)
def test_lines_that_did_not_change_rarely_step(kind, runs):
    rng = np.random.default_rng([runs, len(kind)])
    lines = 2000
    alarms = sum(bool(change_points(noise(rng, runs, kind))) for _ in range(lines))
    # at most 5 %, to within the 1 % that 2000 lines tell
    assert alarms / lines <= 0.05 + 0.01


@pytest.mark.parametrize(
    ("step", "runs", "found"),
    [(0.05, 8, 0.45), (0.05, 20, 0.75), (0.08, 8, 0.85), (0.08, 20, 0.95)],
)
def test_a_step_is_found_where_it_is(step, runs, found):
    """``step`` is a share of the level, of which a run scatters by 1.25 %."""
    rng = np.random.default_rng([runs, round(100 * step)])
    lines = 1000
    hits = 0
    for _ in range(lines):
        at = int(rng.integers(3, runs - 2))
        values = noise(rng, runs)
        values[at:] -= step * LEVEL
        changes = change_points(values)
        hits += len(changes) == 1 and abs(changes[0].index - at) <= 1
    assert hits / lines >= found


def test_two_steps_are_two():
    rng = np.random.default_rng(1)
    values = noise(rng, 30)
    values[10:] -= 0.1
    values[20:] += 0.1
    down, up = change_points(values)
    assert (down.index, up.index) == (10, 20)
    assert down.relative == pytest.approx(-0.125, abs=0.02)
    assert up.after == pytest.approx(LEVEL, abs=0.01)


def test_rates_that_repeat_to_the_digit_step_only_when_they_move():
    assert change_points([0.8] * 10) == ()
    assert change_points([0.8] * 5 + [0.797] * 5) == ()
    (change,) = change_points([0.8] * 5 + [0.75] * 5)
    assert (change.index, change.before, change.after) == (5, 0.8, 0.75)


def test_zeros_and_few_runs_have_no_change_points():
    assert change_points([0.0] * 10) == ()
    assert change_points([0.8, 0.8, 0.4, 0.4, 0.4][:LEAST_RUNS]) == ()
    assert change_points([]) == ()


def test_a_draft_that_dies_for_good_steps_to_nothing():
    (change,) = change_points([0.8] * 5 + [0.0] * 4)
    assert (change.index, change.relative) == (5, -1)


def test_without_ruptures_it_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "ruptures", None)
    with pytest.raises(UsageError, match=r"pip install 'specfloor\[changepoints\]'"):
        change_points([0.8] * 10)
