"""What all tests share: each begins in English and in a plain environment, whatever is set."""

import os

import pytest

from specfloor import cli, i18n
from specfloor.catalog.environment_names import PREFIXES

NOTICED = (
    *(*PREFIXES, "SPECFLOOR_", "HF_", "MODELSCOPE_"),
    *("FORCE_COLOR", "NO_COLOR", "GITHUB_STEP_SUMMARY"),
)
"""How variables begin by which what is tested does otherwise."""


@pytest.fixture(autouse=True)
def _plainly(monkeypatch):
    for name in os.environ:
        if name.startswith(NOTICED):
            monkeypatch.delenv(name)
    i18n.use(i18n.ENGLISH)


@pytest.fixture
def typed(monkeypatch, capsys):
    """Run ``specfloor`` as it is typed; return the exit code, the output and the errors."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["specfloor", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run
