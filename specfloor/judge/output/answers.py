"""Whether an answer is what its prompt asked for."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from jsonschema import Draft202012Validator

from specfloor.load.expect import (
    Expect,
    ExpectContains,
    ExpectedCall,
    ExpectJson,
    ExpectNumber,
    ExpectText,
    ExpectToolCalls,
)
from specfloor.load.workload import Prompt
from specfloor.runs.records import RequestRecord, ToolCall


def final_text(request: RequestRecord) -> str:
    """Return the answer without its reasoning, also where the server left that in the text.

    Chat templates may open the thinking block themselves, so that only its end is in the text.
    """
    return request.text.rpartition("</think>")[2].strip()


def is_right(request: RequestRecord, expect: Expect) -> bool:
    """Whether the answer is what ``expect`` says; tool calls are those of :func:`are_right`."""
    text = final_text(request)
    match expect:
        case ExpectNumber(value):
            return last_number(text) == Fraction(value)
        case ExpectText(value):
            return _bare(text) == _bare(value)
        case ExpectContains(values):
            flat = _flat(text)
            return all(_flat(value) in flat for value in values)
        case ExpectJson(schema):
            return is_json(text, schema)
        case ExpectToolCalls():
            raise ValueError("tool calls are judged with the tools of their prompt")


_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])[-−]?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}")
_FULL_WIDTH = str.maketrans("０１２３４５６７８９．，－／", "0123456789.,-/")


def last_number(text: str) -> Fraction | None:
    r"""Return the last number of a text: with thousands separators, as a fraction, as ``\frac``."""
    plain = _FRACTION.sub(r" \1/\2 ", text.translate(_FULL_WIDTH))
    for found in reversed(_NUMBER.findall(plain)):
        spelled = re.sub(r"[\s,]", "", found).replace("−", "-")
        try:
            return Fraction(spelled) if "." not in spelled.partition("/")[0] else _decimal(spelled)
        except ZeroDivisionError:
            continue
    return None


def _decimal(spelled: str) -> Fraction:
    above, _, below = spelled.partition("/")
    return Fraction(above) / Fraction(below or 1)


_FENCE = re.compile(r"\A```[\w+-]*[ \t]*\n(.*?)\n?```\Z", re.DOTALL)
_QUOTES = "\"'`“”‘’「」『』"


def unfenced(text: str) -> str:
    """Return what a code fence around the whole text holds, or the text."""
    found = _FENCE.match(text.strip())
    return found[1] if found else text


def is_json(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether the text, but for a code fence around it, is one JSON value that fits a schema."""
    try:
        value = _loads(unfenced(text))
    except ValueError:
        return False
    return bool(Draft202012Validator(dict(schema)).is_valid(value))


def _loads(text: str) -> Any:  # noqa: ANN401 - JSON is anything
    """Read JSON, and nothing that only Python takes for it (NaN, keys that come twice)."""

    def constant(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a key comes twice")
        return found

    return json.loads(text, parse_constant=constant, object_pairs_hook=unique)


_MARKUP = re.compile(r"</?(?:tool_calls?|function|parameter|arg_key|arg_value)\b|<[|｜]tool")
"""What tool calls look like before a server's parser has taken them out of the text: the tags of
Qwen, Hermes and GLM, and the special tokens of DeepSeek and Kimi."""


def are_right(request: RequestRecord, prompt: Prompt) -> bool:
    """Whether the tool calls of an answer are sound, and those that its prompt expects if it does.

    A call is sound when its tool was offered and its arguments are one JSON object that fits the
    tool's parameters. Markup of calls left in the text, or in a name, is a call that was lost.
    """
    offered = prompt.parameters
    if _MARKUP.search(final_text(request)):
        return False
    calls: list[tuple[str, dict[str, Any]]] = []
    for call in request.tool_calls:
        arguments = _arguments(call)
        if arguments is None or call.name not in offered:
            return False
        if not Draft202012Validator(offered[call.name]).is_valid(arguments):
            return False
        calls.append((call.name, arguments))
    if isinstance(prompt.expect, ExpectToolCalls):
        return _as_expected(calls, prompt.expect.calls)
    return True


def _arguments(call: ToolCall) -> dict[str, Any] | None:
    try:
        value = _loads(call.arguments or "{}")  # some parsers send nothing for no arguments
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _as_expected(
    calls: Sequence[tuple[str, dict[str, Any]]], expected: Sequence[ExpectedCall]
) -> bool:
    if Counter(name for name, _ in calls) != Counter(one.name for one in expected):
        return False
    left = list(calls)
    for one in expected:
        found = next((c for c in left if c[0] == one.name and _holds(c[1], one.arguments)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _holds(arguments: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return all(
        name in arguments and _same(arguments[name], value) for name, value in expected.items()
    )


def _same(one: object, other: object) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return _flat(one) == _flat(other)
    return isinstance(one, bool) == isinstance(other, bool) and one == other


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def _flat(text: str) -> str:
    """Return a text whose case, white space and thousands separators make no difference."""
    return " ".join(_THOUSANDS.sub("", text).casefold().split())


def _bare(text: str) -> str:
    return "\n".join(
        line.rstrip() for line in unfenced(text).strip().strip(_QUOTES).strip().splitlines()
    )
