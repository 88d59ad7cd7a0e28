"""Answers of the API: the per-request object of whole answers and streams, and streamed chunks."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from specfloor.i18n import _
from specfloor.load.answer import Answer, AnswerError, AnswerReader, read_speculation
from specfloor.runs.records import BlockKey, PerRequestSpeculation, Purpose, RequestRecord
from specfloor.signals.per_request import counts_of_request
from specfloor.signals.stream import steps_of_request
from specfloor.signals.unreadable import Reason, Unreadable
from specfloor.triage.tally import Tally, total

_DONE = "data: [DONE]"
_EVENT = re.compile(r"\r?\n(?=data:)")
"""What begins an event, also in a transcript without empty lines: vLLM's events are one line."""
_FIELDS = ("data:", "event:", "id:", "retry:", ":")


class Steps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the chunks of streams show: each the tokens of one step, after the prefill's token.

    ``steps``, ``accepted_tokens`` and ``acceptance_length`` are None where chunks hold more than a
    step, or may do. ``chunks`` and ``tokens`` count everything, the first chunk included.
    """

    chunks: int
    tokens: int
    max_chunk_tokens: int
    steps: int | None = None
    accepted_tokens: int | None = None
    acceptance_length: float | None = None


class ResponseReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What some answers say together.

    ``tally`` is of those with a per-request object, ``mean_of_rates`` their rates' mean, which
    weighs a short answer like a long one. ``unusable`` says why others were left out. ``merged`` is
    whether chunks hold several steps, ``k_unknown`` whether that cannot be told.
    """

    requests: int
    tally: Tally | None = None
    k: int | None = None
    mean_of_rates: float | None = None
    stream: Steps | None = None
    merged: bool = False
    k_unknown: bool = False
    unusable: tuple[str, ...] = ()
    software: str | None = None


def read_objects(values: Iterable[Mapping[str, Any]], broken: int = 0) -> ResponseReading:
    """Read whole answers, one object each; ``broken`` lines held none that could be read."""
    objects: list[PerRequestSpeculation] = []
    unusable = [_("{broken} lines are cut or no JSON").format(broken=broken)] if broken else []
    software, requests = None, 0
    for value in map(_inside, values):
        requests += 1
        meta = value.get("meta_info")
        if isinstance(meta, dict) and any(name.startswith("spec_") for name in meta):
            software = "sglang"
        if value.get("error") is not None:
            unusable.append(
                _("answer {n} is an error: {error}").format(n=requests, error=value["error"])
            )
        elif (told := read_speculation(value.get("metrics"))) is not None:
            objects.append(told)
        else:
            unusable.append(
                _("answer {requests} has no per-request object").format(requests=requests)
            )
    return _reading(requests, objects, unusable, software=software)


def read_streams(text: str, k: int | None) -> ResponseReading:
    """Read one or more server-sent event streams, one after another.

    ``k`` is num_speculative_tokens, without which a chunk of two steps cannot be told from one.
    """
    objects: list[PerRequestSpeculation] = []
    unusable: list[str] = []
    records: list[RequestRecord] = []
    requests = 0
    for stream in _split(text):
        requests += 1
        reader, error = AnswerReader(), None
        try:
            reader.feed(_EVENT.sub("\n\n", stream).encode(), 0.0)
            reader.check_end()
        except AnswerError as problem:
            error = str(problem)
        answer = reader.answer()
        if error is not None:
            unusable.append(
                _("stream {requests} is broken: {error}").format(requests=requests, error=error)
            )
        elif answer.speculation is not None:
            objects.append(answer.speculation)
        records.append(_record(requests, answer, error))
    reading = _reading(requests, objects, unusable)
    if reading.tally is not None:
        return reading
    return _with_chunks(reading, records, k)


def is_answer(value: Mapping[str, Any]) -> bool:
    """Whether an object is an answer of the API, or of one like it."""
    answer = _inside(value)
    return (
        "choices" in answer
        or "meta_info" in answer
        or ("error" in answer and "message" not in answer)
        or answer.get("object") == "error"
    )


def _inside(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer in what a batch run wrote around it."""
    for name in ("response", "body"):
        if isinstance(value.get(name), dict) and "choices" not in value:
            value = value[name]
    return value


def is_stream(head: str) -> bool:
    """Whether text begins like server-sent events, perhaps after HTTP headers."""
    lines = [line for line in head.splitlines() if line.strip()][:40]
    events = [line for line in lines if line.startswith("data:")]
    return bool(events) and all(
        line.startswith(_FIELDS) for line in lines[lines.index(events[0]) :][:10]
    )


def _with_chunks(
    reading: ResponseReading, records: list[RequestRecord], k: int | None
) -> ResponseReading:
    shown = [r for r in records if r.chunk_tokens]
    if not shown:
        return reading
    found = [steps_of_request(record, k or max(record.chunk_tokens)) for record in shown]
    problems = [one for one in found if isinstance(one, Unreadable)]
    merged = any(problem.reason is Reason.MERGED_CHUNKS for problem in problems)
    stream = Steps(
        chunks=sum(len(r.chunk_tokens) for r in shown),
        tokens=sum(sum(r.chunk_tokens) for r in shown),
        max_chunk_tokens=max(max(r.chunk_tokens) for r in shown),
    )
    steps = [one for one in found if not isinstance(one, Unreadable)]
    if steps and not merged and k is not None:
        count = sum(len(one.tokens) for one in steps)
        accepted = sum(one.accepted for one in steps)
        stream = msgspec.structs.replace(
            stream,
            steps=count,
            accepted_tokens=accepted,
            acceptance_length=1 + accepted / count if count else None,
        )
    return msgspec.structs.replace(
        reading,
        k=k,
        stream=stream,
        merged=merged,
        k_unknown=k is None and not merged,
        unusable=(*reading.unusable, *(problem.sentence for problem in problems)),
    )


def _reading(
    requests: int,
    objects: list[PerRequestSpeculation],
    unusable: list[str],
    *,
    software: str | None = None,
) -> ResponseReading:
    tallies = []
    for number, told in enumerate(objects, start=1):
        counts = counts_of_request(_record(number, Answer(speculation=told), None))
        if isinstance(counts, Unreadable):
            unusable.append(counts.sentence)
        else:
            tallies.append(Tally.of(counts.counts))
    rates = [tally.rate for tally in tallies if tally.rate is not None]
    drafted = total(tally for tally in tallies if tally.draft_tokens)
    return ResponseReading(
        requests=requests,
        tally=drafted,
        k=max((told.num_spec_tokens for told in objects), default=None),
        mean_of_rates=sum(rates) / len(rates) if rates else None,
        unusable=tuple(unusable),
        software=software,
    )


def _record(number: int, answer: Answer, error: str | None) -> RequestRecord:
    return RequestRecord(
        launch="",
        block=BlockKey("", "", 1, Purpose.NATURAL),
        index=number,
        prompt_id=str(number),
        domain="",
        started_s=0.0,
        first_token_s=None,
        finished_s=0.0,
        chunk_s=answer.chunk_at,
        chunk_tokens=answer.chunk_tokens,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        finish_reason=answer.finish_reason,
        text_sha256=answer.text_sha256,
        text=answer.text,
        speculation=answer.speculation,
        error=error,
    )


def _split(text: str) -> Iterator[str]:
    """Yield streams: each ends with its [DONE], or with the text."""
    *whole, rest = text.split(_DONE)
    for stream in whole:
        yield f"{stream}{_DONE}\n\n"
    if rest.strip():
        yield rest
