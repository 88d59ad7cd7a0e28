"""What a file is to the others: an arm, a build, a side of P/D, a scrape before or after."""

import re
from pathlib import PurePath
from typing import NamedTuple

OFF, ON = "off", "on"
OLD, NEW = "old", "new"
REFERENCE = "reference"
COMPARED_WITH = (OFF, OLD, REFERENCE, "fixed", "baseline")
"""Roles of evidence that others are compared with, and that is not judged itself."""
EXPECTATIONS = (OLD, REFERENCE, "baseline", "fixed")
"""Roles whose acceptance says what to expect, the first that is there."""

_KNOWN = {OFF, ON, OLD, NEW, REFERENCE, "baseline", "fixed", "adaptive", "prefill", "decode"}
_FIRST = {"before", "start", "begin"}
_LAST = {"after", "end"}
_SCRAPE = re.compile(r"(?:^|[-_.])(?:scrape|metrics|t)[-_.]?(\d+)$")
_WORDS = re.compile(r"[a-z]+|\d+")
_PLAIN = {"log", "bench", "response", "stream", "env", "npu_smi", "metrics", ""}


class Role(NamedTuple):
    """``group`` is whom the file is about (empty: the only one), ``moment`` orders scrapes."""

    group: str
    moment: int | None


def read_role(role: str) -> Role:
    """Read a role as the user gives it: ``log``, ``off``, ``decode-after``, ``scrape-3``."""
    text = role.strip().lower()
    if match := _SCRAPE.search(text):
        return Role(text[: match.start()], int(match[1]))
    group, _, last = text.rpartition("-")
    if last in _FIRST:
        return Role(group, 0)
    if last in _LAST:
        return Role(group, 1)
    return Role("" if text in _PLAIN else text, None)


def role_of_name(name: str) -> Role:
    """Guess the role of a file from its name: ``c04-off.txt``, ``decode-after.prom``."""
    stem = PurePath(name).name.lower()
    stem = stem.partition(".")[0] or stem
    words = _WORDS.findall(stem)
    groups = [word for word in words if word in _KNOWN]
    moment: int | None = None
    if _FIRST & set(words):
        moment = 0
    elif _LAST & set(words):
        moment = 1
    elif match := _SCRAPE.search(stem):
        moment = int(match[1])
    return Role(groups[0] if len(groups) == 1 else "", moment)
