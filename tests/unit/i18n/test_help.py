"""The help in Chinese: of every command, with the words that click adds."""

import pytest

ADDED = ("Usage", "Options", "Commands", "Show this message", "[default", "[required]", "required")


@pytest.mark.parametrize(
    "arguments",
    [(), ("plan",), ("bisect",), ("fixes",), ("fixes", "add"), ("golden",), ("golden", "export")],
    ids=" ".join,
)
def test_the_words_that_click_adds(command, arguments):
    out = command(*arguments, "--help")
    assert [word for word in ADDED if word in out] == []
    assert out.startswith("用法：specfloor")
    assert "\n选项：\n" in out
    assert "显示此说明并退出。" in out


def test_defaults_and_what_is_required(command):
    out = command("bisect", "--help")
    assert "[必需]" in out
    assert "[默认：0.05]" in out


def test_the_help_is_english_without_a_language(typed):
    _, out, _ = typed("bisect", "--help")
    assert out.startswith("Usage: specfloor bisect [OPTIONS]\n")
    assert "\nOptions:\n" in out
    assert "[default: 0.05]" in " ".join(out.split())
    assert "Show this message and exit." in out
