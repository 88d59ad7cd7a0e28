"""Figures of the bad side beside those of the good one, as rows of text."""

from collections.abc import Iterator

import msgspec

from specfloor.catalog.model import Family
from specfloor.i18n import _
from specfloor.judge.cell import AcceptanceJudgement, Rule, SpeedJudgement
from specfloor.judge.cell_acceptance import judge_cell_acceptance
from specfloor.judge.cell_speed import judge_cell_speed
from specfloor.judge.evidence import CellEvidence
from specfloor.judge.floors import Floor, Quantity
from specfloor.judge.verdict import AcceptanceSummary, Estimate, Interval
from specfloor.vendor import words

NOTHING = "-"


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One quantity: on the good side, here, and what is expected."""

    quantity: str
    good: str
    bad: str
    expected: str = NOTHING


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one side has of a cell; None for what was not asked or measured."""

    acceptance: AcceptanceJudgement | None
    speed: SpeedJudgement | None

    @property
    def summary(self) -> AcceptanceSummary | None:
        """The figures of acceptance."""
        return self.acceptance.summary if self.acceptance else None


def measure_good(evidence: CellEvidence, family: Family, rule: Rule) -> Measured:
    """Return the figures of the good side, which is held to no floor."""
    acceptance = judge_cell_acceptance(evidence, family, None, rule)
    speed = judge_cell_speed(evidence, None, acceptance, rule)
    return Measured(acceptance, speed)


def rows(bad: Measured, good: Measured | None) -> tuple[Row, ...]:
    """Return the table of both sides; rows of what neither has are left out."""
    found = [*_acceptance_rows(bad, good), *_speed_rows(bad, good)]
    return tuple(row for row in found if {row.good, row.bad} != {NOTHING})


def positions(bad: Measured, good: Measured | None) -> tuple[Row, ...]:
    """Return the share of steps that keep each draft position, one row each."""
    here = bad.summary.per_position if bad.summary else ()
    there = good.summary.per_position if good and good.summary else ()
    return tuple(
        Row(
            str(place + 1),
            _estimate(there[place]) if place < len(there) else NOTHING,
            _estimate(here[place]) if place < len(here) else NOTHING,
        )
        for place in range(max(len(here), len(there)))
    )


def _acceptance_rows(bad: Measured, good: Measured | None) -> Iterator[Row]:
    here, there = bad.summary, good.summary if good else None
    floor = bad.acceptance.floor if bad.acceptance else None
    detail = bad.acceptance.detail if bad.acceptance else None
    rate = here.rate_mean if here else None
    length = here.length_pooled if here else None
    if detail and detail.mean:
        # the interval of the verdict, which holds after an early stop too
        if detail.unit == "rate":
            rate = detail.mean
        else:
            yield Row(
                _(words.LENGTH_MEAN),
                _estimate(there.length_mean if there else None),
                _estimate(detail.mean),
                _expected(floor, Quantity.ACCEPTANCE_LENGTH),
            )
    yield Row(
        _(words.RATE_MEAN),
        _estimate(there.rate_mean if there else None),
        _estimate(rate),
        _expected(floor, Quantity.ACCEPTANCE_RATE),
    )
    yield Row(
        _(words.RATE_POOLED),
        _estimate(there.rate_pooled if there else None),
        _estimate(here.rate_pooled if here else None),
    )
    yield Row(
        _(words.LENGTH_POOLED),
        _estimate(there.length_pooled if there else None),
        _estimate(length),
    )
    yield Row(
        _(words.COUNTS),
        _drafts(there),
        _drafts(here),
    )


def _speed_rows(bad: Measured, good: Measured | None) -> Iterator[Row]:
    here, there = bad.speed, good.speed if good else None
    yield Row(
        _(words.SPEEDUP),
        _speedup(there),
        _speedup(here),
        _expected(here.floor if here else None, Quantity.SPEEDUP),
    )
    for name, arm in ((_(words.TIME_OFF), "off_s"), (_(words.TIME_ON), "on_s")):
        yield Row(
            name,
            _milliseconds(getattr(there, arm, None)),
            _milliseconds(getattr(here, arm, None)),
        )


def _expected(floor: Floor | None, quantity: Quantity) -> str:
    if floor is None or floor.quantity is not quantity:
        return NOTHING
    return _(words.EXPECTED).format(value=floor.value, date=floor.date, reason=_(floor.reason))


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return NOTHING
    return f"{estimate.value:.3f}{_bounds(estimate.interval, 3)}, n = {estimate.n}"


def _speedup(speed: SpeedJudgement | None) -> str:
    summary = speed.summary if speed else None
    if summary is None:
        return NOTHING
    template = _(words.ONE_PAIR) if summary.launches == 1 else _(words.PAIRS)
    pairs = template.format(launches=summary.launches)
    return f"{summary.speedup:.2f}{_bounds(summary.interval, 2)}, {pairs}"


def _bounds(interval: Interval | None, digits: int) -> str:
    if interval is None:
        return ""
    return _(" [{low:.{digits}f}, {high:.{digits}f}] at {level:.0%}").format(
        low=interval.low, digits=digits, high=interval.high, level=interval.level
    )


def _milliseconds(seconds: float | None) -> str:
    return NOTHING if seconds is None else _("{seconds:.2f} ms").format(seconds=seconds * 1000)


def _drafts(summary: AcceptanceSummary | None) -> str:
    if summary is None:
        return NOTHING
    return f"{summary.counts.drafted}, {summary.counts.accepted}"
