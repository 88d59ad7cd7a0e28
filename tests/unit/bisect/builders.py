"""Searches that need no engine."""

import datetime

from specfloor.bisect.run import Measured
from specfloor.bisect.search import Answer
from specfloor.bisect.state import Candidate, Question, State
from specfloor.cells import Cell
from specfloor.judge.floors import Floor, Quantity

CELL = Cell("0.18.0", "glm-5", "mtp", 3, "code", "on", 1)
FLOOR = Floor(
    family="glm-5",
    method="mtp",
    quantity=Quantity.ACCEPTANCE_RATE,
    value=0.8,
    source="this test",
    date=datetime.date(2026, 5, 1),
    hardware="none",
    reason="as measured",
    n=40,
)


def state_of(names, *, floor=FLOOR, weights=None, **changes):
    fields = {
        "cell": CELL,
        "candidates": tuple(Candidate(name, name) for name in names),
        "order": "as given",
        "weights": tuple(weights or [1.0] * (len(names) - 1)),
        "prior": "alike",
        "alpha": 0.05,
        "beta": 0.05,
        "margin": 0.05,
        "population": "fixed",
        "seed": 1,
        "both_arms": False,
        "attempts": 2,
    }
    return State(question=Question(**(fields | changes)), floor=floor)


class Bench:
    """Answers as told, by name; a list is used up one launch at a time."""

    def __init__(self, answers, *, floor=FLOOR):
        self._answers = {name: list(told) for name, told in answers.items()}
        self._floor = floor
        self.launched = []
        self.shares = []

    def __call__(self, candidate, floor, share):
        self.launched.append(candidate.name)
        self.shares.append(share)
        told = self._answers[candidate.name]
        answer = told.pop(0) if len(told) > 1 else told[0]
        fresh = self._floor if floor is None and answer is Answer.GOOD else None
        return Measured(answer, f"it is {answer}", 0.5, 1, f"probes/{candidate.name}", fresh)


def truth(names, first_bad):
    """Return the answers of releases of which one is the first bad."""
    return {
        name: [Answer.GOOD if place < first_bad else Answer.BAD] for place, name in enumerate(names)
    }
