"""Answers of the API: whole, streamed, damaged."""

import json
import re

import pytest

from tests.unit.triage.builders import case_text, codes, triaged, verdict

ONE = json.loads(case_text("response", "per-request-summary", "response.json"))
MANY = case_text("response", "many-requests-jsonl", "responses.jsonl")
CHUNKS = case_text("response", "sse-token-ids-per-chunk", "stream.sse")
LAST = case_text("response", "stream-last-chunk", "stream.sse")


def test_a_list_of_answers_is_pooled(tmp_path):
    extract = triaged(tmp_path, {"answers.json": json.dumps([ONE, ONE])})["extract"]
    assert extract["requests"] == 2
    assert extract["totals"]["draft_tokens"] == 342


@pytest.mark.parametrize(
    "text",
    [
        CHUNKS,
        re.sub(r"\n\n+", "\n", CHUNKS),
        CHUNKS.replace("\n", "\r\n"),
        f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{CHUNKS}",
    ],
    ids=["as it came", "without empty lines", "windows", "with headers"],
)
def test_a_transcript_in_any_shape(text, tmp_path):
    report = triaged(tmp_path, {"stream.sse": text}, config={"k": 3})
    assert report["extract"]["steps"] == 30
    assert report["extract"]["acceptance_length"] == pytest.approx(82 / 30)
    assert verdict(report) == "PARSE"


def test_without_k_a_chunk_of_two_steps_cannot_be_told_from_one(tmp_path):
    report = triaged(tmp_path, {"stream.sse": CHUNKS})
    assert report["extract"]["steps"] is None
    assert report["extract"]["max_chunk_tokens"] == 4
    assert verdict(report) == "INCONCLUSIVE"


def test_streams_one_after_another(tmp_path):
    extract = triaged(tmp_path, {"stream.sse": LAST + LAST})["extract"]
    assert extract["requests"] == 2
    assert extract["totals"]["drafts"] == 24


BASELINE = {"k": 3, "acceptance_rate": 0.385}


def test_a_broken_line_among_answers_is_no_pass(tmp_path):
    assert verdict(triaged(tmp_path / "a", {"r.jsonl": MANY}, baseline=BASELINE)) == "EXPECTED"
    report = triaged(tmp_path / "b", {"r.jsonl": MANY[:-50]}, baseline=BASELINE)
    assert verdict(report) == "INCONCLUSIVE"
    assert report["extract"]["requests"] == 39
    assert "unusable_answer" in codes(report)


def test_an_object_that_contradicts_itself_is_left_out(tmp_path):
    lines = MANY.splitlines()
    lines[3] = lines[3].replace('"num_accepted_draft_tokens": 3', '"num_accepted_draft_tokens": 9')
    report = triaged(tmp_path, {"r.jsonl": "\n".join(lines)}, baseline=BASELINE)
    assert "contradicts itself" in report["warnings"][0]["message"]
    assert verdict(report) == "INCONCLUSIVE"


@pytest.mark.parametrize(
    "answer",
    [
        {name: value for name, value in ONE.items() if name != "metrics"},
        {"error": {"message": "no", "code": 400}},
        {"choices": [], "metrics": {"speculative_decoding": {"steps": 3}}},
    ],
)
def test_an_answer_without_the_object_is_no_data(answer, tmp_path):
    report = triaged(tmp_path, {"r.json": json.dumps(answer)}, baseline=BASELINE)
    assert verdict(report) == "NO_DATA"
    assert report["extract"]["totals"] is None


def test_a_stream_that_breaks_off_is_no_data(tmp_path):
    report = triaged(tmp_path, {"s.sse": CHUNKS[: len(CHUNKS) // 2]}, config={"k": 3})
    assert verdict(report) == "NO_DATA"
    assert "broken" in report["verdict"]["reason"]


def test_answers_of_another_server_are_refused(tmp_path):
    text = json.dumps({"text": "x", "meta_info": {"spec_accept_length": 2.3}})
    assert verdict(triaged(tmp_path, {"r.json": text})) == "UNSUPPORTED_FORMAT"


def test_drafts_that_are_never_kept(tmp_path):
    chunk = '{{"choices": [{{"delta": {{"content": "x"}}, "token_ids": [{}]}}]}}'
    events = [f"data: {chunk.format(n)}" for n in range(202)]
    end = 'data: {"choices": [{"delta": {}, "finish_reason": "length"}]}\n\ndata: [DONE]\n\n'
    report = triaged(tmp_path, {"s.sse": "\n\n".join((*events, end))}, config={"k": 3})
    assert verdict(report) == "ACCEPT_ZERO"


LINES = MANY.splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "".join(f'{{"id": "b{n}", "response": {line}}}\n' for n, line in enumerate(LINES)),
        "".join(
            f'{{"id": "b{n}", "response": {{"status_code": 200, "body": {line}}}, "error": null}}\n'
            for n, line in enumerate(LINES)
        ),
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[" + ",".join(LINES) + "]",
    ],
    ids=["in a record", "in a batch's record", "after HTTP headers"],
)
def test_answers_inside_something_else(text, tmp_path):
    plain = triaged(tmp_path / "a", {"r.jsonl": "\n".join(LINES)})
    other = triaged(tmp_path / "b", {"r.json": text})
    assert other["extract"]["totals"] == plain["extract"]["totals"]
    assert verdict(other) == "PARSE"
