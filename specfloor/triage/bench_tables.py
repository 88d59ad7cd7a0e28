"""Tables of AISBench and evalscope: one quantity a row, cells between bars, units in words."""

import re
from collections.abc import Iterator

from specfloor.triage.bench import QUANTITIES, BenchRun, Times, dataset_of, ignores_eos

_BARS = re.compile(r"[│┃|]")
_VALUE = re.compile(r"^([-+]?\d[\d,]{0,18}(?:\.\d+)?(?:[eE][-+]?\d{1,2})?)\s*([a-zA-Z/]*)")
_TO_MS = {"ms": 1.0, "s": 1000.0, "us": 1e-3, "": 1.0}
_UNIT = re.compile(r"\((\w+)\)\s*$")

AISBENCH_TITLES = ("Performance Parameters", "Common Metric")
_AIS_TIMES = {"TTFT": "ttft_ms", "TPOT": "tpot_ms", "ITL": "itl_ms", "E2EL": "e2el_ms"}
_AIS_COLUMNS = {"Average": "mean", "Median": "median", "P99": "p99"}

EVALSCOPE_TITLES = ("Time taken for tests", "Average time per output token")
_EVALSCOPE_TIMES = {
    "average time to first token": "ttft_ms",
    "average time per output token": "tpot_ms",
    "average inter-token latency": "itl_ms",
    "average package latency": "itl_ms",
    "average latency": "e2el_ms",
}
_EVALSCOPE_PERCENTILES = {
    "TTFT": "ttft_ms",
    "TPOT": "tpot_ms",
    "ITL": "itl_ms",
    "Latency": "e2el_ms",
}
_PERCENTILE = {"50%": "median", "99%": "p99"}


def read_aisbench(text: str) -> list[BenchRun]:
    """Return the reports of AISBench in a text; a new table of parameters begins a new report."""
    reports: list[list[list[str]]] = []
    for row in _rows(text):
        if row[0] == AISBENCH_TITLES[0] or not reports:
            reports.append([])
        reports[-1].append(row)
    return [_aisbench(rows, text) for rows in reports]


def read_evalscope(text: str) -> list[BenchRun]:
    """Return the summaries of evalscope in a text. Its latencies are in seconds, as it says."""
    reports: list[list[list[str]]] = []
    for row in _rows(text):
        if row[0].lower().startswith("time taken for tests") or not reports:
            reports.append([])
        reports[-1].append(row)
    return [_evalscope(rows, text) for rows in reports if len(rows) > 1]


def _aisbench(rows: list[list[str]], text: str) -> BenchRun:
    times: Times = {quantity: {} for quantity in QUANTITIES}
    single: dict[str, tuple[float, str]] = {}
    means: dict[str, float] = {}
    counted: float | None = None
    header: list[str] = []
    for row in rows:
        if row[0] in AISBENCH_TITLES:
            header = row
            continue
        cells = dict(zip(header, row, strict=False))
        if "Value" in cells:
            if found := _value(cells["Value"]):
                single[row[0]] = found
            continue
        if (count := _value(cells.get("N", ""))) is not None:
            counted = count[0]
        for column, statistic in _AIS_COLUMNS.items():
            if (found := _value(cells.get(column, ""))) is None:
                continue
            if row[0] in _AIS_TIMES:
                times[_AIS_TIMES[row[0]]][statistic] = found[0] * _TO_MS.get(found[1], 1.0)
            elif statistic == "mean":
                means[row[0]] = found[0]
    duration = single.get("Benchmark Duration")
    completed = _one(single, "Success Requests", "Successful Requests")
    return BenchRun(
        tool="aisbench",
        concurrency=_whole(_one(single, "Max Concurrency", "Concurrency")),
        completed=_whole(completed if completed is not None else counted),
        failed=_whole(_one(single, "Failed Requests")),
        duration_s=duration[0] * _TO_MS.get(duration[1], 1.0) / 1000 if duration else None,
        total_input_tokens=_whole(_one(single, "Total Input Tokens")),
        total_output_tokens=_whole(_one(single, "Total generated tokens")),
        output_tok_s=_one(single, "Output Token Throughput"),
        input_each=means.get("InputTokens"),
        output_each=means.get("OutputTokens"),
        dataset=dataset_of(text),
        ignore_eos=ignores_eos(text),
        times=times,
    )


def _evalscope(rows: list[list[str]], text: str) -> BenchRun:
    times: Times = {quantity: {} for quantity in QUANTITIES}
    single: dict[str, float] = {}
    percentiles: list[str] = []
    for row in rows:
        if row[0] == "Percentiles":
            percentiles = row
        elif percentiles and row[0] in _PERCENTILE:
            for column, cell in zip(percentiles[1:], row[1:], strict=False):
                name = _EVALSCOPE_PERCENTILES.get(column.partition(" (")[0])
                found = _value(cell)
                if name and found:
                    times[name][_PERCENTILE[row[0]]] = found[0] * _scale(column)
        elif len(row) > 1 and (found := _value(row[1])) is not None:
            label = row[0].partition(" (")[0].lower()
            if label in _EVALSCOPE_TIMES:
                times[_EVALSCOPE_TIMES[label]]["mean"] = found[0] * _scale(row[0])
            elif label == "time taken for tests":
                single[label] = found[0] * _scale(row[0]) / 1000
            else:
                single[label] = found[0]
    return BenchRun(
        tool="evalscope",
        concurrency=_whole(single.get("number of concurrency")),
        completed=_whole(single.get("succeed requests")),
        failed=_whole(single.get("failed requests")),
        duration_s=single.get("time taken for tests"),
        output_tok_s=single.get("output token throughput"),
        input_each=single.get("average input tokens per request"),
        output_each=single.get("average output tokens per request"),
        dataset=dataset_of(text),
        ignore_eos=ignores_eos(text),
        times=times,
    )


def _rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of every row: between bars, or between commas in AISBench's CSV."""
    csv = "Performance Parameters," in text
    for line in text.splitlines():
        if _BARS.search(line):
            cells = [cell.strip() for cell in _BARS.split(line)]
            row = cells[1:-1] if cells[-1] == "" else cells[1:]
        elif csv and line.count(",") > 1:
            row = [cell.strip() for cell in line.split(",")]
        else:
            continue
        if row and row[0]:
            yield row


def _value(cell: str) -> tuple[float, str] | None:
    match = _VALUE.match(cell.strip())
    return (float(match[1].replace(",", "")), match[2]) if match else None


def _one(single: dict[str, tuple[float, str]], *labels: str) -> float | None:
    return next((single[label][0] for label in labels if label in single), None)


def _scale(label: str) -> float:
    match = _UNIT.search(label)
    return _TO_MS.get(match[1].lower(), 1.0) if match else 1.0


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)
