"""A page of a run with a failing family, in headless Chromium."""

import pytest

from specfloor.report.html.render import render
from tests.browser.chromium import MissingProgramError, show, start
from tests.unit.builders import CELL, both_arms
from tests.unit.report.html.pages import DEAD, OLD, diagnosis, page_of

SMALL = type(CELL)("cpu-2.0", "small", "ngram", 4, "rewrite", "none", 1)


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """Where the page is: two releases, the newer without its draft, and a family of its own."""
    records = [*both_arms(cell=OLD), *both_arms(on=DEAD), *both_arms(cell=SMALL)]
    page = page_of(records, cells=(OLD, CELL, SMALL), diagnoses={CELL: diagnosis()})
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(render(page), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests."""
    try:
        driver = start(tmp_path_factory.mktemp("profile"))
    except MissingProgramError as missing:
        pytest.fail(str(missing), pytrace=False)
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, address):
    """Open the page anew, as if for the first time; arguments as :func:`show` takes them."""

    def page(**window):
        show(browser, address, **window)
        browser.execute_script(
            "localStorage.clear(); delete document.documentElement.dataset.theme"
        )
        return browser

    return page
