"""Windows over time: bounded memory, shares, change points."""

import pytest

from specfloor.triage.evidence import Part
from specfloor.triage.tally import Tally, total
from specfloor.triage.timeline import MOST_PARTS, Timeline, changes, end_of, reports, share_of


def part(rate, drafted=600):
    return Part(Tally(drafted // 3, drafted, round(rate * drafted)), at=0.0, seconds=10.0)


def parts(*rates):
    return tuple(part(rate) for rate in rates)


def test_parts_are_joined_when_there_are_too_many_and_nothing_is_lost():
    line = Timeline()
    for number in range(MOST_PARTS * 3 + 1):
        line.add(part(number % 10 / 10))
    assert len(line.parts) <= MOST_PARTS
    assert sum(one.windows for one in line.parts) == MOST_PARTS * 3 + 1
    assert sum(one.seconds for one in line.parts) == 10.0 * (MOST_PARTS * 3 + 1)
    assert total(one.tally for one in line.parts).draft_tokens == 600 * (MOST_PARTS * 3 + 1)


def test_a_share_counts_windows_and_an_end_counts_tokens():
    line = (part(0.9, 60), *parts(0.5, 0.5, 0.5, 0.5), part(0.1, 60))
    assert share_of(line, 6).rate == pytest.approx(0.9)
    assert share_of(line, 6, last=True).rate == pytest.approx(0.1)
    assert end_of(line, 1 / 6).draft_tokens == 660
    assert end_of(line, 1 / 6, last=True).rate == pytest.approx((6 + 300) / 660)


def test_one_change_for_good_is_found_where_it_is():
    (found,) = changes(parts(*[0.7] * 8, *[0.4] * 8))
    assert found.after_window == 8
    assert (found.before, found.after) == (pytest.approx(0.7), pytest.approx(0.4))


@pytest.mark.parametrize(
    "rates",
    [[0.7] * 10, [0.7, 0.68, 0.72, 0.69, 0.71, 0.7], [0.7] * 8 + [0.1] + [0.7] * 8, [0.7], []],
)
def test_scatter_and_a_single_outlier_are_no_change(rates):
    assert changes(parts(*rates)) == ()


def test_up_and_down_are_two_changes():
    found = changes(parts(*[0.7] * 6, *[0.3] * 6, *[0.7] * 6))
    assert [change.after_window for change in found] == [6, 12]


def test_engines_that_report_together_are_one_point_in_time():
    line = [
        Part(Tally(200, 600, accepted), at=at)
        for at in (10.0, 20.0, 30.0, 40.0)
        for accepted in (420, 420, 0)
    ]
    assert changes(line) != ()
    assert len(reports(line)) == 4
    assert changes(reports(line)) == ()
    assert len(reports(parts(0.7, 0.7))) == 1
    assert len(reports([Part(Tally(1, 3, 1)), Part(Tally(1, 3, 1))])) == 2


def test_unknown_counts_stay_unknown_in_a_sum():
    known = Tally(10, 30, 20, (10, 6, 4))
    assert (known + Tally(None, 30, 20)).drafts is None
    assert (known + Tally(10, 30, 20)).positions == ()
    assert (known + Tally(10, 30, 20, (10, None, 4))).per_position == (1.0, None, 0.4)
    assert (known + Tally(5, 25, 9, (4, 2, 1, 1, 1))).positions == (14, 8, 5, 1, 1)
    assert Tally(0, 0, 0).rate is None
    assert Tally(None, 30, 20).length is None
    assert total([None, None]) is None
