"""A host whose engines are the fake server, and runs of the real suite on it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil

from specfloor.runs.records import Record, RunInfo
from specfloor.runs.store import RECORDS, read_run
from tests.fakes.vllm_server import install_fake_vllm

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
"""How long a run may take; only reached by a test that fails."""
AFTERMATH_S = 20.0
"""How long the servers of a run that was killed may take to end: their guards are polite first."""

FLOORS = """
[[floor]]
family = "glm_moe_tiny"
method = "mtp"
quantity = "acceptance_rate"
value = 0.5
source = "this test"
date = 2026-05-01
hardware = "none"
reason = "the fake server accepts 0.7 when it is well"
n = 40

[[report_only]]
family = "glm_moe_tiny"
method = "mtp"
quantity = "speedup"
reason = "a fake server has no speed"
"""

# counts its launches and takes the knobs of its arm, then is the server that was installed
PRELUDE = """
import json, os, sys
argv = sys.argv[1:]
config = argv[argv.index("--speculative-config") + 1] if "--speculative-config" in argv else "{{}}"
family, k = argv[argv.index("--served-model-name") + 1], json.loads(config)
k = k.get("num_speculative_tokens", 0)
with open({log!r}, "a") as log:
    log.write(json.dumps({{"family": family, "k": k, "pid": os.getpid(), "argv": argv}}) + "\\n")
knobs = json.load(open({knobs!r}))
if (own := knobs.get(f"{{family}} {{k}}", knobs.get(str(k), knobs.get("all")))) is not None:
    os.environ["FAKE_VLLM"] = json.dumps(own)
"""


class Finished(msgspec.Struct, frozen=True):
    """A run that came to its end."""

    code: int
    output: str
    folder: Path

    @property
    def info(self) -> RunInfo:
        return read_run(self.folder).info

    @property
    def records(self) -> tuple[Record, ...]:
        return read_run(self.folder).records

    @property
    def verdicts(self) -> dict[str, dict[str, Any]]:
        """What verdicts.json says, by cell: judgement → (verdict, findings)."""
        document = json.loads((self.folder / "verdicts.json").read_text(encoding="utf-8"))
        return {
            _cell_id(result["cell"]): {
                name: (judgement["verdict"], judgement["findings"])
                for name in ("configuration", "acceptance", "speed")
                if (judgement := result[name])
            }
            for result in document["cells"]
        }

    def reason(self, cell: str, what: str) -> str:
        document = json.loads((self.folder / "verdicts.json").read_text(encoding="utf-8"))
        (found,) = (one for one in document["cells"] if _cell_id(one["cell"]) == cell)
        reason: str = found[what]["reason"]
        return reason


class FakeHost:
    """Folders of a host: where the fake is installed, where runs and checkpoints go."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.patience_s = PATIENCE_S
        self.reports = folder / "reports"
        self.floors = folder / "floors"
        self.floors.mkdir(parents=True)
        (self.floors / "fake.toml").write_text(FLOORS)
        self._cache = cache
        self._log = folder / "launches.jsonl"
        self._knobs = folder / "knobs.json"
        self._python_path = install_fake_vllm(folder / "packages")
        server = self._python_path / "vllm" / "entrypoints" / "openai" / "api_server.py"
        prelude = PRELUDE.format(log=str(self._log), knobs=str(self._knobs))
        server.write_text(prelude + server.read_text())
        self.set_knobs({})

    def set_knobs(self, knobs: dict[str, dict[str, Any]]) -> None:
        """Set the server's knobs for ``<family> <k>``, ``<k>`` or ``all``, the first that fits."""
        self._knobs.write_text(json.dumps(knobs))

    @property
    def python_path(self) -> Path:
        """Where the fake is installed."""
        return self._python_path

    @property
    def launches(self) -> list[dict[str, Any]]:
        """What was started so far: family, k (0 without speculation), pid, argv."""
        text = self._log.read_text() if self._log.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    @property
    def left_over(self) -> list[int]:
        """The pids of servers that still run a moment after their run has ended."""
        deadline = time.monotonic() + AFTERMATH_S
        while True:
            running = [one["pid"] for one in self.launches if _runs(one["pid"])]
            if not running or time.monotonic() > deadline:
                return running
            time.sleep(0.05)

    def start(self, *arguments: str, name: str = "run") -> subprocess.Popen[str]:
        """Start the suite as tox does, in a process of its own."""
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
                *("--reports", str(self.reports), "--run-name", name),
                *("--cache-dir", str(self._cache), "--engine-python", sys.executable),
                *("--floors-dir", str(self.floors)),
                *(arguments or ("tests/suite",)),
            ],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(self._python_path), "COLUMNS": "200"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def suite(self, *arguments: str, name: str = "run") -> Finished:
        """Run the suite to its end."""
        return self.finish(self.start(*arguments, name=name), name)

    def finish(self, process: subprocess.Popen[str], name: str = "run") -> Finished:
        """Wait for a run."""
        with process:
            try:
                output, _ = process.communicate(timeout=self.patience_s)
            except subprocess.TimeoutExpired:
                # its servers go with it
                process.kill()
                raise
        return Finished(process.returncode, output, self.reports / name)

    def interrupt(
        self, process: subprocess.Popen[str], number: signal.Signals, *, after: bytes
    ) -> Finished:
        """Send a signal once the records of a run hold ``after`` a few times."""
        records = self.reports / "run" / RECORDS
        deadline = time.monotonic() + PATIENCE_S
        while not records.exists() or records.read_bytes().count(after) < 3:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline, f"waited {PATIENCE_S:g} s in vain for records"
            time.sleep(0.05)
        process.send_signal(number)
        return self.finish(process)


def stored_verdict(folder: Path) -> subprocess.CompletedProcess[str]:
    """Judge a run again from its folder, with the command line."""
    return subprocess.run(
        [sys.executable, "-m", "specfloor", "report", folder],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=PATIENCE_S,
    )


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _cell_id(cell: dict[str, Any]) -> str:
    return f"{cell['release']} {cell['family']} {cell['k']} {cell['workload']}"
