"""Loops are seen, and code, JSON, lists and tables are not taken for loops."""

import inspect
import json
import textwrap
import unittest.case

import pytest

from specfloor.judge.looping import loops, repeats, repetition

PROSE = (
    "The harbour was quiet that morning, and only the smell of tar told of the night's work. "
    "Two men carried a long crate along the quay while a third counted the stamps on its lid. "
    "Nobody asked what was inside, for the answer would have been a lie and all of them knew it. "
)


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 42. " * 60,
        PROSE + "I am sorry, I cannot do that. " * 30,
        "x = x + 1\n" * 80,
        "def f():\n    return 1\n\n\n" * 40,
        PROSE + "他打开门看见了一条河。" * 40,
        '{"a": 1, "b": null}, ' * 60,
    ],
)
def test_a_loop_is_seen(text):
    assert loops(text)


def table():
    rows = "\n".join(f"| item{i} | {i * 7919 % 1000} | ms |" for i in range(60))
    return f"| name | value | unit |\n| --- | --- | --- |\n{rows}"


@pytest.mark.parametrize(
    "text",
    [
        *(inspect.getsource(m) for m in (textwrap, json, json.encoder, unittest.case)),
        json.dumps([{"id": i, "status": "ok", "error": None} for i in range(60)], indent=2),
        json.dumps(
            [{"id": i, "status": "ok", "error": None, "retry": False} for i in range(60)], indent=2
        ),
        json.dumps([{"name": f"n{i * i}", "age": i % 70, "tags": ["a", "b"]} for i in range(60)]),
        "\n".join(f"{i}. The square of {i} is {i * i}." for i in range(80)),
        "\n".join(f".c{i} {{\n  margin: 0;\n  padding: 0;\n  top: {i}px;\n}}" for i in range(50)),
        table(),
        ", ".join(str(i) for i in range(300)),
        inspect.getsource(textwrap)[:3000] * 2,
        "no. " * 20,
        "",
    ],
)
def test_natural_text_is_no_loop(text):
    assert not loops(text)


def test_token_ids_serve_as_well():
    assert repeats(list(range(50)) + [7, 8, 9] * 60)
    assert not repeats(list(range(230)))


def test_a_short_text_says_nothing():
    assert repetition([1] * 100) is None
    assert repetition([1] * 400) == pytest.approx(1.0)
