"""Makes the pictures of the documentation from the page of a stored run.

    python -m tests.browser.screenshots reports/RUN/index.html docs/images [-zh]

Three PNG files of few colours: ``report-top.png``, ``report-cell.png`` (the first cell that is
open, in dark), ``report-phone.png``; what is given last comes before ``.png``. A page in Chinese
needs a font for it (Debian: fonts-wqy-microhei).
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser.chromium import show, start

_COLOURS = 20
_CELL = """
const cell = document.querySelector(".cell[open]");
cell.scrollIntoView();
return cell.querySelector(".panels").getBoundingClientRect().bottom;
"""


def save(browser, path: Path, height: int) -> None:
    """Save the upper part of the window in few colours."""
    whole = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    part = whole.crop((0, 0, whole.width, min(height, whole.height)))
    few = part.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main(page: Path, folder: Path, suffix: str = "") -> None:
    """Write the three files."""
    address = page.resolve().as_uri()
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        browser = start(Path(profile))
        try:
            show(browser, address, width=1280, height=1500)
            end = browser.execute_script(
                "return document.getElementById('table').getBoundingClientRect().bottom"
            )
            save(browser, folder / f"report-top{suffix}.png", int(end) + 16)
            show(browser, address, width=1280, height=1700, scheme="dark")
            save(browser, folder / f"report-cell{suffix}.png", int(browser.execute_script(_CELL)))
            show(browser, address, width=360, height=780)
            save(browser, folder / f"report-phone{suffix}.png", 780)
        finally:
            browser.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
