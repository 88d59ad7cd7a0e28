"""Open loop: requests that come when they come, however many are still being served."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from specfloor.load.workload import Prompt


class OpenLoop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When requests are due, fixed before the first of them is sent.

    ``rate_per_s`` is the mean rate that was asked for, in requests a second; ``due_s`` are seconds
    after the start of the block, ascending, one for each prompt in its order.
    """

    rate_per_s: float
    due_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if list(self.due_s) != sorted(self.due_s):
            raise ValueError("requests are due in their order")


def poisson(rate_per_s: float, requests: int, seed: int) -> OpenLoop:
    """Return Poisson arrivals: gaps are exponential and independent, as of many independent users.

    The same seed gives the same pattern at every rate, only stretched, so that rates are compared
    on one pattern.

    Raises:
        ValueError: the rate is not positive.
    """
    if not rate_per_s > 0:
        raise ValueError(f"a rate of {rate_per_s:g} requests a second sends nothing")
    gaps = np.random.default_rng([seed, 1]).exponential(size=requests)
    return OpenLoop(rate_per_s, tuple(float(due) for due in np.cumsum(gaps) / rate_per_s))


def blend(classes: Mapping[str, Sequence[Prompt]], each: int, seed: int) -> tuple[Prompt, ...]:
    """Return ``each`` requests of every class, mixed in an order that only the seed decides.

    The prompts of a class come in their order, over again as often as needed. The domain of each is
    its class, so that what is measured can be told apart by it.

    Raises:
        ValueError: a class has no prompt.
    """
    if empty := [name for name, prompts in classes.items() if not prompts]:
        raise ValueError(f"no prompts for {', '.join(empty)}")
    order = np.random.default_rng([seed, 2]).permutation(np.repeat(np.arange(len(classes)), each))
    sources = [_endless(name, prompts) for name, prompts in classes.items()]
    return tuple(next(sources[i]) for i in order)


def _endless(domain: str, prompts: Sequence[Prompt]) -> Iterator[Prompt]:
    return itertools.cycle([msgspec.structs.replace(p, domain=domain) for p in prompts])
