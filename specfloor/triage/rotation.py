"""Logs that were rotated: which files are parts of one, and in which order."""

import re
from collections.abc import Iterable

from specfloor.triage.log_lines import first_time
from specfloor.triage.source import Source

_HALF_A_YEAR = 183 * 86400
_YEAR = 366 * 86400  # log times without a year are put into a leap year
_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst)$")
_ROTATED = re.compile(r"(?:[.-](\d{1,3})|[.-]\d{4}-?\d\d-?\d\d(?:[-_.]\d+)*|\.old)$")


def chains(sources: Iterable[Source]) -> list[list[Source]]:
    """Return logs grouped by the log they are parts of, each group in order of time.

    Parts are told by their names (``server.log``, ``server.log.1``, ``server.log-20260820.gz``) and
    ordered by the first time in each; where one has none, by the number of the rotation.
    """
    groups: dict[str, list[tuple[int, Source]]] = {}
    for source in sources:
        stem = _PACKED.sub("", source.name)
        match = _ROTATED.search(stem)
        number = int(match[1] or 1) if match else 0
        groups.setdefault(_ROTATED.sub("", stem), []).append((number, source))
    return [_in_order(group) for group in groups.values()]


def _in_order(group: list[tuple[int, Source]]) -> list[Source]:
    if len(group) == 1:
        return [group[0][1]]
    times = [first_time(source.head.decode(errors="replace").splitlines()) for _, source in group]
    known = [at for at in times if at is not None]
    if len(known) < len(group):
        return [source for _, source in sorted(group, key=lambda one: -one[0])]
    latest = max(known)
    turned = [at + _YEAR if latest - at > _HALF_A_YEAR else at for at in known]
    dated = sorted(zip(turned, group, strict=True), key=lambda one: one[0])
    return [source for _, (_, source) in dated]
