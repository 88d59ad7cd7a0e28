"""Lines of the history for people: what is apart, one row a run, and where it stepped."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from tabulate import tabulate

from specfloor.history.changes import LEAST_RUNS, ChangePoint
from specfloor.history.index import Skipped
from specfloor.history.lines import Line, Spot
from specfloor.i18n import N_, _, ended
from specfloor.report.table import NOTHING

HEADERS = (N_("started"), N_("run"), N_("release"), N_("value"), "n", N_("verdict"), "")
SCHEMA = 1
"""Version of the shape of the JSON document."""
Changes = Mapping[str, Sequence[ChangePoint]]
"""Change points by the id of the line; empty when they cannot be computed."""


def as_text(lines: Sequence[Line], changes: Changes, without: str | None = None) -> str:
    """Return lines as tables; ``without`` says why there are no change points at all."""
    parts = [_line(line, changes.get(line.id)) for line in lines]
    if without:
        parts.append(ended(f"{without[0].upper()}{without[1:]}"))
    return "\n\n".join(parts)


def as_document(
    lines: Sequence[Line], changes: Changes, skipped: Sequence[Skipped]
) -> dict[str, Any]:
    """Return lines as plain values, for JSON; ``change_points`` is None where unknown."""
    return {
        "schema": SCHEMA,
        "lines": [
            {
                **msgspec.to_builtins(line),
                "change_points": [_change(line, change) for change in changes[line.id]]
                if line.id in changes
                else None,
            }
            for line in lines
        ],
        "skipped": msgspec.to_builtins(list(skipped)),
    }


def _line(line: Line, changes: Sequence[ChangePoint] | None) -> str:
    parts = [
        _("{cell}: {quantity}, line {line}").format(
            cell=line.cell, quantity=_(line.quantity), line=line.id
        )
    ]
    hardware = line.conditions.get("hardware", NOTHING)
    apart = {name: value for name, value in line.apart.items() if name != "hardware"}
    told = "".join(
        _("; {name} {value}").format(name=_(name), value=value) for name, value in apart.items()
    )
    parts.append(_("on {hardware}{told}").format(hardware=hardware, told=told))
    steps = {change.index for change in changes or ()}
    rows = [_row(spot, stepped=i in steps) for i, spot in enumerate(line.spots)]
    parts.append(tabulate(rows, [_(h) for h in HEADERS], tablefmt="simple", disable_numparse=True))
    if changes is not None:
        parts += [_sentence(line, change) for change in changes] or [_no_change(line)]
    return "\n".join(parts)


def _row(spot: Spot, *, stepped: bool) -> tuple[str, ...]:
    ends = "" if spot.low is None else f" [{spot.low:.3f}, {spot.high:.3f}]"
    return (
        *(spot.started, spot.run, spot.release, f"{spot.value:.3f}{ends}", str(spot.n)),
        *(spot.verdict, _("← steps") if stepped else ""),
    )


def _sentence(line: Line, change: ChangePoint) -> str:
    old, new = line.spots[change.index - 1], line.spots[change.index]
    releases = new.release if old.release == new.release else f"{old.release} → {new.release}"
    return _(
        "Steps {relative:+.1%} from {before:.3f} to {after:.3f} with run {run} "
        "({releases}). Advisory: compare the runs before you believe it."
    ).format(
        relative=change.relative,
        before=change.before,
        after=change.after,
        run=new.run,
        releases=releases,
    )


def _no_change(line: Line) -> str:
    if len(line.spots) < LEAST_RUNS:
        return _("{spots} of the {least_runs} runs that change points need.").format(
            spots=len(line.spots), least_runs=LEAST_RUNS
        )
    return _("No change point.")


def _change(line: Line, change: ChangePoint) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(change),
        "relative": change.relative,
        "run": line.spots[change.index].run,
    }
