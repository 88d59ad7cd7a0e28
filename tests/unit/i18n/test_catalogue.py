"""The Chinese catalogues against what is said: whole, current, with the same values filled in."""

import gettext
import re

import pytest

from tests.messages import DOMAINS, po_file, read
from tests.unit.i18n.reading import crowded

CATALOGUES = {domain: read(domain) for domain in DOMAINS}
# {name}, {name:.{digits}f} and %(name)s
PLACEHOLDER = re.compile(r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}|%\((\w+)\)s")

VALUE = re.compile(r"([\u4e00-\u9fff]? ?)(\{\w+(:[^{}]*)?\})(?=( ?[\u4e00-\u9fff]?))")


def uneven(text):
    """Return the values between Chinese characters that have a space on one side, or a number."""
    found = []
    for before, value, form, after in VALUE.findall(text):
        inside = before.strip() and after.strip()
        uneven_here = inside and (" " in before) != (" " in after)
        touching = (before.strip() == before != "") or (after.strip() == after != "")
        if uneven_here or (form and touching):
            found.append(before + value + after)
    return found


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


def test_translations_have_chinese_punctuation_and_numbers_with_spaces(catalogue):
    assert {m.id: found for m in catalogue if (found := crowded(m.string))} == {}


def test_a_value_in_chinese_text_has_spaces_on_both_sides_or_on_none(catalogue):
    assert {m.id: found for m in catalogue if (found := uneven(m.string))} == {}


@pytest.mark.parametrize("text", ["在{n} 个", "在 {n}个", "共{share:.1%}", "{n:,}个"])
def test_uneven_spaces_are_found(text):
    assert uneven(text)
    assert uneven("在 {n:,} 个，{what}的 {k}，{share:.1%}") == []


def test_placeholders_are_found():
    assert placeholders("{a:.{digits}f} of %(b)s, {{no}} {c}") == ["a:.{digits}f", "b", "c"]


def test_the_compiled_catalogue_is_the_written_one(domain, catalogue):
    with po_file(domain).with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    assert [m.id for m in catalogue if m.id and compiled.gettext(m.id) != m.string] == []
