"""Reading one streamed answer: server-sent events in, text, token counts and times out.

``AnswerReader.feed`` is the hot path of the client, run for every read of every request, so it
spends few Python operations a chunk; everything is put together once, at the end.
"""

import hashlib
from typing import Any

import msgspec

from specfloor.runs.records import PerRequestSpeculation, ToolCall

_UNKNOWN = -1
_SHOWN = 200  # characters of an unreadable event that go into a message


class AnswerError(Exception):
    """The answer broke off or is none; the message says why, as a clause without a full stop."""


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class _CallDelta(msgspec.Struct, gc=False):
    index: int = 0
    function: _Function | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    finish_reason: str | None = None
    token_ids: list[int] | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Chunk(msgspec.Struct, gc=False):
    """The fields of a chunk that are recorded, and the two spellings of an error."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    metrics: Any = None
    error: Any = None
    message: str | None = None


class _Metrics(msgspec.Struct):
    speculative_decoding: PerRequestSpeculation | None = None


_decode = msgspec.json.Decoder(_Chunk).decode


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a stream held.

    ``chunk_at`` are the times given to ``feed`` for the chunks that carried tokens, and
    ``chunk_tokens`` how many each carried: the number of its token ids, else what the usage so far
    grew by; empty when a chunk came with neither, since the counts are then unknown. ``text`` is
    the answer without its reasoning; the first ``reasoning_chunks`` of the chunks carried that.
    """

    chunk_at: tuple[float, ...] = ()
    chunk_tokens: tuple[int, ...] = ()
    token_ids: tuple[int, ...] = ()
    text: str = ""
    reasoning: str = ""
    reasoning_chunks: int = 0
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    speculation: PerRequestSpeculation | None = None
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def text_sha256(self) -> str:
        """SHA-256 of the text in UTF-8, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class AnswerReader:
    """Assembles the answer of one request from the bytes of its stream, as they come.

    Events may be split over reads or share one, end in LF, CRLF or CR, and be mixed with comments.
    """

    def __init__(self) -> None:
        """Start with nothing read."""
        self._rest = b""
        self._at: list[float] = []
        self._counts: list[int] = []
        self._tokens_so_far = 0
        self._ids: list[int] = []
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._thinks: list[bool] = []
        """For each chunk that counts, whether it carried reasoning."""
        self._calls: dict[int, tuple[list[str], list[str]]] = {}
        """Pieces of the name and of the arguments, by the index of the call."""
        self._finish_reason: str | None = None
        self._usage: _Usage | None = None
        self._speculation: PerRequestSpeculation | None = None
        self._done = False
        self.last_at = 0.0
        """When anything last came."""

    def feed(self, data: bytes, at: float) -> None:
        """Take the bytes of one read, which arrived at ``at``.

        Raises:
            AnswerError: the server sent an error event, or an event that is no chunk.
        """
        self.last_at = at
        if self._rest:
            data = self._rest + data
        if b"\r" in data:
            data = _with_line_feeds(data)
        *events, self._rest = data.split(b"\n\n")
        for event in events:
            if event.startswith(b"data: {") and b"\n" not in event:
                self._take(event[6:], at)
            elif payload := _payload(event):
                self._take(payload, at)

    def _take(self, payload: bytes, at: float) -> None:
        if payload == b"[DONE]":
            self._done = True
            return
        try:
            chunk = _decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            shown = payload[:_SHOWN].decode(errors="replace")
            raise AnswerError(
                f"the stream has an event that is no chunk ({error}): {shown}"
            ) from None
        if not chunk.choices:
            self._take_without_choices(chunk)
            return
        choice = chunk.choices[0]
        carried = thinks = False
        if (delta := choice.delta) is not None:
            if delta.content:
                self._text.append(delta.content)
                carried = True
            if thought := delta.reasoning or delta.reasoning_content:
                self._reasoning.append(thought)
                carried = thinks = True
            if delta.tool_calls:
                self._take_calls(delta.tool_calls)
                carried = True
        self._finish_reason = choice.finish_reason or self._finish_reason
        if (usage := chunk.usage) is not None:
            self._usage = usage
        if (ids := choice.token_ids) is not None:
            self._ids += ids
            count = len(ids)
        elif usage is not None and usage.completion_tokens is not None:
            count = usage.completion_tokens - self._tokens_so_far
            self._tokens_so_far = usage.completion_tokens
        else:
            count = _UNKNOWN if carried else 0
        if count:
            self._counts.append(count)
            self._at.append(at)
            self._thinks.append(thinks)

    def _take_calls(self, deltas: list[_CallDelta]) -> None:
        for delta in deltas:
            names, arguments = self._calls.setdefault(delta.index, ([], []))
            if delta.function is not None:
                names.append(delta.function.name or "")
                arguments.append(delta.function.arguments or "")

    def _take_without_choices(self, chunk: _Chunk) -> None:
        """Take the usage and rung A that come last, or an error."""
        if chunk.error is not None or chunk.message is not None:
            raise AnswerError(f"the server sent an error in the stream: {_message(chunk)}")
        if chunk.usage is not None:
            self._usage = chunk.usage
        if chunk.metrics is not None:
            self._speculation = read_speculation(chunk.metrics)

    def answer(self) -> Answer:
        """Return what has come so far."""
        usage = self._usage or _Usage()
        known = min(self._counts, default=0) > 0
        return Answer(
            chunk_at=tuple(self._at),
            chunk_tokens=tuple(self._counts) if known else (),
            token_ids=tuple(self._ids),
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            reasoning_chunks=max(
                (i for i, thinks in enumerate(self._thinks, 1) if thinks), default=0
            ),
            finish_reason=self._finish_reason,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            speculation=self._speculation,
            tool_calls=tuple(
                ToolCall("".join(names), "".join(arguments))
                for _, (names, arguments) in sorted(self._calls.items())
            ),
        )

    def check_end(self) -> None:
        """Take the stream as ended.

        Raises:
            AnswerError: the stream ended before the answer did.
        """
        if self._rest:
            self.feed(b"\n\n", self.last_at)
        if self._finish_reason == "abort":
            raise AnswerError("the server aborted the answer")
        if not self._done and self._finish_reason is None:
            raise AnswerError("the stream ended before the answer did")


def _with_line_feeds(data: bytes) -> bytes:
    """Return the bytes with CRLF and CR as LF; a CR at the very end waits for what follows it."""
    held = b"\r" if data.endswith(b"\r") else b""
    body = data[:-1] if held else data
    return body.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held


def _payload(event: bytes) -> bytes:
    """Return the data lines of an event, joined; comments and other fields are left out."""
    return b"\n".join(
        line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")
    )


def _message(chunk: _Chunk) -> str:
    error = chunk.error
    if isinstance(error, dict):
        return str(error.get("message") or error)
    return str(error or chunk.message)


def read_speculation(metrics: object) -> PerRequestSpeculation | None:
    """Return the object of rung A; None when there is none or its fields are not those we know.

    The servers call it experimental: a later shape costs this rung, not the request.
    """
    try:
        return msgspec.convert(metrics, _Metrics).speculative_decoding
    except msgspec.ValidationError:
        return None
