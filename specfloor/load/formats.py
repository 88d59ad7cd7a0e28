"""Prompt files that users bring: published benchmarks and plain files, told apart by shape."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from specfloor.errors import UsageError
from specfloor.load.expect import ExpectNumber
from specfloor.load.settings import WorkloadSettings
from specfloor.load.workload import Message, Prompt

DEFAULT_SETTINGS = WorkloadSettings(
    about="a file of the user", max_tokens=1024, forced_tokens=256, forced_prompts=16
)
"""How a user's file is sent: as the workloads for models that people serve are."""


class Loaded(msgspec.Struct, frozen=True):
    """The prompts of a file; ``skipped`` records of it hold none (a chat in which nobody asks)."""

    format: str
    prompts: tuple[Prompt, ...]
    skipped: int


def load_any(path: Path) -> tuple[Prompt, ...]:
    """Return the prompts of a file in any of the formats of :func:`read_file`, in its order.

    Raises:
        UsageError: as :func:`read_file`.
    """
    return read_file(path).prompts


def read_file(path: Path) -> Loaded:
    """Read a prompt file: JSON Lines, or one JSON list.

    The fields of a record say what it is:

    - ``turns``: MT-Bench, Spec-Bench and SPEED-Bench; the first turn is the prompt;
    - ``conversations``: ShareGPT; up to the first question of the user;
    - ``question`` and ``answer``: GSM8K; the number after ``####`` is expected;
    - ``messages``: a chat; up to the last message of the user, with ``tools`` if there are any;
    - ``prompt``: a text, or messages as above.

    Ids are taken from ``id``, ``question_id`` or ``task_id``, domains from ``domain`` or
    ``category``; without them a record gets its number, and the name of its format. Records with
    ``id``, ``domain`` and ``messages`` may hold an ``expect`` as our own workloads do.

    Raises:
        UsageError: the file cannot be read or holds no prompt, a record is none of these, or an id
            comes twice; the message names file, line and field.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"prompt file {path} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"prompt file {path}, line {line}: not UTF-8; convert the file to it"
        ) from None
    prompts: dict[str, Prompt] = {}
    formats: list[str] = []
    skipped = 0
    for number, (line, value) in enumerate(_records(path, text), start=1):
        try:
            name, prompt = _prompt(value, number)
        except _FieldError as error:
            raise UsageError(f"prompt file {path}, line {line}: {error}") from None
        if name not in formats:
            formats.append(name)
        if prompt is None:
            skipped += 1
            continue
        if prompt.id in prompts:
            raise UsageError(
                f"prompt file {path}, line {line}: the id {prompt.id!r} comes twice; ids are unique"
            )
        prompts[prompt.id] = prompt
    if not prompts:
        raise UsageError(
            f"prompt file {path} holds no prompt; give JSON Lines or a JSON list of records"
        )
    return Loaded(", ".join(formats), tuple(prompts.values()), skipped)


class _FieldError(Exception):
    """A record that is not as it should be; the message names the field."""


def _records(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """Yield the line that each record begins on, and the record."""
    if text.lstrip().startswith("["):
        yield from _list_items(path, text)
        return
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            try:
                yield line, json.loads(content)
            except json.JSONDecodeError as error:
                raise UsageError(
                    f"prompt file {path}, line {line}: no JSON ({error.msg}, column "
                    f"{error.colno}); give one record a line, or all in one list"
                ) from None


_SPACE = re.compile(r"\s*")


def _list_items(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    decoder = json.JSONDecoder()
    line, counted = 1, 0

    def after_space(at: int) -> int:
        found = _SPACE.match(text, at)
        assert found is not None  # it matches the empty string
        return found.end()

    at = after_space(after_space(0) + 1)
    while not text.startswith("]", at):
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise UsageError(
                f"prompt file {path}, line {error.lineno}: no JSON ({error.msg}, column "
                f"{error.colno})"
            ) from None
        yield line, value
        at = after_space(end)
        if text.startswith(",", at):
            at = after_space(at + 1)
        elif not text.startswith("]", at):
            ends = line + text.count("\n", counted, at)
            raise UsageError(f"prompt file {path}, line {ends}: the list breaks off or lacks a ','")


def _prompt(value: object, number: int) -> tuple[str, Prompt | None]:
    """Return the format of a record and its prompt; None for a chat in which nobody asks."""
    if not isinstance(value, dict):
        raise _FieldError(f"a record is an object, not {_kind(value)}")
    if {"id", "domain", "messages"} <= value.keys():
        try:
            return "specfloor", msgspec.json.decode(msgspec.json.encode(value), type=Prompt)
        except msgspec.ValidationError as error:
            raise _FieldError(f"{error}; mend that record") from None
        except UnicodeEncodeError:
            raise _FieldError("it holds half of a surrogate pair, which is no character") from None
    for fields, name, read in _SHAPES:
        if fields <= value.keys():
            messages, more = read(value)
            if not messages:
                return name, None
            prompt_id = next(
                (str(value[f]) for f in ("id", "question_id", "task_id") if _named(value.get(f))),
                f"{number:06d}",
            )
            domain = next(
                (value[f] for f in ("domain", "category") if isinstance(value.get(f), str)), ""
            )
            try:
                return name, Prompt(prompt_id, domain or name, messages, **more)
            except ValueError as error:
                raise _FieldError(str(error)) from None
    known = ", ".join("+".join(sorted(fields)) for fields, _, _ in _SHAPES)
    has = ", ".join(sorted(value)) or "none"
    raise _FieldError(f"no field of a format known here ({known}); it has: {has}")


_Read = Callable[[dict[str, Any]], tuple[tuple[Message, ...], dict[str, Any]]]


def _turns(value: dict[str, Any]) -> tuple[tuple[Message, ...], dict[str, Any]]:
    turns = value["turns"]
    if not isinstance(turns, list) or not turns:
        raise _FieldError(f"'turns' is a list of texts, not {_kind(turns)}")
    return (Message("user", _text(turns[0], "'turns', item 1")),), {}


_SPEAKERS = {"human": "user", "user": "user", "gpt": "assistant", "system": "system"}


def _conversation(value: dict[str, Any]) -> tuple[tuple[Message, ...], dict[str, Any]]:
    said = value["conversations"]
    if not isinstance(said, list):
        raise _FieldError(f"'conversations' is a list, not {_kind(said)}")
    system: list[Message] = []
    for i, turn in enumerate(said, start=1):
        place = f"'conversations', item {i}"
        if not isinstance(turn, dict) or not {"from", "value"} <= turn.keys():
            raise _FieldError(f"{place} has no 'from' and 'value'")
        role = _SPEAKERS.get(str(turn["from"]))
        if role == "system":
            system.append(Message("system", _text(turn["value"], f"{place}, 'value'")))
        elif role == "user" and turn["value"]:
            asked = Message("user", _text(turn["value"], f"{place}, 'value'"))
            return (*system, asked), {}
    return (), {}


_FINAL = re.compile(r"####\s*(-?[\d,]*\.?\d+)\s*$")


def _question(value: dict[str, Any]) -> tuple[tuple[Message, ...], dict[str, Any]]:
    asked = Message("user", _text(value["question"], "'question'"))
    final = _FINAL.search(_text(value["answer"], "'answer'"))
    expect = {"expect": ExpectNumber(final[1].replace(",", ""))} if final else {}
    return (asked,), expect


def _chat(value: dict[str, Any]) -> tuple[tuple[Message, ...], dict[str, Any]]:
    return _messages(value["messages"], "'messages'"), _tools(value)


def _plain(value: dict[str, Any]) -> tuple[tuple[Message, ...], dict[str, Any]]:
    prompt = value["prompt"]
    if isinstance(prompt, list):
        return _messages(prompt, "'prompt'"), _tools(value)
    return (Message("user", _text(prompt, "'prompt'")),), _tools(value)


_SHAPES: tuple[tuple[frozenset[str], str, _Read], ...] = (
    (frozenset({"turns"}), "turns", _turns),
    (frozenset({"conversations"}), "sharegpt", _conversation),
    (frozenset({"messages"}), "messages", _chat),
    (frozenset({"prompt"}), "prompt", _plain),
    (frozenset({"question", "answer"}), "gsm8k", _question),
)
"""The fields that give a record away, in the order they are looked for."""


def _messages(value: object, place: str) -> tuple[Message, ...]:
    """Return the messages up to the last one of the user: what comes after it is an answer."""
    if not isinstance(value, list):
        raise _FieldError(f"{place} is a list, not {_kind(value)}")
    found: list[Message] = []
    for i, message in enumerate(value, start=1):
        here = f"{place}, item {i}"
        if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
            raise _FieldError(f"{here} has no 'role' and 'content'")
        role = _text(message["role"], f"{here}, 'role'")
        found.append(Message(role, _content(message["content"], f"{here}, 'content'")))
    while found and found[-1].role != "user":
        found.pop()
    return tuple(found)


def _content(value: object, place: str) -> str:
    """Return a content as text: it may be a list of parts, all of them text."""
    if not isinstance(value, list):
        return _text(value, place)
    parts = []
    for i, part in enumerate(value, start=1):
        if not isinstance(part, dict) or part.get("type") != "text":
            raise _FieldError(f"{place}, part {i}: only parts of type text can be sent")
        parts.append(_text(part.get("text"), f"{place}, part {i}, 'text'"))
    return "".join(parts)


def _tools(value: dict[str, Any]) -> dict[str, Any]:
    tools = value.get("tools") or []
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise _FieldError(f"'tools' is a list of objects, not {_kind(tools)}")
    return {"tools": tuple(tools)}


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise _FieldError(f"{place} is text, not {_kind(value)}")
    if not value.strip():
        raise _FieldError(f"{place} is empty")
    if _SURROGATE.search(value):
        raise _FieldError(f"{place} holds half of a surrogate pair, which is no character")
    return value


_SURROGATE = re.compile("[\ud800-\udfff]")


def _named(value: object) -> bool:
    return isinstance(value, int | str) and value != ""


_KINDS = {dict: "an object", list: "a list", str: "text", bool: "a truth value", type(None): "null"}


def _kind(value: object) -> str:
    if value in ([], {}):
        return "an empty one"
    return _KINDS.get(type(value), "a number")
