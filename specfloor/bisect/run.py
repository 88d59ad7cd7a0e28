"""The search as it runs: launch what the plan says, take the answer, plan again."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from specfloor.bisect.search import Answer, Contradiction, Probe, next_probe
from specfloor.bisect.state import Candidate, Done, State
from specfloor.judge.floors import Floor
from specfloor.measure import Say


class Measured(msgspec.Struct, frozen=True):
    """What one launch said.

    ``run`` is the folder of its records; ``floor`` what it supports as a floor, where it was
    measured for one.
    """

    answer: Answer
    reason: str
    rate: float | None
    launches: int
    run: str
    floor: Floor | None = None


class Measure(Protocol):
    """Launches a candidate and judges it."""

    def __call__(self, candidate: Candidate, floor: Floor | None, share: float) -> Measured:
        """Measure a candidate.

        Args:
            candidate: what to launch.
            floor: what to judge by; None measures the whole prompt set, for a floor.
            share: the part of the search's alpha and beta to judge at.
        """


def search(state: State, measure: Measure, save: Callable[[State], None], say: Say) -> State:
    """Go on with a search until no launch would tell more; return what it came to.

    Every judgement takes a part of the alpha and beta that are left: one for each launch still to
    come at most, and one kept for what may come besides, so that the search as a whole keeps both
    whatever it meets. Without a floor the good end is measured first and gives it.

    Args:
        state: where to go on.
        measure: measures one candidate.
        save: keeps the state after each probe.
        say: takes a line for the user.
    """
    question = state.question
    while probe := upcoming(state):
        candidate = question.candidates[probe.place]
        say(
            f"launch {state.launches + 1}: {candidate.name}; about {probe.expected:.1f} launches "
            f"are left in the mean, at most {probe.worst}"
        )
        share = state.left / (probe.worst + 1)
        found = measure(candidate, state.floor, share)
        judged = state.floor is not None
        done = Done(
            place=probe.place,
            answer=found.answer,
            reason=found.reason,
            rate=found.rate,
            launches=found.launches,
            share=share if judged else 0.0,
            run=found.run,
        )
        state = state.with_done(done)
        if found.floor is not None:
            state = msgspec.structs.replace(state, floor=found.floor)
        save(state)
        say(f"{candidate.name}: {found.answer}. {found.reason}")
    return state


def upcoming(state: State) -> Probe | None:
    """Return what to launch next; None when a search has ended, well or not.

    The good end comes first where it gives the floor, and next where a release did not run before
    any did: if that does not run either, the fault is rather in how they are started.
    """
    question, answers = state.question, state.answers()
    if state.floor is None or state.in_vain:
        if 0 in answers:
            return None
        then = next_probe(question.weights, {**answers, 0: Answer.GOOD})
        return Probe(0, 1 + then.expected, 1 + then.worst) if then else Probe(0, 1, 1)
    try:
        return next_probe(question.weights, answers)
    except Contradiction:
        return None
