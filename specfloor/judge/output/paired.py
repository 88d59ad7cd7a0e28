"""Paired outcomes of two arms on the same prompts: is one worse, and by how much at most."""

import functools
import math
from collections.abc import Mapping

import msgspec
from scipy import stats


class Pairs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prompts by outcome: good on ``both``, on ``neither``, ``lost`` and ``gained`` by the first.

    ``lost`` are good on the second arm alone, ``gained`` on the first alone.
    """

    both: int
    lost: int
    gained: int
    neither: int

    @property
    def prompts(self) -> int:
        """How many prompts there are."""
        return self.both + self.lost + self.gained + self.neither

    @property
    def p_first_worse(self) -> float:
        """The one-sided p-value of "the first arm is not worse" (McNemar's exact test)."""
        return _sign(self.lost, self.gained)

    @property
    def p_second_worse(self) -> float:
        """The same of the second arm."""
        return _sign(self.gained, self.lost)

    def loss_at_most(self, beta: float) -> float:
        """Return the upper limit of the loss, one-sided at level 1 − ``beta``.

        The larger of two limits: Bonett and Price's adjusted Wald limit of a paired difference
        ("Adjusted Wald confidence interval for a difference of binomial proportions based on paired
        data", J. Educ. Behav. Stat. 2012), and Clopper and Pearson's of the share lost, less the
        share gained, which is exact where nothing is gained and the first is too narrow.
        """
        n = self.prompts
        lost, gained = (self.lost + 1) / (n + 2), (self.gained + 1) / (n + 2)
        error = math.sqrt((lost + gained - (lost - gained) ** 2) / (n + 2))
        wald = lost - gained + float(stats.norm.ppf(1 - beta)) * error
        exact = (
            1.0 if self.lost == n else float(stats.beta.ppf(1 - beta, self.lost + 1, n - self.lost))
        )
        return max(wald, exact - self.gained / n)


def pair(first: Mapping[str, bool], second: Mapping[str, bool]) -> Pairs:
    """Count the prompts that both have by outcome."""
    both = [(good, second[prompt]) for prompt, good in first.items() if prompt in second]
    return Pairs(
        both=both.count((True, True)),
        lost=both.count((False, True)),
        gained=both.count((True, False)),
        neither=both.count((False, False)),
    )


@functools.cache
def _sign(more: int, fewer: int) -> float:
    if more + fewer == 0:
        return 1.0
    return float(stats.binomtest(more, more + fewer, 0.5, alternative="greater").pvalue)
