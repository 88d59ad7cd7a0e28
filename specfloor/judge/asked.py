"""What a launch was asked for, read from the command it was started with."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec


class Asked(msgspec.Struct, frozen=True):
    """The settings of a command that engines have been seen to replace; None where it has none.

    ``varies``: how many tokens a step drafts may differ from k, by a schedule or by adapting.
    """

    method: str | None
    k: int | None
    schedule: Any
    varies: bool
    eager: bool
    graph_mode: str | None
    reasoning_parser: str | None
    prefix_caching: bool | None


def asked_of(argv: Sequence[str]) -> Asked:
    """Return what a server's command asks for."""
    speculation = flag_object(argv, "--speculative-config")
    compilation = flag_object(argv, "--compilation-config")
    graph_mode = compilation.get("cudagraph_mode")
    k = speculation.get("num_speculative_tokens")
    additional = flag_object(argv, "--additional-config")
    schedule = speculation.get("num_speculative_tokens_per_batch_size")
    return Asked(
        method=_text(speculation.get("method")),
        k=k if isinstance(k, int) else None,
        schedule=schedule,
        varies=bool(
            schedule
            or speculation.get("enable_adaptive_verification")
            or additional.get("dynamic_spec_config")
        ),
        eager="--enforce-eager" in argv,
        graph_mode=_text(graph_mode),
        reasoning_parser=flag_value(argv, "--reasoning-parser"),
        prefix_caching=switch(argv, "enable-prefix-caching"),
    )


def switch(argv: Sequence[str], name: str) -> bool | None:
    """Return how a flag with a ``--no-`` twin is set; the last one wins, None without either."""
    given = [word for word in argv if word in (f"--{name}", f"--no-{name}")]
    return given[-1] == f"--{name}" if given else None


def flag_value(argv: Sequence[str], flag: str) -> str | None:
    """Return the value of a flag in either spelling; the last one wins, as it does for vLLM."""
    found = None
    for index, word in enumerate(argv):
        if word == flag and index + 1 < len(argv):
            found = argv[index + 1]
        elif word.startswith(f"{flag}="):
            found = word.removeprefix(f"{flag}=")
    return found


def flag_object(argv: Sequence[str], flag: str) -> dict[str, Any]:
    """Return the JSON object that a flag was given; empty without one, or for anything else."""
    try:
        value = json.loads(flag_value(argv, flag) or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
