"""What a Chinese reader would stumble over."""

import html
import re

_CODE = re.compile(r"<(script|style|code|svg)\b.*?</\1>|```.*?```|`[^`]*`", re.DOTALL)
_SENTENCE = re.compile(r"(?<![\w./=-])[A-Za-z][a-z]+(?: [a-z]+){2,}")
"""Three words in a row, of which at most the first is a name."""


def english(text: str, *quoted: str) -> list[str]:
    """Return runs of English words in a text, without those of what it quotes."""
    text = _CODE.sub(" ", text)
    for data in quoted:
        text = text.replace(data, " ")
    return _SENTENCE.findall(html.unescape(re.sub(r"<[^>]+>", "\n", text)))
