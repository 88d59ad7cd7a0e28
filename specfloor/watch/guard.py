"""A floor held against what is measured now."""

from collections.abc import Iterator

import msgspec

from specfloor.triage.standing import ZERO_TOKENS
from specfloor.watch.state import Engine, View

LEAST_DRAFTED = ZERO_TOKENS
"""Draft tokens in a window before it is judged; the rate of fewer is mostly scatter."""
_COVERED = 0.9
"""Share of the window that must have been watched; readings are never exactly on time."""


class Guarded(msgspec.Struct, frozen=True):
    """How many windows were judged in a view, and those below the floor."""

    judged: int
    below: tuple[Engine, ...]


def judge(view: View, floor: float, over_s: float) -> Guarded:
    """Hold every engine, and all of them together, against a floor of the acceptance rate.

    A window that was watched too short or drafted too little is not judged, and neither is an
    engine that says no rate of now: no data is not a pass.
    """
    judged = [engine for engine in _all(view) if _is_enough(engine, over_s)]
    return Guarded(len(judged), tuple(e for e in judged if (e.recent.counts.rate or 0.0) < floor))


def _all(view: View) -> Iterator[Engine]:
    yield from view.engines
    if view.total is not None and len(view.engines) > 1:
        yield view.total


def _is_enough(engine: Engine, over_s: float) -> bool:
    recent = engine.recent
    return recent.seconds >= _COVERED * over_s and recent.counts.drafted >= LEAST_DRAFTED
