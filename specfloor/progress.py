"""How far a launch has come and how long it will still take, for people who wait."""

import time
from collections.abc import Callable

EVERY_S = 10.0
"""Seconds between two lines: what takes no longer needs none."""
_SHARE = 0.02
"""Of what is left when a line is said, until the next one: long runs say less often."""


class Progress:
    """Says every so often how much of the blocks of one launch is done.

    The time left is taken from the blocks that are limited in time and, for the rest, from how long
    requests of the block at hand have taken so far.

    Args:
        sizes: requests of each block, or its seconds where it is limited in time.
        say: takes one line.
        clock: gives seconds.
    """

    def __init__(
        self,
        sizes: list[tuple[int, float | None]],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._sizes = sizes
        self._say = say
        self._clock = clock
        self._block = -1
        self._done = 0
        self._began = 0.0
        self._next = 0.0

    def begin(self) -> None:
        """Begin the next block."""
        self._block += 1
        self._done = 0
        self._began = self._clock()
        if self._block == 0:
            self._next = self._began + EVERY_S

    def count(self) -> None:
        """Take one request that has ended."""
        self._done += 1
        now = self._clock()
        if now < self._next:
            return
        left = self._left(now - self._began)
        self._next = now + max(EVERY_S, _SHARE * left)
        requests, seconds = self._sizes[self._block]
        of = f"of {requests} requests" if seconds is None else "requests"
        place = f"block {self._block + 1} of {len(self._sizes)}, " if len(self._sizes) > 1 else ""
        self._say(f"    {place}{self._done} {of}, about {_duration(left)} left")

    def _left(self, passed: float) -> float:
        """Return the seconds that this block and those after it still take."""
        each = passed / self._done
        requests, seconds = self._sizes[self._block]
        here = (requests - self._done) * each if seconds is None else seconds - passed
        after = sum(n * each if s is None else s for n, s in self._sizes[self._block + 1 :])
        return max(0.0, here) + after


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class LaunchProgress:
    """Says which launch of an experiment begins, and how long those that are left will take.

    Args:
        what: the experiment.
        launches: how many it needs.
        say: takes one line.
        clock: gives seconds.
    """

    def __init__(
        self,
        what: str,
        launches: int,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._what = what
        self._launches = launches
        self._say = say
        self._clock = clock
        self._started = 0
        self._began = clock()

    def begin(self, launch: str) -> None:
        """Say that a launch begins; ``launch`` names it."""
        left = ""
        if self._started:
            each = (self._clock() - self._began) / self._started
            left = f", about {_duration(each * (self._launches - self._started))} left"
        self._started += 1
        self._say(f"{self._what}: launch {self._started} of {self._launches}, {launch}{left}")
