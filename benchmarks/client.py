"""CPU cost of the measuring client per streamed chunk, against a bare loop on the same stream.

    python -m benchmarks.client [--repeats 7] [--requests 40] [--chunks 500]

A server in another process replays streams rendered beforehand, in the form vLLM sends them (one
event an HTTP chunk, token ids in each): as fast as it can with one write an event, the same with 16
events a write, and one event every half millisecond, where each read gets a single event. The
client is ``specfloor.load.client.run_block`` with full recording; the bare loop reads the same
streams with aiohttp, decodes each event with msgspec into types with the same fields and keeps
nothing. Both are measured in turn; what is printed is the CPU time of this process per chunk, the
median over the repeats with its range, and the ratio of the two.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import time
from multiprocessing.connection import Connection

import aiohttp
import msgspec

from specfloor.load.client import Block, Counting, Endpoint, run_block
from specfloor.load.sampling import Sampling
from specfloor.load.workload import Message, Prompt
from specfloor.runs.records import BlockKey, Purpose, RequestRecord

_PAUSE_S = 0.0005


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    finish_reason: str | None = None
    token_ids: list[int] | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice]
    usage: object = None


_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


def rendered_stream(chunks: int) -> list[bytes]:
    """Return the HTTP chunks of one stream: ``chunks`` chunks with 1 to 4 tokens, then the rest."""

    def event(choices: list[object], **more: object) -> bytes:
        body = {
            "id": "chatcmpl-3b0d9c1e6f5a4b7f8f1de4a2",
            "object": "chat.completion.chunk",
            "created": 1790000000,
            "model": "glm_moe_tiny",
            "choices": choices,
        } | more
        return b"data: " + msgspec.json.encode(body) + b"\n\n"

    def choice(delta: object, ids: list[int] | None, reason: str | None = None) -> object:
        return {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": reason,
            "token_ids": ids,
        }

    events = [event([choice({"role": "assistant", "content": ""}, None)], prompt_token_ids=None)]
    for number in range(chunks):
        tokens = 1 + number % 4
        ids = list(range(1000 + number, 1000 + number + tokens))
        reason = "length" if number == chunks - 1 else None
        events.append(event([choice({"content": " word" * tokens}, ids, reason)]))
    usage = {"prompt_tokens": 21, "completion_tokens": 5 * chunks // 2, "total_tokens": 1}
    events += [event([], usage=usage), b"data: [DONE]\n\n"]
    return [b"%x\r\n%s\r\n" % (len(e), e) for e in events] + [b"0\r\n\r\n"]


def serve(ready: Connection, chunks: int, per_write: int, pause_s: float) -> None:
    """Answer every POST with the same stream, ``per_write`` chunks a write, until killed."""
    pieces = rendered_stream(chunks)
    writes = [b"".join(pieces[i : i + per_write]) for i in range(0, len(pieces), per_write)]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                await reader.readexactly(length)
                writer.write(_HEAD)
                for write in writes:
                    writer.write(write)
                    await writer.drain()
                    if pause_s:
                        await asyncio.sleep(pause_s)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def with_client(port: int, requests: int) -> int:
    """Send ``requests`` requests with the measuring client; return the chunks it recorded."""
    recorded = 0

    def take(record: RequestRecord) -> None:
        nonlocal recorded
        assert record.ok, record.error
        recorded += len(record.chunk_tokens)

    prompts = tuple(Prompt(f"p{i}", "code", (Message("user", "Hi"),)) for i in range(requests))
    block = Block(
        launch="benchmark",
        key=BlockKey("benchmark", "off", 1, Purpose.NATURAL),
        prompts=prompts,
        sampling=Sampling(max_tokens=4096),
        warmup=0,
        counting=Counting.NEVER,
    )
    await run_block(Endpoint(f"http://127.0.0.1:{port}", "m"), block, take, lambda _: None)
    return recorded


async def with_bare_loop(port: int, requests: int) -> int:
    """Read ``requests`` streams and decode every event; return the chunks seen."""
    seen = 0
    decode = msgspec.json.Decoder(_Chunk).decode
    async with aiohttp.ClientSession() as session:
        for _ in range(requests):
            async with session.post(f"http://127.0.0.1:{port}/", data=b"{}") as response:
                rest = b""
                async for data in response.content.iter_any():
                    *events, rest = (rest + data).split(b"\n\n")
                    for event in events:
                        if event != b"data: [DONE]" and (choices := decode(event[6:]).choices):
                            seen += choices[0].token_ids is not None
    return seen


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--chunks", type=int, default=500)
    asked = parser.parse_args()
    for per_write, pause_s, share in ((1, 0.0, 1), (16, 0.0, 1), (1, _PAUSE_S, 10)):
        requests = max(1, asked.requests // share)
        ready, child = multiprocessing.Pipe()
        process = multiprocessing.Process(
            target=serve, args=(child, asked.chunks, per_write, pause_s), daemon=True
        )
        process.start()
        port = ready.recv()
        cost: dict[str, list[float]] = {"specfloor": [], "bare loop": []}
        for _ in range(asked.repeats):
            for name, client in (("specfloor", with_client), ("bare loop", with_bare_loop)):
                started = time.process_time()
                chunks = asyncio.run(client(port, requests))
                used = time.process_time() - started
                assert chunks == requests * asked.chunks, (name, chunks)
                cost[name].append(used / chunks * 1e6)
        process.terminate()
        process.join()
        median = {name: statistics.median(values) for name, values in cost.items()}
        pace = f"one every {pause_s * 1e3:g} ms" if pause_s else "no pause"
        print(f"{per_write} event(s) a write, {pace}, {requests} x {asked.chunks} chunks:")
        for name, values in cost.items():
            print(
                f"  {name:10s} {median[name]:5.2f} µs CPU a chunk "
                f"({min(values):.2f} to {max(values):.2f} over {len(values)} repeats)"
            )
        print(f"  ratio      {median['specfloor'] / median['bare loop']:5.2f}")


if __name__ == "__main__":
    main()
