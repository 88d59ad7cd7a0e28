"""What a judgement says: verdicts, estimates that name what they estimate, and their evidence."""

from enum import StrEnum
from typing import Literal

import msgspec

from specfloor.errors import UsageError
from specfloor.signals.counts import DraftCounts, Rung
from specfloor.triage.findings import Finding

ALPHA = 0.05
"""Default chance of a FAIL at the floor."""
BETA = 0.05
"""Default chance of a PASS when the truth is ``MARGIN`` under the floor, or further."""
MARGIN = 0.05
"""Default regression that a PASS excludes, as a share of the floor; also the equivalence margin
of an upgrade. Five percent is the tolerance vLLM's own acceptance tests use."""


class Verdict(StrEnum):
    """What is said of one cell and its floor. No data never passes."""

    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    NO_DATA = "NO_DATA"


class Change(StrEnum):
    """What is said of a new release against an old one."""

    SAME = "SAME"
    BETTER = "BETTER"
    WORSE = "WORSE"
    INCONCLUSIVE = "INCONCLUSIVE"


class Interval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An interval of confidence ``level``; ``method`` says how it was made."""

    low: float
    high: float
    level: float
    method: str


class Estimate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number from ``n`` requests, with what kind of number it is.

    ``how`` is ``pooled`` (counts summed, then divided: long requests weigh more) or
    ``mean over requests`` (every request weighs the same).
    """

    value: float
    how: Literal["pooled", "mean over requests"]
    n: int
    interval: Interval | None = None


class DomainAcceptance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The acceptance rate of one domain.

    ``p_value`` is against the floor (small: the domain lies below it), ``p_holm`` the same
    adjusted over the domains by Holm's method; both are None without a floor. ``below`` is
    whether the adjusted value is under alpha.
    """

    domain: str
    pooled: Estimate
    mean: Estimate
    p_value: float | None = None
    p_holm: float | None = None
    below: bool | None = None


class HeadAcceptance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The acceptance rate over the first ``steps`` steps of every request."""

    steps: int
    pooled: Estimate
    mean: Estimate


class AcceptanceSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What some requests say about acceptance, without a floor.

    All intervals suppose a number of requests fixed beforehand and prompts like these; after an
    early stop they are indicative, and the interval of the verdict is the one to quote.

    ``without_drafts`` requests made no draft; they carry no rate and are in no estimate.
    ``design_effect`` is the variance of the pooled rate over what independent tokens would have.
    ``least_visible_drop`` is the relative drop of the mean rate that this many requests show with
    power 1 − beta at level alpha. The intervals of ``per_position`` hold together at 95 %.
    """

    counts: DraftCounts
    requests: int
    without_drafts: int
    rate_pooled: Estimate
    rate_mean: Estimate
    length_pooled: Estimate
    length_mean: Estimate
    design_effect: float | None
    least_visible_drop: float | None
    per_position: tuple[Estimate, ...]
    per_domain: tuple[DomainAcceptance, ...]
    head: HeadAcceptance | None


class AcceptanceVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on an acceptance floor.

    ``mean`` (the quantity judged) and ``pooled`` are in the unit of the floor. The interval of
    ``mean`` is the sequential test inverted (``stopped_early``, or a sampled workload) or a t
    interval over the requests of a complete prompt set; ``pooled`` has an interval only in the
    latter case. ``n`` requests carried a rate, of ``population`` prompts (None: the workload is a
    sample). ``decided_at`` is the number of requests after which the verdict stood,
    ``still_needed`` how many more an INCONCLUSIVE verdict wants. ``looping`` counts the texts
    that repeat themselves.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    reason: str
    unit: Literal["rate", "length"]
    floor: float
    alpha: float
    beta: float
    margin: float
    n: int
    population: int | None
    stopped_early: bool
    decided_at: int | None = None
    still_needed: int | None = None
    mean: Estimate | None = None
    pooled: Estimate | None = None
    least_visible_drop: float | None = None
    looping: int | None = None
    summary: AcceptanceSummary | None = None
    rung: Rung | None = None


class WithinLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The speedup inside one pair of launches.

    The interval is over prompts: it says nothing about other launches and decides nothing.
    """

    repeat: int
    speedup: float
    prompts: int
    interval: Interval | None


class SpeedSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What some pairs of launches say about the speedup, without a floor.

    ``speedup`` is the geometric mean over pairs of launches of time per output token, off over
    on; ``interval`` is over launches and None with a single pair, where ``supposed_interval``
    says what could not be excluded if launches scattered by ``scatter``. ``scatter`` is the
    standard deviation of the log time of one launch and ``scatter_from`` says whether it was
    measured. ``speedup`` ≈ ``length`` ÷ ``step_cost``, the time of a step with drafts over one
    without.
    """

    speedup: float
    launches: int
    interval: Interval | None
    supposed_interval: Interval | None
    scatter: float
    scatter_from: Literal["measured", "prior"]
    within: tuple[WithinLaunch, ...]
    length: float | None
    step_cost: float | None


class SpeedVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on a speedup floor; ``launches_needed`` are per arm, in all."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    reason: str
    floor: float
    alpha: float
    beta: float
    launches: int
    launches_needed: int | None = None
    summary: SpeedSummary | None = None


class PairedResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Old against new on the same prompts.

    ``change`` is relative (−0.03: the new one is 3 % lower); it is the ratio of the means for
    acceptance, and of the geometric means for times. ``interval`` (level 1 − alpha) decides
    BETTER and WORSE, ``equivalence_interval`` (level 1 − 2 alpha) decides SAME.
    ``least_visible`` is the least relative loss that this many prompts show with power
    1 − beta.
    """

    outcome: Change
    pairs: int
    old: float
    new: float
    change: float | None
    interval: Interval | None
    equivalence_interval: Interval | None
    difference: float
    difference_interval: Interval | None
    p_value: float | None
    least_visible: float | None


class DomainChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The change in one domain; ``changed`` is whether Holm's adjusted value is under alpha."""

    domain: str
    pairs: int
    change: float | None
    p_value: float | None
    p_holm: float | None
    changed: bool | None


class PositionChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The change of the acceptance at one draft position, counted from 1, in absolute terms.

    The intervals of all positions hold together at level 1 − alpha.
    """

    position: int
    old: float
    new: float
    difference: float
    interval: Interval | None


class UpgradeVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on one quantity of a new release against an old one, paired by prompt.

    ``without_diverged`` is the same judgement on the prompts whose texts agree, when some do not.
    ``unpaired`` prompts had a value in only one of the runs and are in no estimate.
    """

    quantity: str
    outcome: Change
    reason: str
    alpha: float
    beta: float
    margin: float
    unpaired: int
    diverged: int
    result: PairedResult | None = None
    without_diverged: PairedResult | None = None
    per_domain: tuple[DomainChange, ...] = ()
    per_position: tuple[PositionChange, ...] = ()
    findings: tuple[Finding, ...] = ()


def check_level(option: str, value: float) -> None:
    """Raise UsageError unless ``value`` lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise UsageError(
            f"{option} must lie strictly between 0 and 1, not {value}; the default is 0.05"
        )
