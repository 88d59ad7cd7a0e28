"""Answers that are no text: broken characters, control codes, scripts nobody asked for, nothing."""

import functools
import re
import unicodedata
from collections import Counter
from enum import StrEnum

from specfloor.i18n import N_
from specfloor.load.workload import Prompt
from specfloor.runs.records import RequestRecord


class Garbage(StrEnum):
    """What is wrong with a text."""

    EMPTY = N_("nothing at all")
    REPLACEMENT = N_("replacement characters")
    CONTROL = N_("control characters")
    SCRIPT = N_("a script that the prompt has nothing to do with")


FOREIGN_LEAST = 6
"""Letters of foreign scripts below which nothing is said: a text may name a thing or two as it is
called where it is from."""
FOREIGN_SHARE = 0.015
"""Share of such letters below which nothing is said: longer texts name more."""

_SCRIPTS = frozenset(
    {
        *("ARABIC", "ARMENIAN", "BENGALI", "BOPOMOFO", "CHEROKEE", "CJK"),
        *("CYRILLIC", "DEVANAGARI", "ETHIOPIC", "GEORGIAN", "GUJARATI", "GURMUKHI"),
        *("HANGUL", "HEBREW", "HIRAGANA", "KANNADA", "KATAKANA", "KHMER"),
        *("LAO", "MALAYALAM", "MONGOLIAN", "MYANMAR", "ORIYA", "SINHALA"),
        *("SYRIAC", "TAMIL", "TELUGU", "THAANA", "THAI", "TIBETAN"),
        *("YI",),
    }
)
"""First words of the names of letters that give a script away. Latin and Greek are no sign: they
are at home in mathematics, code and names everywhere."""

_TOGETHER = (
    frozenset({"CJK", "BOPOMOFO"}),
    frozenset({"CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"CJK", "HANGUL"}),
)
"""Scripts of one language: where the prompt has one, the others are no surprise."""

_LANGUAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("chinese|mandarin|cantonese|pinyin|hanzi|中文|汉语|漢語|普通话|粤语", ("CJK", "BOPOMOFO")),
    ("japan|kanji|hiragana|katakana|日语|日文|日本", ("CJK", "HIRAGANA", "KATAKANA")),
    ("korea|hangul|韩语|韩文|韩国|朝鲜", ("HANGUL", "CJK")),
    ("russia|ukrain|bulgaria|serbia|cyrillic|俄语|俄文|俄罗斯|乌克兰", ("CYRILLIC",)),
    ("arab|persia|farsi|urdu|阿拉伯|波斯", ("ARABIC",)),
    ("hebrew|yiddish|israel|希伯来", ("HEBREW",)),
    ("hindi|marathi|nepal|sanskrit|印地|梵", ("DEVANAGARI",)),
    ("thai|泰语|泰文|泰国", ("THAI",)),
    ("bengali|bangla", ("BENGALI",)),
    ("tamil", ("TAMIL",)),
    ("georgia", ("GEORGIAN",)),
    ("armenia", ("ARMENIAN",)),
)
"""Words of a prompt, beginnings included, that make scripts no surprise."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT = "\ufffd"
_QUOTED = re.compile(r"""[(（\[【「『“"`][^\n]{1,60}?[)）\]】」』”"`]""")
_BEYOND_LATIN = re.compile(r"[\u0400-\U0010ffff]")


def garbage(request: RequestRecord, prompt: Prompt) -> Garbage | None:
    """Return what is wrong with the text of an answer, reasoning included; None when it is text.

    A character that the end of a cut answer tore apart is no garbage, nor is what the prompt
    itself holds.
    """
    text = request.reasoning + request.text
    asked = "\n".join(message.content for message in prompt.messages)
    if not text.strip() and not request.tool_calls:
        return Garbage.EMPTY
    whole = text.rstrip(_REPLACEMENT) if request.finish_reason == "length" else text
    if _REPLACEMENT in whole and _REPLACEMENT not in asked:
        return Garbage.REPLACEMENT
    if _CONTROL.search(whole) and not _CONTROL.search(asked):
        return Garbage.CONTROL
    if is_foreign(whole, asked):
        return Garbage.SCRIPT
    return None


def is_foreign(text: str, asked: str) -> bool:
    """Whether scripts that have nothing to do with the prompt make up a part of the text.

    What stands in brackets or quotes does not count: that is how texts give names as they are
    written where they are from.
    """
    if not _BEYOND_LATIN.search(text):
        return False
    found = _scripts(_QUOTED.sub(" ", text))
    strange = sum(found[script] for script in found.keys() - _at_home(asked))
    letters = sum(map(str.isalpha, text))
    return strange >= FOREIGN_LEAST and strange >= FOREIGN_SHARE * letters


def _at_home(asked: str) -> frozenset[str]:
    home = set(_scripts(asked))
    for group in _TOGETHER:
        # Han characters alone say Chinese: they do not make kana or Hangul expected
        if group & home - {"CJK"}:
            home |= group
    lower = asked.casefold()
    for words, scripts in _LANGUAGES:
        if re.search(words, lower):
            home.update(scripts)
    return frozenset(home)


def _scripts(text: str) -> Counter[str]:
    """Return how many letters of each telling script a text has."""
    counts: Counter[str] = Counter()
    for character, times in Counter(_BEYOND_LATIN.findall(text)).items():
        if script := _script(character):
            counts[script] += times
    return counts


@functools.cache
def _script(character: str) -> str | None:
    if unicodedata.category(character)[0] not in "LM":
        return None
    first = unicodedata.name(character, "").split(" ")[0]
    return first if first in _SCRIPTS else None
