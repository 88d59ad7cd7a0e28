"""Estimates of acceptance whose unit is the request, at a number of requests fixed beforehand."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from specfloor.judge.sequential import SequentialTest
from specfloor.judge.verdict import (
    ALPHA,
    BETA,
    MARGIN,
    AcceptanceSummary,
    DomainAcceptance,
    Estimate,
    HeadAcceptance,
    Interval,
)
from specfloor.signals.counts import DraftCounts, RequestCounts, pooled

Floats = NDArray[np.float64]

LEVEL = 0.95
"""Confidence of printed intervals, each by itself unless said otherwise."""
HEAD_STEPS = 64
"""Steps of the head estimate: long enough for a stable rate, reached by nearly every request."""
T_OVER_REQUESTS = "t over requests"
DELTA_T = "delta method, t over requests"
NO_SCATTER = "bound for requests that do not differ"


def mean_estimate(values: ArrayLike, *, low: float, high: float, level: float = LEVEL) -> Estimate:
    """Return the mean over requests with its t interval.

    ``low`` and ``high`` are the ends of the scale, such as 0 and 1. Requests that do not differ
    at all have no t interval; theirs is the interval of means under which so many equal values in
    a row would not be surprising (Markov's inequality, request by request; for all-zero and
    all-one data it is Clopper and Pearson's with the requests as trials).

    Raises:
        ValueError: there are no values.
    """
    x = np.asarray(values, dtype=np.float64)
    n = _count(x)
    mean = float(np.mean(x))
    error = float(np.std(x, ddof=1)) / n**0.5 if n > 1 and np.ptp(x) > 0 else 0.0
    interval = _interval(mean, error, n, low=low, high=high, level=level, method=T_OVER_REQUESTS)
    return Estimate(mean, "mean over requests", n, interval)


def pooled_estimate(
    numerators: ArrayLike,
    denominators: ArrayLike,
    *,
    offset: float = 0.0,
    high: float = 1.0,
    level: float = LEVEL,
) -> Estimate:
    """Return ``offset`` + Σ numerators ÷ Σ denominators with a request-clustered interval.

    The interval linearises the ratio (delta method) and uses t with n − 1 degrees of freedom; the
    ends of the scale are ``offset`` and ``high``.

    Raises:
        ValueError: there are no requests, or the denominators sum to nothing.
    """
    a = np.asarray(numerators, dtype=np.float64)
    d = np.asarray(denominators, dtype=np.float64)
    n = _count(a)
    ratio, error = ratio_error(a, d)
    interval = _interval(
        offset + ratio, error, n, low=offset, high=high, level=level, method=DELTA_T
    )
    return Estimate(offset + ratio, "pooled", n, interval)


def ratio_error(numerators: Floats, denominators: Floats) -> tuple[float, float]:
    """Return Σa ÷ Σd and its standard error with requests as clusters (0 for one request).

    Raises:
        ValueError: the denominators sum to nothing.
    """
    n, total = numerators.size, float(denominators.sum())
    if not total > 0:
        raise ValueError("the denominators sum to nothing")
    ratio = float(numerators.sum()) / total
    residuals = numerators - ratio * denominators
    scatter = float(np.sum(residuals**2))
    if n < 2 or scatter <= (1e-12 * total) ** 2:
        return ratio, 0.0
    return ratio, (n / (n - 1) * scatter) ** 0.5 / total


def least_visible(error: float, n: int, alpha: float, beta: float) -> float | None:
    """Return the least difference that n values with this standard error show.

    None for under two values, or for values that do not vary and so cannot say. One-sided at
    level ``alpha`` with power 1 − ``beta``, by the sum of the two t quantiles.
    """
    if n < 2 or error == 0:
        return None
    return float((stats.t.ppf(1 - alpha, n - 1) + stats.t.ppf(1 - beta, n - 1)) * error)


def least_visible_drop(
    values: ArrayLike, reference: float, alpha: float, beta: float
) -> float | None:
    """Return :func:`least_visible` for the mean of ``values``, relative to ``reference``.

    None where nothing can be said: under two values, or a reference of zero.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.size < 2 or not reference > 0:
        return None
    drop = least_visible(float(np.std(x, ddof=1)) / x.size**0.5, x.size, alpha, beta)
    return None if drop is None else min(drop / reference, 1.0)


def design_effect(accepted: ArrayLike, drafted: ArrayLike) -> float | None:
    """Return the variance of the pooled rate over what independent draft tokens would have.

    None with under two requests, or where the rate is 0 or 1 and independent tokens do not scatter.
    """
    a, d = (np.asarray(v, dtype=np.float64) for v in (accepted, drafted))
    rate, error = ratio_error(a, d)
    if a.size < 2 or not 0 < rate < 1:
        return None
    return float(error**2 / (rate * (1 - rate) / d.sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted over their number by Holm's step-down method, in the same order."""
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda j: p_values[j])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def p_below(values: ArrayLike, floor: float) -> float:
    """Return the p-value of "the mean of these scores in [0, 1] is at least ``floor``".

    One-sided t over requests; for requests that do not differ, the bound ((1 − floor) ÷ (1 −
    value))ⁿ on the chance of so many values so low (Markov), which is 1 at the floor and over it.
    """
    x = np.asarray(values, dtype=np.float64)
    n, mean = _count(x), float(np.mean(x))
    if n < 2 or np.ptp(x) == 0:
        return 1.0 if mean >= floor else float(((1 - floor) / (1 - mean)) ** n)
    return float(stats.t.cdf((mean - floor) / (np.std(x, ddof=1) / n**0.5), n - 1))


def rated(requests: Iterable[RequestCounts]) -> list[RequestCounts]:
    """Return the requests that drafted: the others carry no rate and are in no estimate."""
    return [r for r in requests if r.counts.drafted > 0]


def summarize_acceptance(
    requests: Sequence[RequestCounts],
    *,
    alpha: float = ALPHA,
    beta: float = BETA,
    floor_rate: float | None = None,
    stopped_early: bool = False,
) -> AcceptanceSummary | None:
    """Return what ``requests`` say about acceptance; None when none of them drafted.

    Args:
        requests: in the seeded order.
        alpha: level of the least visible drop and of the domains.
        beta: one minus the power of the least visible drop.
        floor_rate: the floor that domains are compared with, as an acceptance rate.
        stopped_early: the number of requests was not fixed beforehand, so the p-values of the
            domains come from the sequential test, which holds at any stop.
    """
    drafting = rated(requests)
    if not drafting:
        return None
    counts = [r.counts for r in drafting]
    accepted = np.array([c.accepted for c in counts], dtype=np.float64)
    drafted = np.array([c.drafted for c in counts], dtype=np.float64)
    steps = np.array([c.steps for c in counts], dtype=np.float64)
    rates = accepted / drafted
    longest = 1 + float(np.max(drafted / steps))
    total = pooled(counts)
    return AcceptanceSummary(
        counts=total,
        requests=len(drafting),
        without_drafts=len(requests) - len(drafting),
        rate_pooled=pooled_estimate(accepted, drafted),
        rate_mean=mean_estimate(rates, low=0, high=1),
        length_pooled=pooled_estimate(accepted, steps, offset=1, high=longest),
        length_mean=mean_estimate(1 + accepted / steps, low=1, high=longest),
        design_effect=design_effect(accepted, drafted),
        least_visible_drop=least_visible_drop(rates, float(rates.mean()), alpha, beta),
        per_position=position_estimates(counts),
        per_domain=_domains(drafting, floor_rate, alpha, stopped_early=stopped_early),
        head=_head(drafting),
    )


def position_estimates(counts: Sequence[DraftCounts]) -> tuple[Estimate, ...]:
    """Return the pooled acceptance at each draft position (steps that kept it, over all steps).

    The band is simultaneous by Bonferroni: simple, deterministic, and with up to eight positions
    little wider than a max-t band. Empty unless every request has positions.
    """
    if not counts or not all(c.accepted_per_position for c in counts):
        return ()
    table = position_table(counts)
    steps = np.array([c.steps for c in counts], dtype=np.float64)
    level = 1 - (1 - LEVEL) / table.shape[1]
    return tuple(pooled_estimate(column, steps, level=level) for column in table.T)


def position_table(counts: Sequence[DraftCounts]) -> Floats:
    """Return accepted per position, requests × positions, short rows filled with zeros."""
    width = max(len(c.accepted_per_position) for c in counts)
    table = np.zeros((len(counts), width))
    for row, c in zip(table, counts, strict=True):
        row[: len(c.accepted_per_position)] = c.accepted_per_position
    return table


def _head(drafting: Sequence[RequestCounts]) -> HeadAcceptance | None:
    heads = [h for r in drafting if (h := r.head(HEAD_STEPS)) is not None and h.drafted]
    if len(heads) < len(drafting):
        return None
    accepted, drafted = [h.accepted for h in heads], [h.drafted for h in heads]
    rates = np.divide(accepted, drafted)
    return HeadAcceptance(
        HEAD_STEPS, pooled_estimate(accepted, drafted), mean_estimate(rates, low=0, high=1)
    )


def _domains(
    drafting: Sequence[RequestCounts], floor: float | None, alpha: float, *, stopped_early: bool
) -> tuple[DomainAcceptance, ...]:
    by_domain: dict[str, list[DraftCounts]] = {}
    for r in drafting:
        by_domain.setdefault(r.domain, []).append(r.counts)
    p_values: list[float] = []
    if floor is not None:
        p = _p_at_any_stop if stopped_early else p_below
        p_values = [
            p([c.accepted / c.drafted for c in counts], floor) for counts in by_domain.values()
        ]
    adjusted = holm(p_values)
    return tuple(
        DomainAcceptance(
            domain,
            pooled_estimate([c.accepted for c in counts], [c.drafted for c in counts]),
            mean_estimate([c.accepted / c.drafted for c in counts], low=0, high=1),
            *((p_values[i], adjusted[i], adjusted[i] < alpha) if p_values else ()),
        )
        for i, (domain, counts) in enumerate(by_domain.items())
    )


def _p_at_any_stop(rates: Sequence[float], floor: float) -> float:
    """Return 1 over the highest evidence that the mean is below ``floor``: valid at any stop."""
    test = SequentialTest(floor, floor * (1 - MARGIN), alpha=ALPHA, beta=BETA)
    highest = 0.0
    for rate in rates:
        test.observe(rate)
        highest = max(highest, test.log_e_below)
    return float(np.exp(-highest))


def _count(values: Floats) -> int:
    if not values.size:
        raise ValueError("no requests")
    return int(values.size)


def _interval(
    value: float, error: float, n: int, *, low: float, high: float, level: float, method: str
) -> Interval:
    tail = (1 - level) / 2
    if error > 0:
        reach = float(stats.t.ppf(1 - tail, n - 1)) * error
        return Interval(max(low, value - reach), min(high, value + reach), level, method)
    shrink = tail ** (1 / n)
    return Interval(low + (value - low) * shrink, high - (high - value) * shrink, level, NO_SCATTER)
