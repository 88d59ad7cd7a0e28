"""Chromium without a window, as the tests and the screenshots of the documentation drive it."""

import shutil
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

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


class MissingProgramError(Exception):
    """Chromium or its driver is not installed; says so in a sentence."""


def start(profile: Path) -> webdriver.Chrome:
    """Start a browser with a profile of its own, or raise MissingProgramError."""
    options = webdriver.ChromeOptions()
    options.binary_location = _find("chromium", "chromium-browser", "google-chrome")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options, Service(_find("chromedriver")))


def show(browser, address, *, width=1280, height=900, scheme="light"):
    """Open an address in a window of a size, with the colours that the system asks for."""
    device = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    wish = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [wish]})
    browser.get("about:blank")
    browser.get(address)


def _find(*names: str) -> str:
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise MissingProgramError(
            f"{names[0]} is missing: these tests need Chromium and its driver "
            "(Debian: chromium, chromium-driver)"
        )
    return found
