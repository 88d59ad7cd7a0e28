"""A small fake vLLM server: real HTTP, real metrics text, invented tokens, faults on request.

It takes the command line of the real one leniently and speaks as much of its protocol as the suite
uses, in the form of vLLM 0.32: streamed chat completions with token ids and the per-request
object of accepted drafts, ``/metrics``, ``/health``, ``/version``, ``/v1/models``. The answer to a
prompt depends on the prompt (and on the seed, when sampled), never on speculation.

It runs in three ways: in the event loop of a test (``serving``); as a program; or, after
``install_fake_vllm(folder)``, as ``python -m vllm.entrypoints.openai.api_server`` with ``folder``
on ``PYTHONPATH``, so that the suite's own engine code starts it.

The behaviour is set by the fields of ``Knobs``, given to ``install_fake_vllm`` or as JSON in
``FAKE_VLLM``, which wins. ``{"on": {...}}`` and ``{"off": {...}}`` set knobs for one arm only, and
``{"adaptive": {...}}`` those of an arm whose drafts or verification follow the load, besides.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

EOS = 0
_DEFAULTS = "FAKE_VLLM_DEFAULTS"
_SYLLABLES = ("ka", "lo", "mi", "ne", "ru", "sa", "té", "vo", "好", "zu")
WORDS = tuple(a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES)
"""The text of token ids 1 to 1000."""


class Knobs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the server does. Counts of requests start with the first one it gets.

    Drafts: position i is accepted with probability ``acceptance[i]`` when the positions before it
    were (the last entry holds for all further ones); ``acceptance_by_text`` does the same for
    prompts that contain its key. ``spread`` is the standard deviation of a shift per request, and
    ``undrafted`` the share of steps that draft nothing.
    """

    version: str = "0.32.0"
    seed: int = 0
    acceptance: tuple[float, ...] = (0.9, 0.8, 0.7)
    acceptance_by_text: dict[str, tuple[float, ...]] = {}
    spread: float = 0.0
    undrafted: float = 0.0
    engines: int = 1
    """Data-parallel engines; requests go to them in turn."""
    zero_engine: int | None = None
    """The engine that accepts nothing."""
    length: tuple[int, int] = (24, 60)
    """Natural answers have between so many tokens, the end of sequence included."""
    thinking_tokens: int = 12
    """The length of the reasoning of an answer when the template enables thinking."""
    reasoning_field: Literal["reasoning", "reasoning_content"] = "reasoning"
    prefill_s: float = 0.0
    step_s: float = 0.0
    """Seconds a step takes with speculation off."""
    step_cost: float = 1.0
    """How many times as long a step takes with speculation on."""

    start: Literal["ok", "fail", "never_healthy"] = "ok"
    start_delay_s: float = 0.0
    crash_after: int | None = None
    """After so many requests the next one gets HTTP 500 and the server exits."""
    hang_after: int | None = None
    """After so many requests nothing is answered any more but ``/health``."""
    cut_after: int | None = None
    """After so many requests the connection of the next one breaks inside its answer."""
    error_after: int | None = None
    """After so many requests the next one ends in an error event."""
    reset_counters_after: int | None = None
    """After so many requests the counters start from 0."""
    merge_chunks: int = 1
    """How many steps a chunk holds."""
    per_request: bool = True
    token_ids: bool = True
    counters: bool = True
    garbage_metrics: bool = False
    ignore_speculation: bool = False
    """Take the speculative configuration and do nothing with it."""
    wrong_text: bool = False
    """Answer otherwise when speculation is on."""


class Settings(msgspec.Struct, frozen=True):
    """What the command line says; ``k`` is 0 without speculation."""

    model: str = "fake"
    served: str = "fake"
    host: str = "127.0.0.1"
    port: int = 8000
    method: str = ""
    draft: str | None = None
    k: int = 0
    adaptive: bool = False
    detail: Literal["none", "summary", "detailed"] = "none"

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the knobs that are this server's own, the most particular last."""
        if not self.k:
            return ("off",)
        return ("on", "adaptive") if self.adaptive else ("on",)


ARMS = ("off", "on", "adaptive")
ADAPTIVE = ("num_speculative_tokens_per_batch_size", "enable_adaptive_verification")


def knobs_for(arms: tuple[str, ...], *layers: dict[str, Any]) -> Knobs:
    """Return the knobs of one arm; later layers win, and what is set for the arm wins over all."""
    common: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for layer in layers:
        common |= {key: value for key, value in layer.items() if key not in ARMS}
    for arm in arms:
        for layer in layers:
            own |= layer.get(arm, {})
    return msgspec.convert(common | own, Knobs)


def speculation_of(config: str | None) -> dict[str, Any]:
    """Return the fields of ``Settings`` that a speculative configuration sets."""
    if not config:
        return {}
    asked = json.loads(config)
    return {
        "method": asked["method"],
        "draft": asked.get("model"),
        "k": asked["num_speculative_tokens"],
        "adaptive": any(asked.get(field) for field in ADAPTIVE),
    }


class _Series:
    """The metrics of one life of the server."""

    def __init__(self, settings: Settings, knobs: Knobs) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        names = ["model_name", "engine"]
        self._values = [(settings.served, str(engine)) for engine in range(knobs.engines)]

        def counter(name: str, text: str, labels: list[str] = names) -> Counter:
            return Counter(name, text, labels, registry=self.registry)

        self.running = Gauge(
            "vllm:num_requests_running", "Requests in batches.", names, registry=self.registry
        )
        self.prompt = counter("vllm:prompt_tokens", "Prefilled tokens.")
        self.generated = counter("vllm:generation_tokens", "Generated tokens.")
        self.iteration = Histogram(
            "vllm:iteration_tokens_total", "Tokens a step.", names, registry=self.registry
        )
        plain = [self.running, self.prompt, self.generated, self.iteration]
        self.speculates = bool(settings.k and knobs.counters and not knobs.ignore_speculation)
        if self.speculates:
            self.drafts = counter("vllm:spec_decode_num_drafts", "Drafts.")
            self.drafted = counter("vllm:spec_decode_num_draft_tokens", "Draft tokens.")
            self.accepted = counter("vllm:spec_decode_num_accepted_tokens", "Accepted tokens.")
            self.positions = counter(
                "vllm:spec_decode_num_accepted_tokens_per_pos",
                "Accepted tokens per position.",
                [*names, "position"],
            )
            plain += [self.drafts, self.drafted, self.accepted]
            for values in self._values:
                for position in range(settings.k):
                    self.positions.labels(*values, str(position))
        for metric in plain:
            for values in self._values:
                metric.labels(*values)

    def step(self, engine: int, tokens: int, drafted: int, accepted: int) -> None:
        values = self._values[engine]
        self.generated.labels(*values).inc(tokens)
        self.iteration.labels(*values).observe(tokens)
        if self.speculates and drafted:
            self.drafts.labels(*values).inc()
            self.drafted.labels(*values).inc(drafted)
            self.accepted.labels(*values).inc(accepted)
            for position in range(accepted):
                self.positions.labels(*values, str(position)).inc()


class Step(msgspec.Struct, frozen=True):
    """One step of a request: the tokens it sends, and what was drafted and accepted in it."""

    ids: tuple[int, ...]
    drafted: int
    accepted: int


class FakeVllm:
    """The server; ``leave`` is called when it is to exit."""

    def __init__(self, settings: Settings, knobs: Knobs, leave: Callable[[], None]) -> None:
        self.settings = settings
        self.knobs = knobs
        self._leave = leave
        self._k = 0 if knobs.ignore_speculation else settings.k
        self._series = _Series(settings, knobs)
        self._requests = 0
        self._healthy = True

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/health", self._health)
        app.router.add_get("/version", self._version)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/completions", self._complete)
        return app

    async def _health(self, _: web.Request) -> web.Response:
        well = self._healthy and self.knobs.start != "never_healthy"
        return web.Response(status=200 if well else 503)

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": self.knobs.version})

    async def _models(self, _: web.Request) -> web.Response:
        model = {"id": self.settings.served, "object": "model", "root": self.settings.model}
        return web.json_response({"object": "list", "data": [model]})

    async def _metrics(self, _: web.Request) -> web.Response:
        if self.knobs.garbage_metrics:
            return web.Response(text="<html><body>502 Bad Gateway</body></html>")
        return web.Response(body=generate_latest(self._series.registry))

    async def _complete(self, _: web.Request) -> web.Response:
        """Answer the single token that tells whether the server still serves."""
        if _past(self.knobs.hang_after, self._requests):
            await asyncio.Event().wait()
        if not self._healthy:
            return _dead()
        return web.json_response({"choices": [{"text": WORDS[0], "finish_reason": "length"}]})

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        asked = json.loads(await http.read())
        if asked.get("model") != self.settings.served:
            return _error(404, "NotFoundError", f"The model `{asked.get('model')}` does not exist.")
        if not asked.get("stream"):
            return _error(400, "BadRequestError", "This server only streams.")
        number, self._requests = self._requests, self._requests + 1
        if number == self.knobs.reset_counters_after:
            self._series = _Series(self.settings, self.knobs)
        if _past(self.knobs.crash_after, number):
            return self._crash()
        if _past(self.knobs.hang_after, number):
            await asyncio.Event().wait()
        return await self._answer(http, asked, number)

    def _crash(self) -> web.Response:
        if self._healthy:
            self._healthy = False
            for line in (
                "EngineCore encountered a fatal error.",
                "Traceback (most recent call last):",
                '  File "vllm/v1/engine/core.py", line 1291, in run_busy_loop',
                "    self._process_engine_step()",
                "RuntimeError: fake device lost: a kernel did not return",
            ):
                _log("ERROR", "core.py:1300", line, process="EngineCore")
            dead = (
                "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. "
                "See stack trace (above) for the root cause."
            )
            _log("ERROR", "async_llm.py:906", "AsyncLLM output_handler failed.")
            _log("ERROR", "async_llm.py:906", dead)
            asyncio.get_running_loop().call_later(0.2, self._leave)
        return _dead()

    async def _answer(
        self, http: web.Request, asked: dict[str, Any], number: int
    ) -> web.StreamResponse:
        knobs = self.knobs
        text = "\n".join(message["content"] for message in asked["messages"])
        engine = number % knobs.engines
        labels = (self.settings.served, str(engine))
        prompt_tokens = len(text.split()) + 4
        ids, reasoned, reason = self._tokens(text, asked)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(http)
        stream = _Stream(response, asked, knobs, prompt_tokens=prompt_tokens, reasoned=reasoned)
        series = self._series
        series.prompt.labels(*labels).inc(prompt_tokens)
        series.running.labels(*labels).inc()
        await stream.open()
        seconds = knobs.step_s * (knobs.step_cost if self._k else 1.0)
        await asyncio.sleep(knobs.prefill_s)
        steps: list[Step] = []
        for step in self._steps(text, ids, engine):
            if steps:
                await asyncio.sleep(seconds)
            steps.append(step)
            series.step(engine, len(step.ids), step.drafted, step.accepted)
            last = stream.tokens + len(stream.held) + len(step.ids) == len(ids)
            await stream.step(step, reason if last else None)
            if len(steps) == 3 and number == knobs.cut_after:
                assert http.transport is not None
                http.transport.abort()
                return response
            if len(steps) == 3 and number == knobs.error_after:
                await stream.fail()
                return response
        series.running.labels(*labels).dec()
        await stream.close(self._per_request(steps))
        await response.write_eof()
        return response

    def _tokens(self, text: str, asked: dict[str, Any]) -> tuple[list[int], int, str]:
        """Return the token ids of the answer, how many are reasoning, and why it ends."""
        thinks = asked.get("chat_template_kwargs", {}).get("enable_thinking", False)
        key = f"{text}\0{thinks}"
        if asked.get("temperature", 1.0) > 0:
            key += f"\0{asked.get('seed')}"
        rng = _rng(self.knobs.seed, "text", key)
        reasoned = self.knobs.thinking_tokens if thinks else 0
        natural = reasoned + rng.randint(*self.knobs.length)
        most = asked["max_tokens"]
        forced = asked.get("ignore_eos", False)
        ids = [rng.randint(1, len(WORDS)) for _ in range(most if forced else min(natural, most))]
        if self.knobs.wrong_text and self._k:
            ids[5:] = ids[:4:-1]
        if natural > most or forced:
            return ids, reasoned, "length"
        return [*ids[:-1], EOS], reasoned, "stop"

    def _steps(self, text: str, ids: list[int], engine: int) -> Iterator[Step]:
        """Yield the prefill, which drafts nothing, and the steps that send all of ``ids``."""
        knobs = self.knobs
        rng = _rng(knobs.seed, "drafts", text)
        chances = next(
            (value for key, value in knobs.acceptance_by_text.items() if key in text),
            knobs.acceptance,
        )
        if engine == knobs.zero_engine:
            chances = (0.0,)
        shift = rng.gauss(0.0, knobs.spread) if knobs.spread else 0.0
        yield Step(tuple(ids[:1]), 0, 0)
        sent = 1
        while sent < len(ids):
            drafted = 0 if rng.random() < knobs.undrafted else self._k
            accepted = 0
            while accepted < drafted and rng.random() < (
                chances[min(accepted, len(chances) - 1)] + shift
            ):
                accepted += 1
            step = Step(tuple(ids[sent : sent + accepted + 1]), drafted, accepted)
            sent += len(step.ids)
            yield step

    def _per_request(self, steps: list[Step]) -> dict[str, Any] | None:
        settings = self.settings
        if settings.detail == "none" or not self._k or not self.knobs.per_request:
            return None
        counted = [step for step in steps if step.drafted]
        histogram = [0] * (self._k + 1)
        for step in counted:
            histogram[step.accepted] += 1
        accepted = sum(step.accepted for step in counted)
        drafted = sum(step.drafted for step in counted)
        found: dict[str, Any] = {
            "mean_acceptance_length": 1 + accepted / len(counted) if counted else 1.0,
            "draft_acceptance_rate": accepted / drafted if drafted else 0.0,
            "acceptance_histogram": histogram,
            "num_spec_steps": len(counted),
            "num_accepted_draft_tokens": accepted,
            "num_draft_tokens": drafted,
            "num_spec_tokens": self._k,
        }
        if settings.detail == "detailed" and counted:
            found["per_step_accepted"] = [step.accepted for step in counted]
            found["per_step_drafted"] = [step.drafted for step in counted]
        return found


class _Stream:
    """Writes the events of one answer."""

    def __init__(
        self,
        response: web.StreamResponse,
        asked: dict[str, Any],
        knobs: Knobs,
        *,
        prompt_tokens: int,
        reasoned: int,
    ) -> None:
        self._response = response
        self._frame = {
            "id": "chatcmpl-fake",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": asked["model"],
        }
        options = asked.get("stream_options") or {}
        self._with_ids = knobs.token_ids and bool(asked.get("return_token_ids"))
        self._usage_last = bool(options.get("include_usage"))
        self._usage_each = self._usage_last and bool(options.get("continuous_usage_stats"))
        self._reasoning_field = knobs.reasoning_field
        self._merge = knobs.merge_chunks
        self._prompt_tokens = prompt_tokens
        self._reasoned = reasoned
        self.tokens = 0
        """Tokens that went out."""
        self.held: list[int] = []
        """Tokens of steps that wait for the chunk they are merged into."""
        self._held_steps = 0

    async def open(self) -> None:
        await self._chunk({"role": "assistant", "content": ""}, None, None)

    async def step(self, step: Step, reason: str | None) -> None:
        """Send the tokens of a step, or hold them until their chunk is full."""
        self.held += step.ids
        self._held_steps += 1
        if self._held_steps < self._merge and reason is None:
            return
        ids, self.held, self._held_steps = self.held, [], 0
        cut = max(0, self._reasoned - self.tokens)
        delta = {
            name: "".join(f" {WORDS[i - 1]}" for i in part if i != EOS)
            for name, part in ((self._reasoning_field, ids[:cut]), ("content", ids[cut:]))
            if part
        }
        self.tokens += len(ids)
        await self._chunk(delta, ids, reason)

    async def fail(self) -> None:
        error = {"message": "fake internal error", "type": "InternalServerError", "code": 500}
        await self._send({"error": error})
        await self._response.write(b"data: [DONE]\n\n")
        await self._response.write_eof()

    async def close(self, per_request: dict[str, Any] | None) -> None:
        if self._usage_last:
            last: dict[str, Any] = self._frame | {"choices": [], "usage": self._usage()}
            if per_request is not None:
                last["metrics"] = {"speculative_decoding": per_request}
            await self._send(last)
        await self._response.write(b"data: [DONE]\n\n")

    async def _chunk(
        self, delta: dict[str, Any], ids: list[int] | None, reason: str | None
    ) -> None:
        choice: dict[str, Any] = {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": reason,
        }
        if ids is not None and self._with_ids:
            choice["token_ids"] = ids
        body: dict[str, Any] = self._frame | {"choices": [choice]}
        if self._usage_each:
            body["usage"] = self._usage()
        await self._send(body)

    async def _send(self, body: dict[str, Any]) -> None:
        await self._response.write(b"data: " + msgspec.json.encode(body) + b"\n\n")

    def _usage(self) -> dict[str, int]:
        return {
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": self.tokens,
            "total_tokens": self._prompt_tokens + self.tokens,
        }


def _past(limit: int | None, number: int) -> bool:
    return limit is not None and number >= limit


def _rng(seed: int, purpose: str, key: str) -> random.Random:
    return random.Random(hashlib.sha256(f"{seed}\0{purpose}\0{key}".encode()).digest())


def _dead() -> web.Response:
    return _error(
        500,
        "InternalServerError",
        "EngineCore encountered an issue. See stack trace (above) for the root cause.",
    )


def _error(status: int, kind: str, message: str) -> web.Response:
    body = {"error": {"message": message, "type": kind, "param": None, "code": status}}
    return web.json_response(body, status=status)


def _log(level: str, source: str, text: str, process: str = "APIServer") -> None:
    stamp = time.strftime("%m-%d %H:%M:%S")
    _say(f"({process} pid={os.getpid()}) {level} {stamp} [{source}] {text}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextlib.asynccontextmanager
async def serving(
    *, method: str = "mtp", k: int = 3, detail: str = "summary", **knobs: Any
) -> AsyncIterator[str]:
    """Serve in this event loop, under the model name ``fake``; yield the base URL.

    Where the real server would exit, this one stops listening and breaks its connections.
    """
    speculation = {"method": method, "k": k, "detail": detail} if k else {}
    leaving = asyncio.Event()
    fake = FakeVllm(
        msgspec.convert(speculation, Settings), msgspec.convert(knobs, Knobs), leaving.set
    )
    runner = web.AppRunner(fake.app(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()

    async def leave() -> None:
        await leaving.wait()
        await runner.cleanup()

    leaver = asyncio.create_task(leave())
    try:
        assert runner.addresses
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        leaving.set()
        await leaver


def install_fake_vllm(folder: Path, **knobs: Any) -> Path:
    """Put a ``vllm`` package that runs this server into ``folder`` and return the folder.

    With it on ``PYTHONPATH``, ``python -m vllm.entrypoints.openai.api_server`` starts the fake; the
    interpreter needs aiohttp, msgspec and prometheus_client. ``knobs`` are fields of ``Knobs``, and
    ``on``, ``off`` and ``adaptive`` for one arm.
    """
    for arm in ARMS:
        knobs_for((arm,), knobs)  # a misspelt knob fails here and not in a server that never starts
    package = folder / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    for part in (package, package.parent, package.parent.parent):
        (part / "__init__.py").write_text("")
    version = knobs.get("version", Knobs().version)
    (folder / "vllm" / "__init__.py").write_text(f"__version__ = {version!r}\n")
    (package / "api_server.py").write_text(
        "import os\nimport runpy\n\n"
        f"os.environ[{_DEFAULTS!r}] = {json.dumps(knobs)!r}\n"
        f"runpy.run_path({str(Path(__file__).resolve())!r}, run_name='__main__')\n"
    )
    return folder


def _parse(argv: list[str]) -> tuple[Settings, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser(prog="api_server.py", allow_abbrev=False)
    parser.add_argument("--model", required=True)
    parser.add_argument("--served-model-name")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--speculative-config")
    parser.add_argument("--additional-config", default="{}")
    parser.add_argument("--per-request-spec-decode-metrics", default="none")
    known, _ = parser.parse_known_args(argv)  # the real server has hundreds of other options
    speculation = speculation_of(known.speculative_config)
    if "dynamic_spec_config" in json.loads(known.additional_config):
        speculation["adaptive"] = True
    settings = Settings(
        model=known.model,
        served=known.served_model_name or known.model,
        host=known.host,
        port=known.port,
        detail=known.per_request_spec_decode_metrics,
        **speculation,
    )
    return settings, parser


def _fail(cause: str) -> None:
    """Log a start that fails as the real server does, and exit."""
    for line in (
        "EngineCore failed to start.",
        "Traceback (most recent call last):",
        '  File "vllm/v1/engine/core.py", line 1201, in run_engine_core',
        "    engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)",
        cause,
    ):
        _log("ERROR", "core.py:1230", line, process="EngineCore")
    sys.exit(
        "Traceback (most recent call last):\n"
        '  File "vllm/v1/engine/utils.py", line 1100, in wait_for_engine_startup\n'
        "RuntimeError: Engine core initialization failed. See root cause above. "
        "Failed core proc(s): {'EngineCore': 1}"
    )


def main() -> None:
    """Run the server until it is told to stop."""
    settings, parser = _parse(sys.argv[1:])
    layers = [json.loads(os.environ.get(name, "{}")) for name in (_DEFAULTS, "FAKE_VLLM")]
    knobs = knobs_for(settings.arms, *layers)
    if settings.detail != "none" and tuple(map(int, knobs.version.split(".")[:2])) < (0, 29):
        parser.error("unrecognized arguments: --per-request-spec-decode-metrics")
    if settings.detail != "none" and not settings.k:
        _fail(
            "ValueError: --per-request-spec-decode-metrics requires speculative decoding to be "
            "enabled (via --speculative-config)."
        )
    speculation = "None"
    if settings.k and not knobs.ignore_speculation:
        draft = None if settings.method in ("ngram", "suffix") else settings.draft or settings.model
        speculation = (
            f"SpeculativeConfig(method={settings.method!r}, model={draft!r}, "
            f"num_spec_tokens={settings.k})"
        )
    _log(
        "INFO",
        "core.py:133",
        f"Initializing a V1 LLM engine (v{knobs.version}) with config: model={settings.model!r}, "
        f"speculative_config={speculation}, tokenizer={settings.model!r}, dtype=torch.float32, "
        "max_seq_len=2048, enforce_eager=True, enable_prefix_caching=False",
        process="EngineCore",
    )
    if knobs.start == "fail":
        _fail("ValueError: fake start failure: the device has no memory left")
    time.sleep(knobs.start_delay_s)

    async def started(_: web.Application) -> None:
        _say("INFO:     Application startup complete.")

    app = FakeVllm(settings, knobs, lambda: os._exit(1)).app()
    app.on_startup.append(started)
    _log("INFO", "entry.py:140", f"Starting vLLM server on http://{settings.host}:{settings.port}")
    web.run_app(
        app,
        host=settings.host,
        port=settings.port,
        print=None,
        access_log=None,
        shutdown_timeout=0.1,
    )


if __name__ == "__main__":
    main()
