"""Prompts: a JSON Lines file, its fingerprint, and the seeded order they are sent in."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from specfloor.errors import UsageError
from specfloor.load.expect import Expect, ExpectToolCalls, check_schema


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of a chat."""

    role: str
    content: str


class Prompt(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One prompt of a workload; ``id`` is unique in its workload.

    ``tools`` are offered with it, as the ``tools`` of a chat completion. ``expect`` says what the
    answer must be, where that can be checked.
    """

    id: str
    domain: str
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    expect: Expect | None = None

    def __post_init__(self) -> None:
        for name in ("id", "domain", "messages"):
            if not getattr(self, name):
                raise ValueError(f"{name} is empty")
        offered = self.parameters
        if isinstance(self.expect, ExpectToolCalls):
            if unknown := {call.name for call in self.expect.calls} - offered.keys():
                raise ValueError(f"expect names tools that are not offered: {sorted(unknown)}")
            for schema in offered.values():
                check_schema(schema)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The schema of the parameters of each tool, by its name."""
        return dict(_named(number, tool) for number, tool in enumerate(self.tools, start=1))


def _named(number: int, tool: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    match tool.get("function"):
        case {"name": str(name), "parameters": dict(schema)}:
            return name, schema
        case {"name": str(name)}:
            return name, {}
    raise ValueError(f"tools, item {number}: no function with a name")


def load_workload(path: Path) -> tuple[Prompt, ...]:
    """Read a workload: one object a line, ``{"id", "domain", "messages": [{"role", "content"}]}``.

    A line may also have the ``tools`` and ``expect`` of a :class:`Prompt`. Blank lines are skipped.

    Raises:
        UsageError: the file cannot be read, a line is no such object, an id comes twice, or there
            is no prompt.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(
            f"workload {path} cannot be read ({error.strerror}); give a JSON Lines file"
        ) from None
    prompts: dict[str, Prompt] = {}
    decoder = msgspec.json.Decoder(Prompt)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            prompt = decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise UsageError(f"workload {path}, line {number}: {error}; mend that line") from None
        if prompt.id in prompts:
            raise UsageError(
                f"workload {path}, line {number}: the id {prompt.id!r} comes twice; ids are unique"
            )
        prompts[prompt.id] = prompt
    if not prompts:
        raise UsageError(f"workload {path} holds no prompt; give one JSON object a line")
    return tuple(prompts.values())


def fingerprint(prompts: Iterable[Prompt]) -> str:
    """Return the SHA-256 of a set of prompts, in hex.

    It covers all that a prompt holds and does not depend on their order: the set is what is
    measured, and the order it is sent in is seeded per run.
    """
    ordered = sorted(prompts, key=lambda prompt: prompt.id)
    return hashlib.sha256(msgspec.json.encode(ordered, order="deterministic")).hexdigest()


def shuffled(prompts: Iterable[Prompt], seed: int) -> tuple[Prompt, ...]:
    """Return the prompts in the order of ``seed``, mixed across domains.

    The order is that of a hash of seed and id. So it is the same on every Python and numpy, does
    not depend on the order of the file, and leaving prompts out does not reorder the rest.
    """

    def place(prompt: Prompt) -> bytes:
        return hashlib.sha256(f"{seed}\0{prompt.id}".encode()).digest()

    return tuple(sorted(prompts, key=place))
