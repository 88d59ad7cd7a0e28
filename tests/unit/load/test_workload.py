import json

import msgspec
import pytest

from specfloor.errors import UsageError
from specfloor.load.expect import ExpectedCall, ExpectNumber, ExpectToolCalls
from specfloor.load.workload import Message, Prompt, fingerprint, load_workload, shuffled
from tests.unit.builders import FIXTURES


def line(prompt_id="a", domain="code", content="Hi", **more):
    return json.dumps(
        {"id": prompt_id, "domain": domain, "messages": [{"role": "user", "content": content}]}
        | more
    )


def prompts(count):
    return tuple(
        Prompt(f"p{i:03d}", "code" if i < count // 2 else "chat", (Message("user", f"Say {i}"),))
        for i in range(count)
    )


@pytest.fixture
def workload(tmp_path):
    def write(*lines):
        path = tmp_path / "w.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


def test_reads_prompts_in_file_order(workload):
    path = workload(line("b", content="你好"), "", line("a", domain="chat"))
    assert load_workload(path) == (
        Prompt("b", "code", (Message("user", "你好"),)),
        Prompt("a", "chat", (Message("user", "Hi"),)),
    )


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ((line(), "{"), ["line 2"]),
        ((line(), line()), ["line 2", "'a'", "twice"]),
        (('{"id": "a", "messages": []}',), ["line 1", "domain"]),
        ((line(domain=3),), ["line 1", "domain"]),
        ((line(messages=[]),), ["line 1", "messages"]),
        ((line(messages=[{"role": "user"}]),), ["line 1", "messages", "content"]),
        ((line(prompt_id=""),), ["line 1", "id"]),
        ((line(colour="red"),), ["line 1", "colour"]),
        ((line(tools={}),), ["line 1", "tools"]),
        ((line(expect={"kind": "number"}),), ["line 1", "expect", "value"]),
        ((line(tools=[{"function": {}}]),), ["line 1", "tools, item 1", "name"]),
        ((line(expect={"kind": "number", "value": "3 apples"}),), ["line 1", "3 apples"]),
        ((line(expect={"kind": "json", "schema": {"type": "thing"}}),), ["line 1", "JSON Schema"]),
        ((line(expect={"kind": "tool_calls", "calls": [{"name": "g"}]}),), ["line 1", "'g'"]),
        ((line(expect={"kind": "mood", "value": "good"}),), ["line 1", "expect", "kind"]),
        (("",), ["no prompt"]),
    ],
)
def test_a_bad_line_is_named_with_file_and_field(workload, lines, says):
    path = workload(*lines)
    with pytest.raises(UsageError) as caught:
        load_workload(path)
    message = str(caught.value)
    assert "\n" not in message
    for part in [str(path), *says]:
        assert part in message


def test_bytes_that_are_no_text_are_named(tmp_path):
    path = tmp_path / "w.jsonl"
    path.write_bytes(line(content="x").encode().replace(b'"x"', b'"\xff\xfe"'))
    with pytest.raises(UsageError, match="line 1"):
        load_workload(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"none\.jsonl cannot be read"):
        load_workload(tmp_path / "none.jsonl")


def test_fingerprint_is_of_the_set():
    some = prompts(6)
    assert fingerprint(some) == fingerprint(reversed(some))
    assert fingerprint(some) != fingerprint(some[1:])
    changed = (Prompt("p000", "code", (Message("user", "Say 0."),)), *some[1:])
    assert fingerprint(some) != fingerprint(changed)


def test_the_order_is_seeded_and_mixes_domains():
    some = prompts(40)
    order = shuffled(some, seed=1)
    assert sorted(order, key=lambda p: p.id) == list(some)
    assert order == shuffled(reversed(some), seed=1)
    assert order != shuffled(some, seed=2)
    assert {p.domain for p in order[:10]} == {"code", "chat"}


def test_the_order_of_a_part_is_that_of_the_whole():
    some = prompts(40)
    part = shuffled(some[::3], seed=5)
    assert part == tuple(p for p in shuffled(some, seed=5) if p in some[::3])


def test_the_order_does_not_change_between_versions():
    order = [p.id for p in shuffled(prompts(6), seed=0)]
    assert order == ["p000", "p004", "p002", "p001", "p003", "p005"]


def test_reads_what_the_answer_must_be(workload):
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    calls = {"kind": "tool_calls", "calls": [{"name": "f", "arguments": {"x": 1}}]}
    path = workload(
        line("a", expect={"kind": "number", "value": "5/6"}),
        line("b", tools=[tool], expect=calls),
    )
    sum_, call = load_workload(path)
    assert sum_.expect == ExpectNumber("5/6")
    assert call.tools == (tool,)
    assert call.expect == ExpectToolCalls((ExpectedCall("f", {"x": 1}),))


def test_the_fingerprint_covers_tools_and_expectation_whatever_the_order_of_their_keys():
    (plain,) = prompts(1)
    schema = {"type": "object", "required": ["x"]}
    one, other = (
        msgspec.structs.replace(plain, tools=({"function": {"name": "f", "parameters": given}},))
        for given in (schema, dict(reversed(schema.items())))
    )
    checked = msgspec.structs.replace(plain, expect=ExpectNumber("1"))
    assert fingerprint([one]) == fingerprint([other])
    assert len({fingerprint([p]) for p in (plain, one, checked)}) == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("general/chat", "4cb1feca5f9c653e56ae6246c52570642e884a6dfda5e162d15fe32b35986d36"),
        ("general/code", "8de834e88421c6f73f178f8533f8899b41743489ff44d32a950294d5f2a850cf"),
        ("general/math", "b01f570ba49d9c912f2892ecc484a55d768418049d9d4a937805230e6b44adcb"),
        ("glm_moe_tiny/chat", "061a41520696b7641f9f0e6040de5234af79e40e240546386672da74a9ed893a"),
        ("glm_moe_tiny/code", "d0b352b2bbeb1c896308c6923562eeef501c41f2f836ad88868420183fa695ac"),
        ("smollm2_135m/story", "6538561cd00a9588f6d3876eea001dfa5f1cec0a8cc5851d5b27bf158dc7180b"),
    ],
)
def test_fingerprints_of_stored_runs_stay_what_they_are(name, expected):
    assert fingerprint(load_workload(FIXTURES / "workloads" / f"{name}.jsonl")) == expected
