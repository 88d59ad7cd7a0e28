"""Windows in order of time, in bounded memory, and where their rate changed."""

import datetime
from collections.abc import Sequence

import msgspec

from specfloor.triage.evidence import Part
from specfloor.triage.tally import Tally, total

MOST_PARTS = 2048
"""Parts kept apart; when there are more, neighbours are joined, so that a log of any length takes
the same memory and the beginning and the end can still be told apart."""
_LEAST_SHARE = 0.1
"""Of the draft tokens, on either side of a change point: less is an outlier."""
_LEAST_PARTS = 2
CHANGE_POINTS = 0.08
"""Least change of the rate that is called one, as a fraction."""
_MOST_CHANGES = 4


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place in time where the acceptance rate changed for good; rates are fractions."""

    after_window: int
    at: str | None
    before: float
    after: float


class Timeline:
    """Collects windows; joins neighbours, two and two, whenever there are too many."""

    def __init__(self) -> None:
        """Start with none."""
        self._parts: list[Part] = []
        self._open: list[Part] = []
        self._joined = 1

    def add(self, part: Part) -> None:
        """Take the next window."""
        self._open.append(part)
        if len(self._open) == self._joined:
            self._parts.append(_join(self._open))
            self._open.clear()
        if len(self._parts) == MOST_PARTS:
            pairs = zip(self._parts[::2], self._parts[1::2], strict=True)
            self._parts = [_join(pair) for pair in pairs]
            self._joined *= 2

    @property
    def parts(self) -> tuple[Part, ...]:
        """The windows, or the stretches they were joined to."""
        last = [_join(self._open)] if self._open else []
        return (*self._parts, *last)


def reports(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return parts with those of one time joined: engines report one after another."""
    joined: list[list[Part]] = []
    for part in parts:
        if joined and part.at is not None and part.at == joined[-1][-1].at:
            joined[-1].append(part)
        else:
            joined.append([part])
    return tuple(map(_join, joined))


def share_of(parts: Sequence[Part], share: int, *, last: bool = False) -> Tally | None:
    """Return the first (or last) 1/``share`` of the windows, in whole parts; at least one."""
    windows = max(1, sum(part.windows for part in parts) // share)
    return _until(parts, windows, [part.windows for part in parts], last=last)


def end_of(parts: Sequence[Part], share: float, *, last: bool = False) -> Tally | None:
    """Return the first (or last) parts that together hold ``share`` of the draft tokens."""
    tokens = [part.tally.draft_tokens for part in parts]
    return _until(parts, share * sum(tokens), tokens, last=last)


def _until(
    parts: Sequence[Part], wanted: float, weights: Sequence[int], *, last: bool
) -> Tally | None:
    step = -1 if last else 1
    taken, reached = [], 0
    for part, weight in zip(parts[::step], weights[::step], strict=True):
        if reached >= wanted:
            break
        taken.append(part.tally)
        reached += weight
    return total(taken)


def changes(parts: Sequence[Part]) -> tuple[Change, ...]:
    """Return where the rate changed, by splitting in two for as long as a split explains much.

    The split that leaves the least squared distance from the rates of its two sides, weighted by
    draft tokens; a side needs a tenth of the tokens, and the rates must differ by
    ``CHANGE_POINTS``.
    """
    least = max(1.0, _LEAST_SHARE * sum(part.tally.draft_tokens for part in parts))
    found: list[int] = []
    spans = [(0, len(parts))]
    while spans and len(found) < _MOST_CHANGES:
        begin, end = spans.pop(0)
        place = _best_split(parts[begin:end], least)
        if place is not None:
            found.append(begin + place)
            spans += [(begin, begin + place), (begin + place, end)]
    bounds = [0, *sorted(found), len(parts)]
    told = []
    for begin, place, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        before = total(part.tally for part in parts[begin:place])
        after = total(part.tally for part in parts[place:end])
        assert before is not None
        assert after is not None
        told.append(
            Change(
                after_window=sum(part.windows for part in parts[:place]),
                at=clock(parts[place].at),
                before=before.rate or 0.0,
                after=after.rate or 0.0,
            )
        )
    return tuple(told)


def clock(at: float | None) -> str | None:
    """Return a time as month, day and time of day; the year is often unknown."""
    if at is None:
        return None
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%m-%d %H:%M:%S")


def _best_split(parts: Sequence[Part], least: float) -> int | None:
    """Return the index at which two halves differ most, None when no split is worth it."""
    drafted = sum(part.tally.draft_tokens for part in parts)
    accepted = sum(part.tally.accepted_tokens for part in parts)
    best, place = 0.0, None
    left_drafted = left_accepted = 0
    for index, part in enumerate(parts[:-1], start=1):
        left_drafted += part.tally.draft_tokens
        left_accepted += part.tally.accepted_tokens
        right_drafted, right_accepted = drafted - left_drafted, accepted - left_accepted
        if (
            min(index, len(parts) - index) < _LEAST_PARTS
            or min(left_drafted, right_drafted) < least
        ):
            continue
        gap = left_accepted / left_drafted - right_accepted / right_drafted
        explained = gap * gap * left_drafted * right_drafted / drafted
        if abs(gap) >= CHANGE_POINTS and explained > best:
            best, place = explained, index
    return place


def _join(parts: Sequence[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    tally = total(part.tally for part in parts)
    assert tally is not None
    lengths = [part.seconds for part in parts]
    known = [seconds for seconds in lengths if seconds is not None]
    return Part(
        tally=tally,
        at=parts[-1].at,
        seconds=sum(known) if len(known) == len(lengths) else None,
        windows=sum(part.windows for part in parts),
    )
