"""The markup: whole, self-contained, escaped, readable without colour, and always the same."""

import base64
import hashlib

import msgspec
import pytest

from specfloor.report.html import words as said
from specfloor.report.html.model import Lines, Series, Standing
from specfloor.report.html.render import legend, render
from specfloor.triage.diagnosis import Confidence, Diagnosis, Link, Stage
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, both_arms, launch, natural
from tests.unit.report.html.markup import Markup, words
from tests.unit.report.html.pages import (
    DEAD,
    EVIL,
    diagnosis,
    of_concurrencies,
    page_of,
    two_releases,
)


@pytest.fixture(scope="module")
def page():
    return two_releases()


@pytest.fixture(scope="module")
def text(page):
    return render(page)


@pytest.fixture(scope="module")
def markup(text):
    return Markup(text)


def test_the_same_page_is_the_same_text(text):
    assert render(two_releases()) == text


def test_the_verdict_comes_first(markup):
    heading = markup.one("h1")
    assert heading.text == "1 of 2 cells fails"
    headings = [one.tag for one in markup.elements if one.tag in ("h1", "h2", "h3")]
    assert headings[0] == "h1"
    assert words(markup.one("p", of="verdict").text) == "✗ FAIL"


def test_ids_are_unique(markup):
    ids = [one["id"] for one in markup.elements if "id" in one.attributes]
    assert len(ids) == len(set(ids))


def test_links_inside_the_page_lead_somewhere(markup):
    ids = {one["id"] for one in markup.elements if "id" in one.attributes}
    inside = {one["href"][1:] for one in markup.all("a") if one["href"].startswith("#")}
    assert inside <= ids
    assert f"cell-{CELL.id}" in inside


def test_what_labels_an_element_is_there(markup):
    ids = {one["id"] for one in markup.elements if "id" in one.attributes}
    named = [
        one["aria-labelledby"] for one in markup.elements if "aria-labelledby" in one.attributes
    ]
    assert named
    assert set(named) <= ids


def test_nothing_is_fetched(markup, text):
    assert "http://" not in text
    assert "https://" not in text
    sources = [one for one in markup.elements if "src" in one.attributes]
    assert sources == []
    assert [one["href"] for one in markup.all("link")] == ["data:,"]
    assert all(not one["href"].startswith("/") for one in markup.all("a"))


def test_the_policy_allows_the_one_script(markup):
    script = markup.one("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    (policy,) = [one["content"] for one in markup.all("meta") if "http-equiv" in one.attributes]
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_raw_records_are_linked(markup):
    hrefs = {one["href"] for one in markup.all("a")}
    assert {"records.jsonl", "run.json", "verdicts.json", launch(CELL.arm).log} <= hrefs


def test_every_verdict_has_a_sign_and_a_word(markup):
    known = {f"{sign} {word}" for sign, word in said.STANDINGS.values()}
    badges = [words(one.text) for one in markup.all("span", of="badge")]
    assert badges
    assert set(badges) <= known
    squares = [words(one.text) for one in markup.all("a", of="fail") + markup.all("a", of="pass")]
    assert squares == ["✗ FAIL 1 FAIL", "✓ PASS 1 PASS"]


def test_tables_say_what_their_headers_head(markup):
    assert all(one.attributes.get("scope") in ("col", "row") for one in markup.all("th"))
    for name in ("matrix", "table"):
        table = markup.one("table", id=name)
        assert markup.inside(table, "caption")
        assert len(markup.inside(table, "button", of="sort")) == len(
            [th for th in markup.inside(table, "th") if th["scope"] == "col"]
        )


def test_every_cell_of_the_table_has_a_key(markup):
    for name in ("matrix", "table"):
        table = markup.one("table", id=name)
        body = markup.inside(table, "tbody")[0]
        cells = markup.inside(body, "td") + markup.inside(body, "th")
        assert all("data-key" in one.attributes for one in cells)


def test_drawings_have_names(markup):
    drawings = [one for one in markup.all("svg") if not one.has_class("strip")]
    assert len(drawings) > 8
    assert all(one["role"] == "img" and one["aria-label"] for one in drawings)


def test_texts_of_models_are_text():
    markup = Markup(render(page_of(both_arms(on={"text": EVIL}))))
    assert len(markup.all("script")) == 1
    assert markup.all("img") == []
    shown = [one for one in markup.all("td") if EVIL in one.text]
    assert len(shown) == 5


def test_everything_else_from_outside_is_text():
    records = [
        launch(CELL.arm, version=EVIL, speculative_config=EVIL, argv=(EVIL,), env={EVIL: EVIL}),
        *natural(CELL.arm, domains=(EVIL, "other")),
    ]
    page = page_of(records, run=EVIL, settings={EVIL: [EVIL]})
    markup = Markup(render(page))
    assert len(markup.all("script")) == 1
    assert markup.all("img") == []
    assert EVIL in markup.one("title").text


def test_a_key_names_each_kind_of_line_once():
    lines = [Series(label, (0, 1), (0, 1)) for label in ("a device", "a device", "median")]
    keys = [one.label for one in legend(Lines("power", "seconds", tuple(lines)))]
    assert keys == ["a device", "median"]
    assert legend(Lines("power", "seconds", (lines[0],))) == ()


def test_what_is_not_drawn_keeps_its_words():
    page = page_of(both_arms())
    cells = tuple(msgspec.structs.replace(cell, drawn=False) for cell in page.cells)
    markup = Markup(render(msgspec.structs.replace(page, cells=cells)))
    assert markup.all("figure") == []
    assert any(one.text == said.RATE_TITLE for one in markup.all("h4"))
    assert "--html --cell ID" in markup.one("p", of="note").text


def test_a_run_of_nothing_has_a_page():
    page = page_of([], cells=())
    assert page.standing is Standing.NO_DATA
    assert Markup(render(page)).one("h1").text == "Nothing was judged"


def test_curves_over_concurrency_have_a_page():
    markup = Markup(render(of_concurrencies({1: 0.03, 16: 0.09})))
    assert any(one.text == said.CURVE_TITLE for one in markup.all("h4"))


def test_the_way_from_finding_to_cause():
    page = page_of(both_arms(on=DEAD), diagnoses={CELL: diagnosis()})
    markup = Markup(render(page))
    chain = markup.one("section", of="chain")
    assert len(markup.all("script")) == 1
    sentences = [
        "Nothing is accepted </script>",
        "0 of 1200 tokens",
        "The graph is off.",
        "The devices: idle and well.",
        "Whether the log says the same",
        "known up to 2026-05-01",
    ]
    places = [chain.text.index(sentence) for sentence in sentences]
    assert places == sorted(places)
    (command,) = [step.command for step in diagnosis().next]
    assert command in [one.text for one in markup.inside(chain, "code")]


def test_the_surest_cause_is_told_at_the_top():
    markup = Markup(render(page_of(both_arms(on=DEAD), diagnoses={CELL: diagnosis()})))
    assert markup.one("p", of="cause").text == "Cause (likely): The graph is off."


def test_an_unknown_cause_is_none():
    unknown = Link(Stage.UNKNOWN, Finding.INCONCLUSIVE, Confidence.POSSIBLE, "no known cause fits")
    page = page_of(both_arms(on=DEAD), diagnoses={CELL: Diagnosis(CELL, (unknown,))})
    assert page.troubles[0].cause == ""


def test_what_was_said_is_not_said_again():
    page = page_of(both_arms(on=DEAD))
    (reason,) = [one.reason for one in page.cells[0].said if one.what == said.ACCEPTANCE]
    link = Link(Stage.ACCEPTANCE, Finding.ACCEPT_ZERO, Confidence.SHOWN, reason.removesuffix("."))
    found = page_of(both_arms(on=DEAD), diagnoses={CELL: Diagnosis(CELL, (link,))})
    chain = Markup(render(found)).one("section", of="chain")
    assert "ACCEPT_ZERO" in chain.text
    assert reason not in chain.text


def test_a_cell_that_holds_needs_no_causes(markup):
    assert markup.all("section", of="chain") == []
