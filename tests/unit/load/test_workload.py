import json

import pytest

from specfloor.errors import UsageError
from specfloor.load.workload import Message, Prompt, fingerprint, load_workload, shuffled


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
