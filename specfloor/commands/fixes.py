"""``specfloor fixes``: what a release lacks, what an upgrade gains and loses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from specfloor.catalog import load_catalog
from specfloor.catalog.versions import read_version
from specfloor.commands._show import Format, as_json, format_option, table
from specfloor.errors import UsageError
from specfloor.i18n import N_, _, ledger_text
from specfloor.ledger import ledger_file, read_ledger
from specfloor.ledger.edit import add_file
from specfloor.ledger.model import Kind
from specfloor.ledger.names import find_family
from specfloor.ledger.query import (
    FAULTS,
    Change,
    Comparison,
    Entry,
    Missing,
    compare,
    feels_like,
    missing,
)
from specfloor.triage.causes import facets_of_k

_NUMBERS = N_("numbers are pull requests and issues of vllm-project/vllm-ascend")


@click.group(invoke_without_command=True)
@click.option(
    "--release",
    "names",
    multiple=True,
    metavar="VERSION",
    help="the release asked about; two of them to compare, the old one first",
)
@click.option("--family", metavar="NAME", help="only what concerns this family")
@click.option("--method", metavar="NAME", help="only what concerns this method of drafting")
@click.option(
    "--spec-tokens",
    type=click.IntRange(min=1),
    metavar="K",
    help="leave out what needs another num_speculative_tokens",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([kind.value for kind in Kind]),
    help="only rows of this kind; may be repeated",
)
@click.option("--all", "everything", is_flag=True, help="also what is only not known to be absent")
@format_option
@click.pass_context
def fixes(
    context: click.Context,
    *,
    names: tuple[str, ...],
    family: str | None,
    method: str | None,
    spec_tokens: int | None,
    kinds: tuple[str, ...],
    everything: bool,
    style: Format,
) -> None:
    """Show which known fixes a release lacks, or what a change of release gains and loses.

    Strong evidence comes first. What the ledger does not know it calls unknown.
    """
    if context.invoked_subcommand is not None:
        return
    if not 1 <= len(names) <= 2:
        raise UsageError("`specfloor fixes` takes --release once, or twice to compare")
    for name in names:
        read_version(name)  # refuses what is no version at all
    about: dict[str, Any] = {
        "family": find_family(family, load_catalog()) if family else None,
        "method": method,
        "setting": facets_of_k(spec_tokens),
    }
    if kinds:
        about["kinds"] = frozenset(map(Kind, kinds))
    asked = " · ".join(filter(None, (family, method)))
    if len(names) == 2:
        found = compare(read_ledger(), *names, **about)
        click.echo(as_json(found) if style == "json" else _comparison(found, asked, everything))
        return
    lacking = missing(read_ledger(), names[0], **{"kinds": FAULTS, **about})
    click.echo(_missing_json(lacking) if style == "json" else _missing(lacking, asked, everything))


@fixes.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    help="the ledger to add to (default: the one that comes with specfloor)",
)
def add(file: Path, ledger: Path | None) -> None:
    """Add the rows of FILE (TOML or JSON) to the ledger, after checking them."""
    rows = add_file(file, ledger or Path(str(ledger_file())))
    click.echo(_("added {n}: {rows}").format(n=len(rows), rows=", ".join(row.id for row in rows)))
    if ledger is None:
        click.echo(
            _(
                "With --lang zh their symptoms and conditions stay English until ledger.po has "
                "their Chinese; docs/ledger.md says how to add it."
            )
        )


def _missing(lacking: Missing, asked: str, everything: bool) -> str:
    title = " · ".join(filter(None, (lacking.release, asked)))
    if lacking.unknown:
        return _("{title}: UNKNOWN. {unknown}.").format(title=title, unknown=lacking.unknown)
    strong = [e for e in lacking.entries if not e.standing.is_weak]
    shown = lacking.entries if everything else strong
    parts = [
        _("{title} lacks (ledger up to {as_of}; {numbers}):").format(
            title=title, as_of=lacking.as_of, numbers=_(_NUMBERS)
        )
    ]
    parts.append(_entries(shown) if shown else _("nothing that is known to matter."))
    if len(shown) < len(lacking.entries):
        parts.append(
            _(
                "{entries} more changes are not in {release}, and whether it is the "
                "worse for it is unknown; --all lists them."
            ).format(entries=len(lacking.entries) - len(shown), release=lacking.release)
        )
    return "\n\n".join(parts)


def _entries(entries: Sequence[Entry]) -> str:
    rows = [
        (
            e.row.id,
            _(e.row.kind),
            _(e.standing),
            ledger_text(e.row.symptom),
            feels_like(e.row),
            _("; ").join(map(ledger_text, e.row.conditions)) or _("always"),
            _shipped(e),
            "\n".join(e.row.avoided_by) or _("no setting known"),
        )
        for e in entries
    ]
    headers = (
        _("change"),
        _("kind"),
        _("this release"),
        _("what is wrong"),
        _("what it feels like"),
    )
    return table(
        rows,
        (*headers, _("when"), _("first in"), _("avoided by")),
        (None, None, 10, 40, 26, 24, 14, 24),
    )


def _shipped(entry: Entry) -> str:
    if entry.first is None:
        return _("no release")
    if entry.first_final in (None, entry.first):
        return entry.first
    return _("{first}, then {first_final}").format(first=entry.first, first_final=entry.first_final)


def _missing_json(lacking: Missing) -> str:
    whole: dict[str, Any] = msgspec.to_builtins(lacking)
    for entry, told in zip(lacking.entries, whole["entries"], strict=True):
        told["feels_like"] = feels_like(entry.row)
        told["avoided_by"] = list(entry.row.avoided_by)
    return as_json(whole)


def _comparison(found: Comparison, asked: str, everything: bool) -> str:
    title = " · ".join(filter(None, (f"{found.old} → {found.new}", asked)))
    if found.unknown:
        return _("{title}: UNKNOWN. {unknown}.").format(title=title, unknown=found.unknown)
    return "\n\n".join(
        [
            _("{title} (ledger up to {as_of}; {numbers})").format(
                title=title, as_of=found.as_of, numbers=_(_NUMBERS)
            ),
            _changes(_("gains"), found.gained, everything),
            _changes(_("loses"), found.lost, everything),
        ]
    )


def _changes(what: str, changes: Sequence[Change], everything: bool) -> str:
    sure = [c for c in changes if everything or not c.is_weak]
    lines = [
        (
            c.row.id,
            _(c.row.kind),
            _(c.old),
            _(c.new),
            ledger_text(c.row.symptom),
            _("; ").join(map(ledger_text, c.row.conditions)) or _("always"),
        )
        for c in sure
    ]
    text = f"{what} {len(changes)}"
    if lines:
        headers = (_("change"), _("kind"), _("old"), _("new"), _("what it is about"), _("when"))
        text = _("{title}:").format(title=text)
        text += "\n" + table(lines, headers, (None, None, 12, 12, 60, 34))
    if len(sure) < len(changes):
        text += _(
            "\n{changes} of them are features, or faults of which it is unknown "
            "whether the release without the fix has them; --all lists them."
        ).format(changes=len(changes) - len(sure))
    return text
