"""Logs cut to what matters: how the engine was configured, what it says of drafts, what failed."""

import re
from pathlib import Path

from specfloor.i18n import _
from specfloor.vendor import words

HEAD = 120
"""Lines from the start that are kept: vLLM says its configuration in the first 60 to 100."""
TAIL = 80
"""Lines to the end that are kept: there an engine says what it died of."""
CONTEXT = 10
"""Lines kept before and after an error; a traceback's own lines are errors too."""

_ABOUT = re.compile(
    r"specul|SpecDecod|draft|accept(?:ed|ance)|num_spec|\bmtp\b|eagle", re.IGNORECASE
)
_ERROR = re.compile(
    r"\b(?:ERROR|CRITICAL|FATAL)\b|Traceback|^\S*(?:Error|Exception)\b|[Ee]rror:|Killed|core dumped"
    r"|^\s+File \"|OutOfMemory|NPU out of memory"
)


def read_log(folder: Path, name: str) -> str:
    """Return a log of a run, or a line on why there is none."""
    try:
        return (folder / name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return _(words.NO_LOG).format(error=error.strerror)


def cut_log(text: str) -> str:
    """Return a log without the lines that say nothing; a marker says how many were there."""
    lines = text.splitlines()
    kept = {*range(min(HEAD, len(lines))), *range(max(0, len(lines) - TAIL), len(lines))}
    for number, line in enumerate(lines):
        if _ERROR.search(line):
            kept.update(range(max(0, number - CONTEXT), min(len(lines), number + CONTEXT + 1)))
        elif _ABOUT.search(line):
            kept.add(number)
    done: list[str] = []
    last = -1
    for number in sorted(kept):
        if number - last > 1:
            done.append(_(words.CUT).format(lines=number - last - 1))
        done.append(lines[number])
        last = number
    return "\n".join(done) + "\n" if done else ""
