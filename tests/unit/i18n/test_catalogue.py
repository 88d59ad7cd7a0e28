"""The Chinese catalogue against the source: whole, current, with the same values filled in."""

import gettext
import re

from tests.messages import PO, messages, read

CATALOGUE = read()
SOURCE = messages()
# {name}, {name:.{digits}f} and %(name)s
PLACEHOLDER = re.compile(r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}|%\((\w+)\)s")


def placeholders(text):
    undoubled = text.replace("{{", "").replace("}}", "")
    return sorted(a or b for a, b in PLACEHOLDER.findall(undoubled))


def test_every_message_of_the_source_is_in_the_catalogue_and_no_other():
    listed = {message.id for message in CATALOGUE if message.id}
    assert {
        "missing": [*SOURCE.keys() - listed],
        "stale": [*listed - SOURCE.keys(), *CATALOGUE.obsolete],
    } == {"missing": [], "stale": []}, "python -m tests.messages updates it"


def test_every_message_is_translated():
    assert [m.id for m in CATALOGUE if m.id and (not m.string or m.fuzzy)] == []


def test_translations_fill_in_the_same_values():
    differing = [m.id for m in CATALOGUE if placeholders(m.string) != placeholders(m.id)]
    assert differing == []


def test_placeholders_are_found():
    assert placeholders("{a:.{digits}f} of %(b)s, {{no}} {c}") == ["a:.{digits}f", "b", "c"]


def test_the_compiled_catalogue_is_the_written_one():
    with PO.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    assert [m.id for m in CATALOGUE if m.id and compiled.gettext(m.id) != m.string] == []
