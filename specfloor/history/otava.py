"""Lines as the CSV files that Apache Otava imports, and the configuration that names them.

Otava reads a test from one file: a header, a column of times, columns of attributes that it copies
and columns of metrics, each a number in every row (its docs/CSV.md). So a line is a file.
"""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from specfloor.history.lines import Line, Quantity
from specfloor.whole import write_whole

ATTRIBUTES = ("run", "release", "verdict")
_TIME = "time"
_VALUE = {Quantity.ACCEPTANCE: "acceptance_rate", Quantity.SPEEDUP: "speedup"}
_LESS_IS_BETTER = frozenset({"off_s_per_token", "on_s_per_token"})
CONFIG = "otava.yaml"


def as_csv(line: Line) -> str:
    """Return a line as CSV: time, attributes, the value, and what every run of it has besides."""
    names = metrics(line)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((_TIME, *ATTRIBUTES, *names))
    for spot in line.spots:
        figures = {names[0]: spot.value, **spot.further}
        writer.writerow(
            (
                spot.started,
                *(spot.run, spot.release, spot.verdict),
                *(f"{figures[name]:.6g}" for name in names),
            )
        )
    return out.getvalue()


def metrics(line: Line) -> list[str]:
    """Return the names of a line's columns of numbers: those that every run of it has."""
    shared = [n for n in line.spots[0].further if all(n in spot.further for spot in line.spots)]
    return [_VALUE[line.quantity], *shared]


def write_files(lines: Sequence[Line], folder: Path) -> list[Path]:
    """Write a CSV file a line and ``otava.yaml`` into a folder; return the paths.

    Files of the same names are overwritten. Otava finds the files from where it is started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths, tests = [], []
    for line in lines:
        name = f"{line.cell}-{_VALUE[line.quantity]}-{line.id}"
        path = folder / f"{name}.csv"
        write_whole(path, as_csv(line).encode())
        paths.append(path)
        tests.append(_test(name, path, line))
    config = folder / CONFIG
    write_whole(config, ("tests:\n" + "".join(tests)).encode())
    return [*paths, config]


def _test(name: str, path: Path, line: Line) -> str:
    """Return a test of Otava's configuration; strings of JSON are strings of YAML."""
    rows = [
        f"  {json.dumps(name)}:",
        "    type: csv",
        f"    file: {json.dumps(str(path))}",
        f"    time_column: {_TIME}",
        f"    attributes: [{', '.join(ATTRIBUTES)}]",
        "    metrics:",
    ]
    for metric in metrics(line):
        rows += [
            f"      {metric}:",
            f"        direction: {-1 if metric in _LESS_IS_BETTER else 1}",
        ]
    rows += ["    csv_options:", "      delimiter: ','", "      quote_char: '\"'"]
    return "\n".join(rows) + "\n"
