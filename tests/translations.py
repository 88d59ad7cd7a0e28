"""Says which pages of the documentation have no Chinese page, or were changed since it was written.

    python -m tests.translations            # lists them; exit code 1 when there are any
    python -m tests.translations --record   # takes every Chinese page for current

A Chinese page says in its first line of which text it is: ``<!-- of docs/NAME sha256:… -->``.
"""

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENGLISH_ONLY = frozenset({"benchmarks.md", "contract.md"})
"""For those who work on specfloor."""
_MARK = re.compile(r"\A<!-- of (\S+) sha256:([0-9a-f]{12}) -->\n")


def pairs(root: Path = ROOT) -> Iterator[tuple[Path, Path]]:
    """Yield each English page and where its Chinese one belongs."""
    yield root / "README.md", root / "README.zh.md"
    for page in sorted((root / "docs").glob("*.md")):
        if page.name not in ENGLISH_ONLY:
            yield page, root / "docs" / "zh" / page.name


def behind(root: Path = ROOT) -> list[str]:
    """Return a line for each page that has no current translation."""
    found = []
    for english, chinese in pairs(root):
        name = english.relative_to(root).as_posix()
        if not chinese.exists():
            found.append(f"{name} has no {chinese.relative_to(root).as_posix()}")
        elif chinese.read_text(encoding="utf-8").partition("\n")[0] != _mark(english, root):
            found.append(f"{name} is newer than {chinese.relative_to(root).as_posix()}")
    return found


def record(root: Path = ROOT) -> None:
    """Write into every Chinese page that it is of the English text as it is now."""
    for english, chinese in pairs(root):
        if chinese.exists():
            text = _MARK.sub("", chinese.read_text(encoding="utf-8"))
            chinese.write_text(f"{_mark(english, root)}\n{text}", encoding="utf-8")


def _mark(english: Path, root: Path) -> str:
    digest = hashlib.sha256(english.read_bytes()).hexdigest()[:12]
    return f"<!-- of {english.relative_to(root).as_posix()} sha256:{digest} -->"


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    sys.exit("\n".join(behind()) or 0)
