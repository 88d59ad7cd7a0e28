"""Long documents with a question, made to length: the same on every machine."""

import re

import msgspec

from specfloor.load.documents import KINDS, Choice, Entry, Kind
from specfloor.load.expect import ExpectContains
from specfloor.load.workload import Message, Prompt

_PIECE = re.compile(r"[\u4e00-\u9fff]|[^\W\d_\u4e00-\u9fff]{1,6}|\d|[^\w\s]|_")
HAN_TOKENS = 0.7
"""Tokens of a Chinese character in the vocabularies of models that are served for Chinese."""


class LongContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long the documents of a workload are: ``each`` prompts of every length.

    ``tokens`` are what common vocabularies make of a prompt, within about a fifth.
    """

    tokens: tuple[int, ...]
    each: int
    seed: int = 1


def long_prompts(wanted: LongContext) -> tuple[Prompt, ...]:
    """Return the prompts of a workload of long documents, kinds of documents in turn.

    Each asks for one fact from the middle of the document, which the answer has to contain, and
    for something longer about the whole of it.
    """
    return tuple(
        _prompt(KINDS[index % len(KINDS)], tokens, index, wanted.seed)
        for tokens in wanted.tokens
        for index in range(wanted.each)
    )


def rough_tokens(text: str) -> float:
    """Return about how many tokens a text is, without any model's vocabulary."""
    pieces = _PIECE.findall(text)
    han = sum(1 for piece in pieces if "\u4e00" <= piece <= "\u9fff")
    return len(pieces) - (1 - HAN_TOKENS) * han


def _prompt(kind: Kind, tokens: int, index: int, seed: int) -> Prompt:
    name = f"{kind.name}-{tokens}-{index + 1:02d}"
    choice = Choice(f"{seed}/{name}")
    entries: list[Entry] = []
    length = rough_tokens(kind.opening + kind.task)
    while length < tokens:
        entries.append(kind.entry(choice, len(entries) + 1))
        length += rough_tokens(entries[-1].text)
    third = len(entries) // 3
    asked = entries[third + choice.below(max(1, third))]
    document = "\n".join(entry.text for entry in entries)
    content = f"{kind.opening}\n\n{document}\n\n{asked.question}\n{kind.task}"
    return Prompt(
        name, "long_context", (Message("user", content),), expect=ExpectContains(asked.facts)
    )
