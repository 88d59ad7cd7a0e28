"""Which language is spoken, and what it is asked for by."""

import pytest

from specfloor.cells import Cell
from specfloor.errors import UsageError
from specfloor.i18n import _, language, language_of, speaking, use
from specfloor.judge.run import CellResult
from specfloor.report.table import tables


def test_english_unless_asked():
    assert (language(), _("acceptance (mean)")) == ("en", "acceptance (mean)")


@pytest.mark.parametrize(
    ("environ", "spoken"),
    [({}, "en"), ({"LANG": "zh_CN.UTF-8"}, "en"), ({"SPECFLOOR_LANG": "zh"}, "zh")],
)
def test_the_environment_is_asked_and_the_locale_is_not(environ, spoken):
    assert language_of(environ) == spoken


def test_a_language_that_there_is_not_is_refused():
    with pytest.raises(UsageError, match="no language fr: give --lang or SPECFLOOR_LANG one of"):
        use("fr")
    assert language() == "en"


def test_a_language_is_spoken_for_a_while():
    with speaking("zh"):
        assert _("acceptance (mean)") == "接受率（均值）"
    assert language() == "en"


def test_a_language_is_left_behind_by_what_goes_wrong():
    with pytest.raises(UsageError), speaking("zh"):
        use("fr")
    assert language() == "en"


def test_the_empty_message_is_empty():
    with speaking("zh"):
        assert _("") == ""


def test_tables_have_chinese_headers():
    cell = Cell("cpu-1.0", "tiny", "mtp", 3, "code", "off", 1)
    with speaking("zh"):
        (table,) = tables([CellResult(cell, None, None, None)]).values()
    assert "模型系列" in table
    assert "acceptance" not in table
