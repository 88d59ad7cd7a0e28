"""What a search is about and how far it has come, in a file of its folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from specfloor.bisect.search import Answer
from specfloor.cells import Cell
from specfloor.engines.routes import Route
from specfloor.errors import UsageError
from specfloor.judge.floors import Floor
from specfloor.whole import write_whole

STATE = "bisect.json"
SCHEMA = 1
"""Version of the shape of the state file; a file of another is refused."""


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One place of the line: its name, the catalogue's release it is taken for, its engine.

    ``route`` None is the usual way to the release.
    """

    name: str
    release: str
    route: Route | None = None


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that decides what a search does; the same question goes on where it stopped.

    ``cell`` is that of the good end. ``order`` and ``prior`` say where the line and the weights are
    from. ``alpha`` and ``beta`` are for the whole search: that of naming a release too early, and
    too late. ``attempts`` are the launches a release gets at most until it decides.
    """

    cell: Cell
    candidates: tuple[Candidate, ...]
    order: str
    left_out: dict[str, str] = {}
    weights: tuple[float, ...]
    prior: str
    alpha: float
    beta: float
    margin: float
    population: Literal["fixed", "sampled"]
    seed: int
    both_arms: bool
    attempts: int

    @property
    def ends(self) -> int:
        """The place of the bad end."""
        return len(self.candidates) - 1


class Done(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One probe that has been made: what it said and where its records are.

    ``rate`` is the mean over requests. ``launches`` is 0 and ``run`` None for what was known not to
    run. ``share`` is the part of alpha and beta that it was judged at.
    """

    place: int
    answer: Answer
    reason: str
    rate: float | None = None
    launches: int = 0
    share: float = 0.0
    run: str | None = None


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A search so far. ``floor`` is None until the good end has given one."""

    schema: int = SCHEMA
    question: Question
    floor: Floor | None
    done: tuple[Done, ...] = ()

    def answers(self) -> Mapping[int, Answer]:
        """Return the answer of every place that is not to be launched again.

        What did not decide is launched again, as often as the question allows.
        """
        found: dict[int, Answer] = {}
        for one in self.done:
            tries = sum(other.place == one.place for other in self.done)
            if one.answer is not Answer.UNKNOWN or tries >= self.question.attempts:
                found[one.place] = one.answer
        return found

    @property
    def left(self) -> float:
        """The part of alpha and beta that is not spent."""
        return 1 - sum(one.share for one in self.done)

    @property
    def launches(self) -> int:
        """Servers started so far."""
        return sum(one.launches for one in self.done)

    @property
    def in_vain(self) -> bool:
        """Whether releases were launched and none has run; the good end may still be to come.

        False where the good end is known not to run here: then another may well not run either.
        """
        launched = [one for one in self.done if one.launches]
        return (
            bool(launched)
            and all(one.answer is Answer.SKIP for one in launched)
            and not any(one.place == 0 and not one.launches for one in self.done)
        )

    def with_done(self, done: Done) -> "State":
        """Return the state after a probe."""
        return msgspec.structs.replace(self, done=(*self.done, done))


def save(state: State, folder: Path) -> None:
    """Write the state file, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.encode(state, enc_hook=str)
    write_whole(folder / STATE, msgspec.json.format(text, indent=1) + b"\n")


def _decoded(kind: type, value: Any) -> Any:  # noqa: ANN401
    return kind(value)  # the path of an interpreter is all that JSON has no word for


def resume(fresh: State, folder: Path) -> State:
    """Return the state that a folder holds, or ``fresh`` where it holds none.

    Raises:
        UsageError: the folder holds another search, or a file of another shape.
    """
    path = folder / STATE
    if not path.exists():
        return fresh
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=State, dec_hook=_decoded)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(
            f"{path} cannot be taken up again ({error}); name another folder with --into"
        ) from None
    if stored.schema != SCHEMA:
        raise UsageError(f"{path} is of another version; name another folder with --into")
    names = [
        name
        for name in Question.__struct_fields__
        if getattr(stored.question, name) != getattr(fresh.question, name)
    ]
    if names:
        raise UsageError(
            f"{folder} holds a search that differs in {', '.join(names)}; name another folder "
            "with --into, or ask as before"
        )
    return stored
