"""Requests drawn from a known law, for the simulations and the tests of the error rates.

Each request has its own per-token acceptance p, from a Beta law around a mean; a step accepts
token after token with probability p until one is refused or k are accepted. Within a request p may
wander: then every block of steps draws its own p around the request's.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from specfloor.signals.counts import DraftCounts, RequestCounts

Floats = NDArray[np.float64]
Shape = int | tuple[int, ...]


@dataclass(frozen=True)
class Law:
    """The law of a request.

    ``mean`` and ``sd`` are of the per-token acceptance between requests; ``block`` is the number of
    steps that share a p (0: all of them) and ``block_sd`` the standard deviation of p between the
    blocks of a request of mean acceptance.
    """

    mean: float
    sd: float
    k: int = 3
    steps: int = 90
    block: int = 0
    block_sd: float = 0.0

    @property
    def label(self) -> str:
        """The law as a row of a table names it."""
        wander = ", p wanders" if self.block else ""
        return f"k {self.k}, SD {self.sd:.2f}, {self.steps} steps{wander}"


def rate_of(p: ArrayLike, k: int) -> Floats:
    """Return the expected acceptance rate at per-token acceptance p: (p + p² + … + pᵏ) ÷ k."""
    return np.mean([np.power(p, i) for i in range(1, k + 1)], axis=0)


def acceptances(law: Law, size: Shape, rng: np.random.Generator) -> Floats:
    """Draw per-token acceptances of requests."""
    return _beta(np.full(size, law.mean), law.sd, law.mean, rng)


def kept_of(p: Floats, steps: ArrayLike, k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw accepted tokens per position at per-token acceptance ``p``: the shape of p, then k."""
    kept = np.broadcast_to(np.asarray(steps, dtype=np.int64), p.shape)
    positions = np.empty((*p.shape, k), dtype=np.int64)
    for i in range(k):
        kept = rng.binomial(kept, p)
        positions[..., i] = kept
    return positions


def accepted(p: Floats, law: Law, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw accepted tokens per position of requests of acceptance ``p`` under a law."""
    if not law.block:
        return kept_of(p, law.steps, law.k, rng)
    total = np.zeros((*p.shape, law.k), dtype=np.int64)
    for start in range(0, law.steps, law.block):
        of_block = _beta(p, law.block_sd, law.mean, rng)
        total += kept_of(of_block, min(law.block, law.steps - start), law.k, rng)
    return total


def rates(law: Law, size: Shape, rng: np.random.Generator) -> Floats:
    """Draw acceptance rates of requests."""
    return accepted(acceptances(law, size, rng), law, rng).mean(axis=-1) / law.steps


def requests(law: Law, n: int, rng: np.random.Generator) -> list[RequestCounts]:
    """Draw requests as the judge takes them, in two domains by turns."""
    table = accepted(acceptances(law, n, rng), law, rng)
    return [
        RequestCounts(
            f"p{i:03}",
            ("code", "chat")[i % 2],
            DraftCounts(law.steps, law.k * law.steps, int(row.sum()), tuple(map(int, row))),
        )
        for i, row in enumerate(table)
    ]


def dropped(law: Law, drop: float) -> Law:
    """Return the law whose rate at the mean acceptance is lower by ``drop`` (relative)."""
    if not drop:
        return law
    target = (1 - drop) * float(rate_of(law.mean, law.k))
    mean = optimize.brentq(lambda p: float(rate_of(p, law.k)) - target, 1e-6, law.mean)
    return replace(law, mean=float(mean))


def _beta(mean: Floats, sd: float, typical: float, rng: np.random.Generator) -> Floats:
    """Draw Beta variables of given means whose standard deviation is ``sd`` at ``typical``."""
    weight = typical * (1 - typical) / sd**2 - 1
    a = np.clip(mean, 1e-9, 1 - 1e-9) * weight
    return rng.beta(a, weight - a)
