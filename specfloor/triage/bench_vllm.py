"""Reports of ``vllm bench serve``: the text it prints and the JSON it writes."""

import math
import re
from collections.abc import Mapping
from typing import Any

from specfloor.triage.bench import QUANTITIES, BenchRun, Times, dataset_of, ignores_eos, spec_of

TITLE = "Serving Benchmark Result"
_NUMBER = r"([-+]?\d{1,15}(?:\.\d+)?(?:[eE][-+]?\d{1,2})?)"
_LABELS = {
    "Successful requests": "completed",
    "Failed requests": "failed",
    "Maximum request concurrency": "concurrency",
    "Max request concurrency": "concurrency",
    "Benchmark duration (s)": "duration_s",
    "Total input tokens": "total_input_tokens",
    "Total generated tokens": "total_output_tokens",
    "Output token throughput (tok/s)": "output_tok_s",
    "Acceptance rate (%)": "rate",
    "Acceptance length": "length",
    "Drafts": "drafts",
    "Draft tokens": "draft_tokens",
    "Accepted tokens": "accepted_tokens",
}
_ALWAYS = ("Successful requests", "Benchmark duration (s)", "Total input tokens")
"""Lines that every vLLM prints in every report."""
_SGLANG = re.compile(r"^Backend:\s+sglang|^Accept length:", re.MULTILINE)
_STATISTICS = {"Mean": "mean", "Median": "median", "P99": "p99"}
_LINE = rf"[ \t]+{_NUMBER}[ \t]*$"
_LABEL = re.compile(rf"(?:^|[\s|])({'|'.join(map(re.escape, _LABELS))}):{_LINE}", re.MULTILINE)
_TIME = re.compile(
    rf"(?:^|[\s|])(Mean|Median|P99) (TTFT|TPOT|ITL|E2EL) \(ms\):{_LINE}", re.MULTILINE
)
_POSITION = re.compile(rf"(?:^|[\s|])Position (\d{{1,4}}):{_LINE}", re.MULTILINE)
_BLOCK = re.compile(r"-{5,60} ?Speculative Decoding ?-{5,60}")
_END = re.compile(r"(?:^|[\s|])={50}[ \t]*$", re.MULTILINE)


def read_text(text: str) -> list[BenchRun]:
    """Return the reports in a text, in order."""
    _, *reports = re.split(rf"={{1,60}} {TITLE} ={{1,60}}", text.replace("\r\n", "\n"))
    dataset, ignore_eos = dataset_of(text), ignores_eos(text)
    return [_report(report, dataset, ignore_eos=ignore_eos) for report in reports]


def read_json(value: Mapping[str, Any]) -> BenchRun:
    """Return the report in an object that ``--save-result`` wrote.

    Its acceptance rate is in percent and its rates by position are fractions.
    """
    times: Times = {
        quantity: {
            statistic: number
            for statistic in _STATISTICS.values()
            if (number := _number(value, f"{statistic}_{quantity}")) is not None
        }
        for quantity in QUANTITIES
    }
    rate = _number(value, "spec_decode_acceptance_rate")
    length = _number(value, "spec_decode_acceptance_length")
    spec, doubt = spec_of(
        _count(value, "spec_decode_num_drafts"),
        _count(value, "spec_decode_draft_tokens"),
        _count(value, "spec_decode_accepted_tokens"),
        _shares(value.get("spec_decode_per_position_acceptance_rates")),
        rate=None if rate is None else rate / 100,
        length=length,
    )
    completed = _count(value, "completed")
    total_in, total_out = _count(value, "total_input_tokens"), _count(value, "total_output_tokens")
    dataset = value.get("dataset_name")
    return BenchRun(
        tool="vllm",
        concurrency=_count(value, "max_concurrency"),
        completed=completed,
        failed=_count(value, "failed"),
        duration_s=_number(value, "duration"),
        total_input_tokens=total_in,
        total_output_tokens=total_out,
        output_tok_s=_number(value, "output_throughput"),
        spec=spec,
        input_each=_each(total_in, completed),
        output_each=_each(total_out, completed),
        dataset=dataset if isinstance(dataset, str) else None,
        ignore_eos=value.get("ignore_eos") is True,
        doubt=doubt,
        times=times,
    )


def is_json(value: Mapping[str, Any]) -> bool:
    """Whether an object is such a report."""
    return "mean_ttft_ms" in value or ("completed" in value and "output_throughput" in value)


def is_of_sglang(text: str) -> bool:
    """Whether a report is of SGLang's benchmark, which prints the same title, and of its server."""
    return bool(_SGLANG.search(text))


def _report(text: str, dataset: str | None, *, ignore_eos: bool) -> BenchRun:
    found = {_LABELS[label]: float(number) for label, number in _LABEL.findall(text)}
    times: Times = {quantity: {} for quantity in QUANTITIES}
    for statistic, name, number in _TIME.findall(text):
        times[f"{name.lower()}_ms"][_STATISTICS[statistic]] = float(number)
    shares = dict(sorted((int(i), float(share) / 100) for i, share in _POSITION.findall(text)))
    spec, doubt = spec_of(
        _whole(found, "drafts"),
        _whole(found, "draft_tokens"),
        _whole(found, "accepted_tokens"),
        shares.values() if list(shares) == list(range(len(shares))) else (),
        rate=found["rate"] / 100 if "rate" in found else None,
        length=found.get("length"),
    )
    if _BLOCK.search(text) and spec is None and found.get("drafts") != 0:
        doubt = "its Speculative Decoding block is cut or damaged"
    if lost := [label for label in _ALWAYS if _LABELS[label] not in found]:
        doubt = doubt or f"its line {lost[0]!r} is missing or damaged"
    if not _END.search(text):
        doubt = doubt or "the report is cut before its end"
    completed = _whole(found, "completed")
    total_in, total_out = _whole(found, "total_input_tokens"), _whole(found, "total_output_tokens")
    return BenchRun(
        tool="vllm",
        concurrency=_whole(found, "concurrency"),
        completed=completed,
        failed=_whole(found, "failed"),
        duration_s=found.get("duration_s"),
        total_input_tokens=total_in,
        total_output_tokens=total_out,
        output_tok_s=found.get("output_tok_s"),
        spec=spec,
        input_each=_each(total_in, completed),
        output_each=_each(total_out, completed),
        dataset=dataset,
        ignore_eos=ignore_eos,
        doubt=doubt,
        times=times,
    )


def _whole(found: Mapping[str, float], name: str) -> int | None:
    return round(found[name]) if name in found else None


def _each(tokens: int | None, completed: int | None) -> float | None:
    return tokens / completed if tokens is not None and completed else None


def _number(value: Mapping[str, Any], key: str) -> float | None:
    found = value.get(key)
    return float(found) if isinstance(found, int | float) and math.isfinite(found) else None


def _count(value: Mapping[str, Any], key: str) -> int | None:
    found = _number(value, key)
    return None if found is None else round(found)


def _shares(value: object) -> list[float]:
    if not isinstance(value, list):
        return []
    return [float(s) for s in value if isinstance(s, int | float) and math.isfinite(s)]
