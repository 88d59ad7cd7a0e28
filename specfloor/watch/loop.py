"""Reading endpoints in step with the clock until told to stop."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from specfloor.watch.endpoint import Rename, Sample, fetch
from specfloor.watch.guard import Guarded, judge
from specfloor.watch.show import describe
from specfloor.watch.state import Summary, View, Watch

_TIMEOUT_S = 5.0
"""For an answer; an endpoint under load answers /metrics late, and is no less alive for it."""

Read = Callable[[], Mapping[str, Sample]]


class Settings(msgspec.Struct, frozen=True):
    """What to watch and how; times in seconds, ``readings`` None for no end."""

    urls: tuple[str, ...]
    period_s: float
    over_s: float
    floor: float | None = None
    readings: int | None = None


class Ended(msgspec.Struct, frozen=True):
    """How a watch ended.

    ``judged`` windows were held against the floor, of which ``below`` says what fell below it;
    ``answering`` is whether every endpoint gave its counters at the last reading.
    """

    summary: Summary
    judged: int
    below: str | None
    answering: bool


@contextlib.contextmanager
def over_http(urls: Sequence[str], renames: Sequence[Rename]) -> Iterator[Read]:
    """Give what reads all endpoints at once, so that one that hangs does not delay the others."""
    with ThreadPoolExecutor(len(urls)) as pool:

        def read() -> dict[str, Sample]:
            found = pool.map(lambda url: fetch(url, _TIMEOUT_S, renames), urls)
            return dict(zip(urls, found, strict=True))

        yield read


def steady_clock() -> Callable[[], float]:
    """Return a clock of Unix time that does not jump when the machine's is set."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


def run(
    settings: Settings,
    read: Read,
    show: Callable[[View], None],
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Ended:
    """Watch until all readings are taken, the floor is broken or the user interrupts."""
    watch = Watch(settings.urls, settings.over_s)
    judged, below, answering, taken = 0, None, False, 0
    due = clock()
    with contextlib.suppress(KeyboardInterrupt):
        while below is None and taken != settings.readings:
            if taken:
                due = max(due + settings.period_s, clock())
                sleep(max(0.0, due - clock()))
            samples = read()
            at = clock()
            if not taken:
                due = at  # a first answer that comes late must not shorten the first window
            view = watch.take(at, samples)
            taken += 1
            answering = all(endpoint.problem is None for endpoint in view.endpoints)
            if settings.floor is not None:
                found = judge(view, settings.floor, settings.over_s)
                judged += found.judged
                below = _below(found, view, settings.floor)
            show(view)
    return Ended(watch.summary(), judged, below, answering)


def _below(found: Guarded, view: View, floor: float) -> str | None:
    if not found.below:
        return None
    told = (
        f"{describe(engine, view)} {engine.recent.counts.rate or 0.0:.1%} "
        f"({engine.recent.counts.accepted:,} of {engine.recent.counts.drafted:,} draft tokens "
        f"in {engine.recent.seconds:.0f} s)"
        for engine in found.below
    )
    return f"acceptance fell below the floor of {floor:.1%}: {'; '.join(told)}"
