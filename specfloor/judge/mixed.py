"""Arms under one and the same load: what users wait, and how many are served in time."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from scipy import stats

from specfloor.i18n import N_
from specfloor.judge.quantiles import Quantile, least_requests, log_ratio_reach, quantile
from specfloor.judge.times import Clock, time_per_token
from specfloor.runs.records import RequestRecord

Metric = Literal["TTFT", "TPOT", "end-to-end"]
METRICS: tuple[Metric, ...] = ("TTFT", "TPOT", "end-to-end")
"""The first token after the request was due; the time per output token after it; the last token
after the request was due. The gap between two chunks is none of them: a chunk holds the tokens of a
step, so that it rises with speculation while users wait less."""

MARGIN = 0.1
"""Loss of a latency, and of goodput, that counts: P99 of one build moves by 7 % between launches
that scatter by 3 % (benchmarks.statistics.mixed)."""
BROKEN = 1.0
"""Loss against the off arm from which an arm fails by itself. That speculation costs something at a
load is the flip point's question; that users wait twice as long is none any more."""
LAUNCHES = 3
"""Pairs of launches from which their own scatter gives the interval."""
SUPPOSED_SD: Mapping[str, float] = {
    "TTFT": 0.35,
    "end-to-end": 0.15,
    "TPOT": 0.045,
    "goodput": 0.06,
}
"""Scatter of one pair of launches supposed where fewer show none, of the log ratio: what 3 % of
scatter of a launch comes to at up to 80 % of its capacity. Waiting multiplies it
(benchmarks.statistics.mixed)."""
NEAR_CAPACITY = 0.8
"""The load above which waiting multiplies it by ``NEAR_FACTOR`` more."""
NEAR_FACTOR = 3.0
_WAITING = frozenset({"TTFT", "end-to-end", "goodput"})
MOST_LAUNCHES = 50
"""Pairs of launches beyond which a loss is called too near to the margin to tell."""
_SECTIONS = 10
"""Parts of a load, one after the other, by which its goodput scatters: requests that miss their
limits do so together, so each by itself would say more than it knows."""
_DERIVED = 0.95


class Served(msgspec.Struct, frozen=True):
    """What became of one request of a load; seconds by metric, only those that can be told."""

    kind: str
    seconds: Mapping[str, float]
    ok: bool = True
    late_s: float = 0.0


Rounds = Mapping[int, Sequence[Served]]
"""The requests of each launch of one arm, in the order they were due, by the launch's repeat."""


class Slo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits that the user sets for every request, in seconds."""

    ttft_s: float
    tpot_s: float


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The seconds that one kind of request may take to be served in time."""

    kind: str
    ttft_s: float
    tpot_s: float


class Outcome(StrEnum):
    """What is said of one quantity of an arm against another's."""

    BETTER = N_("better")
    """No gain at all is excluded."""
    HOLDS = N_("holds")
    """A loss of the margin is excluded."""
    WORSE = N_("worse")
    """A loss of the margin or more is shown."""
    UNDECIDED = N_("undecided")
    TOO_FEW = N_("too few")
    """Fewer requests than bound the quantile at all."""


class Latency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One metric of one kind of request on one arm, over all its launches."""

    kind: str
    metric: Metric
    p50: Quantile
    p99: Quantile


class ArmLoad(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one arm served a load: ``in_time`` of ``requests`` came within their limits.

    ``goodput_per_s`` is what came in time over the time in which the requests were due. ``failed``
    requests are in no latency and not in time. ``late_s`` is P99 of what the client itself sent
    late, and part of what is reported.
    """

    arm: str
    requests: int
    failed: int
    latencies: tuple[Latency, ...]
    in_time: int | None
    goodput_per_s: float | None
    late_s: float


class Versus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One quantity of an arm over another's, with the interval of the ratio.

    ``quantity`` is ``goodput`` or such as ``P99 TTFT``; ``kind`` is empty for all requests.
    ``loss`` is what the ratio is held to: for a latency at most 1 + loss, for goodput at least
    1 − loss. ``requests_missing`` are those that an arm lacks to bound the quantile at all,
    ``launches_needed`` the launches an arm, in all, with which its interval would decide; None
    where many would not, or none are needed.
    """

    quantity: str
    kind: str
    ratio: float | None
    low: float | None
    high: float | None
    loss: float
    outcome: Outcome
    requests_missing: int | None = None
    launches_needed: int | None = None


def served(request: RequestRecord, clock: Clock) -> Served:
    """Return what became of a request; waiting counts from when it was due, not from its start."""
    if not request.ok:
        return Served(request.domain, {}, ok=False, late_s=request.late_s)
    late = request.late_s
    seconds = {
        "TTFT": None if request.first_token_s is None else request.first_token_s + late,
        "TPOT": time_per_token(request, clock),
        "end-to-end": request.finished_s + late,
    }
    known = {metric: s for metric, s in seconds.items() if s is not None and s > 0}
    return Served(request.domain, known, late_s=late)


def capacity(requests: Iterable[RequestRecord]) -> float | None:
    """Return the requests a second that a closed loop got through; None without any.

    The ramp at either end is counted in, so it is rather too low: a share of it is then less load.
    """
    done = [request for request in requests if request.ok]
    if not done:
        return None
    first = min(request.started_s for request in done)
    return len(done) / (max(r.started_s + r.finished_s for r in done) - first)


def derived_limits(off: Rounds) -> tuple[Limit, ...]:
    """Return limits that 95 % of the off arm's requests keep under the same load, by kind."""
    found = []
    for kind in kinds(off):
        both = [_seconds(off, kind, metric) for metric in ("TTFT", "TPOT")]
        if all(both):
            found.append(Limit(kind, *(float(np.quantile(one, _DERIVED)) for one in both)))
    return tuple(found)


def kinds(*arms: Rounds) -> tuple[str, ...]:
    """Return the kinds of request there are, by name."""
    return tuple(sorted({one.kind for rounds in arms for sent in rounds.values() for one in sent}))


def describe(
    arm: str, rounds: Rounds, limits: Sequence[Limit], rate_per_s: float, alpha: float
) -> ArmLoad:
    """Return how an arm served a load that came at ``rate_per_s``."""
    latencies = []
    for kind, metric in itertools.product(kinds(rounds), METRICS):
        seconds = _seconds(rounds, kind, metric)
        p50, p99 = (quantile(seconds, p, alpha) for p in (0.5, 0.99))
        if p50 and p99:
            latencies.append(Latency(kind, metric, p50, p99))
    everything = [one for sent in rounds.values() for one in sent]
    in_time = sum(_in_time(one, limits) for one in everything) if limits else None
    return ArmLoad(
        arm=arm,
        requests=len(everything),
        failed=sum(not one.ok for one in everything),
        latencies=tuple(latencies),
        in_time=in_time,
        goodput_per_s=None if in_time is None else rate_per_s * in_time / len(everything),
        late_s=float(np.quantile([one.late_s for one in everything], 0.99)),
    )


def compare(
    arm: Rounds,
    other: Rounds,
    limits: Sequence[Limit],
    *,
    load: float,
    alpha: float,
    margin: float = MARGIN,
) -> tuple[Versus, ...]:
    """Compare every latency of every kind of request, and goodput, of two arms under one load.

    ``load`` is its share of the capacity of the arm that is slower, as far as that is known.
    The unit is the pair of launches where there are three or more: t over the log ratios of pairs.
    With fewer, the interval is that of order statistics over all requests, widened by a scatter of
    launches that is supposed. Each interval holds at 1 − ``alpha``. Several are looked at: that a
    loss counts only beyond ``margin`` leaves room for that (benchmarks.statistics.mixed).
    """
    pairs = sorted(arm.keys() & other.keys())
    mine, theirs = ({repeat: rounds[repeat] for repeat in pairs} for rounds in (arm, other))
    rule = _Rule(load, alpha, margin)
    found = [
        _latency(mine, theirs, kind, metric, p, rule=rule)
        for kind, metric, p in itertools.product(kinds(mine, theirs), METRICS, (0.5, 0.99))
    ]
    if limits and pairs:
        found.append(_goodput(mine, theirs, limits, rule))
    return tuple(one for one in found if one)


class _Rule(NamedTuple):
    """How one comparison is made; see :func:`compare`."""

    load: float
    alpha: float
    margin: float

    def supposed_sd(self, quantity: str) -> float:
        """Return the scatter of a pair of launches that is supposed."""
        near = self.load > NEAR_CAPACITY and quantity in _WAITING
        return SUPPOSED_SD[quantity] * (NEAR_FACTOR if near else 1.0)


def _seconds(rounds: Rounds, kind: str, metric: str) -> list[float]:
    return [s for sent in rounds.values() for s in _of(sent, kind, metric)]


def _of(sent: Sequence[Served], kind: str, metric: str) -> list[float]:
    return [one.seconds[metric] for one in sent if one.kind == kind and metric in one.seconds]


def _in_time(one: Served, limits: Sequence[Limit]) -> bool:
    return any(
        one.seconds.get("TTFT", math.inf) <= limit.ttft_s
        and one.seconds.get("TPOT", math.inf) <= limit.tpot_s
        for limit in limits
        if limit.kind == one.kind
    )


def _latency(
    arm: Rounds, other: Rounds, kind: str, metric: str, p: float, *, rule: _Rule
) -> Versus | None:
    _, alpha, margin = rule
    quantity = f"P{100 * p:g} {metric}"
    mine, theirs = (quantile(_seconds(rounds, kind, metric), p, alpha) for rounds in (arm, other))
    if mine is None or theirs is None:
        return None
    ratio = mine.value / theirs.value
    least = least_requests(p, alpha)
    reach = log_ratio_reach(mine, theirs)
    if reach is None:
        few = least - min(mine.n, theirs.n)
        return Versus(
            quantity, kind, ratio, None, None, margin, Outcome.TOO_FEW, requests_missing=few
        )
    logs = [
        math.log(one.value / two.value)
        for repeat in arm
        if (one := quantile(_of(arm[repeat], kind, metric), p, alpha))
        and (two := quantile(_of(other[repeat], kind, metric), p, alpha))
    ]
    if len(logs) >= LAUNCHES:
        middle, sd = float(np.mean(logs)), float(np.std(logs, ddof=1))
        down = up = _t_reach(sd, len(logs), alpha)
    else:
        middle, sd = math.log(ratio), rule.supposed_sd(metric)
        luck = float(stats.norm.ppf(1 - alpha / 2)) * sd / math.sqrt(len(logs))
        down, up = (math.hypot(one, luck) for one in reach)
    outcome = _outcome(middle - down, middle + up, math.log1p(margin))
    needed = None
    if outcome is Outcome.UNDECIDED:
        needed = _launches_needed(math.log1p(margin) - middle, sd, alpha)
    return Versus(
        quantity,
        kind,
        math.exp(middle),
        math.exp(middle - down),
        math.exp(middle + up),
        margin,
        outcome,
        launches_needed=needed,
    )


def _goodput(arm: Rounds, other: Rounds, limits: Sequence[Limit], rule: _Rule) -> Versus:
    """Compare the shares served in time; a ratio that is below 1 is the loss here."""
    _, alpha, margin = rule
    hits = [
        (
            np.array([_in_time(one, limits) for one in arm[repeat]], dtype=float),
            np.array([_in_time(one, limits) for one in other[repeat]], dtype=float),
        )
        for repeat in arm
    ]
    base = float(np.mean([theirs.mean() for _, theirs in hits]))
    gains = [float(mine.mean() - theirs.mean()) for mine, theirs in hits]
    middle = float(np.mean(gains))
    if len(gains) >= LAUNCHES:
        sd = float(np.std(gains, ddof=1))
        reach = _t_reach(sd, len(gains), alpha)
    else:
        sections = [
            float(mine[part].mean() - theirs[part].mean())
            for mine, theirs in hits
            for part in np.array_split(np.arange(min(len(mine), len(theirs))), _SECTIONS)
            if part.size
        ]
        within = _t_reach(float(np.std(sections, ddof=1)), len(sections), alpha)
        sd = rule.supposed_sd("goodput") * base
        luck = float(stats.norm.ppf(1 - alpha / 2)) * sd / math.sqrt(len(gains))
        reach = math.hypot(within, luck)
    if base or middle:
        # as a loss, so that up is worse like a latency
        outcome = _outcome(-middle - reach, -middle + reach, margin * base)
    else:
        # nothing in time on either arm tells nothing
        outcome = Outcome.UNDECIDED
    needed = None
    if outcome is Outcome.UNDECIDED:
        needed = _launches_needed(margin * base + middle, sd, alpha)
    scale = (lambda gain: 1 + gain / base) if base else (lambda _: None)
    return Versus(
        "goodput",
        "",
        scale(middle),
        scale(middle - reach),
        scale(middle + reach),
        margin,
        outcome,
        launches_needed=needed,
    )


def _outcome(low: float, high: float, margin: float) -> Outcome:
    if high < 0:
        return Outcome.BETTER
    if high <= margin:
        return Outcome.HOLDS
    return Outcome.WORSE if low > margin else Outcome.UNDECIDED


def _t_reach(sd: float, n: int, alpha: float) -> float:
    return float(stats.t.ppf(1 - alpha / 2, n - 1)) * sd / math.sqrt(n)


def _launches_needed(distance: float, sd: float, alpha: float) -> int | None:
    """Return with how many pairs of launches an interval would end before the margin."""
    counts = np.arange(LAUNCHES, MOST_LAUNCHES + 1)
    reach = stats.t.ppf(1 - alpha / 2, counts - 1) * sd / np.sqrt(counts)
    enough = counts[reach <= abs(distance)]
    return int(enough[0]) if enough.size else None
