"""Time of making the page of a run, over that of reading and judging it.

    python -m benchmarks.html_report [--records 10000] [--repeats 5]

A run is made of records in a temporary folder: cells of two releases with both arms, 40 prompts of
natural stops and 8 of forced length each, of which every other newer one has lost its draft. The
records go through the same functions as ``specfloor report RUN --html``. Printed are the medians
of this process's CPU time, warm, with their range, since other work on the machine would be in wall
time: reading and judging, the model of the page, drawing and writing it, the ratio of the page to
reading and judging, and the size of the file. What a first page costs besides (loading matplotlib
and Jinja2) is measured once, in a process of its own. 5 s are allowed for the page of 10,000
records with that, and 2 MB for the file.
"""

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from specfloor.cells import OFF, Cell
from specfloor.judge.run import Basis, Wanted, judge_stored, write_basis
from specfloor.report.html.page import build_page
from specfloor.report.html.render import render
from specfloor.runs.records import Purpose, Record
from specfloor.runs.store import RunWriter, read_run
from tests.unit import builders

_ALLOWED_S = 5.0
_ALLOWED_BYTES = 2_000_000


def cells() -> Iterator[Cell]:
    """Yield cells without end: both releases, both workloads, rising concurrency."""
    for concurrency in itertools.count(1):
        for workload in builders.GLM.workloads:
            for release in ("cpu-1.0", "cpu-2.0"):
                yield Cell(release, builders.GLM.name, "mtp", 3, workload, "off", concurrency)


def run_of(records: int, folder: Path) -> Path:
    """Write a run of at least ``records`` records and return its folder."""
    made: list[Record] = []
    wanted: list[Wanted] = []
    launched: set[tuple[str, str, int]] = set()
    for number, cell in enumerate(cells()):
        if len(made) >= records:
            break
        wanted.append(Wanted(cell, frozenset(Purpose)))
        for arm in (OFF, cell.arm):
            if (key := (cell.release, arm.method, arm.k)) not in launched:
                launched.add(key)
                made.append(builders.launch(arm, cell=cell))
            lost = {"accepted": (0,) * 10} if arm.speculates and number % 4 == 3 else {}
            made += builders.natural(arm, cell=cell, **lost)
            made += builders.forced(arm, cell=cell)
    floors = builders.floors(builders.floor(0.6), builders.report_only("speedup"))
    with RunWriter(folder / "run", builders.info()) as writer:
        write_basis(Basis(tuple(wanted), floors, builders.RULE), writer.folder)
        for record in made:
            writer.append(record)
        writer.complete()
    return writer.folder


def measure(folder: Path) -> tuple[float, float, float, int]:
    """Return the seconds of reading and judging, of the model, of the markup, and its bytes."""
    catalog = builders.catalog()
    began = time.process_time()
    run = read_run(folder)
    result = judge_stored(run, catalog)
    judged = time.process_time()
    page = build_page(result, run, catalog)
    built = time.process_time()
    text = render(page).encode()
    (folder / "index.html").write_bytes(text)
    written = time.process_time()
    return judged - began, built - judged, written - built, len(text)


def loading_s() -> float:
    """Return the seconds that loading what draws takes, in a process of its own."""
    code = (
        "import time; began = time.process_time(); import specfloor.report.html.render, "
        "matplotlib.figure, matplotlib.backends.backend_svg; print(time.process_time() - began)"
    )
    return float(subprocess.check_output([sys.executable, "-c", code], text=True))


def main() -> int:
    """Print the figures; 1 when the page takes longer or is larger than allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = run_of(options.records, Path(temporary))
        run = read_run(folder)
        measure(folder)
        found = [measure(folder) for _ in range(options.repeats)]
    judging, model, markup, sizes = zip(*found, strict=True)
    page = [a + b for a, b in zip(model, markup, strict=True)]
    loading = loading_s()
    print(f"{len(run.records):,} records, {options.repeats} repeats")
    for name, times in (
        ("reading and judging", judging),
        ("model of the page", model),
        ("drawing and writing", markup),
        ("page", page),
    ):
        print(f"{name:20} {statistics.median(times):5.2f} s ({min(times):.2f} to {max(times):.2f})")
    ratio = statistics.median(a / b for a, b in zip(page, judging, strict=True))
    print(f"page over reading and judging: {ratio:.1f}")
    print(f"loading what draws, once: {loading:.2f} s")
    print(f"size: {sizes[0] / 1e6:.2f} MB")
    return int(statistics.median(page) + loading > _ALLOWED_S or max(sizes) > _ALLOWED_BYTES)


if __name__ == "__main__":
    sys.exit(main())
