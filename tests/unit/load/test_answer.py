import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specfloor.load.answer import AnswerError, AnswerReader
from specfloor.runs.records import ToolCall

steady = settings(derandomize=True, deadline=None)


def event(choices, **more):
    return f"data: {json.dumps({'choices': choices} | more, ensure_ascii=False)}\n\n".encode()


def chunk(content=None, ids=None, reason=None, *, usage=None, **delta):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    if content is not None:
        choice["delta"]["content"] = content
    if ids is not None:
        choice["token_ids"] = ids
    more = {} if usage is None else {"usage": {"prompt_tokens": 7, "completion_tokens": usage}}
    return event([choice], **more)


def last(completion_tokens=6, **more):
    usage = {"prompt_tokens": 7, "completion_tokens": completion_tokens, "total_tokens": 13}
    return event([], usage=usage, **more)


DONE = b"data: [DONE]\n\n"
RUNG_A = {
    "num_spec_steps": 2,
    "num_draft_tokens": 6,
    "num_accepted_draft_tokens": 3,
    "num_spec_tokens": 3,
    "acceptance_histogram": [0, 1, 1, 0],
    "mean_acceptance_length": 2.5,
    "draft_acceptance_rate": 0.5,
}
STREAM = [
    chunk("", role="assistant"),
    chunk("Grüße", [5]),
    chunk(" 你好 🙂", [6, 7, 8]),
    chunk(" ok", [9, 0], "stop"),
    last(metrics={"speculative_decoding": RUNG_A}),
    DONE,
]


def read(*reads, end=True):
    reader = AnswerReader()
    for number, data in enumerate(reads):
        reader.feed(data, float(number))
    if end:
        reader.check_end()
    return reader.answer()


def test_one_event_a_read():
    answer = read(*STREAM)
    assert answer.text == "Grüße 你好 🙂 ok"
    assert answer.text_sha256 == hashlib.sha256("Grüße 你好 🙂 ok".encode()).hexdigest()
    assert answer.chunk_at == (1.0, 2.0, 3.0)
    assert answer.chunk_tokens == (1, 3, 2)
    assert answer.token_ids == (5, 6, 7, 8, 9, 0)
    assert (answer.prompt_tokens, answer.completion_tokens) == (7, 6)
    assert answer.finish_reason == "stop"
    assert answer.speculation is not None
    assert answer.speculation.acceptance_histogram == (0, 1, 1, 0)


@steady
@given(st.data())
def test_where_reads_split_makes_no_difference(data):
    whole = b"".join(STREAM)
    ends = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    whole = whole.replace(b"\n", ends)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    reads = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True) if a < b]
    answer, expected = read(*reads), read(*STREAM)
    assert (answer.text, answer.token_ids, answer.chunk_tokens, answer.speculation) == (
        expected.text,
        expected.token_ids,
        expected.chunk_tokens,
        expected.speculation,
    )


def test_every_single_byte_split_of_an_emoji():
    whole = b"".join(STREAM)
    answer = read(*(whole[i : i + 1] for i in range(len(whole))))
    assert answer.text == "Grüße 你好 🙂 ok"


def test_comments_other_fields_and_data_over_lines():
    spread = b'event: message\nid: 3\ndata: {"choices":\ndata: [{"delta": {"content": "x"}}]}\n\n'
    answer = read(b": ping\n\n", b"retry: 10\n\n", spread, b":\ndata:[DONE]\n\n")
    assert answer.text == "x"


def test_reasoning_is_kept_apart_in_both_spellings():
    answer = read(
        chunk(ids=[1], reasoning="think "),
        chunk(ids=[2], reasoning_content="more"),
        chunk("say", [3], reasoning="!"),
        DONE,
    )
    assert (answer.reasoning, answer.text) == ("think more!", "say")
    assert answer.chunk_tokens == (1, 1, 1)
    assert answer.reasoning_chunks == 3


def test_the_chunks_of_the_reasoning_are_counted():
    answer = read(
        chunk(ids=[1]),
        chunk(ids=[2, 3], reasoning="think"),
        chunk(ids=[4], reasoning=" more"),
        chunk("say", [5, 6]),
        DONE,
    )
    assert (answer.chunk_tokens, answer.reasoning_chunks) == ((1, 2, 1, 2), 3)
    assert read(chunk("say", [1]), DONE).reasoning_chunks == 0


def test_tokens_without_text_count_and_text_without_tokens_does_not():
    answer = read(chunk("", [1]), chunk("好", [2, 3]), chunk("!", []), chunk("", [], "stop"), DONE)
    assert answer.chunk_tokens == (1, 2)
    assert answer.text == "好!"


def test_counts_come_from_usage_where_there_are_no_ids():
    answer = read(
        chunk("", usage=0, role="assistant"),
        chunk("a", usage=1),
        chunk("b", usage=4),
        chunk("", None, "stop", usage=6),
        DONE,
    )
    assert answer.chunk_tokens == (1, 3, 2)
    assert answer.chunk_at == (1.0, 2.0, 3.0)
    assert answer.completion_tokens == 6


def test_unknown_counts_are_empty_and_not_zero():
    answer = read(chunk("", role="assistant"), chunk("a"), chunk("b", reason="stop"), last(), DONE)
    assert answer.chunk_tokens == ()
    assert answer.chunk_at == (1.0, 2.0)
    assert answer.completion_tokens == 6


def test_one_unknown_count_makes_all_unknown():
    assert read(chunk("a", [1]), chunk("b"), DONE).chunk_tokens == ()


def test_a_newer_shape_of_rung_a_costs_the_rung_and_not_the_request():
    answer = read(chunk("a", [1]), last(metrics={"speculative_decoding": {"steps": 2}}), DONE)
    assert answer.speculation is None
    assert answer.text == "a"
    assert read(chunk("a", [1]), last(metrics=None), DONE).speculation is None


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "engine died", "code": 500}},
        {"object": "error", "message": "engine died", "code": 500},
        {"error": "engine died"},
    ],
)
def test_an_error_event_is_an_error(error):
    with pytest.raises(AnswerError, match="error in the stream: engine died"):
        read(chunk("a", [1]), f"data: {json.dumps(error)}\n\n".encode())


@pytest.mark.parametrize(
    "payload", ["{", "[]", "oops", '{"choices": 3}', '{"choices": [{"delta": 1}]}']
)
def test_an_event_that_is_no_chunk_is_an_error(payload):
    with pytest.raises(AnswerError, match="no chunk"):
        read(f"data: {payload}\n\n".encode())


def test_a_stream_that_ends_early_is_an_error_and_keeps_what_came():
    reader = AnswerReader()
    reader.feed(chunk("a", [1]), 1.0)
    with pytest.raises(AnswerError, match="ended before"):
        reader.check_end()
    assert reader.answer().text == "a"


@pytest.mark.parametrize("rest", [b"", DONE.rstrip(b"\n"), b"data: [DONE]\n"])
def test_an_end_needs_no_done_and_done_no_blank_line(rest):
    assert read(chunk("a", [1], "length"), rest).finish_reason == "length"


def test_done_is_an_end_without_a_reason():
    assert read(chunk("a", [1]), b"data: [DONE]").finish_reason is None


def test_an_aborted_answer_is_an_error():
    with pytest.raises(AnswerError, match="aborted"):
        read(chunk("a", [1], "abort"), DONE)


def call(index, **function):
    return {"index": index, "function": function}


def test_tool_calls_are_put_together_by_index():
    answer = read(
        chunk("I look.", [1]),
        chunk(ids=[2, 3], tool_calls=[call(0, name="weather", arguments="")]),
        chunk(ids=[4], tool_calls=[call(0, arguments='{"city": ')]),
        chunk(
            ids=[5, 6, 7],
            tool_calls=[call(0, arguments='"Oslo"}'), call(1, name="time", arguments="{}")],
        ),
        chunk(ids=[8], reason="tool_calls"),
        last(8),
        DONE,
    )
    assert answer.tool_calls == (ToolCall("weather", '{"city": "Oslo"}'), ToolCall("time", "{}"))
    assert answer.text == "I look."
    assert answer.chunk_tokens == (1, 2, 1, 3, 1)


def test_a_call_without_a_name_is_kept_for_the_judgement():
    answer = read(
        chunk(tool_calls=[call(0, name=None, arguments='{"a"')]),
        chunk(tool_calls=[{"index": 0, "function": None}], reason="tool_calls"),
        DONE,
    )
    assert answer.tool_calls == (ToolCall("", '{"a"'),)
    assert answer.chunk_tokens == ()
