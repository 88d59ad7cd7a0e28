"""The client against the fake server, and against servers that answer byte by byte as told."""

import asyncio
import contextlib
import socket
import time

import pytest

from specfloor.load.client import Block, Counting, Ending, Endpoint, run_block
from specfloor.load.open_loop import OpenLoop
from specfloor.load.sampling import Sampling
from specfloor.load.workload import Message, Prompt
from specfloor.runs.records import BlockKey, Purpose
from specfloor.signals.choose import choose
from specfloor.signals.counts import Rung
from specfloor.signals.reconcile import Agreement
from tests.fakes.vllm_server import serving

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
TOKEN = b'data: {"choices": [{"index": 0, "delta": {"content": "a"}, "token_ids": [1]}]}\n\n'


def prompts(count):
    return tuple(
        Prompt(f"p{i}", ("code", "chat")[i % 2], (Message("user", f"Say {i}"),))
        for i in range(count)
    )


def block(count=12, *, concurrency=1, max_tokens=40, **more):
    sampling = more.pop("sampling", Sampling(max_tokens=max_tokens))
    key = BlockKey("copy", "off", concurrency, Purpose.NATURAL)
    return Block("launch", key, prompts(count), sampling, **more)


class Sent:
    """One block that was sent: its outcome, records in seeded order, and counters."""

    def __init__(self, outcome, records, counters):
        self.outcome = outcome
        self.in_order_of_end = records
        self.records = sorted(records, key=lambda record: record.index)
        self.counters = counters

    @property
    def errors(self):
        return [record.error for record in self.records if record.error]


async def send(url, block, stop_at=None, **more):
    records, counters = [], []

    def take(record):
        records.append(record)
        return stop_at is not None and len(records) >= stop_at

    outcome = await run_block(Endpoint(url, "fake"), block, take, counters.append, **more)
    return Sent(outcome, records, counters)


def with_fake(block, stop_at=None, **knobs):
    async def main():
        async with serving(**knobs) as url:
            return await send(url, block, stop_at)

    return asyncio.run(main())


@contextlib.asynccontextmanager
async def scripted(answer, *, health=b"200 OK"):
    """Serve ``answer`` to every POST and ``health`` to every GET; yield the base URL."""

    handlers = set()

    async def handle(reader, writer):
        handlers.add(asyncio.current_task())
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET"):
                writer.write(
                    b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % health
                )
            else:
                await answer(writer)
            await writer.drain()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)


def with_script(answer, block, **more):
    async def main():
        async with scripted(answer, **more) as url:
            return await send(url, block)

    return asyncio.run(main())


def test_a_record_holds_all_that_came():
    sent = with_fake(block(4))
    assert sent.outcome.ending is Ending.COMPLETE
    assert (sent.outcome.sent, sent.outcome.failed) == (4, 0)
    assert [r.prompt_id for r in sent.records] == ["p0", "p1", "p2", "p3"]
    for record in sent.records:
        assert record.ok
        assert record.launch == "launch"
        assert record.domain == ("code", "chat")[record.index % 2]
        assert sum(record.chunk_tokens) == len(record.token_ids) == record.completion_tokens
        assert len(record.chunk_s) == len(record.chunk_tokens)
        assert list(record.chunk_s) == sorted(record.chunk_s)
        assert 0 < record.first_token_s == record.chunk_s[0] <= record.finished_s
        assert record.finish_reason in ("stop", "length")
        assert record.prompt_tokens == 6
        assert len(record.text.split()) == len(record.token_ids) - (record.finish_reason == "stop")
        assert record.speculation is not None
    assert len({r.text_sha256 for r in sent.records}) == 4


def test_times_are_on_the_clock_of_the_run():
    async def main():
        async with serving() as url:
            zero = time.perf_counter()
            sent = await send(url, block(2), clock_zero=zero)
            return sent, time.perf_counter() - zero

    sent, passed = asyncio.run(main())
    assert 0 < sent.records[0].started_s < sent.records[1].started_s < passed
    assert sent.outcome.generation_s < passed


def test_both_arms_get_the_same_text_and_forced_ones_the_same_length():
    forced = block(4, sampling=Sampling(max_tokens=50, ignore_eos=True))
    on, off = with_fake(forced), with_fake(forced, k=0)
    assert [r.text for r in on.records] == [r.text for r in off.records]
    assert {r.completion_tokens for r in (*on.records, *off.records)} == {50}
    assert {r.finish_reason for r in on.records} == {"length"}
    assert all(r.speculation is None for r in off.records)
    assert all(set(r.chunk_tokens) == {1} for r in off.records)
    assert with_fake(forced, wrong_text=True).records[0].text != off.records[0].text


def test_the_tier_reaches_the_template():
    thinking = block(2, template={"enable_thinking": True})
    for field in ("reasoning", "reasoning_content"):
        record = with_fake(thinking, reasoning_field=field, thinking_tokens=5).records[0]
        assert len(record.reasoning.split()) == 5
        assert record.text
        assert record.completion_tokens == len(record.token_ids)
    assert with_fake(block(2)).records[0].reasoning == ""


def test_concurrency_is_kept_and_everything_is_sent_once():
    out, most = 0, 0
    full = asyncio.Event()

    async def answer(writer):
        nonlocal out, most
        out += 1
        most = max(most, out)
        if out == 4:
            full.set()
        await full.wait()
        writer.write(OK + TOKEN)
        await writer.drain()
        out -= 1
        writer.write(b"data: [DONE]\n\n")

    sent = with_script(answer, block(20, concurrency=4, warmup=0, counting=Counting.NEVER))
    assert most == 4
    assert [r.prompt_id for r in sent.records] == [p.id for p in prompts(20)]
    assert [r.index for r in sent.records] == list(range(20))


def test_the_warm_up_is_sent_before_and_not_recorded():
    requests = 0

    async def answer(writer):
        nonlocal requests
        requests += 1
        writer.write(OK + TOKEN + b"data: [DONE]\n\n")

    sent = with_script(answer, block(5, warmup=2, counting=Counting.NEVER))
    assert requests == 7
    assert [r.prompt_id for r in sent.records] == ["p0", "p1", "p2", "p3", "p4"]


def test_counters_leave_the_warm_up_out():
    sent = with_fake(block(6, warmup=3))
    told = sum(r.speculation.num_draft_tokens for r in sent.records)
    assert [c.by_engine["0"].drafted for c in sent.counters] == [told]


def test_stopping_early_lets_requests_finish():
    sent = with_fake(block(30, concurrency=3), stop_at=5)
    assert sent.outcome.ending is Ending.STOPPED
    assert 5 <= sent.outcome.sent == len(sent.records) <= 7
    assert sent.errors == []


def test_stopping_at_the_last_request_is_complete():
    assert with_fake(block(3), stop_at=3).outcome.ending is Ending.COMPLETE


def test_with_a_duration_the_prompts_go_round_until_it_is_over():
    sent = with_fake(block(3, concurrency=2, duration_s=2.0))
    assert sent.outcome.ending is Ending.COMPLETE
    assert sent.outcome.sent == len(sent.records) > 3
    assert [r.index for r in sent.records] == list(range(len(sent.records)))
    assert all(r.prompt_id == f"p{r.index % 3}" for r in sent.records)
    assert all(r.ok for r in sent.records)
    first = min(r.started_s for r in sent.records)
    assert all(r.started_s - first < 2.0 for r in sent.records)


def test_a_block_with_a_duration_can_be_stopped_before_it():
    sent = with_fake(block(3, duration_s=600.0), stop_at=2)
    assert (sent.outcome.ending, sent.outcome.sent) == (Ending.STOPPED, 2)


def open_block(due, **more):
    return block(len(due), open_loop=OpenLoop(1.0, due), **more)


def test_an_open_loop_waits_for_no_answer():
    out = 0
    all_out = asyncio.Event()

    async def answer(writer):
        nonlocal out
        out += 1
        if out == 3:
            all_out.set()
        # none is answered before all of them are out
        await all_out.wait()
        writer.write(OK + TOKEN + b"data: [DONE]\n\n")

    loop = open_block((0.0, 0.05, 0.1), warmup=0, stall_s=30.0, counting=Counting.NEVER)
    sent = with_script(answer, loop)
    assert sent.outcome.ending is Ending.COMPLETE
    starts = [r.started_s for r in sent.records]
    assert starts == sorted(starts)
    begun = {round(r.due_s - due, 9) for r, due in zip(sent.records, (0, 0.05, 0.1), strict=True)}
    assert len(begun) == 1
    assert all(r.late_s >= 0 and r.started_s >= r.due_s for r in sent.records)


def test_a_request_that_goes_out_late_says_so():
    records = []

    def stall(record):
        # a client that is kept from its work sends the next one late
        if not records:
            time.sleep(2.5)
        records.append(record)

    async def main():
        async with serving(length=(2, 2)) as url:
            loop = open_block((0.0, 2.0), warmup=0)
            await run_block(Endpoint(url, "fake"), loop, stall, lambda _: None)

    asyncio.run(main())
    first, second = records
    assert second.late_s >= 0.1
    assert second.started_s == pytest.approx(second.due_s + second.late_s)
    assert first.due_s <= first.started_s


def test_a_closed_loop_has_nothing_due():
    (record,) = with_fake(block(1)).records
    assert (record.due_s, record.late_s) == (None, 0.0)


def test_an_open_loop_can_be_stopped_before_its_last_arrival():
    sent = with_fake(open_block((0.0, 600.0)), stop_at=1)
    assert (sent.outcome.ending, sent.outcome.sent) == (Ending.STOPPED, 1)


def test_an_open_loop_ends_with_its_server():
    sent = with_fake(open_block((0.0, 0.1, 600.0), warmup=0), crash_after=1)
    assert (sent.outcome.ending, sent.outcome.sent) == (Ending.CRASHED, 2)
    assert len(sent.records) == 2


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"duration_s": 3.0}, "ends with its last arrival"),
        ({"open_loop": OpenLoop(1.0, (0.0,))}, "at a time of its own"),
        ({"counting": Counting.PER_REQUEST}, "only at concurrency 1"),
    ],
)
def test_what_an_open_loop_cannot_be(more, why):
    with pytest.raises(ValueError, match=why):
        block(2, **{"open_loop": OpenLoop(1.0, (0.0, 0.1))} | more)


def test_an_error_in_taking_records_is_not_swallowed():
    async def main():
        async with serving() as url:

            def take(_):
                raise OSError("disk full")

            await run_block(Endpoint(url, "fake"), block(8, concurrency=2), take, lambda _: None)

    with pytest.raises(OSError, match="disk full"):
        asyncio.run(main())


@pytest.mark.parametrize("concurrency", [1, 4])
def test_the_rungs_of_a_block_agree(concurrency):
    sent = with_fake(block(12, concurrency=concurrency), detail="detailed", engines=2)
    found = choose(sent.records, sent.counters, k=3, drafts_k=True)
    assert found.rung is Rung.PER_REQUEST
    assert found.reconciliation.agreement is Agreement.EXPLAINED
    assert found.reconciliation.comparisons[1].agreement is Agreement.AGREES
    assert set(sent.counters[0].by_engine) == {"0", "1"}


def test_counters_around_each_request_are_those_of_the_request():
    settings = {"counting": Counting.PER_REQUEST}
    sent = with_fake(block(8, **settings), undrafted=0.5, method="ngram")
    around = {c.index: c.by_engine["0"] for c in sent.counters if c.index is not None}
    assert len(around) == 8
    for record in sent.records:
        told = record.speculation
        counts = around[record.index]
        assert (counts.steps, counts.drafted, counts.accepted) == (
            told.num_spec_steps,
            told.num_draft_tokens,
            told.num_accepted_draft_tokens,
        )
    older = with_fake(block(8, **settings), undrafted=0.5, method="ngram", per_request=False)
    found = choose(older.records, older.counters, k=3, drafts_k=False)
    assert (found.rung, len(found.requests)) == (Rung.COUNTERS, 8)


def test_counters_around_requests_need_concurrency_1():
    with pytest.raises(ValueError, match="concurrency 1"):
        block(2, concurrency=2, counting=Counting.PER_REQUEST)


def test_a_server_without_token_ids_is_counted_by_usage():
    by_ids = with_fake(block(4))
    by_usage = with_fake(block(4, continuous_usage=True), token_ids=False)
    assert [r.chunk_tokens for r in by_usage.records] == [r.chunk_tokens for r in by_ids.records]
    assert by_usage.records[0].token_ids == ()
    unknown = with_fake(block(4), token_ids=False)
    assert all(r.chunk_tokens == () and r.chunk_s for r in unknown.records)


def test_merged_chunks_are_seen():
    sent = with_fake(block(4), merge_chunks=2, per_request=False)
    found = choose(sent.records, sent.counters, k=3, drafts_k=True)
    assert found.rung is Rung.COUNTERS
    assert found.reconciliation.disagrees(Rung.STREAM)


@pytest.mark.parametrize(
    ("knobs", "problem"),
    [
        ({"garbage_metrics": True}, "no metrics text"),
        ({"reset_counters_after": 6}, "started anew"),
    ],
)
def test_counters_that_cannot_be_used_say_why(knobs, problem):
    (found,) = with_fake(block(8), **knobs).counters
    assert found.by_engine == {}
    assert problem in found.problem


@pytest.mark.parametrize("knobs", [{"k": 0}, {"ignore_speculation": True}, {"counters": False}])
def test_a_server_without_the_series_has_no_counters_and_no_problem(knobs):
    (found,) = with_fake(block(2), **knobs).counters
    assert (found.by_engine, found.problem) == ({}, None)


def test_no_counting_reads_no_metrics():
    assert with_fake(block(2, counting=Counting.NEVER)).counters == []


def test_a_crash_ends_the_block_and_keeps_what_was_measured():
    sent = with_fake(block(30), crash_after=11)  # the warm-up is one of the 11
    assert sent.outcome.ending is Ending.CRASHED
    assert "not healthy" in sent.outcome.sentence
    assert [r.ok for r in sent.records] == [True] * 10 + [False]
    assert (sent.outcome.sent, sent.outcome.failed) == (11, 1)
    assert "HTTP 500" in sent.errors[0]
    assert "EngineCore encountered an issue" in sent.errors[0]


def test_a_crash_fails_all_requests_that_are_out():
    sent = with_fake(block(30, concurrency=4), crash_after=11)
    assert sent.outcome.ending is Ending.CRASHED
    assert sent.outcome.sent == len(sent.records) < 30
    assert sent.outcome.failed == len(sent.errors) >= 1


def test_a_crash_in_the_warm_up_ends_the_block():
    sent = with_fake(block(5), crash_after=0)
    assert (sent.outcome.ending, sent.records) == (Ending.CRASHED, [])


def test_a_server_that_is_gone_is_a_crash():
    # bound, so that nobody else takes it, and not listened to
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        sent = asyncio.run(send(f"http://127.0.0.1:{port}", block(5, warmup=0)))
    assert sent.outcome.ending is Ending.CRASHED
    assert "gone" in sent.outcome.sentence
    assert len(sent.errors) == len(sent.records) == 1


def test_silence_is_a_hang():
    sent = with_fake(block(20, concurrency=2, stall_s=2.0), hang_after=6)
    assert sent.outcome.ending is Ending.HUNG
    assert sent.outcome.sentence == "nothing came for 2 s with 2 request(s) out"
    assert sent.errors == [sent.outcome.sentence] * 2
    assert sum(r.ok for r in sent.records) == 5


def test_silence_inside_an_answer_is_a_hang_and_keeps_its_beginning():
    async def answer(writer):
        writer.write(OK + TOKEN)
        await writer.drain()
        await asyncio.sleep(60)

    sent = with_script(answer, block(2, warmup=0, stall_s=2.0, counting=Counting.NEVER))
    assert sent.outcome.ending is Ending.HUNG
    assert sent.records[0].text == "a"
    assert sent.records[0].chunk_tokens == (1,)


def test_a_silent_server_that_is_unwell_has_crashed():
    async def answer(writer):
        await asyncio.sleep(60)

    sent = with_script(
        answer,
        block(2, warmup=0, stall_s=0.2, counting=Counting.NEVER),
        health=b"503 Service Unavailable",
    )
    assert sent.outcome.ending is Ending.CRASHED


def test_an_answer_that_goes_on_too_long_fails_and_the_block_goes_on():
    turn = 0

    async def answer(writer):
        nonlocal turn
        turn += 1
        writer.write(OK + TOKEN)
        while turn == 2:
            writer.write(TOKEN)
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.write(b"data: [DONE]\n\n")

    settings = {"warmup": 0, "counting": Counting.NEVER}
    sent = with_script(answer, block(4, request_timeout_s=2.0, **settings))
    assert sent.outcome.ending is Ending.COMPLETE
    assert [r.error for r in sent.records] == [None, "no full answer within 2 s", None, None]
    assert len(sent.records[1].chunk_tokens) > 1


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"cut_after": 4}, "connection broke"),
        ({"error_after": 4}, "fake internal error"),
    ],
)
def test_one_broken_answer_fails_alone(knobs, says):
    sent = with_fake(block(8, warmup=0), **knobs)
    assert sent.outcome.ending is Ending.COMPLETE
    assert [r.index for r in sent.records if not r.ok] == [4]
    assert says in sent.records[4].error
    assert sent.records[4].chunk_tokens


def test_an_answer_without_an_end_fails():
    async def answer(writer):
        writer.write(OK + TOKEN)

    sent = with_script(answer, block(2, warmup=0, counting=Counting.NEVER))
    assert sent.errors == ["the stream ended before the answer did"] * 2
    assert sent.outcome.ending is Ending.COMPLETE


def test_a_refused_request_fails_alone_and_says_why():
    async def main():
        async with serving() as url:
            records = []
            endpoint = Endpoint(url, "another model")
            outcome = await run_block(endpoint, block(3), records.append, lambda _: None)
            return outcome, records

    outcome, records = asyncio.run(main())
    assert outcome.ending is Ending.COMPLETE
    assert [r.ok for r in records] == [False] * 3
    assert "HTTP 404" in records[0].error
    assert "`another model` does not exist" in records[0].error


def test_a_base_url_may_end_in_a_slash():
    assert Endpoint("http://127.0.0.1:1/", "m").url("/health") == "http://127.0.0.1:1/health"


def test_the_proxy_of_the_environment_is_not_used(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert with_fake(block(2)).errors == []
