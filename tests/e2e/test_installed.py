"""What the wheel carries: the library knows its catalogue without this repository."""

import json
import subprocess
import sys
from importlib import metadata

import pytest

from specfloor.catalog import load_catalog

PROGRAM = """
import json
from specfloor.catalog import load_catalog
from specfloor.engines.indexes import load_indexes
known = load_catalog()
print(json.dumps([list(known.releases), list(known.families), load_indexes()]))
"""


def isolated(*arguments, folder):
    """Run the interpreter where nothing but what is installed can be imported."""
    done = subprocess.run(
        [sys.executable, "-I", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def _installed():
    try:
        metadata.distribution("specfloor")
    except metadata.PackageNotFoundError:
        pytest.skip("specfloor is not installed in this environment; tox installs its wheel")


def test_the_catalogue_comes_along(tmp_path):
    releases, families, indexes = json.loads(isolated("-c", PROGRAM, folder=tmp_path))
    assert releases == list(load_catalog().releases)
    assert families == list(load_catalog().families)
    assert indexes


def test_the_command_line_comes_along(tmp_path):
    assert "glm-4.7" in isolated("-m", "specfloor", "families", folder=tmp_path)


def test_the_parts_of_the_page_come_along(tmp_path):
    program = (
        "from specfloor.report.html.render import asset\n"
        "print(min(len(asset(name)) for name in ('page.html.j2', 'page.css', 'page.js')))"
    )
    assert int(isolated("-c", program, folder=tmp_path)) > 1000


def test_the_chinese_catalogue_comes_along(tmp_path):
    assert "模型系列" in isolated("-m", "specfloor", "--lang", "zh", "families", folder=tmp_path)
