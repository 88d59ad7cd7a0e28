"""Texts that have fallen into a loop: easy to draft, so acceptance is high and means nothing."""

import re
from collections import Counter
from collections.abc import Hashable, Sequence

from specfloor.runs.records import RequestRecord

NGRAM = 16
"""Units of an n-gram: longer than what JSON records, tables and boilerplate repeat word by word."""
TIMES = 2
"""Earlier occurrences that make an n-gram a repetition: quoting a passage once is no loop."""
SHARE = 0.8
"""Share of repeated n-grams in the second half of a text that makes it a loop. Windows of 256 and
512 words of the Python standard library and Debian's Python packages stay under 0.67 (99 % under
0.2), JSON records with equal fields reach 0.42, loops 1.0."""
LEAST = 64
"""N-grams of the second half under which nothing is said: shorter texts repeat by chance (in
windows of 128 words a few in ten thousand natural texts pass the share)."""

_UNIT = re.compile(r"[\u2e80-\u9fff]|[^\W\u2e80-\u9fff]+|[^\w\s]")


def loops(text: str) -> bool:
    """Whether ``text`` ends in a loop; units are words, marks, and single Han or kana characters.

    A loop that changes a number every time round is not seen.
    """
    return repeats(_UNIT.findall(text))


def answer_loops(record: RequestRecord) -> bool:
    """Whether an answer ends in a loop, in its text or in its reasoning."""
    return loops(record.text) or loops(record.reasoning)


def repeats(units: Sequence[Hashable]) -> bool:
    """Whether a sequence, such as token ids, ends in a loop."""
    share = repetition(units)
    return share is not None and share >= SHARE


def repetition(units: Sequence[Hashable]) -> float | None:
    """Return the share of n-grams of the second half that had come at least ``TIMES`` before.

    None when the second half holds fewer than ``LEAST`` n-grams.
    """
    starts = len(units) - NGRAM + 1
    half = starts // 2
    if starts - half < LEAST:
        return None
    seen: Counter[tuple[Hashable, ...]] = Counter()
    repeated = 0
    for i in range(starts):
        ngram = tuple(units[i : i + NGRAM])
        repeated += i >= half and seen[ngram] >= TIMES
        seen[ngram] += 1
    return repeated / (starts - half)
