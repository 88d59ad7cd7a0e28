"""What a cell's requests show besides their mean: positions, engines, time, length of the input."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from specfloor.judge.estimate import pooled_estimate, position_table, rated
from specfloor.judge.evidence import Block
from specfloor.judge.verdict import Estimate
from specfloor.signals.choose import BlockSignals
from specfloor.signals.counts import DraftCounts, RequestCounts
from specfloor.triage.shares import (
    FULL_DRAFTS,
    LEVEL,
    Figures,
    Profile,
    Range,
    Share,
    Trend,
    profile_of,
    share,
)
from specfloor.triage.tally import Tally

Floats = NDArray[np.float64]

_LEAST = 4
"""Requests at either end of an order below which no trend is told."""
_LONGER = 2.0
"""Times that the long inputs must be longer than the short ones."""


def figures_of(block: Block, signals: BlockSignals) -> Figures | None:
    """Return the figures of a block; None when nothing was drafted in it."""
    drafting = rated(signals.requests)
    engines = _engines(block)
    if not drafting:
        if signals.total is None or not signals.total.drafted:
            return None
        return Figures(profile_of(Tally.of(signals.total)), engines)
    sizes = {record.prompt_id: record.prompt_tokens for record in block.requests}
    order = [float(number) for number in range(len(drafting))]
    return Figures(
        profile=_profile([request.counts for request in drafting]),
        engines=engines,
        over_time=trend_of(drafting, order),
        over_input=_over_input(drafting, sizes),
    )


def trend_of(requests: Sequence[RequestCounts], order: Sequence[float]) -> Trend | None:
    """Return how acceptance goes from the first third of an order to the last.

    The rates are taken around the mean of their domain, so that an order in which domains come one
    after another shows nothing of them. The interval is Welch's t over requests.

    Args:
        requests: that drafted.
        order: the place of each; equal places are kept in the order given.

    Returns:
        The trend, or None with too few requests, or without scatter.
    """
    third = len(requests) // 3
    if third < _LEAST:
        return None
    rates = np.array([r.counts.accepted / r.counts.drafted for r in requests])
    whole = rates.mean()
    for domain in {request.domain for request in requests}:
        own = np.array([request.domain == domain for request in requests])
        rates[own] += whole - rates[own].mean()
    places = np.argsort(np.asarray(order), kind="stable")
    first, last = rates[places[:third]], rates[places[-third:]]
    return Trend(
        first=float(first.mean()),
        last=float(last.mean()),
        fall=_difference(first, last),
        requests=third,
        ends=(
            float(median(order[i] for i in places[:third])),
            float(median(order[i] for i in places[-third:])),
        ),
    )


def _over_input(requests: Sequence[RequestCounts], sizes: Mapping[str, int | None]) -> Trend | None:
    known = [(request, size) for request in requests if (size := sizes.get(request.prompt_id))]
    found = trend_of([request for request, _ in known], [float(size) for _, size in known])
    if found is None or found.ends[1] < _LONGER * found.ends[0]:
        return None
    return found


def _difference(first: Floats, last: Floats) -> Range:
    """Return Welch's interval of a difference of means; a width of none without any scatter."""
    fall = float(first.mean() - last.mean())
    one, other = (float(part.var(ddof=1)) / part.size for part in (first, last))
    if one + other == 0:
        return Range(fall, fall)
    freedom = (one + other) ** 2 / (one**2 / (first.size - 1) + other**2 / (last.size - 1))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * (one + other) ** 0.5
    return Range(fall - reach, fall + reach)


def _profile(counts: Sequence[DraftCounts]) -> Profile:
    accepted = [c.accepted for c in counts]
    drafted = [c.drafted for c in counts]
    whole = _share(pooled_estimate(accepted, drafted, level=LEVEL), sum(drafted))
    if not all(c.accepted_per_position for c in counts):
        return Profile(whole)
    table = position_table(counts)
    steps = np.array([c.steps for c in counts], dtype=np.float64)
    columns = [steps, *table.T]
    return Profile(
        whole=whole,
        positions=tuple(_of_columns(column, steps) for column in table.T),
        after=tuple(_of_columns(here, before) for before, here in pairwise(columns)),
        full=sum(drafted) >= FULL_DRAFTS * table.shape[1] * float(steps.sum()),
    )


def _of_columns(hits: Floats, trials: Floats) -> Share | None:
    """Return a share with its interval over requests; None without a trial."""
    total = int(trials.sum())
    return _share(pooled_estimate(hits, trials, level=LEVEL), total) if total else None


def _share(estimate: Estimate, trials: int) -> Share:
    interval = estimate.interval
    assert interval is not None  # pooled estimates have one
    return Share(estimate.value, interval.low, interval.high, trials)


def _engines(block: Block) -> dict[str, Share]:
    """Return the acceptance of each engine by its counters; nothing of a single one."""
    for record in block.counters:
        if record.index is None and not record.problem and len(record.by_engine) > 1:
            return {
                name: share(counts.accepted, counts.drafted)
                for name, counts in sorted(record.by_engine.items())
            }
    return {}
