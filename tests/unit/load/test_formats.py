"""Files that users bring are told apart by shape, and bad ones are named by line and field."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specfloor.errors import UsageError
from specfloor.load.expect import ExpectNumber
from specfloor.load.formats import load_any, read_file
from specfloor.load.workload import Message, Prompt, fingerprint, load_workload
from tests.unit.builders import FIXTURES

ASKED = (Message("user", "Why is the sky blue?"),)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}

RECORDS = {
    # MT-Bench and Spec-Bench: question_id is a number
    "mt-bench": (
        {"question_id": 81, "category": "writing", "turns": ["Why is the sky blue?", "Shorter."]},
        "turns",
        Prompt("81", "writing", ASKED),
    ),
    "speed-bench": (
        {
            "question_id": "a-1",
            "category": "qa",
            "sub_category": "",
            "turns": ["Why is the sky blue?"],
            "source": "s",
            "src_id": "1",
            "difficulty": "",
            "multiturn": False,
        },
        "turns",
        Prompt("a-1", "qa", ASKED),
    ),
    "gsm8k": (
        {"question": "Why is the sky blue?", "answer": "Since 2 * 617 is 1234.\n#### 1,234"},
        "gsm8k",
        Prompt("000001", "gsm8k", ASKED, expect=ExpectNumber("1234")),
    ),
    "sharegpt": (
        {
            "id": "x_0",
            "conversations": [
                {"from": "gpt", "value": "Hello"},
                {"from": "human", "value": "Why is the sky blue?"},
                {"from": "gpt", "value": "Because."},
            ],
        },
        "sharegpt",
        Prompt("x_0", "sharegpt", ASKED),
    ),
    "prompt": (
        {"prompt": "Why is the sky blue?"},
        "prompt",
        Prompt("000001", "prompt", ASKED),
    ),
    "messages": (
        {
            "task_id": "T/1",
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": [{"type": "text", "text": "Why is the sky blue?"}]},
                {"role": "assistant", "content": "Because."},
            ],
            "tools": [TOOL],
        },
        "messages",
        Prompt("T/1", "messages", (Message("system", "Be short."), *ASKED), (TOOL,)),
    ),
    "prompt with messages": (
        {"prompt": [{"role": "user", "content": "Why is the sky blue?"}], "category": "sky"},
        "prompt",
        Prompt("000001", "sky", ASKED),
    ),
    "our own": (
        {
            "id": "a",
            "domain": "d",
            "messages": [{"role": "user", "content": "Why is the sky blue?"}],
            "expect": {"kind": "number", "value": "1"},
        },
        "specfloor",
        Prompt("a", "d", ASKED, expect=ExpectNumber("1")),
    ),
}


@pytest.fixture
def file(tmp_path):
    def write(text, name="mine.jsonl"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("style", [json.dumps, lambda r: json.dumps([r], indent=2)])
@pytest.mark.parametrize(("record", "name", "prompt"), RECORDS.values(), ids=RECORDS)
def test_every_format_is_known_by_its_shape(file, record, name, prompt, style):
    loaded = read_file(file(style(record)))
    assert (loaded.format, loaded.prompts, loaded.skipped) == (name, (prompt,), 0)


def test_formats_may_be_mixed_and_lines_blank(file):
    records = [record for record, _, _ in RECORDS.values()]
    loaded = read_file(file("\ufeff\n" + "\r\n\r\n".join(json.dumps(r) for r in records)))
    assert len(loaded.prompts) == len(RECORDS)
    assert loaded.format.startswith("turns, gsm8k")


def test_our_own_workloads_are_read_alike():
    path = FIXTURES / "workloads" / "general" / "chat.jsonl"
    assert fingerprint(load_any(path)) == fingerprint(load_workload(path))


def test_chats_in_which_nobody_asks_are_counted(file):
    silent = [
        {"id": "a", "conversations": []},
        {"id": "b", "conversations": [{"from": "gpt", "value": "Hello"}]},
        {"messages": [{"role": "assistant", "content": "Hello"}]},
    ]
    loaded = read_file(file(json.dumps([*silent, {"prompt": "Hi"}])))
    assert (len(loaded.prompts), loaded.skipped) == (1, 3)
    with pytest.raises(UsageError, match="holds no prompt"):
        read_file(file(json.dumps(silent)))


GOOD = '{"prompt": "Hi"}\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD + '{"prompt": ', ["line 2", "no JSON"]),
        (GOOD + "[1]", ["line 2", "not a list"]),
        (GOOD + '{"prompt": 3}', ["line 2", "'prompt' is text, not a number"]),
        (GOOD + '{"prompt": "a\\ud83d"}', ["line 2", "surrogate"]),
        (GOOD + '{"prompt": " "}', ["line 2", "'prompt' is empty"]),
        (GOOD + '{"text": "a", "b": 1}', ["line 2", "turns", "it has: b, text"]),
        (GOOD + '{"turns": []}', ["line 2", "'turns'", "an empty one"]),
        (GOOD + '{"turns": [["a"]]}', ["line 2", "'turns', item 1", "a list"]),
        (GOOD + '{"question": "a", "answer": null}', ["line 2", "'answer'", "null"]),
        (GOOD + '{"conversations": {}}', ["line 2", "'conversations' is a list"]),
        (GOOD + '{"conversations": [{"from": "human"}]}', ["line 2", "item 1", "'value'"]),
        (GOOD + '{"messages": [{"role": "user"}]}', ["line 2", "'messages', item 1", "'content'"]),
        (
            '{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            ["line 1", "item 1, 'content', part 1", "text"],
        ),
        (GOOD + '{"prompt": "a", "tools": {"a": 1}}', ["line 2", "'tools'"]),
        ('{"prompt": "a", "tools": [{"name": "f"}]}', ["line 1", "tools, item 1"]),
        ('{"id": "a", "domain": "d", "messages": [{"role": "user"}]}', ["line 1", "content"]),
        (
            '{"id": "a", "domain": "\\ud83d", "messages": [{"role": "user", "content": "a"}]}',
            ["line 1", "surrogate"],
        ),
        ('{"id": 1, "prompt": "a"}\n{"id": 1, "prompt": "b"}', ["line 2", "'1' comes twice"]),
        ('[\n{"prompt": "a"},\n\n{"prompt": 1}]', ["line 4", "'prompt'"]),
        ('[\n{"prompt": "a"}\n{"prompt": "b"}]', ["line 3", "','"]),
        ('[\n{"prompt": "a"},\n{"prompt" "b"}]', ["line 3", "no JSON"]),
        ('[\n{"prompt": "a"}', ["line 2", "breaks off"]),
        ("", ["holds no prompt"]),
        ("[]", ["holds no prompt"]),
        ("id,text\n1,a", ["line 1", "no JSON"]),
    ],
)
def test_a_bad_file_is_named_with_line_and_field(file, text, says):
    path = file(text)
    with pytest.raises(UsageError) as caught:
        load_any(path)
    message = str(caught.value)
    assert "\n" not in message
    for part in [str(path), *says]:
        assert part in message


def test_a_file_that_is_no_text_or_not_there(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b'{"prompt": "a"}\n{"prompt": "\xff"}')
    with pytest.raises(UsageError, match="line 2: not UTF-8"):
        load_any(path)
    with pytest.raises(UsageError, match="cannot be read"):
        load_any(tmp_path)


FIELDS = (
    *("id", "domain", "messages", "prompt", "turns", "conversations", "question", "answer"),
    *("from", "value", "role", "content", "tools", "expect", "type", "text"),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4), st.booleans())
def test_any_json_is_read_or_refused_in_one_sentence(tmp_path_factory, records, as_list):
    path = tmp_path_factory.mktemp("any") / "mine.json"
    lines = json.dumps(records) if as_list else "\n".join(map(json.dumps, records))
    path.write_text(lines, encoding="utf-8")
    with contextlib.suppress(UsageError):
        assert fingerprint(load_any(path))
