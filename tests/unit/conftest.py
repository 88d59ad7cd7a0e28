"""Every test begins in English, whatever the one before it asked for."""

import pytest

from specfloor import i18n


@pytest.fixture(autouse=True)
def _in_english(monkeypatch):
    monkeypatch.delenv(i18n.VARIABLE, raising=False)
    i18n.use(i18n.ENGLISH)
