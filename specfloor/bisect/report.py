"""What a search found, for people and for programs."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from specfloor.bisect.search import Answer, Contradiction, Range, range_of
from specfloor.bisect.state import Done, State
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.i18n import _, ledger_text
from specfloor.ledger.concern import compare_for
from specfloor.ledger.model import Ledger
from specfloor.ledger.query import Change, Comparison, feels_like
from specfloor.runs.spoken import spoken

ROWS = 10
"""Rows of the ledger that text shows of each kind; the command it names lists the rest."""


class Outcome(StrEnum):
    """How a search ended."""

    FOUND = "found"
    """One release is the first bad, and it and the one before it were measured."""
    OPEN = "open"
    """Several may be, or what decides could not be measured."""
    CONTRADICTED = "contradicted"
    """An end is not what it was said to be."""


class Conclusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a search came to.

    ``first_bad`` are the releases that may be the first bad one, ``last_good`` the one before them.
    ``ledger`` is what changed from the last good to the last of ``first_bad``; None where the two
    are not known.
    """

    outcome: Outcome
    sentence: str
    last_good: str | None
    first_bad: tuple[str, ...]
    ledger: Comparison | None

    @property
    def exit_code(self) -> Exit:
        """HOLDS when it was found, FAILS when an end is not as said, UNDECIDED otherwise."""
        match self.outcome:
            case Outcome.FOUND:
                return Exit.HOLDS
            case Outcome.CONTRADICTED:
                return Exit.FAILS
            case _:
                return Exit.UNDECIDED


def conclude(state: State, ledger: Ledger) -> Conclusion:
    """Return what a search came to once nothing is left to launch; the ledger says what changed."""
    question = state.question
    names = [candidate.name for candidate in question.candidates]
    answers = state.answers()
    if state.floor is None and 0 in answers:
        why = _last(state, 0).reason
        said = _(
            "{name} gave no floor to judge the others by ({why}); set one in "
            "the floors of the family, or start from another good end"
        ).format(name=names[0], why=why)
        return Conclusion(Outcome.OPEN, said, None, tuple(names[1:]), None)
    if state.in_vain:
        tried = ", ".join(dict.fromkeys(names[one.place] for one in state.done if one.launches))
        said = _(
            "none of {tried} ran, the good end among them ({reason}); see to "
            "that, or start from a good end that runs here"
        ).format(tried=tried, reason=_last(state, 0).reason)
        return Conclusion(Outcome.OPEN, said, None, tuple(names[1:]), None)
    try:
        found = range_of(question.ends, answers)
    except Contradiction as end:
        told = (
            _(
                "{name} is {answer}, against what the search was told: it broke earlier; "
                "start from an older good release"
            )
            if end.answer is Answer.BAD
            else _(
                "{name} is {answer}, against what the search was told: nothing broke; end from "
                "a newer bad release"
            )
        )
        said = told.format(name=names[end.place], answer=_(end.answer))
        return Conclusion(Outcome.CONTRADICTED, said, None, (), None)
    good, bad = names[found.low], [names[place] for place in found.first_bad]
    try:
        concern = [(question.cell.family, question.cell.method)]
        between = compare_for(ledger, good, bad[-1], concern)
    except UsageError:
        between = None
    outcome, said = _outcome(state, found, good, bad)
    return Conclusion(outcome, said, good, tuple(bad), between)


def _outcome(state: State, found: Range, good: str, bad: list[str]) -> tuple[Outcome, str]:
    answers = state.answers()
    names = [candidate.name for candidate in state.question.candidates]
    on_trust = [names[place] for place in (found.low, found.high) if not _tells(answers, place)]
    trusted = (
        _("; {on_trust} could not be measured, so this rests on what was said of it").format(
            on_trust=_(" and ").join(on_trust)
        )
        if on_trust
        else ""
    )
    if len(bad) > 1:
        gone = ", ".join(bad[:-1])
        return Outcome.OPEN, (
            _("the first bad is one of {bad}, after {good}: {gone} told nothing{trusted}").format(
                bad=_(", ").join(bad), good=good, gone=gone, trusted=trusted
            )
        )
    said = _("{bad} is the first bad, {good} the last good{trusted}").format(
        bad=bad[0], good=good, trusted=trusted
    )
    return (Outcome.OPEN if on_trust else Outcome.FOUND), said


def _tells(answers: Mapping[int, Answer], place: int) -> bool:
    return place in answers and answers[place].tells


def _last(state: State, place: int) -> Done:
    return next(one for one in reversed(state.done) if one.place == place)


def as_document(state: State, conclusion: Conclusion) -> dict[str, Any]:
    """Return a search for programs."""
    question = state.question
    names = [candidate.name for candidate in question.candidates]
    return {
        "schema": 1,
        "outcome": conclusion.outcome,
        "sentence": conclusion.sentence,
        "last_good": conclusion.last_good,
        "first_bad": conclusion.first_bad,
        "cell": question.cell.pair_id,
        "line": names,
        "order": question.order,
        "left_out": question.left_out,
        "prior": {"from": question.prior, "weights": question.weights},
        "floor": state.floor,
        "launches": state.launches,
        "probes": [{"release": names[one.place], **msgspec.to_builtins(one)} for one in state.done],
        "ledger": conclusion.ledger,
    }


def as_text(state: State, conclusion: Conclusion, folder: Path) -> str:
    """Return a search for a terminal."""
    question = state.question
    names = [candidate.name for candidate in question.candidates]
    lines = [
        _("{cell}: {old} to {new}, {ends} releases may be the first bad").format(
            cell=question.cell.pair_id, old=names[0], new=names[-1], ends=question.ends
        ),
        _("Order: {order}.").format(order=spoken(question.order)),
        *(
            _("  left out: {name}, {why}").format(name=name, why=spoken(why))
            for name, why in question.left_out.items()
        ),
        _("Weights: {prior}.").format(prior=spoken(question.prior)),
    ]
    if state.floor is not None:
        floor = state.floor
        lines.append(
            _("Floor: {quantity} {floor:g} ({reason}; {source}).").format(
                quantity=floor.quantity,
                floor=floor.value,
                reason=_(floor.reason),
                source=floor.source,
            )
        )
    lines.append("")
    lines += [_line(one, names[one.place], folder) for one in state.done]
    lines += [
        "",
        _("Result: {sentence}. Launches: {launches}.").format(
            sentence=conclusion.sentence, launches=state.launches
        ),
    ]
    if conclusion.ledger is not None and conclusion.outcome is not Outcome.CONTRADICTED:
        lines += ["", *_ledger(conclusion.ledger, question.cell.family, question.cell.method)]
    return "\n".join(lines)


def _line(one: Done, name: str, folder: Path) -> str:
    rate = "" if one.rate is None else f" {one.rate:.3f}"
    where = f" [{folder / one.run}]" if one.run else _(" [not launched]")
    why = "" if one.answer.tells else _(": {sentence}").format(sentence=one.reason)
    return _("  {what}: {found}").format(what=name, found=f"{_(one.answer)}{rate}{why}{where}")


def _ledger(found: Comparison, family: str, method: str) -> list[str]:
    if found.unknown:
        return [
            _("The ledger says nothing of what changed: {unknown}.").format(unknown=found.unknown)
        ]
    lines = [
        _("Known to break {family} with {method} from {old} to {new}: {lost}").format(
            family=family,
            method=method,
            old=found.old,
            new=found.new,
            lost=len(found.lost) or _("nothing"),
        ),
        *(f"{_row(change)} ({feels_like(change.row)})" for change in found.lost[:ROWS]),
        _("Mended or brought there, any of which may have broken more: {gained}").format(
            gained=len(found.gained) or _("nothing")
        ),
        *(_row(change) for change in found.gained[:ROWS]),
    ]
    if max(len(found.lost), len(found.gained)) > ROWS:
        lines.append(
            _(
                "All of them: specfloor fixes --release {old} --release {new} "
                "--family {family} --method {method}"
            ).format(old=found.old, new=found.new, family=family, method=method)
        )
    lines.append(
        _("The ledger ends with {as_of}; it does not list every change.").format(as_of=found.as_of)
    )
    return lines


def _row(change: Change) -> str:
    return _("  {what}: {found}").format(
        what=f"{change.row.id} {_(change.row.kind)}", found=ledger_text(change.row.symptom)
    )
