"""Whether acceptance falls while a server runs: the first part of a soak against the last.

The same prompts go round for the whole soak, so each request of the first window has one of the
same prompt in the last. Without drift either could have been the earlier one, and the difference of
a pair is as often up as down, whatever the prompts are. Two gamblers bet on the pairs one after the
other, as in :mod:`specfloor.judge.sequential`: one that the last window lies lower, one that it
does not lie a margin lower. Their wealth is an e-process, so the first is sure by chance with
probability at most alpha, the second with at most beta, however many pairs there are.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from specfloor.judge.sequential import SequentialTest
from specfloor.judge.verdict import Verdict

Floats = NDArray[np.float64]

WINDOW = 1 / 3
"""Share of the soak that each window is: large enough to pair most requests, and with a middle in
between, so that a fall that goes on is seen whole."""
LEVEL = 0.6
"""Acceptance rate for which the bets grow fastest; drafts in use accept 0.4 to 0.9."""
_MOST = 700.0  # the logarithm of about the largest float


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request of a soak that drafted: ``number`` is its place in it, from 1.

    ``at_s`` is when it was sent, in seconds since the soak began.
    """

    number: int
    at_s: float
    prompt_id: str
    rate: float


class Drift(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first window against the last.

    ``first`` and ``last`` are mean rates over the ``pairs``, None without any. ``e_fell`` is the
    evidence that acceptance fell and ``e_held`` that it did not fall by the margin, as wealth of a
    gambler who began with 1: FAIL and PASS need 1 over their error rate. ``longer`` is about how
    many times as long an INCONCLUSIVE soak should last, None where that cannot be said.
    """

    verdict: Verdict
    pairs: int
    first: float | None = None
    last: float | None = None
    e_fell: float = 1.0
    e_held: float = 1.0
    longer: float | None = None

    @property
    def change(self) -> float | None:
        """The relative change from the first window to the last."""
        return self.last / self.first - 1 if self.first and self.last is not None else None


def judge_drift(samples: Sequence[Sample], *, alpha: float, beta: float, margin: float) -> Drift:
    """Judge a soak: PASS when a fall by ``margin`` is excluded, else FAIL when acceptance fell.

    Args:
        samples: in the order they were sent.
        alpha: chance of FAIL without drift.
        beta: chance of PASS with a fall by ``margin`` or more.
        margin: as a share of the first window's acceptance.
    """
    pairs = pair_windows(samples)
    if not pairs:
        return Drift(Verdict.NO_DATA, 0)
    first, last = np.transpose(pairs)
    fell_null, fell_far = fall_bounds(margin)
    held_null, held_far = hold_bounds(margin)
    fell = SequentialTest(fell_null, fell_far, alpha=alpha, beta=beta)
    held = SequentialTest(held_far, held_null, alpha=alpha, beta=beta)
    most_fell = -math.inf
    falls, holds = fall_scores(first, last), hold_scores(first, last, margin)
    for fall, hold in zip(falls, holds, strict=True):
        fell.observe(float(fall))
        held.observe(float(hold))
        # a wealth that was reached stays evidence, whatever comes after (Ville); but a soak that
        # held until shortly before its end has not held, so there the last wealth counts
        most_fell = max(most_fell, fell.log_e_below)
    last_held = held.log_e_above
    verdict = Verdict.INCONCLUSIVE
    # first: a fall that is shown, and shown to be less than the margin, is none to fail by
    if last_held >= -math.log(beta):
        verdict = Verdict.PASS
    elif most_fell >= -math.log(alpha):
        verdict = Verdict.FAIL
    missing = max(most_fell / -math.log(alpha), last_held / -math.log(beta))
    undecided = verdict is Verdict.INCONCLUSIVE and missing > 0
    return Drift(
        verdict=verdict,
        pairs=len(pairs),
        first=float(first.mean()),
        last=float(last.mean()),
        e_fell=math.exp(min(most_fell, _MOST)),
        e_held=math.exp(min(last_held, _MOST)),
        longer=max(1.0, 1 / missing) if undecided else None,
    )


def pair_windows(samples: Sequence[Sample]) -> list[tuple[float, float]]:
    """Return the rates of the same prompt in the first and in the last window.

    Each request is in one pair at most, and the pairs are in the order of the last window.
    """
    size = int(len(samples) * WINDOW)
    if not size:
        return []
    waiting: dict[str, list[float]] = defaultdict(list)
    for sample in reversed(samples[:size]):
        waiting[sample.prompt_id].append(sample.rate)
    return [
        (waiting[sample.prompt_id].pop(), sample.rate)
        for sample in samples[-size:]
        if waiting[sample.prompt_id]
    ]


def fall_scores(first: Floats, last: Floats) -> Floats:
    """Return scores in [0, 1] whose mean is a half without drift, and lower after a fall."""
    return (1 + last - first) / 2


def fall_bounds(margin: float) -> tuple[float, float]:
    """Return the mean of :func:`fall_scores` without drift, and after a fall by the margin."""
    return 0.5, 0.5 - margin * LEVEL / 2


def hold_scores(first: Floats, last: Floats, margin: float) -> Floats:
    """Return scores in [0, 1] whose mean is that of :func:`hold_bounds` after a fall by the margin.

    That fall is a share of the first window's mean, and the scores are linear in both windows, so
    their mean is the same whatever that is.
    """
    kept = 1 - margin
    return (last - kept * first + kept) / (1 + kept)


def hold_bounds(margin: float) -> tuple[float, float]:
    """Return the mean of :func:`hold_scores` after a fall by the margin, and without drift."""
    kept = 1 - margin
    return kept / (1 + kept), (kept + margin * LEVEL) / (1 + kept)
