"""What kind of file it is, by its first bytes."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from specfloor.host.collect_env import read_environment
from specfloor.host.npu_smi import read_npu_smi
from specfloor.triage import bench_tables, bench_vllm, response


class Kind(StrEnum):
    """The kinds of input, named as in the JSON that triage prints."""

    LOG = "logs"
    METRICS = "metrics"
    RESPONSE = "response"
    STREAM = "stream"
    BENCH_TEXT = "bench"
    BENCH_TABLES = "bench_tables"
    BENCH_JSON = "bench_json"
    ENVIRONMENT = "env"
    NPU_SMI = "npu_smi"
    HTML = "html"
    ARCHIVE = "archive"
    """Packed in a way that is not unpacked here."""
    EMPTY = "empty"
    UNKNOWN = "unknown"


_NUMBER = r"(?:[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|NaN|[-+]?Inf)(?: \d+)?\s*$"
_METRICS = re.compile(
    rf"^# (?:HELP|TYPE) \S+|^[a-zA-Z_:][\w:]*\{{[^}}\n]*\}} {_NUMBER}"
    rf"|^(?:vllm[:_]|process_|python_)\w+ {_NUMBER}",
    re.MULTILINE,
)
_SERVER_LOG = re.compile(
    r"SpecDecoding metrics|Speculative metrics|Avg prompt throughput|LLM engine \(v"
    r"|\(APIServer pid=|\(EngineCore\w* pid=|Decode batch\."
    r"|(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d "
)
_HTML = re.compile(r"\s*<(?:!doctype html|html|\?xml|head|body)\b", re.IGNORECASE)
_HTTP_HEAD = re.compile(r"HTTP/[\d.]+ \d{3}[^\n]*\n(?:[\w-]+:[^\n]*\n)*\r?\n")
_LOG_KEYS = ("log", "message", "msg", "line", "MESSAGE")


def kind_of(head: bytes) -> Kind:
    """Return the kind of a file whose content begins like this.

    What looks like nothing known is UNKNOWN; that may still be a log whose first lines are others'.
    """
    text = head.lstrip(b"\0").decode(errors="replace").lstrip("\ufeff")
    if not text.strip():
        return Kind.EMPTY
    if _HTML.match(text):
        return Kind.HTML
    if (found := _of_json(text)) is not None:
        return found
    if response.is_stream(text):
        return Kind.STREAM
    if _METRICS.search(text) and not _SERVER_LOG.search(text):
        return Kind.METRICS
    return _of_text(text)


def _of_text(text: str) -> Kind:
    if bench_vllm.TITLE in text:
        return Kind.BENCH_TEXT
    if any(title in text for title in bench_tables.AISBENCH_TITLES + bench_tables.EVALSCOPE_TITLES):
        return Kind.BENCH_TABLES
    if _SERVER_LOG.search(text):
        return Kind.LOG
    if read_environment(text) is not None:
        return Kind.ENVIRONMENT
    if read_npu_smi(text) is not None:
        return Kind.NPU_SMI
    return Kind.UNKNOWN


def _of_json(text: str) -> Kind | None:
    """Return what JSON is about, told by its first object; None when it is none.

    The text may break off anywhere, so an object that spans lines is told by its keys.
    """
    begin = _HTTP_HEAD.sub("", text.lstrip(), count=1).lstrip()
    if begin[:1] not in ("{", "["):
        return None
    line = begin.lstrip("[ \r\n\t").partition("\n")[0].rstrip(", \r\n]")
    value = first_object(begin) or first_object(line)
    if value is None:
        keys = set(re.findall(r'"(\w+)"\s*:', begin[:4096]))
        value = dict.fromkeys(keys, "")
        if not keys or (begin[:1] == "[" and not begin[1:].lstrip().startswith("{")):
            return None
    if bench_vllm.is_json(value):
        return Kind.BENCH_JSON
    if response.is_answer(value):
        return Kind.RESPONSE
    if any(key in value for key in _LOG_KEYS):
        return Kind.LOG
    return None


def first_object(text: str) -> Mapping[str, Any] | None:
    """Return the object that JSON text is, or the first one in its list; None otherwise."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, dict) else None


def objects_in(text: str) -> tuple[list[Mapping[str, Any]], int]:
    """Return the objects of JSON text (one, a list, one a line) and the number of broken lines."""
    broken = 0
    text = _HTTP_HEAD.sub("", text.lstrip(), count=1)
    try:
        values = [msgspec.json.decode(text)]
    except (msgspec.MsgspecError, RecursionError):
        values = []
        for line in filter(None, map(str.strip, text.splitlines())):
            try:
                values.append(msgspec.json.decode(line))
            except (msgspec.MsgspecError, RecursionError):
                broken += 1
    found = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [one for one in found if isinstance(one, dict)], broken
