"""What a Chinese reader would stumble over."""

import html
import re
from collections.abc import Sequence

_CODE = re.compile(r"<(script|style|code|svg)\b.*?</\1>|```.*?```|`[^`]*`", re.DOTALL)
_SENTENCE = re.compile(r"(?<![\w./=-])[A-Za-z][a-z]+(?: [a-z]+){2,}")
"""Three words in a row, of which at most the first is a name."""
_HAN = "[\u4e00-\u9fff]"
_CROWDED = re.compile(
    rf".?{_HAN}(?: ?[0-9.,]*[:;?,](?=\s|$|{_HAN})|[0-9])|(?:[:,;?] ?|[0-9%]){_HAN}.?",
    re.MULTILINE,
)
"""English punctuation beside Chinese, or a number that touches it."""


def english(text: str, *quoted: str) -> list[str]:
    """Return runs of English words in a text, without those of what it quotes."""
    return _SENTENCE.findall(_plain(text, quoted))


def crowded(text: str, *quoted: str) -> list[str]:
    """Return where Chinese text has English punctuation, or a number without spaces around it."""
    return _CROWDED.findall(_plain(text, quoted))


def stumbles(text: str, *quoted: str) -> list[str]:
    """Return all that a Chinese reader would stumble over in a text."""
    return [*english(text, *quoted), *crowded(text, *quoted)]


def _plain(text: str, quoted: Sequence[str]) -> str:
    text = _CODE.sub(" C ", text)
    for data in quoted:
        text = text.replace(data, " ")
    return html.unescape(re.sub(r"<[^>]+>", "\n", text))
