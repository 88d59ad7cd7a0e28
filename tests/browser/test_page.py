"""The page in a browser: no error, sorting, filters, keyboard, phone, dark, paper."""

import json

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tests.unit.builders import CELL

FAILING = f"cell-{CELL.id}"


def texts(browser, selector):
    """Return the text of what is shown of a selector, a line break as a space."""
    found = browser.find_elements(By.CSS_SELECTOR, selector)
    return [" ".join(one.text.split()) for one in found if one.is_displayed()]


def click(browser, selector):
    browser.find_element(By.CSS_SELECTOR, selector).click()


def sort_by(browser, table, column):
    headers = browser.find_elements(By.CSS_SELECTOR, f"#{table} thead th")
    (header,) = [one for one in headers if one.text.split()[:1] == [column]]
    header.find_element(By.CSS_SELECTOR, "button").click()
    return header.get_attribute("aria-sort")


def colour(browser, selector, what="background-color"):
    return browser.find_element(By.CSS_SELECTOR, selector).value_of_css_property(what)


class TestLoading:
    def test_no_error_and_nothing_fetched(self, opened, browser):
        browser.get_log("browser")
        browser.get_log("performance")
        opened()
        assert browser.get_log("browser") == []
        messages = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
        asked = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        assert asked
        assert all(url.startswith(("file:", "data:", "about:")) for url in asked)

    def test_the_answer_is_seen_first(self, opened):
        browser = opened(height=500)
        heading = browser.find_element(By.TAG_NAME, "h1")
        assert heading.text == "1 of 3 cells fails"
        assert heading.location["y"] + heading.size["height"] < 500

    def test_without_scripts_everything_is_there(self, browser, address):
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            browser.get(address)
            assert texts(browser, "#filters, #theme, #open-all, .copy") == []
            assert len(texts(browser, "#table tbody tr")) == 3
        finally:
            browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


class TestSorting:
    def test_numbers(self, opened):
        browser = opened()
        assert sort_by(browser, "table", "acceptance") == "ascending"
        rising = [float(t.split()[0]) for t in texts(browser, "#table td:nth-child(9)")]
        assert rising == sorted(rising)
        assert sort_by(browser, "table", "acceptance") == "descending"
        falling = [float(t.split()[0]) for t in texts(browser, "#table td:nth-child(9)")]
        assert falling == rising[::-1]
        assert len(set(rising)) > 1

    def test_the_worst_verdict_first(self, opened):
        browser = opened()
        sort_by(browser, "table", "release")
        sort_by(browser, "table", "verdict")
        assert texts(browser, "#table td:first-child")[0] == "✗ FAIL"

    def test_what_is_unknown_stays_last(self, opened):
        browser = opened()
        for _ in range(2):
            sort_by(browser, "matrix", "cpu-1.0")
            assert texts(browser, "#matrix tbody th")[-1] == "small"

    def test_the_matrix(self, opened):
        browser = opened()
        sort_by(browser, "matrix", "family")
        names = texts(browser, "#matrix tbody th")
        sort_by(browser, "matrix", "family")
        assert texts(browser, "#matrix tbody th") == names[::-1]


class TestFilters:
    def test_words(self, opened):
        browser = opened()
        find = browser.find_element(By.ID, "find")
        find.send_keys("accept_zero CODE")
        assert len(texts(browser, "#table tbody tr")) == 1
        assert texts(browser, "#shown") == ["1 of 3 cells"]
        assert len(texts(browser, ".cell > summary")) == 1
        find.send_keys(" nowhere")
        assert texts(browser, "#table tbody tr") == []
        click(browser, "#clear")
        assert texts(browser, "#shown") == ["3 of 3 cells"]

    def test_a_release_takes_the_rest_out_of_the_matrix(self, opened):
        browser = opened()
        Select(browser.find_element(By.ID, "by-release")).select_by_visible_text("cpu-1.0")
        assert [t.split()[0] for t in texts(browser, "#matrix thead th")] == ["family", "cpu-1.0"]
        assert texts(browser, "#matrix tbody th") == ["glm-9.1-tiny"]

    def test_family_and_verdict_go_together(self, opened):
        browser = opened()
        Select(browser.find_element(By.ID, "by-family")).select_by_visible_text("glm-9.1-tiny")
        assert len(texts(browser, "#table tbody tr")) == 2
        Select(browser.find_element(By.ID, "by-standing")).select_by_visible_text("PASS")
        (row,) = texts(browser, "#table tbody tr")
        assert row.startswith("✓ PASS")


class TestKeyboard:
    def test_everything_that_does_something_is_reached_in_order(self, opened):
        browser = opened()
        reached = []
        for _ in range(80):
            browser.switch_to.active_element.send_keys(Keys.TAB)
            focused = browser.switch_to.active_element
            if focused.tag_name == "body":
                break
            reached.append(focused)
            outline = focused.value_of_css_property("outline-style")
            assert outline != "none", focused.get_attribute("outerHTML")[:120]
        names = [one.get_attribute("id") or one.get_attribute("class") for one in reached]
        assert names[0] == "skip"
        wanted = ["theme", "find", "by-release", "by-family", "by-standing", "clear", "sort"]
        assert [names.index(one) for one in wanted] == sorted(names.index(one) for one in wanted)
        tops = [one.location["y"] for one in reached[1:]]
        assert len(tops) > 30
        assert tops[0] < tops[-1]

    def test_sorting_and_opening_by_keys(self, opened):
        browser = opened()
        button = browser.find_element(By.CSS_SELECTOR, "#table .sort")
        button.send_keys(Keys.ENTER)
        assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == "ascending"
        closed = browser.find_element(By.CSS_SELECTOR, ".cell:not([open]) > summary")
        cell = closed.find_element(By.XPATH, "..")
        closed.send_keys(Keys.ENTER)
        assert cell.get_attribute("open")

    def test_skip_to_the_cells(self, opened):
        browser = opened()
        browser.switch_to.active_element.send_keys(Keys.TAB)
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        assert browser.switch_to.active_element.get_attribute("id") == "cells"


class TestCells:
    def test_only_what_fails_is_open(self, opened):
        browser = opened()
        (cell,) = browser.find_elements(By.CSS_SELECTOR, ".cell[open]")
        assert cell.get_attribute("id") == FAILING
        assert len(cell.find_elements(By.CSS_SELECTOR, "figure svg")) > 4

    def test_a_link_opens_a_cell_even_past_a_filter(self, opened):
        browser = opened()
        closed = browser.find_element(By.CSS_SELECTOR, ".cell:not([open])")
        anchor = closed.get_attribute("id")
        browser.find_element(By.ID, "find").send_keys("accept_zero")
        assert not closed.is_displayed()
        browser.execute_script("location.hash = arguments[0]", anchor)
        assert closed.is_displayed()
        assert closed.get_attribute("open")

    def test_all_at_once(self, opened):
        browser = opened()
        click(browser, "#open-all")
        assert len(browser.find_elements(By.CSS_SELECTOR, ".cell[open]")) == 3
        assert texts(browser, "#open-all") == ["Close all"]
        click(browser, "#open-all")
        assert browser.find_elements(By.CSS_SELECTOR, ".cell[open]") == []

    def test_a_command_is_copied(self, opened):
        browser = opened()
        granted = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        browser.execute_cdp_cmd("Browser.grantPermissions", {"permissions": granted})
        button = browser.find_element(By.CSS_SELECTOR, ".cell[open] .copy")
        button.click()
        WebDriverWait(browser, 10).until(lambda _: button.text == "Copied")
        copied = browser.execute_async_script(
            "const done = arguments[0]; navigator.clipboard.readText().then(done, done)"
        )
        assert copied == command_beside(button)
        assert copied.startswith("specfloor triage ")

    def test_where_nothing_may_be_copied_it_is_selected(self, opened):
        browser = opened()
        browser.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["geolocation"]})
        button = browser.find_element(By.CSS_SELECTOR, ".cell[open] .copy")
        button.click()
        selected = "return String(getSelection())"
        WebDriverWait(browser, 10).until(lambda _: browser.execute_script(selected))
        assert browser.execute_script(selected) == command_beside(button)


def command_beside(button):
    return button.find_element(By.XPATH, "preceding-sibling::code").text


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_nothing_is_wider_than_the_window(opened, width):
    browser = opened(width=width)
    click(browser, "#open-all")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_text_in_drawings_can_be_read_on_a_phone(opened):
    browser = opened(width=360)
    heights = browser.execute_script(
        "return [...document.querySelectorAll('.cell[open] figure svg text')]"
        ".map(text => text.getBoundingClientRect().height)"
    )
    assert heights
    assert min(heights) >= 9


class TestColours:
    def test_the_system_says_dark(self, opened):
        light = colour(opened(), "body")
        dark = colour(opened(scheme="dark"), "body")
        assert light == "rgba(255, 255, 255, 1)"
        assert dark == "rgba(20, 23, 27, 1)"

    def test_drawings_follow(self, opened):
        line = ".cell[open] figure svg path[style*='--on']"
        assert colour(opened(), line, "stroke") != colour(opened(scheme="dark"), line, "stroke")

    def test_the_button_is_remembered(self, opened):
        browser = opened(scheme="dark")
        click(browser, "#theme")
        assert colour(browser, "body") == "rgba(255, 255, 255, 1)"
        browser.refresh()
        assert colour(browser, "body") == "rgba(255, 255, 255, 1)"
        assert browser.find_element(By.ID, "theme").get_attribute("aria-pressed") == "false"
        browser.execute_script("localStorage.clear()")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_text_stands_out_from_what_is_behind_it(self, opened, scheme):
        browser = opened(scheme=scheme)
        low = browser.execute_script(CONTRAST)
        assert low == []

    def test_paper_is_white(self, opened):
        browser = opened()
        browser.execute_script("document.documentElement.dataset.theme = 'dark'")
        assert colour(browser, "body") == "rgba(20, 23, 27, 1)"
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert colour(browser, "body") == "rgba(255, 255, 255, 1)"


def test_nothing_is_cut_off_on_paper(opened):
    # A4 between margins of 1 cm
    browser = opened(width=718)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 718


def test_paper_has_every_cell_open(opened):
    browser = opened()
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.find_elements(By.CSS_SELECTOR, "details:not([open])") == []
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".cell[open]")) == 1


CONTRAST = """
// WCAG 2: text against the nearest background that is not transparent, 4.5 to 1 at least
const channels = (text) => text.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => [r, g, b]
  .map((c) => c / 255)
  .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const colour = channels(getComputedStyle(one).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const low = [];
for (const element of document.querySelectorAll("body *:not(script, svg, svg *)")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || !element.checkVisibility()) continue;
  const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(behind(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.push(`${element.tagName} ${element.className} ${ratio.toFixed(2)}`);
}
return low;
"""
