"""Speedup against a floor. The unit is the launch: requests of one server share its luck."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from specfloor.errors import UsageError
from specfloor.i18n import _
from specfloor.judge.verdict import (
    ALPHA,
    BETA,
    Interval,
    SpeedSummary,
    SpeedVerdict,
    Verdict,
    WithinLaunch,
    check_level,
)
from specfloor.plan import in_turn
from specfloor.triage.findings import Finding

Floats = NDArray[np.float64]

LAUNCH_SD = 0.03
"""Scatter of the log time of one launch supposed where a single pair of launches cannot show it:
the upper end of the 1–3 % of quiet machines. Small shared machines show 0.15–0.20."""
MOST_LAUNCHES = 200
"""Launches an arm beyond which a distance to the floor is called too small to tell."""
WITHIN_LEVEL = 0.95


class LaunchTimes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one launch took, by prompt, on a block of forced length.

    ``repeat`` pairs the launches of the two arms: the i-th off with the i-th on.
    ``seconds_per_token`` is the time per output token after the first; ``seconds_per_step`` the
    time of one target forward (on the off arm the same thing), empty where steps were not
    counted.
    """

    speculates: bool
    repeat: int
    seconds_per_token: Mapping[str, float]
    seconds_per_step: Mapping[str, float] = {}


def abba(launches: int) -> tuple[bool, ...]:
    """Return the order of ``launches`` per arm, False for off and True for on: off on on off …

    Pairs alternate in direction, so a drift of the machine cancels instead of favouring an arm.
    """
    return tuple(on for repeat in range(launches) for on in in_turn((False, True), repeat))


def launches_needed(
    distance: float, scatter: float, *, alpha: float = ALPHA, beta: float = BETA
) -> int | None:
    """Return the launches per arm with which a speedup is told from a floor.

    The least n ≥ 2 for which the one-sided t test over n pairs of launches has power 1 − ``beta``.

    Args:
        distance: log of speedup over floor, either sign.
        scatter: standard deviation of the log time of one launch; a pair has √2 of it.
        alpha: level of the test.
        beta: one minus its power.

    Returns:
        The number, or None when ``MOST_LAUNCHES`` would not do.
    """
    pair_sd = 2**0.5 * scatter
    if pair_sd == 0:
        return 2 if distance else None
    n = np.arange(2, MOST_LAUNCHES + 1)
    critical = stats.t.ppf(1 - alpha, n - 1)
    power = stats.nct.sf(critical, n - 1, abs(distance) / pair_sd * np.sqrt(n))
    enough = np.flatnonzero(power >= 1 - beta)
    return int(n[enough[0]]) if enough.size else None


def summarize_speed(
    launches: Sequence[LaunchTimes],
    *,
    length: float | None = None,
    alpha: float = ALPHA,
    scatter: float = LAUNCH_SD,
) -> SpeedSummary | None:
    """Return what some launches say about the speedup; None without a pair that shares a prompt.

    Args:
        launches: of both arms; a launch without its partner is left out.
        length: acceptance length on the same requests, for the explanation.
        alpha: each end of the interval holds at this level, so the interval at 1 − 2 alpha.
        scatter: of one launch, supposed where a single pair cannot show it.

    Raises:
        ValueError: two launches of one arm have the same ``repeat``, or a time is not positive.
    """
    pairs = _pairs(launches)
    if not pairs:
        return None
    within = tuple(_within(repeat, off, on) for repeat, off, on in pairs)
    logs = np.log([w.speedup for w in within])
    n, mean = len(logs), float(logs.mean())
    if n > 1:
        pair_sd = float(logs.std(ddof=1))
        reach = float(stats.t.ppf(1 - alpha, n - 1)) * pair_sd / n**0.5
        scatter = pair_sd / 2**0.5
    else:
        reach = float(stats.norm.ppf(1 - alpha)) * 2**0.5 * scatter
    interval = Interval(
        float(np.exp(mean - reach)),
        float(np.exp(mean + reach)),
        1 - 2 * alpha,
        "t over pairs of launches" if n > 1 else "supposed scatter of launches",
    )
    return SpeedSummary(
        speedup=float(np.exp(mean)),
        launches=n,
        interval=interval if n > 1 else None,
        supposed_interval=interval if n == 1 else None,
        scatter=scatter,
        scatter_from="measured" if n > 1 else "prior",
        within=within,
        length=length,
        step_cost=_step_cost(pairs, length, mean),
    )


def judge_speed(
    launches: Sequence[LaunchTimes],
    floor: float,
    *,
    length: float | None = None,
    acceptance: Verdict | None = None,
    alpha: float = ALPHA,
    beta: float = BETA,
    scatter: float = LAUNCH_SD,
) -> SpeedVerdict:
    """Judge the speedup of one cell against its floor.

    PASS when the lower end of the interval over launches holds the floor, FAIL when the upper end
    lies under it, each at level ``alpha``. A single pair of launches is INCONCLUSIVE whatever it
    shows, and says how many launches would do.

    Args:
        launches: of both arms, in the order of :func:`abba`.
        floor: the least speedup.
        length: acceptance length on the same requests, for the explanation.
        acceptance: the verdict on the acceptance of the cell, to tell apart a dearer step.
        alpha: level.
        beta: one minus the power of the launches asked for.
        scatter: of one launch, supposed where a single pair cannot show it.

    Raises:
        UsageError: a level lies outside (0, 1), or the floor is not positive.
        ValueError: as :func:`summarize_speed`.
    """
    check_level("--alpha", alpha)
    check_level("--beta", beta)
    if not floor > 0:
        raise UsageError(f"a speedup floor must be positive, not {floor:g}: correct its entry")
    summary = summarize_speed(launches, length=length, alpha=alpha, scatter=scatter)
    if summary is None:
        return SpeedVerdict(
            verdict=Verdict.NO_DATA,
            findings=(Finding.NO_DATA,),
            reason=_("no pair of launches, one with speculation off and one on, answered a prompt"),
            floor=floor,
            alpha=alpha,
            beta=beta,
            launches=0,
        )
    verdict, needed = Verdict.INCONCLUSIVE, None
    if summary.interval is not None and summary.interval.low >= floor:
        verdict = Verdict.PASS
    elif summary.interval is not None and summary.interval.high < floor:
        verdict = Verdict.FAIL
    else:
        distance = float(np.log(summary.speedup / floor))
        needed = launches_needed(distance, summary.scatter, alpha=alpha, beta=beta)
    return SpeedVerdict(
        verdict=verdict,
        findings=(_finding(verdict, acceptance),),
        reason=_reason(summary, floor, verdict, needed),
        floor=floor,
        alpha=alpha,
        beta=beta,
        launches=summary.launches,
        launches_needed=needed,
        summary=summary,
    )


_Pair = tuple[int, LaunchTimes, LaunchTimes]


def _pairs(launches: Sequence[LaunchTimes]) -> list[_Pair]:
    arms: dict[bool, dict[int, LaunchTimes]] = {False: {}, True: {}}
    for launch in launches:
        arm = arms[launch.speculates]
        if launch.repeat in arm:
            raise ValueError(f"two launches of one arm are both repeat {launch.repeat}")
        arm[launch.repeat] = launch
    return [
        (repeat, off, on)
        for repeat, off in sorted(arms[False].items())
        if (on := arms[True].get(repeat)) is not None
        and off.seconds_per_token.keys() & on.seconds_per_token.keys()
    ]


def _within(repeat: int, off: LaunchTimes, on: LaunchTimes) -> WithinLaunch:
    logs = _log_ratios(off.seconds_per_token, on.seconds_per_token)
    n, mean = logs.size, float(logs.mean())
    interval = None
    if n > 1:
        error = float(logs.std(ddof=1)) / n**0.5
        reach = float(stats.t.ppf((1 + WITHIN_LEVEL) / 2, n - 1)) * error
        low, high = float(np.exp(mean - reach)), float(np.exp(mean + reach))
        interval = Interval(low, high, WITHIN_LEVEL, "t over prompts, within launches only")
    return WithinLaunch(repeat, float(np.exp(mean)), n, interval)


def _log_ratios(off: Mapping[str, float], on: Mapping[str, float]) -> Floats:
    """Return log(off ÷ on) of the prompts both have, in the order of ``off``."""
    shared = [prompt for prompt in off if prompt in on]
    times = np.array([(off[p], on[p]) for p in shared], dtype=np.float64)
    if not (times > 0).all():
        raise ValueError("a time per token or step is not positive")
    return np.asarray(np.log(times[:, 0] / times[:, 1]), dtype=np.float64)


def _step_cost(pairs: Sequence[_Pair], length: float | None, log_speedup: float) -> float | None:
    """Return the time of an on-step over an off-step: measured, or else what length leaves over."""
    measured = [
        float(_log_ratios(on.seconds_per_step, off.seconds_per_step).mean())
        for _, off, on in pairs
        if on.seconds_per_step.keys() & off.seconds_per_step.keys()
    ]
    if len(measured) == len(pairs):
        return float(np.exp(np.mean(measured)))
    return None if length is None else length / float(np.exp(log_speedup))


def _finding(verdict: Verdict, acceptance: Verdict | None) -> Finding:
    if verdict is Verdict.INCONCLUSIVE:
        return Finding.INCONCLUSIVE
    if verdict is Verdict.PASS:
        return Finding.EXPECTED
    if acceptance is Verdict.PASS:
        return Finding.SPEED_REGRESSION_ACCEPT_OK
    return Finding.SPEED_REGRESSION


def _reason(s: SpeedSummary, floor: float, verdict: Verdict, needed: int | None) -> str:
    interval = s.interval or s.supposed_interval
    if interval is None:
        raise ValueError("a speed summary has one interval or the other")
    over = (
        _("{launches} launches per arm").format(launches=s.launches)
        if s.launches > 1
        else _("1 launch per arm")
    )
    explained = (
        ""
        if s.length is None or s.step_cost is None
        else _(
            " (acceptance length {length:.2f} over a step cost ratio of {step_cost:.2f})"
        ).format(length=s.length, step_cost=s.step_cost)
    )
    how = _("measured") if s.scatter_from == "measured" else _("supposed")
    measured = _(
        "expected a speedup of at least {floor:.2f}; measured "
        "{speedup:.2f}{explained} over {over}, {level:.0%} interval {low:.2f} to "
        "{high:.2f} with a {how} launch scatter of {scatter:.1%}"
    ).format(
        floor=floor,
        speedup=s.speedup,
        explained=explained,
        over=over,
        level=interval.level,
        low=interval.low,
        high=interval.high,
        how=how,
        scatter=s.scatter,
    )
    if verdict is Verdict.PASS:
        return _("{measured}: less than the floor is excluded").format(measured=measured)
    if verdict is Verdict.FAIL:
        return _("{measured}: the floor is excluded").format(measured=measured)
    if s.launches == 1:
        measured += _(": one launch per arm cannot show how launches scatter")
    else:
        measured += _(": the floor lies inside")
    if needed is None:
        return _(
            "{measured}, and more than {most_launches} launches per arm would be needed"
        ).format(measured=measured, most_launches=MOST_LAUNCHES)
    return _("{measured}; {needed} launches per arm would tell, if the scatter is right").format(
        measured=measured, needed=needed
    )
