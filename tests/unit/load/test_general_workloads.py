"""The prompts for models that people serve: enough of each kind, and answers that can be right."""

import json

import pytest
from jsonschema import Draft202012Validator

from specfloor.judge.output.answers import is_right
from specfloor.judge.output.garbage import garbage
from specfloor.load.expect import ExpectContains, ExpectNumber, ExpectText, ExpectToolCalls
from specfloor.load.sets import Workloads
from specfloor.load.settings import read_settings
from tests.unit.builders import FIXTURES
from tests.unit.judge.output.builders import answer

FOLDER = FIXTURES / "workloads"
SETS = Workloads(FOLDER, seed=1)
SETTINGS = read_settings(FOLDER / "general")
WHOLE = [name for name, settings in SETTINGS.items() if not settings.parts]
CHECKED = ["structured", "tool_call", "extraction", "zh_reasoning", "arithmetic", "copy"]


def prompts(name):
    return SETS.prompts("general", name)


def test_every_kind_of_work_is_there():
    assert set(WHOLE) == {
        *("code", "math", "chat", "structured", "tool_call", "summary", "extraction"),
        *("translation", "zh_chat", "zh_reasoning", "arithmetic", "copy"),
        *("long_context", "very_long_context"),
    }
    assert {path.stem for path in (FOLDER / "general").glob("*.jsonl")} == {
        name for name in WHOLE if not SETTINGS[name].long_context
    }


@pytest.mark.parametrize("name", WHOLE)
def test_each_has_twenty_prompts_and_more(name):
    some = prompts(name)
    assert len(some) >= 20
    assert {p.domain for p in some} == {name.removeprefix("very_")}
    assert len({p.messages[-1].content for p in some}) == len(some)


def test_ids_are_unique_over_all():
    ids = [prompt.id for name in WHOLE for prompt in prompts(name)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", CHECKED)
def test_every_answer_of_a_checked_workload_can_be_checked(name):
    assert all(prompt.expect for prompt in prompts(name))


@pytest.mark.parametrize("name", ["zh_chat", "zh_reasoning"])
def test_chinese_prompts_are_chinese(name):
    for prompt in prompts(name):
        text = prompt.messages[-1].content
        assert sum("\u4e00" <= c <= "\u9fff" for c in text) > len(text) / 2, prompt.id


@pytest.mark.parametrize("name", ["arithmetic", "copy", "extraction", "zh_reasoning"])
def test_a_right_answer_is_right_and_an_empty_one_is_not(name):
    for prompt in prompts(name):
        match prompt.expect:
            case ExpectNumber(value):
                text = f"So 1 + 1 = 2, and in the end it is **{value}**."
            case ExpectText(value):
                text = value
                assert value in prompt.messages[-1].content
            case ExpectContains(values):
                text = "\n".join(f"- {value}" for value in values)
        assert is_right(answer(text), prompt.expect), prompt.id
        assert not is_right(answer("I do not know."), prompt.expect), prompt.id


def test_facts_to_extract_are_in_the_text():
    derived = {"1580"}  # two months' rent
    for prompt in prompts("extraction"):
        for value in prompt.expect.values:
            assert value in prompt.messages[-1].content or value in derived, (prompt.id, value)


def test_expected_calls_fit_the_tools():
    for prompt in prompts("tool_call"):
        assert isinstance(prompt.expect, ExpectToolCalls)
        for call in prompt.expect.calls:
            schema = prompt.parameters[call.name]
            assert set(schema["required"]) <= set(schema["properties"]), prompt.id
            for name, value in call.arguments.items():
                kind = Draft202012Validator(schema["properties"][name])
                assert kind.is_valid(value), (prompt.id, name)


def test_schemas_refuse_what_is_no_answer():
    for prompt in prompts("structured"):
        for text in ("", "{}", "[]", json.dumps({"a": 1}), "Here is the JSON you asked for."):
            assert not is_right(answer(text), prompt.expect), (prompt.id, text)


def test_prompts_are_clean():
    for name in WHOLE:
        for prompt in prompts(name):
            assert garbage(answer(prompt.messages[-1].content), prompt) is None
