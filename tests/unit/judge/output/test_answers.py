"""What counts as a right answer."""

from fractions import Fraction

import msgspec
import pytest

from specfloor.judge.output.answers import are_right, final_text, is_right, last_number
from specfloor.load.expect import (
    ExpectContains,
    ExpectedCall,
    ExpectJson,
    ExpectNumber,
    ExpectText,
    ExpectToolCalls,
)
from specfloor.runs.records import ToolCall
from tests.unit.judge.output.builders import answer, prompt


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The result is 42.", 42),
        ("It costs $1,234.50", Fraction("1234.5")),
        ("**-7**", -7),
        ("so x = −3", -3),
        ("The probability is 5/6", Fraction(5, 6)),
        (r"Hence $\boxed{\frac{5}{6}}$.", Fraction(5, 6)),
        (r"\dfrac{-1}{2}", Fraction(-1, 2)),
        ("答案是１２３。", 123),
        ("一共是56个苹果", 56),
        ("10-4=6", 6),
        ("from 10-4", 4),
        ("Area: 12 m² (x2)", 12),
        ("3 / 4", Fraction(3, 4)),
        ("1.5/2", Fraction(3, 4)),
        ("7, then 1/0", 7),
        ("none", None),
    ],
)
def test_the_last_number(text, number):
    assert last_number(text) == number


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"const": 41}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
)


@pytest.mark.parametrize(
    ("expect", "good", "bad"),
    [
        (ExpectNumber("42"), ["6 * 7 = 42", "Answer: 42.0"], ["41", "42 or 43", ""]),
        (ExpectNumber("5/6"), ["5/6", "10/12"], ["0.83"]),
        (
            ExpectText("a-1\nb  2"),
            ["a-1\nb  2", "a-1 \nb  2\n", "```\na-1\nb  2\n```", '"a-1\nb  2"'],
            ["a-1\nb 2", "Here it is:\na-1\nb  2", "a-1"],
        ),
        (
            ExpectContains(("Anna Berg", "4711")),
            ["- 4711\n- ANNA\n  berg"],
            ["Anna", "4711 Anna B."],
        ),
        (ExpectContains(("1580", "2,690.07")), ["1,580 and 2690.07"], ["158,0 and 2,690"]),
        (
            ExpectJson(SCHEMA),
            ['{"name": "A", "age": 41}', '```json\n{"name": "A", "age": 41}\n```'],
            [
                '{"name": "A", "age": 40}',
                '{"name": "A", "age": 41',
                'Here: {"name": "A", "age": 41}',
                '{"name": "A", "age": 41, "age": 41}',
                '{"name": NaN, "age": 41}',
                "",
            ],
        ),
    ],
)
def test_right_and_wrong(expect, good, bad):
    for text in good:
        assert is_right(answer(text), expect), text
        assert is_right(answer(f"<think>41?</think>\n{text}"), expect), text
    for text in bad:
        assert not is_right(answer(text), expect), text


def test_reasoning_left_in_the_text_is_no_part_of_the_answer():
    assert final_text(answer("So 5.</think>\n\n6")) == "6"


def calls(*pairs):
    return tuple(ToolCall(name, arguments) for name, arguments in pairs)


OSLO = ("weather", '{"city": "Oslo", "days": 2}')
WANTED = ExpectToolCalls((ExpectedCall("weather", {"city": "oslo "}),))


@pytest.mark.parametrize(
    ("made", "text", "right"),
    [
        (calls(OSLO), "", True),
        (calls(OSLO), "I look it up.", True),
        (calls(("weather", '{"city": "Bergen"}')), "", False),
        (calls(OSLO, OSLO), "", False),
        (calls(OSLO, ("now", "")), "", False),
        ((), "It rains.", False),
        # how streaming parsers fail when one step brings several tokens
        (calls(("weather", '{"city": "Oslo"}}')), "", False),
        (calls(("weather", '"{\\"city\\": \\"Oslo\\"}"')), "", False),
        (calls(("weather", "{}")), "", False),
        (calls(("weather", '{"city=Oslo": ""}')), "", False),
        (calls(('weather city="Oslo"', "{}")), "", False),
        (calls(("", OSLO[1])), "", False),
        (calls(OSLO), "</arg_value>", False),
        ((), '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>', False),
    ],
)
def test_tool_calls(made, text, right):
    request = answer(text, tool_calls=made, reason="tool_calls" if made else "stop")
    assert are_right(request, prompt(expect=WANTED, tools=TOOLS)) is right


def test_calls_in_any_order_and_none():
    both = ExpectToolCalls((ExpectedCall("now"), ExpectedCall("weather", {"days": 2})))
    assert are_right(
        answer("", tool_calls=calls(OSLO, ("now", ""))), prompt(expect=both, tools=TOOLS)
    )
    true_is_not_one = ExpectToolCalls((ExpectedCall("weather", {"days": True}),))
    one_day = calls(("weather", '{"city": "Oslo", "days": 1}'))
    assert not are_right(
        answer("", tool_calls=one_day), prompt(expect=true_is_not_one, tools=TOOLS)
    )
    none = prompt(expect=ExpectToolCalls(()), tools=TOOLS)
    assert are_right(answer("Hello!"), none)
    assert not are_right(answer("", tool_calls=calls(OSLO)), none)


def test_without_an_expectation_calls_have_to_be_sound():
    offered = prompt(tools=TOOLS)
    assert are_right(answer("Hello!"), offered)
    assert are_right(answer("", tool_calls=calls(OSLO)), offered)
    assert not are_right(answer("", tool_calls=calls(("weather", "{}"))), offered)
    assert not are_right(answer("", tool_calls=calls(("fly", "{}"))), offered)


def test_tool_calls_are_not_judged_without_their_tools():
    with pytest.raises(ValueError, match="with the tools"):
        is_right(answer(), WANTED)
    assert msgspec.json.decode(msgspec.json.encode(WANTED), type=ExpectToolCalls) == WANTED
