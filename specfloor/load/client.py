"""Sending blocks of requests, in a closed or an open loop: streaming, one record a request."""

import asyncio
import contextlib
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from enum import StrEnum
from http import HTTPStatus
from typing import Any

import aiohttp
import msgspec

from specfloor.load.answer import AnswerError, AnswerReader
from specfloor.load.metrics import read_scrape
from specfloor.load.open_loop import OpenLoop
from specfloor.load.sampling import Sampling, request_body
from specfloor.load.workload import Prompt
from specfloor.runs.records import BlockKey, CountersRecord, RequestRecord
from specfloor.signals.counters import Problem, Scrape, difference

# Uvicorn closes a connection that idles for 5 s. Dropping ours first avoids sending a request into
# a connection that the server is closing, which would look like a crash.
_KEEP_ALIVE_S = 2.0
_READ_BUFFER = 1 << 20  # bytes; a slow reader must not make the server merge chunks
_HEALTH_S = 5.0
_SHOWN = 300  # characters of an error body that go into a message

_HEADERS = {"Content-Type": "application/json", "Accept": "text/event-stream"}

_clock = time.perf_counter


class _RefusedError(AnswerError):
    """The server refused this request and says that it is well otherwise."""


class Counting(StrEnum):
    """When ``/metrics`` is read."""

    NEVER = "never"
    PER_BLOCK = "per_block"
    PER_REQUEST = "per_request"
    """Around every request too: exact counts of each, at concurrency 1 only."""


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server: its base URL, without ``/v1``, and the model name it serves.

    ``metrics`` are where its engines give their counters, as :func:`~specfloor.load.metrics.
    read_scrape` takes them; empty is the server's own ``/metrics``.
    """

    base_url: str
    model: str
    metrics: tuple[str, ...] = ()

    @property
    def metrics_urls(self) -> tuple[str, ...]:
        """Every place that has counters of this server."""
        return self.metrics or (self.url("/metrics"),)

    def url(self, path: str) -> str:
        """Return the address of a path."""
        return f"{self.base_url.rstrip('/')}{path}"


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is sent and how.

    ``prompts`` are sent in their order. The first ``warmup`` of them are sent once before, without
    a record. ``template`` are the arguments of the chat template that select the tier. A request
    fails after ``request_timeout_s`` seconds; the block is hung when requests are out and nothing
    came for ``stall_s`` seconds. ``continuous_usage`` asks for usage in every chunk, which servers
    need that send no token ids. With ``duration_s`` the prompts are sent over and over, and no new
    request is made after so many seconds. With ``open_loop`` each prompt is sent when it is due,
    and the concurrency of ``key`` bounds only the warm-up.
    """

    launch: str
    key: BlockKey
    prompts: tuple[Prompt, ...]
    sampling: Sampling
    template: dict[str, Any] = {}
    warmup: int = 1
    request_timeout_s: float = 600.0
    stall_s: float = 120.0
    counting: Counting = Counting.PER_BLOCK
    continuous_usage: bool = False
    duration_s: float | None = None
    open_loop: OpenLoop | None = None

    def __post_init__(self) -> None:
        alone = self.key.concurrency == 1 and self.open_loop is None
        if self.counting is Counting.PER_REQUEST and not alone:
            raise ValueError("counters belong to one request only at concurrency 1")
        if self.open_loop is not None:
            if self.duration_s is not None:
                raise ValueError("an open loop ends with its last arrival")
            if len(self.open_loop.due_s) != len(self.prompts):
                raise ValueError("every prompt of an open loop is due at a time of its own")


class Ending(StrEnum):
    """How a block ended."""

    COMPLETE = "complete"
    STOPPED = "stopped"
    """As asked by ``on_record``."""
    CRASHED = "crashed"
    """The server is gone, or says it is not healthy."""
    HUNG = "hung"
    """Nothing came for ``stall_s`` seconds."""


class BlockOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a block ended, in one sentence where it ended badly, and where its wall time went.

    ``generation_s`` is the time with requests out, ``warmup_s`` the same of the warm-up, and
    ``counting_s`` the time spent on ``/metrics``.
    """

    ending: Ending
    sentence: str = ""
    sent: int = 0
    failed: int = 0
    generation_s: float = 0.0
    warmup_s: float = 0.0
    counting_s: float = 0.0


async def run_block(
    endpoint: Endpoint,
    block: Block,
    on_record: Callable[[RequestRecord], bool | None],
    on_counters: Callable[[CountersRecord], None],
    *,
    clock_zero: float = 0.0,
) -> BlockOutcome:
    """Send a block of requests and hand over one record for each that was sent.

    Records come as requests end, so at a concurrency above 1 not in the order of ``index``; what a
    block has measured is handed over however it ends. Once the server is gone or hung, requests
    that are out get a record with that error and no further ones are sent.

    Args:
        endpoint: where to.
        block: what.
        on_record: takes each record; when it returns True no more are sent and those out finish.
        on_counters: takes the counters of each request and of the block, as ``counting`` asks.
        clock_zero: the reading of ``time.perf_counter`` at which the clock of the run started.
    """
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, read_bufsize=_READ_BUFFER
    ) as session:
        run = _Run(session, endpoint, block, on_record, on_counters, clock_zero=clock_zero)
        return await run.whole()


class _Run:
    """The state of one block while it is sent."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        endpoint: Endpoint,
        block: Block,
        on_record: Callable[[RequestRecord], bool | None],
        on_counters: Callable[[CountersRecord], None],
        *,
        clock_zero: float,
    ) -> None:
        self._session = session
        self._endpoint = endpoint
        self._block = block
        self._on_record = on_record
        self._on_counters = on_counters
        self._clock_zero = clock_zero
        self._heard = 0.0
        """When anything last came from the server, or was last sent to it."""
        self._out: set[asyncio.Timeout] = set()
        """The deadlines of the requests that are out."""
        self._bad_end: tuple[Ending, str] | None = None
        self._stop = False
        self._over = asyncio.Event()
        """Set once no further request is made, for those that wait until they are due."""
        self._until = math.inf
        """When no new request is made any more, on the clock of this module."""
        self._sent = 0
        self._failed = 0
        self._counting_s = 0.0
        self._last_scrape = Scrape()

    async def whole(self) -> BlockOutcome:
        """Send the warm-up and the block."""
        block = self._block
        started = _clock()
        await self._send_all(block.prompts[: block.warmup], self._warm)
        warmup_s = _clock() - started
        generation_s = 0.0
        if self._bad_end is None:
            first = await self._scrape() if block.counting is not Counting.NEVER else Scrape()
            self._last_scrape = first
            counted_s, started = self._counting_s, _clock()
            if block.open_loop is not None:
                await self._send_when_due(block.prompts, block.open_loop)
            elif block.duration_s is None:
                await self._send_all(block.prompts, self._measure)
            else:
                self._until = started + block.duration_s
                await self._send_all(itertools.cycle(block.prompts), self._measure)
            generation_s = _clock() - started - (self._counting_s - counted_s)
            if block.counting is Counting.PER_BLOCK:
                self._last_scrape = await self._scrape()
            if block.counting is not Counting.NEVER:
                self._count(first, self._last_scrape, index=None)
        stopped = self._stop and (block.duration_s is not None or self._sent < len(block.prompts))
        ending, sentence = self._bad_end or (Ending.STOPPED if stopped else Ending.COMPLETE, "")
        return BlockOutcome(
            ending=ending,
            sentence=sentence,
            sent=self._sent,
            failed=self._failed,
            generation_s=generation_s,
            warmup_s=warmup_s,
            counting_s=self._counting_s,
        )

    async def _send_all(
        self, prompts: Iterable[Prompt], send: Callable[[int, Prompt], Awaitable[None]]
    ) -> None:
        """Send prompts with as many workers as the concurrency, each taking the next prompt."""
        todo = iter(enumerate(prompts))
        await self._watched([self._work(todo, send) for _ in range(self._block.key.concurrency)])

    async def _send_when_due(self, prompts: Sequence[Prompt], loop: OpenLoop) -> None:
        """Send each prompt when it is due, whatever has become of those before it."""
        began = _clock()
        await self._watched(
            [
                self._wait_and_measure(index, prompt, began + due)
                for index, (prompt, due) in enumerate(zip(prompts, loop.due_s, strict=True))
            ]
        )

    async def _wait_and_measure(self, index: int, prompt: Prompt, due: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(due - _clock()):
                await self._over.wait()
        if not self._over.is_set():
            await self._measure(index, prompt, due)

    async def _watched(self, work: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Do all of the work side by side, with an eye on the server."""
        workers = [asyncio.create_task(one) for one in work]
        tasks = [*workers, asyncio.create_task(self._watch())]
        try:
            await asyncio.gather(*workers)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(
        self, todo: Iterator[tuple[int, Prompt]], send: Callable[[int, Prompt], Awaitable[None]]
    ) -> None:
        while not self._stop and self._bad_end is None and _clock() < self._until:
            if (following := next(todo, None)) is None:
                return
            await send(*following)

    async def _warm(self, index: int, prompt: Prompt) -> None:
        await self._request(index, prompt)

    async def _measure(self, index: int, prompt: Prompt, due: float | None = None) -> None:
        self._sent += 1
        record = await self._request(index, prompt, due)
        self._failed += not record.ok
        if self._on_record(record):
            self._stop = True
            self._over.set()
        if self._block.counting is Counting.PER_REQUEST:
            before, self._last_scrape = self._last_scrape, await self._scrape()
            self._count(before, self._last_scrape, index)

    async def _request(self, index: int, prompt: Prompt, due: float | None = None) -> RequestRecord:
        """Send one request, read its answer, and look after the server if that fails."""
        block = self._block
        body = request_body(
            self._endpoint.model,
            prompt,
            block.sampling,
            block.template,
            continuous_usage=block.continuous_usage,
        )
        reader = AnswerReader()
        error: str | None = None
        started = _clock()
        try:
            await self._exchange(body, reader)
            finished = reader.last_at
        except (AnswerError, aiohttp.ClientError, OSError) as broken:
            finished = _clock()
            error = self._sentence(broken)
            if self._bad_end is None and not isinstance(broken, TimeoutError | _RefusedError):
                await self._look_after_server()
        answer = reader.answer()
        return RequestRecord(
            launch=block.launch,
            block=block.key,
            index=index,
            prompt_id=prompt.id,
            domain=prompt.domain,
            started_s=started - self._clock_zero,
            first_token_s=answer.chunk_at[0] - started if answer.chunk_at else None,
            finished_s=finished - started,
            chunk_s=tuple(at - started for at in answer.chunk_at),
            chunk_tokens=answer.chunk_tokens,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            finish_reason=answer.finish_reason,
            text_sha256=answer.text_sha256,
            text=answer.text,
            reasoning=answer.reasoning,
            reasoning_chunks=answer.reasoning_chunks,
            token_ids=answer.token_ids,
            speculation=answer.speculation,
            error=error,
            tool_calls=answer.tool_calls,
            due_s=None if due is None else due - self._clock_zero,
        )

    async def _exchange(self, body: bytes, reader: AnswerReader) -> None:
        """Post one request and feed its answer to ``reader`` until the stream ends."""
        url = self._endpoint.url("/v1/chat/completions")
        self._heard = _clock()
        async with asyncio.timeout(self._block.request_timeout_s) as deadline:
            self._out.add(deadline)
            try:
                async with self._session.post(url, data=body, headers=_HEADERS) as response:
                    if response.status != HTTPStatus.OK:
                        raise await _http_error(response)
                    content = response.content
                    while data := await content.readany():
                        self._heard = now = _clock()
                        reader.feed(data, now)
                reader.check_end()
            finally:
                self._out.discard(deadline)

    def _sentence(self, broken: Exception) -> str:
        if isinstance(broken, TimeoutError):
            if self._bad_end is not None:
                return self._bad_end[1]
            return f"no full answer within {self._block.request_timeout_s:g} s"
        if isinstance(broken, AnswerError):
            return str(broken)
        return f"the connection broke ({str(broken) or type(broken).__name__})"

    async def _look_after_server(self) -> None:
        """End the block when the server is not healthy."""
        if (unwell := await self._unwell()) and self._bad_end is None:
            self._end(*unwell)

    async def _unwell(self) -> tuple[Ending, str] | None:
        """Return how the server ended, or None when it says that it is healthy."""
        timeout = aiohttp.ClientTimeout(total=_HEALTH_S)
        try:
            async with self._session.get(
                self._endpoint.url("/health"), timeout=timeout
            ) as response:
                if response.status == HTTPStatus.OK:
                    return None
                return Ending.CRASHED, f"the server is not healthy (HTTP {response.status})"
        except TimeoutError:
            return Ending.HUNG, f"the server does not answer /health within {_HEALTH_S:g} s"
        except (aiohttp.ClientError, OSError) as broken:
            return Ending.CRASHED, f"the server is gone ({str(broken) or type(broken).__name__})"

    async def _watch(self) -> None:
        """End the block when nothing comes although requests are out."""
        stall_s = self._block.stall_s
        while self._bad_end is None:
            await asyncio.sleep(min(1.0, stall_s / 10))
            if self._out and _clock() - self._heard > stall_s:
                out = len(self._out)
                hung = Ending.HUNG, f"nothing came for {stall_s:g} s with {out} request(s) out"
                self._end(*(await self._unwell() or hung))

    def _end(self, ending: Ending, sentence: str) -> None:
        """End the block: no further requests, and those that are out fail now."""
        self._bad_end = ending, sentence
        self._over.set()
        now = asyncio.get_running_loop().time()
        for deadline in self._out:
            deadline.reschedule(now)

    async def _scrape(self) -> Scrape:
        """Read the counters; the time this takes is kept apart."""
        started = _clock()
        try:
            return await read_scrape(self._session, self._endpoint.metrics_urls, since=time.time())
        finally:
            self._counting_s += _clock() - started

    def _count(self, before: Scrape, after: Scrape, index: int | None) -> None:
        """Hand over the counters between two scrapes."""
        gained = difference(before, after)
        off = gained.problem is Problem.NO_SPECULATION
        self._on_counters(
            CountersRecord(
                launch=self._block.launch,
                block=self._block.key,
                by_engine={} if gained.problem else gained.by_engine(self._endpoint.model),
                index=index,
                problem=None if off else gained.sentence or None,
            )
        )


async def _http_error(response: aiohttp.ClientResponse) -> AnswerError:
    """Return the error of an answer that is none; only the server's own failures are suspicious."""
    body = " ".join((await response.text(errors="replace")).split())[:_SHOWN]
    sentence = f"HTTP {response.status} instead of an answer: {body or 'no body'}"
    server_failed = response.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return AnswerError(sentence) if server_failed else _RefusedError(sentence)
