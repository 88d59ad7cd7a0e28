"""Acceptance against a floor."""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from scipy import stats

from specfloor.errors import UsageError
from specfloor.i18n import _
from specfloor.judge.estimate import (
    least_visible_drop,
    mean_estimate,
    pooled_estimate,
    rated,
    ratio_error,
    summarize_acceptance,
)
from specfloor.judge.sequential import SequentialTest, invert
from specfloor.judge.verdict import (
    ALPHA,
    BETA,
    MARGIN,
    AcceptanceVerdict,
    Estimate,
    Interval,
    Verdict,
    check_level,
)
from specfloor.signals.counts import RequestCounts, Rung, pooled
from specfloor.triage.findings import Finding

Unit = Literal["rate", "length"]

ZERO_RATE = 0.02
"""A draft that knows nothing still guesses the commonest tokens now and then; a draft that works
accepts tens of percent. Below this the draft is taken for dead."""
ZERO_DRAFTED = 300
"""Drafted tokens below which a rate near zero is not yet called dead."""
PERFECT_RATE = 0.99
"""No draft but the target itself keeps this up; a sampler that accepts everything does."""
PERFECT_DRAFTED = 1000
"""Drafted tokens over which ``PERFECT_RATE`` is too good: a true rate of 0.97 reaches it by luck in
well under 1 % of runs (30 rejections expected, 10 allowed)."""
LOOPS_ALLOWED = 0.1
"""Share of the texts that may loop before they say more about the verdict than the draft does."""
LOOPS_LEAST = 3
"""Looping texts below which there is no finding, however few texts there are."""
_GRID = 2000
"""Candidate means of the inverted test: ends are exact to half a thousandth of the scale."""
_ONE_SIDED_LEVEL = 0.95


class Floor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An acceptance floor and the rule by which it is judged.

    ``value`` is an acceptance rate in (0, 1), or an acceptance length in (1, k + 1) with ``k`` the
    number of drafted tokens a step; a request's length L is judged as the score (L − 1) ÷ k in
    [0, 1], and ``margin`` is a share of the floor in its own unit. ``population`` is the number of
    prompts of a fixed set, or None for a sample of a workload.

    Raises:
        UsageError: a level, the margin or the value cannot be.
    """

    value: float
    unit: Unit = "rate"
    k: int | None = None
    population: int | None = None
    alpha: float = ALPHA
    beta: float = BETA
    margin: float = MARGIN

    def __post_init__(self) -> None:
        for option, level in (
            ("--alpha", self.alpha),
            ("--beta", self.beta),
            ("--margin", self.margin),
        ):
            check_level(option, level)
        if self.unit == "length" and self.k is None:
            raise ValueError("a floor of the acceptance length needs k")
        if not 0 < self.score(self.value) < 1:
            top = "1" if self.unit == "rate" else f"{self.depth + 1}"
            bottom = "0" if self.unit == "rate" else "1"
            raise UsageError(
                f"a floor of the acceptance {self.unit} must lie between {bottom} and {top}, "
                f"not be {self.value:g}: correct its entry among the floors"
            )
        if self.score(self.least) <= 0:
            raise UsageError(
                f"{self.margin:.0%} under the floor {self.value:g} of the acceptance length lies "
                "below 1, where lengths begin: give a smaller --margin or a floor of the rate"
            )
        if self.population is not None and self.population < 1:
            raise ValueError(f"a population of {self.population} prompts")

    @property
    def depth(self) -> int:
        """Tokens of a full draft, for lengths."""
        return self.k or 1

    @property
    def least(self) -> float:
        """What a PASS excludes, in the unit of the floor."""
        return self.value * (1 - self.margin)

    def score(self, value: float) -> float:
        """Return the score in [0, 1] of a value in the unit of the floor."""
        return value if self.unit == "rate" else (value - 1) / self.depth

    def value_of(self, score: float) -> float:
        """Return the value in the unit of the floor of a score."""
        return score if self.unit == "rate" else 1 + score * self.depth

    def score_of(self, request: RequestCounts) -> float | None:
        """Return the score of one request; None when it made no draft."""
        counts = request.counts
        if not counts.drafted:
            return None
        if self.unit == "rate":
            return counts.accepted / counts.drafted
        return min(1.0, counts.accepted / (counts.steps * self.depth))


class AcceptanceTest:
    """An acceptance floor being tested, request by request, so that an arm can stop early.

    Feed the requests in the seeded order, not in the order they finish.
    """

    def __init__(self, floor: Floor, *, draft_is_target: bool = False) -> None:
        """Start with no requests.

        ``draft_is_target`` says that the draft is the target model itself, for which perfect
        acceptance is no surprise.
        """
        self.floor = floor
        self._test = SequentialTest(
            floor.score(floor.value),
            floor.score(floor.least),
            alpha=floor.alpha,
            beta=floor.beta,
            population=floor.population,
        )
        self._draft_is_target = draft_is_target
        self._drafted = self._accepted = 0

    def observe(self, request: RequestCounts) -> Verdict | None:
        """Take the next request and return the verdict so far."""
        self._drafted += request.counts.drafted
        self._accepted += request.counts.accepted
        self._test.observe(self.floor.score_of(request))
        return self.verdict

    @property
    def verdict(self) -> Verdict | None:
        """PASS, FAIL, or None: go on. Perfection over few drafts does not pass yet."""
        return None if self.doubtful else self._test.decision

    @property
    def doubtful(self) -> bool:
        """Whether a PASS is held back: acceptance is nearly perfect, but over few drafts."""
        return (
            self._perfect
            and self._drafted < PERFECT_DRAFTED
            and self._test.decision is Verdict.PASS
            and not self._test.complete
        )

    @property
    def too_good(self) -> bool:
        """Whether acceptance is nearly perfect, over many drafts, with no reason to be."""
        return self._perfect and self._drafted >= PERFECT_DRAFTED

    @property
    def complete(self) -> bool:
        """Whether every prompt of a fixed set was tested."""
        return self._test.complete

    @property
    def decided_at(self) -> int | None:
        """Requests after which the tests had decided."""
        return self._test.decided_at

    def still_needed(self) -> int:
        """Return about how many more requests would decide."""
        if self.doubtful:
            return math.ceil((PERFECT_DRAFTED / self._drafted - 1) * self._test.rated)
        return self._test.still_needed()

    @property
    def _perfect(self) -> bool:
        return not self._draft_is_target and self._accepted >= PERFECT_RATE * self._drafted > 0


def judge_acceptance(
    requests: Sequence[RequestCounts],
    floor: Floor,
    *,
    draft_is_target: bool = False,
    looping: int | None = None,
    loops_allowed: float = LOOPS_ALLOWED,
    rung: Rung | None = None,
) -> AcceptanceVerdict:
    """Judge the requests of one cell against its floor.

    Args:
        requests: one per prompt, in the seeded order; requests with no drafts are counted, carry no
            rate and favour neither side.
        floor: the floor and its rule.
        draft_is_target: perfect acceptance is expected.
        looping: how many of the texts repeat themselves (:func:`specfloor.judge.looping.loops`).
        loops_allowed: share of looping texts over which a PASS turns into SUSPICIOUS_ACCEPTANCE.
        rung: where the counts come from, for the report.

    Raises:
        ValueError: a prompt of a fixed set comes twice, or more prompts come than the set has.
    """
    prompts = [r.prompt_id for r in requests]
    if floor.population is not None and len(set(prompts)) < len(prompts):
        raise ValueError("a prompt of a fixed set comes twice")
    test = AcceptanceTest(floor, draft_is_target=draft_is_target)
    for request in requests:
        test.observe(request)
    stopped_early = not test.complete
    summary = summarize_acceptance(
        requests,
        alpha=floor.alpha,
        beta=floor.beta,
        floor_rate=floor.score(floor.value),
        stopped_early=stopped_early,
    )
    drafting = rated(requests)
    common = AcceptanceVerdict(
        verdict=Verdict.NO_DATA,
        findings=(Finding.NO_DATA,),
        reason=_no_data(requests),
        unit=floor.unit,
        floor=floor.value,
        alpha=floor.alpha,
        beta=floor.beta,
        margin=floor.margin,
        n=len(drafting),
        population=floor.population,
        stopped_early=stopped_early,
        looping=looping,
        rung=rung,
    )
    if summary is None:
        return common
    verdict = test.verdict or Verdict.INCONCLUSIVE
    loops = looping or 0
    looped = loops >= LOOPS_LEAST and loops > loops_allowed * len(requests)
    findings = _findings(verdict, drafting, too_good=test.too_good or looped)
    if Finding.SUSPICIOUS_ACCEPTANCE in findings and verdict is Verdict.PASS:
        verdict = Verdict.FAIL
    mean, pooled_ = _estimates(requests, floor, stopped_early=stopped_early)
    values = [floor.value_of(s) for r in drafting if (s := floor.score_of(r)) is not None]
    judged = msgspec.structs.replace(
        common,
        verdict=verdict,
        findings=findings,
        decided_at=test.decided_at,
        still_needed=test.still_needed() if verdict is Verdict.INCONCLUSIVE else None,
        mean=mean,
        pooled=pooled_,
        least_visible_drop=least_visible_drop(values, floor.value, floor.alpha, floor.beta),
        summary=summary,
    )
    return msgspec.structs.replace(judged, reason=_reason(judged, test))


def _findings(
    verdict: Verdict, drafting: Sequence[RequestCounts], *, too_good: bool
) -> tuple[Finding, ...]:
    suspicious = (Finding.SUSPICIOUS_ACCEPTANCE,) if too_good else ()
    if verdict is Verdict.FAIL:
        dead = Finding.ACCEPT_ZERO if is_dead(drafting) else Finding.ACCEPT_REGRESSION
        return (dead, *suspicious)
    if verdict is Verdict.INCONCLUSIVE:
        return (Finding.INCONCLUSIVE, *suspicious)
    return suspicious or (Finding.EXPECTED,)


def is_dead(requests: Sequence[RequestCounts]) -> bool:
    """Whether the upper one-sided bound of the pooled rate is near zero, over enough drafts."""
    drafting = rated(requests)
    accepted = np.array([r.counts.accepted for r in drafting], dtype=np.float64)
    drafted = np.array([r.counts.drafted for r in drafting], dtype=np.float64)
    if drafted.sum() < ZERO_DRAFTED:
        return False
    rate, error = ratio_error(accepted, drafted)
    return rate < ZERO_RATE and (
        error == 0 or rate + stats.t.ppf(_ONE_SIDED_LEVEL, len(drafting) - 1) * error < ZERO_RATE
    )


def is_too_good(requests: Sequence[RequestCounts]) -> bool:
    """Whether nearly every drafted token was accepted, over many of them."""
    total = pooled(request.counts for request in requests)
    return total.drafted >= PERFECT_DRAFTED and total.accepted >= PERFECT_RATE * total.drafted


def _estimates(
    requests: Sequence[RequestCounts], floor: Floor, *, stopped_early: bool
) -> tuple[Estimate, Estimate]:
    """Return the mean over requests and the pooled value, in the unit of the floor."""
    counts = [r.counts for r in rated(requests)]
    low, high = floor.value_of(0), floor.value_of(1)
    accepted = [c.accepted for c in counts]
    if floor.unit == "rate":
        pooled_ = pooled_estimate(accepted, [c.drafted for c in counts])
    else:
        pooled_ = pooled_estimate(accepted, [c.steps for c in counts], offset=low, high=high)
    scores = [floor.score_of(r) for r in requests]
    values = [floor.value_of(score) for score in scores if score is not None]
    mean = mean_estimate(values, low=low, high=high)
    if not stopped_early:
        return mean, pooled_
    return (
        msgspec.structs.replace(mean, interval=_inverted(scores, floor)),
        msgspec.structs.replace(pooled_, interval=None),
    )


def _inverted(scores: Sequence[float | None], floor: Floor) -> Interval:
    """Return the interval of means that the sequential tests leave: it agrees with the verdict."""
    top, bottom = floor.score(floor.value), floor.score(floor.least)
    ends = invert(
        scores,
        np.union1d(np.arange(1, _GRID) / _GRID, (bottom, top)),
        top - bottom,
        alpha=floor.alpha,
        beta=floor.beta,
        population=floor.population,
    )
    # The ends cross where late requests contradict early ones; then all between is in doubt.
    low, high = (floor.value_of(end) for end in sorted(ends))
    level = round(1 - floor.alpha - floor.beta, 12)
    return Interval(low, high, level, "sequential test inverted")


def _reason(v: AcceptanceVerdict, test: AcceptanceTest) -> str:
    if v.mean is None or v.pooled is None or v.mean.interval is None:
        raise ValueError("a verdict with data has estimates and an interval")
    on = _("{n} requests") if v.population is None else _("{n} of {population} prompts")
    interval = v.mean.interval
    measured = _(
        "measured {mean:.3f} as mean over requests ({level:.0%} interval "
        "{low:.3f} to {high:.3f}; pooled {pooled:.3f}) on {on}"
    ).format(
        mean=v.mean.value,
        level=interval.level,
        low=interval.low,
        high=interval.high,
        pooled=v.pooled.value,
        on=on.format(n=v.n, population=v.population),
    )
    expected = _("expected an acceptance {unit} of at least {floor:.3f}").format(
        unit=_(v.unit), floor=v.floor
    )
    if v.findings[0] is Finding.SUSPICIOUS_ACCEPTANCE:
        why = (
            _(
                "acceptance is nearly perfect, at least {perfect_rate:.0%} of the drafted tokens"
            ).format(perfect_rate=PERFECT_RATE)
            if test.too_good
            else _("{looping} texts repeat themselves, and loops are easy to draft").format(
                looping=v.looping
            )
        )
        return _("{expected}; {measured}; {why}, which is too good to pass").format(
            expected=expected, measured=measured, why=why
        )
    if Finding.SUSPICIOUS_ACCEPTANCE in v.findings and v.looping:
        measured += _(", of which {looping} texts repeat themselves").format(looping=v.looping)
    least = v.floor * (1 - v.margin)
    if v.verdict is Verdict.PASS:
        shown = (
            _("{least:.3f} or less ({margin:.0%} under the floor) is excluded").format(
                least=least, margin=v.margin
            )
            if v.stopped_early
            else _("the whole set holds the floor")
        )
        return _("{expected}; {measured}: {shown}").format(
            expected=expected, measured=measured, shown=shown
        )
    if v.verdict is Verdict.FAIL:
        shown = (
            _("the floor is excluded")
            if v.stopped_early
            else _("the whole set lies below the floor")
        )
        return _("{expected}; {measured}: {shown}").format(
            expected=expected, measured=measured, shown=shown
        )
    shown = (
        _("nearly perfect, over too few drafts to tell whether that is luck")
        if test.doubtful
        else _("neither the floor nor {least:.3f} is excluded").format(least=least)
    )
    return _(
        "{expected}; {measured}: {shown}; about {still_needed} more requests would decide"
    ).format(expected=expected, measured=measured, shown=shown, still_needed=v.still_needed)


def _no_data(requests: Sequence[RequestCounts]) -> str:
    if not requests:
        return _("no request was measured")
    return _(
        "none of {requests} requests drafted a token, so there is no acceptance to judge"
    ).format(requests=len(requests))
