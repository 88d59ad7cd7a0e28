"""What a running engine says is in effect, for the record of its launch.

The words are those of vLLM 0.8 to 0.32 and of vLLM-Ascend 0.13 to 0.30.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from specfloor.catalog import Catalog
from specfloor.engines.logs import message_of
from specfloor.engines.probe import metric_labels, rendered_prompts, server_info
from specfloor.host.packages import engine_packages
from specfloor.host.variables import relevant_variables
from specfloor.runs.records import EngineSettings, LaunchRecord, Notice, NoticeKind

_CONFIG_LINE = re.compile(r"Initializing a V\d LLM engine")
_EAGER = re.compile(r"\benforce_eager=(True|False)")
_PREFIX_CACHING = re.compile(r"\benable_prefix_caching=(True|False)")
_PARSER = re.compile(r"\breasoning_(?:parser|backend)=(?:'([^']*)'|(None))")
_GRAPHS = re.compile(
    r"['\"]cudagraph_mode['\"]: ?(?:<CUDAGraphMode\.(?P<name>\w+)|\"?(?P<plain>[A-Z_]+)\"?"
    r"|(?P<number>\d|\[\d, ?\d\]))"
)
_CAPTURED = re.compile(r"['\"]cudagraph_capture_sizes['\"]: ?\[([\d, ]*)\]")
_GRAPH_NUMBERS = {
    "0": "NONE",
    "1": "PIECEWISE",
    "2": "FULL",
    "[2,0]": "FULL_DECODE_ONLY",
    "[2,1]": "FULL_AND_PIECEWISE",
}
"""Values of vLLM's ``CUDAGraphMode``, which 0.11 prints instead of names."""

_NOTICES: tuple[tuple[NoticeKind, re.Pattern[str]], ...] = (
    ("schedule_lost", re.compile(r"Disabling num_speculative_tokens_per_batch_size")),
    ("draft_eager", re.compile(r"draft model has been automatically switched to eager mode")),
    (
        "graphs_lost",
        re.compile(
            r"cudagraph_mode\b.*falling back to NONE|setting CUDAGraphMode to NONE"
            r"|[Oo]verriding (?:cudagraph_mode (?:from \w+ )?)?to (?:CUDAGraphMode\.)?NONE"
            r"|falling back `compilation_config\.cudagraph_mode` to (?:CUDAGraphMode\.)?NONE"
        ),
    ),
    (
        "other",
        re.compile(
            r"[Oo]verriding cudagraph_mode|Cudagraph mode \S+.* is not compatible"
            r"|falling back `compilation_config\.cudagraph_mode`"
            r"|falling back to legacy speculative"
            r"|\bparameter=\w+.*\baction: "
        ),
    ),
)
"""Wordings of vLLM and vLLM-Ascend, the first that fits."""
_LONGEST = 400
"""Characters of a notice that are kept: they are sentences, not dumps."""


def read_settings(text: str) -> EngineSettings:
    """Return the settings in one text of vLLM's configuration, as its log line has it."""
    eager, caching = _EAGER.search(text), _PREFIX_CACHING.search(text)
    parser, graphs = _PARSER.search(text), _GRAPHS.search(text)
    captured = _CAPTURED.search(text)
    return EngineSettings(
        enforce_eager=eager[1] == "True" if eager else None,
        graph_mode=_graph_mode(graphs) if graphs else None,
        reasoning_parser=(parser[1] or "") if parser else None,
        prefix_caching=caching[1] == "True" if caching else None,
        capture_sizes=tuple(map(int, re.findall(r"\d+", captured[1]))) if captured else (),
    )


def settings_in_log(lines: Iterable[str]) -> EngineSettings | None:
    """Return the settings that the last engine started in a log reports; None when none does."""
    messages = (message_of(line) for line in lines)
    texts = [message for message in messages if _CONFIG_LINE.match(message)]
    return read_settings(texts[-1]) if texts else None


def notices_in_log(lines: Iterable[str]) -> tuple[Notice, ...]:
    """Return the lines that say the engine does something else than it was asked for, each once."""
    found = (_notice(message_of(line).strip()) for line in lines)
    return tuple(dict.fromkeys(notice for notice in found if notice))


def _notice(message: str) -> Notice | None:
    kind = next((kind for kind, words in _NOTICES if words.search(message)), None)
    return Notice(kind, message[:_LONGEST]) if kind else None


def complete(
    record: LaunchRecord,
    lines: list[str],
    url: str,
    catalog: Catalog,
    tiers: Mapping[str, Mapping[str, Any]],
) -> LaunchRecord:
    """Return the record of a launch with what its engine says of settings besides speculation.

    Args:
        record: the launch, with the command and environment it was started with.
        lines: its log so far.
        url: where it answers.
        catalog: tells which variables engines read.
        tiers: the family's tiers with their arguments of the chat template.
    """
    settings = settings_in_log(lines)
    if settings is None and (shown := server_info(url)):
        settings = read_settings(shown)
    cached = metric_labels(url, "vllm:cache_config_info").get("enable_prefix_caching")
    if cached in ("True", "False") and (settings is None or settings.prefix_caching is None):
        settings = msgspec.structs.replace(
            settings or EngineSettings(), prefix_caching=cached == "True"
        )
    model = _served_name(record.argv)
    return msgspec.structs.replace(
        record,
        settings=settings,
        notices=notices_in_log(lines),
        variables=relevant_variables(catalog, os.environ | record.env),
        packages=engine_packages(Path(record.argv[0])),
        rendered=rendered_prompts(url, model, tiers) if model and len(tiers) > 1 else {},
    )


def _served_name(argv: tuple[str, ...]) -> str | None:
    try:
        return argv[argv.index("--served-model-name") + 1]
    except (ValueError, IndexError):
        return None


def _graph_mode(found: re.Match[str]) -> str | None:
    if number := found["number"]:
        return _GRAPH_NUMBERS.get(number.replace(" ", ""))
    return found["name"] or found["plain"]
