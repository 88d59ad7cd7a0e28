"""What a draft has to give to pay: its acceptance length against the cost of a step. Pure.

A step with drafts takes ``step_cost`` times as long as one without and gives ``length`` tokens, so
speculation pays when the length is over that cost. Both follow from the two arms of one load, and
need no baseline; whether a length is as it should be does.
"""

import msgspec

from specfloor.i18n import _
from specfloor.triage.standing import LEAST_TOKENS, half_width
from specfloor.triage.tally import Tally


class Balance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An arm with drafts against one without.

    ``length`` is the acceptance length, ``least`` what the sample excludes that it is below (95 %,
    for tokens that come in requests), ``most`` what it would be with every draft token accepted.
    ``speed`` is the speed with drafts over that without, None where the arms do not tell.
    """

    length: float
    least: float
    most: float
    speed: float | None = None

    @property
    def step_cost(self) -> float | None:
        """The time of a step with drafts over that of one without; None where not known."""
        return self.length / self.speed if self.speed else None

    @property
    def left(self) -> float:
        """The speed that a draft of which nothing is rejected would add at most, as a fraction."""
        return self.most / self.least - 1


def balance_of(tally: Tally | None, k: int | None, speed: float | None) -> Balance | None:
    """Return the balance of an arm; None where its length is not known, or of too few drafts.

    Args:
        tally: what was drafted and accepted.
        k: ``num_speculative_tokens``, where known; drafts can be shorter.
        speed: the speed of the arm over that of the one without drafts.
    """
    if tally is None or tally.rate is None or not tally.drafts or not tally.length:
        return None
    if tally.draft_tokens < LEAST_TOKENS:
        return None
    drafted = tally.draft_tokens / tally.drafts
    least = 1 + max(0.0, tally.rate - half_width(tally, tally.rate)) * drafted
    most = 1 + max(drafted, k or 0)
    return Balance(tally.length, min(least, tally.length), max(most, tally.length), speed)


def break_even(balance: Balance) -> str | None:
    """Return which length would make up for the cost of a step; None where that is not known."""
    cost = balance.step_cost
    if cost is None:
        return None
    if cost > balance.most:
        return _(
            "a step with drafts costs {cost:.2f} steps without, so it would be slower even with "
            "every draft token accepted (length {most:.2f})"
        ).format(cost=cost, most=balance.most)
    return _(
        "a step with drafts costs {cost:.2f} steps without, so a length of {cost:.2f} would break "
        "even (a rate of {rate:.0%}) and {length:.2f} does not"
    ).format(cost=cost, length=balance.length, rate=(cost - 1) / (balance.most - 1))
