"""Every test begins in English and in a plain environment, whatever is set or was asked before."""

import os

import pytest

from specfloor import i18n
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
