"""Time of triaging a long server log, over that of ``grep -c SpecDecoding`` on the same file.

    python -m benchmarks.triage_log [--megabytes 120] [--lines-per-report 1000] [--repeats 5]

The log is made in a temporary folder: access lines, request lines, and one report of throughput and
acceptance in every ``--lines-per-report`` lines. Both programs are run in turn, warm, as processes
of their own. Printed are the medians of wall and CPU time, the ratio, what the command takes to
start (measured on a log of one report), what follows for 1 GB, where 2.5 times grep's time and a
second is allowed, and the largest memory of any.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_PATHS = ("POST /v1/chat/completions", "GET /metrics", "GET /health")


def log_lines(per_report: int, seed: int = 7) -> Iterator[str]:
    """Yield the lines of a log without end."""
    rng = random.Random(seed)
    process = "(APIServer pid=27)"
    second = 0
    while True:
        for number in range(per_report - 2):
            port, path = rng.randrange(20000, 60000), rng.choice(_PATHS)
            if number % 7:
                yield f'{process} INFO:     127.0.0.1:{port} - "{path} HTTP/1.1" 200 OK\n'
            else:
                yield (
                    f"{process} INFO 08-09 20:00:10 [logger.py:41] Received request chatcmpl-"
                    f"{rng.getrandbits(64):016x}: params: SamplingParams(n=1, temperature=0.7, "
                    "top_p=0.9, top_k=20, seed=None, stop=[], max_tokens=1024)\n"
                )
        second += 10
        at = f"INFO 08-09 {second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        counts = [sum(rng.random() < p for _ in range(200)) for p in (0.87, 0.70, 0.52)]
        counts.sort(reverse=True)
        accepted = sum(counts)
        rates = ", ".join(f"{count / 200:.3f}" for count in counts)
        yield (
            f"{process} {at} [loggers.py:271] Engine 000: Avg prompt throughput: 89.2 tokens/s, "
            "Avg generation throughput: 52.5 tokens/s, Running: 4 reqs, Waiting: 0 reqs, "
            "GPU KV cache usage: 11.4%, Prefix cache hit rate: 37.2%\n"
        )
        yield (
            f"{process} {at} [metrics.py:101] SpecDecoding metrics: Mean acceptance length: "
            f"{1 + accepted / 200:.2f}, Accepted throughput: {accepted / 10:.2f} tokens/s, "
            f"Drafted throughput: 60.00 tokens/s, Accepted: {accepted} tokens, Drafted: 600 "
            f"tokens, Per-position acceptance rate: {rates}, Avg Draft acceptance rate: "
            f"{accepted / 6:.1f}%\n"
        )


def measure(command: list[str]) -> tuple[float, float]:
    """Return wall time and CPU time of a process, in seconds."""
    start = time.perf_counter()
    # to a pipe: grep stops at the first match when nobody reads how many there are
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def write_log(path: Path, size: int, per_report: int) -> None:
    """Write a log of about ``size`` bytes."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for line in log_lines(per_report):
            written += file.write(line)
            if written >= size and "SpecDecoding" in line:
                return


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=120)
    parser.add_argument("--lines-per-report", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    triage = [sys.executable, "-m", "specfloor", "triage"]
    with tempfile.TemporaryDirectory() as folder:
        log, short = Path(folder, "server.log"), Path(folder, "short.log")
        write_log(log, asked.megabytes * 10**6, asked.lines_per_report)
        write_log(short, 1, asked.lines_per_report)
        grep = ["grep", "-c", "SpecDecoding", str(log)]
        measure(grep)
        commands = {"grep": grep, "triage": [*triage, str(log)], "start": [*triage, str(short)]}
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(asked.repeats):
            for name, command in commands.items():
                times[name].append(measure(command))
        size = log.stat().st_size
    print(f"log                {size / 1e6:.0f} MB, a report in {asked.lines_per_report} lines")
    for index, kind in enumerate(("wall", "CPU")):
        grepped, whole, start = (
            statistics.median(found[index] for found in times[name]) for name in commands
        )
        search = whole - start
        gigabyte, allowed = (search * 1e9 / size + start, 2.5 * grepped * 1e9 / size + 1)
        print(f"{kind} time")
        print(f"  grep -c          {grepped:.3f} s")
        print(f"  triage           {whole:.3f} s, {start:.3f} s of them to start")
        print(f"  ratio            {whole / grepped:.1f}, without the start {search / grepped:.1f}")
        print(f"  1 GB             {gigabyte:.2f} s, allowed {allowed:.2f} s")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"largest memory     {peak / 1024:.0f} MB")


if __name__ == "__main__":
    main()
