"""A comparison of stored runs: the answer first, then the ledger, families, cells, what is left."""

import textwrap
from collections.abc import Sequence
from typing import Any

import msgspec
from tabulate import tabulate

from specfloor.i18n import ENGLISH, N_, _, ended, language, ledger_text
from specfloor.judge.comparison import Comparison, SideInfo
from specfloor.judge.paired import LAUNCH_SD, Quantity
from specfloor.judge.verdict import Change, UpgradeVerdict
from specfloor.ledger.query import Change as LedgerChange
from specfloor.ledger.query import Comparison as LedgerComparison
from specfloor.report.upgrade import HEADERS, upgrade_row

SCHEMA = 1
"""Version of the shape of the JSON document."""

_WORDS = {
    Change.WORSE: N_("worse"),
    Change.SAME: N_("same"),
    Change.BETTER: N_("better"),
    Change.INCONCLUSIVE: N_("unknown"),
}
_MISSING = N_("not asked for on the new side, so in no verdict")
_ADDED = N_("nothing on the old side to compare with")
_WIDTH = 100
"""Columns of running text in a terminal."""
_CELL_WIDTH = 44
"""Columns of a column of sentences in a terminal."""


class Section(msgspec.Struct, frozen=True):
    """A heading with lines of text, a table under them, and a list under that."""

    heading: str
    lines: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    items: tuple[str, ...] = ()


class Compared(msgspec.Struct, frozen=True):
    """A comparison beside what the ledger knows of the two releases."""

    comparison: Comparison
    ledger: LedgerComparison


def headline(comparison: Comparison) -> str:
    """Return the answer in one line, what is worse first; families with no cell are unknown."""
    outcomes = [family.outcome for family in comparison.families]
    counts = [(n, _(word)) for change, word in _WORDS.items() if (n := outcomes.count(change))]
    if not counts:
        return _("Upgrade {arrow}: no family in common").format(arrow=_arrow(comparison))
    (n, word), *others = counts
    first = _("1 family {word}") if n == 1 else _("{n} families {word}")
    said = [first.format(n=n, word=word), *(f"{n} {word}" for n, word in others)]
    return _("Upgrade {arrow}: {said}").format(arrow=_arrow(comparison), said=_(", ").join(said))


def times(comparison: Comparison) -> str | None:
    """Return in how many cells the time per token changed beyond chance; None when in none.

    It stands under the answer, which says nothing of times: they decide nothing.
    """
    timed = [
        verdict
        for family in comparison.families
        for cell in family.cells
        for verdict in cell.quantities
        if verdict.quantity == Quantity.TPOT
    ]
    said = []
    for change, word in ((Change.WORSE, N_("slower")), (Change.BETTER, N_("faster"))):
        if found := [one for one in timed if one.outcome is change]:
            said.append(
                _("{word} in {n} of {cells} (by {spread})").format(
                    word=_(word), n=len(found), cells=len(timed), spread=_spread(found)
                )
            )
    if not said:
        return None
    return _(
        "Time per output token, by cell: {said}. Each is beyond chance at a level of {alpha:.0%}, "
        "but from one launch a release with a supposed scatter of {scatter:.0%}; times never "
        "decide."
    ).format(said=_(", ").join(said), alpha=comparison.rule.alpha, scatter=LAUNCH_SD)


def sections(compared: Compared) -> list[Section]:
    """Return what follows the answer, in the order in which it is read."""
    comparison = compared.comparison
    parts = [
        Section(_("What was compared"), lines=_conditions(comparison)),
        _ledger(compared.ledger),
        Section(
            _("Families"),
            headers=(_("family"), _("outcome"), _("why")),
            rows=tuple(
                (family.family, _(_WORDS[family.outcome]), family.reason)
                for family in comparison.families
            ),
        ),
        _cells(comparison),
        _left_out(comparison),
    ]
    return [part for part in parts if part.lines or part.rows or part.items]


def as_text(all_compared: Sequence[Compared]) -> str:
    """Return comparisons for a terminal: the answers, then each in full."""
    parts = ["\n".join(_answer(one.comparison) for one in all_compared)]
    for one in all_compared:
        if len(all_compared) > 1:
            parts.append(f"=== {headline(one.comparison)}")
        parts += [_text(section) for section in sections(one)]
    return "\n\n".join(parts)


def as_markdown(all_compared: Sequence[Compared]) -> str:
    """Return comparisons as Markdown, each under its answer as a heading."""
    parts = []
    for one in all_compared:
        parts.append(f"# {headline(one.comparison)}")
        parts += filter(None, [times(one.comparison)])
        parts += [_markdown(section) for section in sections(one)]
    return "\n\n".join(parts)


def as_document(all_compared: Sequence[Compared]) -> dict[str, Any]:
    """Return comparisons as plain values, for JSON."""
    return {
        "schema": SCHEMA,
        "comparisons": [
            {
                "headline": headline(one.comparison),
                **msgspec.to_builtins(one.comparison),
                "ledger": msgspec.to_builtins(one.ledger),
            }
            for one in all_compared
        ],
    }


def _answer(comparison: Comparison) -> str:
    """Return the answer for a terminal, and under it the line about times."""
    timed = times(comparison)
    return "\n".join(filter(None, [headline(comparison), timed and _fill(timed)]))


def _arrow(comparison: Comparison) -> str:
    old, new = comparison.old, comparison.new
    if old.release == new.release:
        return f"{old.release} ({old.run}) → {new.release} ({new.run})"
    return f"{old.release} → {new.release}"


def _conditions(comparison: Comparison) -> tuple[str, ...]:
    rule = comparison.rule
    lines = [ended(_side(_("Old"), comparison.old)), ended(_side(_("New"), comparison.new))]
    lines.append(
        _(
            "The same prompts under both, paired; SAME excludes a change of "
            "{margin:.0%} either way, at a level of {alpha:.0%}. The acceptance rate "
            "decides; times, of one launch a release, are shown and decide nothing."
        ).format(margin=rule.margin, alpha=rule.alpha)
    )
    return tuple(lines)


def _side(what: str, side: SideInfo) -> str:
    unfinished = "" if side.complete else _(", which did not come to its end")
    return _("{what}: {release}, run {run}{unfinished}, on {hardware}").format(
        what=what, release=side.release, run=side.run, unfinished=unfinished, hardware=side.hardware
    )


def _spread(found: Sequence[UpgradeVerdict]) -> str:
    """Return the least and the largest change, without their sign."""
    changes = sorted(abs(one.result.change) for one in found if one.result and one.result.change)
    least, most = (f"{change:.0%}" for change in (changes[0], changes[-1]))
    return least if least == most else _("{least} to {most}").format(least=least, most=most)


def _ledger(found: LedgerComparison) -> Section:
    heading = _("What the ledger says")
    if found.old == found.new:
        return Section(heading, lines=(_("Both sides are the same release."),))
    if found.unknown:
        return Section(heading, lines=(_("Not covered: {unknown}.").format(unknown=found.unknown),))
    sure = {
        what: [change for change in changes if not change.is_weak]
        for what, changes in ((_("gains"), found.gained), (_("loses"), found.lost))
    }
    lines = [
        _(
            "Up to {as_of}, for the families and methods compared: {new} {items}. "
            "Numbers are pull requests and issues of vllm-project/vllm-ascend."
        ).format(
            as_of=found.as_of,
            new=found.new,
            items=_(" and ").join(f"{what} {len(changes)}" for what, changes in sure.items()),
        )
    ]
    more = len(found.gained) + len(found.lost) - sum(map(len, sure.values()))
    if more:
        lines.append(
            _(
                "{more} more are features, or faults of which it is unknown whether "
                "the release without the fix has them: `specfloor fixes --release "
                "{old} --release {new} --all`."
            ).format(more=more, old=found.old, new=found.new)
        )
    return Section(
        heading,
        lines=tuple(lines),
        headers=("", _("change"), _("kind"), _("what it is about"), _("when")),
        rows=tuple(
            _ledger_row(what, change) for what, changes in sure.items() for change in changes
        ),
    )


def _ledger_row(what: str, change: LedgerChange) -> tuple[str, ...]:
    row = change.row
    when = _("; ").join(map(ledger_text, row.conditions)) or _("always")
    return (what, row.id, _(row.kind), ledger_text(row.symptom), when)


def _cells(comparison: Comparison) -> Section:
    cells = [cell for family in comparison.families for cell in family.cells if cell.quantities]
    # the two releases are in the answer
    return Section(
        _("Cells"),
        headers=tuple(_(h) for h in HEADERS[2:]),
        rows=tuple(upgrade_row(cell)[2:] for cell in cells),
    )


def _left_out(comparison: Comparison) -> Section:
    why: dict[str, list[str]] = {}
    for family in comparison.families:
        for cell in family.cells:
            if not cell.quantities:
                why.setdefault(cell.reason, []).append(cell.cell.pair_id)
        for pair in family.missing:
            why.setdefault(_(_MISSING), []).append(pair)
    for pair in comparison.added:
        why.setdefault(_(_ADDED), []).append(pair)
    items = tuple(
        _("{what}: {why}").format(what=reason, why=_(", ").join(pairs))
        for reason, pairs in why.items()
    )
    return Section(_("Not compared, and why"), items=items)


def _text(section: Section) -> str:
    parts = [section.heading, *(_fill(line) for line in section.lines)]
    if section.rows:
        wide = [max(map(len, column)) > _CELL_WIDTH for column in zip(*section.rows, strict=True)]
        parts.append(
            tabulate(
                section.rows,
                section.headers,
                tablefmt="simple",
                disable_numparse=True,
                maxcolwidths=[_CELL_WIDTH if w else None for w in wide],
            )
        )
    parts += [_fill(item, initial_indent="- ", subsequent_indent="  ") for item in section.items]
    return "\n".join(parts)


def _fill(text: str, initial_indent: str = "", subsequent_indent: str = "") -> str:
    if language() != ENGLISH:
        # without spaces between words a terminal breaks lines better
        return initial_indent + text
    return textwrap.fill(
        text, _WIDTH, initial_indent=initial_indent, subsequent_indent=subsequent_indent
    )


def _markdown(section: Section) -> str:
    parts = [f"## {section.heading}", *section.lines]
    if section.rows:
        rows = [[text.replace("|", "\\|") for text in row] for row in section.rows]
        parts.append(tabulate(rows, section.headers, tablefmt="github", disable_numparse=True))
    if section.items:
        parts.append("\n".join(f"- {item}" for item in section.items))
    return "\n\n".join(parts)
