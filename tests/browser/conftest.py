"""A page of a run with a failing family, in headless Chromium."""

import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from specfloor.report.html.render import render
from tests.unit.builders import CELL, both_arms
from tests.unit.report.html.pages import DEAD, OLD, diagnosis, page_of

SMALL = type(CELL)("cpu-2.0", "small", "ngram", 4, "rewrite", "none", 1)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
MISSING = (
    "{} is missing: these tests need Chromium and its driver (Debian: chromium, chromium-driver)"
)


def find_program(*names):
    """Return the path of the first program there is; without any, fail with a sentence."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(MISSING.format(names[0]), pytrace=False)
    return found


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    """Where the page is: two releases, the newer without its draft, and a family of its own."""
    records = [*both_arms(cell=OLD), *both_arms(on=DEAD), *both_arms(cell=SMALL)]
    text = render(page_of(records, cells=(OLD, CELL, SMALL), diagnoses={CELL: diagnosis()}))
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests, with a profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = find_program("chromium", "chromium-browser", "google-chrome")
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(find_program("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, address):
    """Open the page anew: a window of a given size, a colour scheme, or another medium."""

    def page(width=1280, height=900, scheme="light", media="", anchor=""):
        for command, arguments in (
            (
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
            ),
            (
                "Emulation.setEmulatedMedia",
                {
                    "media": media,
                    "features": [{"name": "prefers-color-scheme", "value": scheme}],
                },
            ),
        ):
            browser.execute_cdp_cmd(command, arguments)
        browser.get("about:blank")
        browser.get(address + anchor)
        browser.execute_script(
            "localStorage.clear(); delete document.documentElement.dataset.theme"
        )
        return browser

    return page
