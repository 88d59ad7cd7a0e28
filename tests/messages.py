"""Collects what specfloor says into the catalogues of its translations, and compiles them.

    python -m tests.messages

There are two: ``specfloor`` of the messages of the source, ``ledger`` of the texts of the ledger's
rows. Messages that are no longer there are dropped, new ones are added without a translation, which
fails the tests until they have one. Commit the ``.po`` and the ``.mo`` file together.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from specfloor.catalog import load_catalog
from specfloor.cli import LazyCommands, cli, help_messages
from specfloor.ledger import read_ledger

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "specfloor"
LOCALE = PACKAGE / "locale" / "zh_CN" / "LC_MESSAGES"
KEYWORDS = {"_": None, "N_": None, "gettext": None}
SOURCES = (
    ("python", PACKAGE, "**/*.py"),
    ("python", ROOT / "fixtures", "*.py"),
    ("jinja2.ext:babel_extract", PACKAGE, "**/*.j2"),
)
TEMPLATE_OPTIONS = {"trimmed": "true", "lstrip_blocks": "true", "trim_blocks": "true"}


def messages() -> dict[str, str]:
    """Return every message of the source, in order, and the file that has it first."""
    found: dict[str, str] = {}
    for method, folder, pattern in SOURCES:
        for path in sorted(folder.glob(pattern)):
            options = TEMPLATE_OPTIONS if path.suffix == ".j2" else None
            for _, message, _, _ in extract_from_file(
                method, path, keywords=KEYWORDS, options=options
            ):
                assert isinstance(message, str), f"{path}: {message} is not one message"
                found.setdefault(message, path.relative_to(ROOT).as_posix())
    for command in _commands(cli):
        for message in help_messages(command):
            found.setdefault(message, f"help of {command.name}")
    for release in load_catalog().releases.values():
        for text in release.switches.values():
            found.setdefault(text, f"switches of {release.name}")
    return found


def ledger_texts() -> dict[str, str]:
    """Return every symptom and condition of the ledger, in order, and the row that has it first."""
    found: dict[str, str] = {}
    for row in read_ledger().rows:
        for text in (row.symptom, *row.conditions):
            found.setdefault(text, f"ledger.json#{row.id}")
    return found


DOMAINS: Mapping[str, Callable[[], dict[str, str]]] = {
    "specfloor": messages,
    "ledger": ledger_texts,
}
"""The catalogues, and what each is to have."""


def po_file(domain: str) -> Path:
    """Return where a catalogue is written; its compiled form is beside it."""
    return LOCALE / f"{domain}.po"


def read(domain: str) -> Catalog:
    """Return a catalogue as it is written."""
    with po_file(domain).open("rb") as file:
        return read_po(file, locale="zh_CN", domain=domain)


def update(old: Catalog, wanted: dict[str, str]) -> Catalog:
    """Return a catalogue of the messages wanted, with what is translated of them."""
    new = Catalog(
        "zh_CN",
        domain=old.domain,
        header_comment="# Chinese (simplified) for specfloor.",
        project="specfloor",
        creation_date=old.creation_date,
        revision_date=old.revision_date,
        fuzzy=False,
    )
    for message, place in wanted.items():
        known = old.get(message)
        new.add(message, known.string if known else "", locations=[(place, 0)])
    return new


def write(catalogue: Catalog) -> None:
    """Write a catalogue and its compiled form."""
    assert catalogue.domain
    path = po_file(catalogue.domain)
    with path.open("wb") as file:
        write_po(file, catalogue, width=100, include_lineno=False)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalogue)


def _commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = (
                LazyCommands.load(name) if command is cli else command.get_command(context, name)
            )
            assert inner is not None
            yield from _commands(inner)


def main() -> None:
    """Update the catalogues and say what has no translation."""
    untranslated = []
    for domain, wanted in DOMAINS.items():
        catalogue = update(read(domain), wanted())
        write(catalogue)
        untranslated += [message.id for message in catalogue if message.id and not message.string]
    sys.exit("\n".join(f"not translated: {message!r}" for message in untranslated))


if __name__ == "__main__":
    main()
