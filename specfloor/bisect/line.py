"""The line that a search walks: releases in the order in which one grew out of another.

The order of numbers is not history. A maintenance release can be older in number and newer in date,
and what it changed may be in no later release. What a release holds is decided by where on the main
branch its own branch was cut, and then by its place on that branch; so the line goes from the good
end back to the main branch, along it, and up the branch of the bad end. Of every other branch it
has the first release alone: what later ones have besides was picked out of turn.
"""

import datetime
from collections.abc import Sequence
from pathlib import Path

import msgspec
from packaging.version import Version

from specfloor.catalog import Catalog
from specfloor.catalog.model import Release
from specfloor.engines.routes import Route, parse_route
from specfloor.errors import UsageError
from specfloor.ledger.model import Ledger, Tag

MAIN = "main"


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases from the good end to the bad one, ``order`` saying what put them so.

    ``left_out`` are releases of the same span that are not on the way, and why not.
    """

    names: tuple[str, ...]
    order: str
    left_out: dict[str, str] = {}


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a list file: a name, and the way to its engine."""

    name: str
    route: Route


def line_of(catalog: Catalog, ledger: Ledger, good: str, bad: str) -> Line:
    """Return the releases of the catalogue from a good one to a bad one.

    Raises:
        UsageError: an end is unknown, the two are of different platforms or the same release, or
            the good one comes after the bad one.
    """
    ends = catalog.release(good), catalog.release(bad)
    if ends[0].platform != ends[1].platform:
        raise UsageError(
            f"{ends[0].name} is a release for {ends[0].platform} and {ends[1].name} for "
            f"{ends[1].platform}; name two of one platform"
        )
    if ends[0] == ends[1]:
        raise UsageError(f"--good and --bad are both {ends[0].name}; name two releases")
    tags = {tag.name: tag for tag in ledger.tags}
    if all(end.name in tags for end in ends):
        return _by_branch(catalog, tags, ends[0].name, ends[1].name)
    return _by_number(catalog, ends[0], ends[1])


def read_list(path: Path) -> tuple[Entry, ...]:
    """Read a list file, the good end first: ``NAME WAY`` a line, ``#`` begins a comment.

    Raises:
        UsageError: it cannot be read, a line is not of that form, a name comes twice, or there are
            fewer than two.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"--list {path} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"--list {path} is not UTF-8; convert the file to it") from None
    entries: dict[str, Entry] = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split(maxsplit=1)
        if not words:
            continue
        if len(words) < 2 or words[0] in entries or not _is_name(words[0]):
            raise UsageError(
                f"{path} line {number} is not a new NAME and the WAY to its engine: {line.strip()}"
            )
        try:
            entries[words[0]] = Entry(words[0], parse_route(words[1].strip()))
        except UsageError as error:
            raise UsageError(f"{path} line {number}: {error}") from None
    if len(entries) < 2:
        raise UsageError(f"--list {path} names fewer than two; the good end comes first")
    return tuple(entries.values())


def cut(entries: Sequence[Entry], good: str | None, bad: str | None) -> tuple[Entry, ...]:
    """Return the entries from a good to a bad one, the first and the last if not named.

    Raises:
        UsageError: an end is not in the list, or the good one does not come first.
    """
    names = [entry.name for entry in entries]
    for option, name in (("--good", good), ("--bad", bad)):
        if name is not None and name not in names:
            raise UsageError(f"{option} {name} is not in the list; it has {', '.join(names)}")
    low = names.index(good) if good else 0
    high = names.index(bad) if bad else len(names) - 1
    if low >= high:
        raise UsageError(f"{names[low]} does not come before {names[high]} in the list")
    return tuple(entries[low : high + 1])


def _is_name(name: str) -> bool:
    # names become parts of file names and test ids
    return all(char.isalnum() or char in "._+" or char == "-" for char in name)


def _by_branch(catalog: Catalog, tags: dict[str, Tag], good: str, bad: str) -> Line:
    low, high = tags[good], tags[bad]
    if _place(low) >= _place(high):
        raise UsageError(
            f"{good} ({_where(low)}) does not come before {bad} ({_where(high)}); "
            "a search for what broke goes from the older to the newer"
        )
    names: list[Tag] = []
    left_out: dict[str, str] = {}
    seen: set[str] = set()
    for tag in sorted(tags.values(), key=_place):
        if not _place(low) <= _place(tag) <= _place(high):
            continue
        branch = tag.branch or tag.name
        if branch in (high.branch, MAIN) or tag is low:
            names.append(tag)
        elif branch == low.branch:
            left_out[tag.name] = f"on the branch of {good}, which {bad} did not grow out of"
        elif branch in seen:
            left_out[tag.name] = f"not the first of its branch, {branch}"
        elif tag.name not in catalog.releases:
            left_out[tag.name] = "not in the catalogue"
        else:
            names.append(tag)
        seen.add(branch)
    return Line(
        tuple(tag.name for tag in names),
        "by the day each branch left main, then by date on the branch; not by number",
        left_out,
    )


def _place(tag: Tag) -> tuple[datetime.date, datetime.date, Version]:
    return _cut(tag), tag.date, Version(tag.name)


def _cut(tag: Tag) -> datetime.date:
    """Return the day the tag's branch left main; its own date where the ledger does not know."""
    _, _, day = (tag.base or "").partition(" ")
    return datetime.date.fromisoformat(day) if day else tag.date


def _where(tag: Tag) -> str:
    branch = tag.branch or "an unknown branch"
    return f"{branch}, left main {_cut(tag)}" if branch != MAIN else f"main, {tag.date}"


def _by_number(catalog: Catalog, good: Release, bad: Release) -> Line:
    """Return releases by the number of their vLLM, where no history is on record."""
    low, high = Version(good.vllm), Version(bad.vllm)
    if low >= high:
        raise UsageError(
            f"{good.name} is not older than {bad.name}; "
            "a search for what broke goes from the older to the newer"
        )
    between = [
        release
        for release in catalog.releases.values()
        if release.platform == good.platform and low <= Version(release.vllm) <= high
    ]
    between.sort(key=lambda release: Version(release.vllm))
    return Line(
        tuple(release.name for release in between),
        "by the number of their vLLM: the ledger, which knows dates and branches, has not both "
        "ends",
    )
