"""The Chinese catalogues against what is said: whole, current, with the same values filled in."""

import gettext
import re

import pytest

from tests.messages import DOMAINS, po_file, read

CATALOGUES = {domain: read(domain) for domain in DOMAINS}
# {name}, {name:.{digits}f} and %(name)s
PLACEHOLDER = re.compile(r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}|%\((\w+)\)s")


def placeholders(text):
    undoubled = text.replace("{{", "").replace("}}", "")
    return sorted(a or b for a, b in PLACEHOLDER.findall(undoubled))


@pytest.fixture(params=DOMAINS)
def domain(request):
    return request.param


@pytest.fixture
def catalogue(domain):
    return CATALOGUES[domain]


def test_every_message_is_in_the_catalogue_and_no_other(domain, catalogue):
    wanted = DOMAINS[domain]()
    listed = {message.id for message in catalogue if message.id}
    assert {
        "missing": [*wanted.keys() - listed],
        "stale": [*listed - wanted.keys(), *catalogue.obsolete],
    } == {"missing": [], "stale": []}, "python -m tests.messages updates it"


def test_every_message_is_translated(catalogue):
    assert [m.id for m in catalogue if m.id and (not m.string or m.fuzzy)] == []


def test_translations_fill_in_the_same_values(catalogue):
    differing = [m.id for m in catalogue if placeholders(m.string) != placeholders(m.id)]
    assert differing == []


def test_placeholders_are_found():
    assert placeholders("{a:.{digits}f} of %(b)s, {{no}} {c}") == ["a:.{digits}f", "b", "c"]


def test_the_compiled_catalogue_is_the_written_one(domain, catalogue):
    with po_file(domain).with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    assert [m.id for m in catalogue if m.id and compiled.gettext(m.id) != m.string] == []
