"""Where the texts of two launches part, prompt by prompt."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from specfloor.i18n import _
from specfloor.runs.records import RequestRecord

EARLY_TOKENS = 8
"""Tokens within which a text that parts has parted early. Near ties that other sums decide another
way come at any token alike, so few of them fall into the first eight of some hundreds."""
EARLY_CHARACTERS = 24
"""The same where token ids are missing, at three characters a token."""
EARLY_ALLOWED = 0.25
"""Share of early partings that near ties may explain: 10 to 25 % of greedy answers have been seen
to differ anywhere in their text between launches without any speculation."""


class Parting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where two texts part, from 0; ``position`` is None when they are the same."""

    prompt_id: str
    position: int | None
    unit: Literal["tokens", "characters"]

    @property
    def early(self) -> bool:
        """Whether they part among the first tokens."""
        first = EARLY_TOKENS if self.unit == "tokens" else EARLY_CHARACTERS
        return self.position is not None and self.position < first


class Agreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of ``compared`` prompts, ``same`` got the same text, ``early`` parted among the first tokens.

    ``earliest`` and ``median`` are positions at which texts part, over those that do, in ``unit``.
    """

    compared: int
    same: int
    early: int
    earliest: int | None
    median: float | None
    unit: Literal["tokens", "characters"]

    def __str__(self) -> str:
        said = _("{same} of {compared}").format(same=self.same, compared=self.compared)
        if self.median is None:
            return said
        return _("{said}, the others parting after {median:g} {unit} (median)").format(
            said=said, median=self.median, unit=self.unit
        )


def partings(
    one: Mapping[str, RequestRecord], other: Mapping[str, RequestRecord]
) -> tuple[Parting, ...]:
    """Compare prompts that both have, in the order of ``one``.

    In tokens when every answer has its ids, else in characters of reasoning, text and tool calls.
    """
    both = [(prompt, one[prompt], other[prompt]) for prompt in one if prompt in other]
    if all(a.token_ids and b.token_ids for _, a, b in both):
        return tuple(
            Parting(prompt, first_difference(a.token_ids, b.token_ids), "tokens")
            for prompt, a, b in both
        )
    return tuple(
        Parting(prompt, first_difference(_whole(a), _whole(b)), "characters")
        for prompt, a, b in both
    )


def agreement(found: Iterable[Parting]) -> Agreement | None:
    """Sum up partings; None without any prompt."""
    partings = list(found)
    if not partings:
        return None
    positions = [p.position for p in partings if p.position is not None]
    return Agreement(
        compared=len(partings),
        same=len(partings) - len(positions),
        early=sum(p.early for p in partings),
        earliest=min(positions, default=None),
        median=statistics.median(positions) if positions else None,
        unit=partings[0].unit,
    )


def first_difference(one: Sequence[object], other: Sequence[object]) -> int | None:
    """Return the first index at which sequences differ or one of them ends; None if the same."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return None if len(one) == len(other) else min(len(one), len(other))


def _whole(request: RequestRecord) -> str:
    calls = "".join(f"\n{call.name} {call.arguments}" for call in request.tool_calls)
    return f"{request.reasoning}\n{request.text}{calls}"
