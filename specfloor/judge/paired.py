"""A new release against an old one, paired by prompt, at the number of prompts there is."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from specfloor.i18n import N_, _
from specfloor.judge.estimate import holm, least_visible, position_table
from specfloor.judge.verdict import (
    ALPHA,
    BETA,
    MARGIN,
    Change,
    DomainChange,
    Interval,
    PairedResult,
    PositionChange,
    UpgradeVerdict,
    check_level,
)
from specfloor.signals.counts import RequestCounts
from specfloor.triage.findings import Finding

Floats = NDArray[np.float64]

LEAST_PAIRS = 10
"""Prompts below which nothing is called SAME: t intervals of so few rates are not to be trusted,
least of all when greedy decoding repeats them to the digit."""
LAUNCH_SD = 0.03
"""Scatter of the log time of one launch supposed for times, unless measured: the upper end of the
1–3 % that launches on quiet machines show."""


class Quantity(StrEnum):
    """What is compared."""

    RATE = N_("acceptance rate")
    LENGTH = N_("acceptance length")
    TPOT = N_("time per output token")
    TTFT = N_("time to first token")

    @property
    def is_time(self) -> bool:
        """Whether it is a time: compared by log ratio, and less is better."""
        return self in {Quantity.TPOT, Quantity.TTFT}


class PromptPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt's value under both releases; ``diverged`` when their texts differ."""

    prompt_id: str
    domain: str
    old: float
    new: float
    diverged: bool = False


class Launches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far launches scatter by themselves: prompts of one launch share its luck.

    ``sd`` is the relative (log) standard deviation of a launch, ``per_release`` how many launches
    the values of each release average over.
    """

    sd: float
    per_release: int = 1

    @property
    def variance(self) -> float:
        """The relative variance of a mean over the launches of one release."""
        return self.sd**2 / self.per_release


STEADY = Launches(0.0)
"""Launches do not matter: acceptance under greedy decoding repeats almost to the digit."""


def pair_values(
    old: Mapping[str, float],
    new: Mapping[str, float],
    domains: Mapping[str, str],
    diverged: Collection[str] = (),
) -> tuple[PromptPair, ...]:
    """Return the prompts that have a value in both runs, in the order of ``old``."""
    return tuple(
        PromptPair(prompt, domains[prompt], value, new[prompt], prompt in diverged)
        for prompt, value in old.items()
        if prompt in new
    )


def judge_upgrade(
    old: Sequence[RequestCounts],
    new: Sequence[RequestCounts],
    quantity: Quantity,
    *,
    diverged: Collection[str] = (),
    alpha: float = ALPHA,
    beta: float = BETA,
    margin: float = MARGIN,
    launches: Launches = STEADY,
) -> UpgradeVerdict:
    """Judge the acceptance rate or length of a new release against an old one.

    Args:
        old: requests of the old release, one per prompt.
        new: requests of the new release, one per prompt, in any order.
        quantity: RATE or LENGTH.
        diverged: prompts whose texts differ between the releases.
        alpha: level, as in :func:`judge_pairs`.
        beta: one minus the power of the least visible loss.
        margin: relative equivalence margin.
        launches: scatter of launches, for releases whose acceptance does not repeat.

    Raises:
        UsageError: a level or the margin lies outside (0, 1).
        ValueError: a prompt comes twice in one run, or ``quantity`` is a time.
    """
    if quantity.is_time:
        raise ValueError(f"{quantity} is no property of counts")
    mine, theirs = (_drafting(requests) for requests in (old, new))
    of = _rate if quantity is Quantity.RATE else _length
    pairs = pair_values(
        {p: of(r) for p, r in mine.items()},
        {p: of(r) for p, r in theirs.items()},
        {p: r.domain for p, r in mine.items()},
        diverged,
    )
    verdict = judge_pairs(
        pairs,
        quantity,
        unpaired=len({r.prompt_id for r in (*old, *new)}) - len(pairs),
        alpha=alpha,
        beta=beta,
        margin=margin,
        launches=launches,
    )
    both = [(mine[p.prompt_id], theirs[p.prompt_id]) for p in pairs]
    return msgspec.structs.replace(verdict, per_position=position_changes(both, alpha=alpha))


def judge_pairs(
    pairs: Sequence[PromptPair],
    quantity: Quantity,
    *,
    unpaired: int = 0,
    alpha: float = ALPHA,
    beta: float = BETA,
    margin: float = MARGIN,
    launches: Launches = STEADY,
) -> UpgradeVerdict:
    """Judge one quantity of a new release against an old one over the same prompts.

    SAME: a change as large as the margin is excluded in both directions (two one-sided t tests at
    ``alpha``), whether or not a smaller change is seen. Otherwise WORSE or BETTER: the paired t
    test excludes "no change", two-sided at ``alpha``. Otherwise INCONCLUSIVE.

    Args:
        pairs: values under both releases; times must be positive.
        quantity: what the values are.
        unpaired: prompts with a value in only one run, for the report.
        alpha: level.
        beta: one minus the power of the least visible loss.
        margin: relative equivalence margin.
        launches: scatter of launches, added to that of the prompts; times on one launch per release
            want ``Launches(LAUNCH_SD)``.

    Raises:
        UsageError: a level or the margin lies outside (0, 1).
        ValueError: a prompt comes twice, or a time is not positive.
    """
    for option, level in (("--alpha", alpha), ("--beta", beta), ("--margin", margin)):
        check_level(option, level)
    if len({p.prompt_id for p in pairs}) < len(pairs):
        raise ValueError("a prompt comes twice")
    if quantity.is_time and not all(p.old > 0 and p.new > 0 for p in pairs):
        raise ValueError("a time is not positive")
    diverged = sum(p.diverged for p in pairs)
    rule = _Rule(quantity, alpha, beta, margin, launches)
    if not pairs:
        return UpgradeVerdict(
            quantity=quantity.value,
            outcome=Change.INCONCLUSIVE,
            reason=_("no prompt has a value under both releases"),
            alpha=alpha,
            beta=beta,
            margin=margin,
            unpaired=unpaired,
            diverged=0,
            findings=(Finding.NO_DATA,),
        )
    result = _compare(pairs, rule)
    agreeing = [p for p in pairs if not p.diverged]
    return UpgradeVerdict(
        quantity=quantity.value,
        outcome=result.outcome,
        reason=_reason(result, rule),
        alpha=alpha,
        beta=beta,
        margin=margin,
        unpaired=unpaired,
        diverged=diverged,
        result=result,
        without_diverged=_compare(agreeing, rule) if diverged and agreeing else None,
        per_domain=_domains(pairs, rule),
        findings=_findings(result.outcome, quantity),
    )


def position_changes(
    both: Sequence[tuple[RequestCounts, RequestCounts]], *, alpha: float = ALPHA
) -> tuple[PositionChange, ...]:
    """Return the change of the mean acceptance at every draft position, old to new.

    Each request's rate at a position is the share of its steps that kept it. The band over
    positions is simultaneous by Bonferroni. Empty unless every request has positions.
    """
    counts = [r.counts for pair in both for r in pair]
    if not counts or not all(c.accepted_per_position for c in counts):
        return ()
    rates = position_table(counts) / np.array([[c.steps] for c in counts])
    old, new = rates[0::2], rates[1::2]
    n, positions = old.shape
    level = 1 - alpha / positions
    changes = []
    for i in range(positions):
        difference = new[:, i] - old[:, i]
        mean = float(difference.mean())
        error = _error(difference) if n > 1 else None
        changes.append(
            PositionChange(
                i + 1,
                float(old[:, i].mean()),
                float(new[:, i].mean()),
                mean,
                None if error is None else _t_interval(mean, error, n, level),
            )
        )
    return tuple(changes)


class _Rule(msgspec.Struct, frozen=True):
    quantity: Quantity
    alpha: float
    beta: float
    margin: float
    launches: Launches


class _Contrast(msgspec.Struct, frozen=True):
    """The relative change with its intervals, and the difference on the scale that is tested.

    For acceptance that is the plain difference and the ratio of the means (Fieller's interval,
    which excludes 1 exactly when the t interval of the difference excludes 0); for times the log
    ratio.
    """

    change: float | None
    interval: Interval | None
    equivalence: Interval | None
    tested: float
    error: float
    reference: float


def _compare(pairs: Sequence[PromptPair], rule: _Rule) -> PairedResult:
    old = np.array([p.old for p in pairs], dtype=np.float64)
    new = np.array([p.new for p in pairs], dtype=np.float64)
    n = len(pairs)
    difference = new - old
    contrast = (_log_ratio if rule.quantity.is_time else _ratio)(old, new, rule)
    p_value = _p_value(contrast.tested, contrast.error, n)
    shown = least_visible(contrast.error, n, rule.alpha / 2, rule.beta)
    if shown is not None and contrast.reference > 0:
        shown = float(np.expm1(shown)) if rule.quantity.is_time else shown / contrast.reference
    return PairedResult(
        outcome=_outcome(contrast, n, p_value, rule),
        pairs=n,
        old=float(old.mean()),
        new=float(new.mean()),
        change=contrast.change,
        interval=contrast.interval,
        equivalence_interval=contrast.equivalence,
        difference=float(difference.mean()),
        difference_interval=None
        if n < 2
        else _t_interval(float(difference.mean()), _error(difference), n, 1 - rule.alpha),
        p_value=p_value,
        least_visible=shown,
    )


def _ratio(old: Floats, new: Floats, rule: _Rule) -> _Contrast:
    n, x, y = old.size, float(old.mean()), float(new.mean())
    if n < 2:
        return _Contrast(y / x - 1 if x else None, None, None, y - x, 0.0, x)
    # One launch multiplies all its prompts, so its scatter adds to the variances of the means only.
    launch = rule.launches.variance
    covariance = np.cov(old, new) / n
    vx, vy = (float(covariance[i, i]) + launch * m**2 for i, m in ((0, x), (1, y)))
    vxy = float(covariance[0, 1])
    error = (_error(new - old) ** 2 + launch * (x**2 + y**2)) ** 0.5

    def fieller(level: float) -> Interval | None:
        if error == 0 and x == y:
            return Interval(0.0, 0.0, level, "no prompt changed")
        t2 = float(stats.t.ppf((1 + level) / 2, n - 1)) ** 2
        a, b, c = x * x - t2 * vx, x * y - t2 * vxy, y * y - t2 * vy
        if a <= 0:
            return None
        root = max(b * b - a * c, 0.0) ** 0.5
        return Interval((b - root) / a - 1, (b + root) / a - 1, level, "Fieller, paired t")

    return _Contrast(
        y / x - 1 if x else None,
        fieller(1 - rule.alpha),
        fieller(1 - 2 * rule.alpha),
        y - x,
        error,
        x,
    )


def _log_ratio(old: Floats, new: Floats, rule: _Rule) -> _Contrast:
    n, log_ratios = old.size, np.log(new / old)
    mean = float(log_ratios.mean())
    change = float(np.expm1(mean))
    if n < 2:
        return _Contrast(change, None, None, mean, 0.0, 1.0)
    error = (_error(log_ratios) ** 2 + 2 * rule.launches.variance) ** 0.5

    def relative(level: float) -> Interval:
        raw = _t_interval(mean, error, n, level)
        low, high = float(np.expm1(raw.low)), float(np.expm1(raw.high))
        return Interval(low, high, level, "paired t of log ratios")

    return _Contrast(
        change, relative(1 - rule.alpha), relative(1 - 2 * rule.alpha), mean, error, 1.0
    )


def _outcome(contrast: _Contrast, n: int, p_value: float | None, rule: _Rule) -> Change:
    e = contrast.equivalence
    if n >= LEAST_PAIRS and e is not None and e.low > -rule.margin and e.high < rule.margin:
        return Change.SAME
    if p_value is None or p_value >= rule.alpha:
        return Change.INCONCLUSIVE
    return Change.BETTER if (contrast.tested > 0) is not rule.quantity.is_time else Change.WORSE


def _domains(pairs: Sequence[PromptPair], rule: _Rule) -> tuple[DomainChange, ...]:
    by_domain: dict[str, list[PromptPair]] = {}
    for pair in pairs:
        by_domain.setdefault(pair.domain, []).append(pair)
    results = {domain: _compare(members, rule) for domain, members in by_domain.items()}
    tested = {d: r.p_value for d, r in results.items() if r.p_value is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    return tuple(
        DomainChange(
            domain,
            result.pairs,
            result.change,
            result.p_value,
            adjusted.get(domain),
            adjusted[domain] < rule.alpha if domain in adjusted else None,
        )
        for domain, result in results.items()
    )


def _findings(outcome: Change, quantity: Quantity) -> tuple[Finding, ...]:
    if outcome is Change.WORSE:
        return (Finding.SPEED_REGRESSION if quantity.is_time else Finding.ACCEPT_REGRESSION,)
    return (Finding.INCONCLUSIVE if outcome is Change.INCONCLUSIVE else Finding.EXPECTED,)


def _reason(r: PairedResult, rule: _Rule) -> str:
    what = _("{quantity} {old:.4g} before and {new:.4g} now on the same {pairs} prompts").format(
        quantity=_(rule.quantity), old=r.old, new=r.new, pairs=r.pairs
    )
    if r.change is None or r.interval is None or r.equivalence_interval is None:
        return _(
            "{what}: too few prompts, or too little acceptance before, for an interval"
        ).format(what=what)
    used = r.equivalence_interval if r.outcome is Change.SAME else r.interval
    what += _(", {change:+.1%} ({level:.0%} interval {low:+.1%} to {high:+.1%})").format(
        change=r.change, level=used.level, low=used.low, high=used.high
    )
    seen = (
        ""
        if r.least_visible is None
        else _("; {loss} of {least_visible:.1%} would show").format(
            loss=_loss(rule), least_visible=r.least_visible
        )
    )
    if r.outcome is Change.SAME:
        return _("{what}: a change of {margin:.0%} either way is excluded{seen}").format(
            what=what, margin=rule.margin, seen=seen
        )
    if r.outcome is Change.INCONCLUSIVE and r.pairs < LEAST_PAIRS:
        return _("{what}: too few prompts (under {least_pairs}) to call it the same{seen}").format(
            what=what, least_pairs=LEAST_PAIRS, seen=seen
        )
    if r.outcome is Change.INCONCLUSIVE:
        return _(
            "{what}: neither a change nor its absence within {margin:.0%} is shown{seen}"
        ).format(what=what, margin=rule.margin, seen=seen)
    return _("{what}: {outcome} beyond chance{seen}").format(
        what=what, outcome=_(_OUTCOMES[r.outcome]), seen=seen
    )


_OUTCOMES = {Change.WORSE: N_("worse"), Change.BETTER: N_("better")}


def _loss(rule: _Rule) -> str:
    return _("a rise") if rule.quantity.is_time else _("a drop")


def _p_value(tested: float, error: float, n: int) -> float | None:
    if n < 2:
        return None
    if error == 0:
        return 0.0 if tested else 1.0
    return float(2 * stats.t.sf(abs(tested) / error, n - 1))


def _error(values: Floats) -> float:
    """Return the standard error of a mean; exactly 0 when rounding is all that varies."""
    error = float(np.std(values, ddof=1)) / values.size**0.5
    return error if error > 1e-12 * float(np.max(np.abs(values), initial=0.0)) else 0.0


def _t_interval(mean: float, error: float, n: int, level: float) -> Interval:
    reach = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    return Interval(mean - reach, mean + reach, level, "paired t")


def _drafting(requests: Sequence[RequestCounts]) -> dict[str, RequestCounts]:
    found = {r.prompt_id: r for r in requests if r.counts.drafted}
    if len({r.prompt_id for r in requests}) < len(requests):
        raise ValueError("a prompt comes twice in one run")
    return found


def _rate(request: RequestCounts) -> float:
    return request.counts.accepted / request.counts.drafted


def _length(request: RequestCounts) -> float:
    return 1 + request.counts.accepted / request.counts.steps
