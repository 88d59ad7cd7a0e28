"""Makes the example outputs under ``docs/examples`` from real runs: ``python -m tests.examples``.

Takes about twenty minutes on two cores: both releases of the embedded families, and the one whose
draft has drifted.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from specfloor.engines.local import default_cache

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"


def main() -> None:
    """Run the suite twice and write what the commands make of it."""
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder)
        upgrade = _run(reports, "upgrade", "--release", "cpu-0.28.0", "--release", "cpu-0.32.0")
        drifted = _run(reports, "drifted", "--family", "glm_moe_tiny_drifted")
        sides = (f"{upgrade}:{release}" for release in ("cpu-0.28.0", "cpu-0.32.0"))
        text = _specfloor("compare", *sides, "--format", "md")
        (EXAMPLES / "compare.md").write_text(text, encoding="utf-8")
        write_bug(drifted)


def write_bug(run: Path) -> None:
    """Write the text that a run of the drifted family gives the vendor."""
    text = EXAMPLES / "bug.md"
    with tempfile.TemporaryDirectory() as folder:
        workloads = ROOT / "fixtures" / "workloads"
        _specfloor(
            *("bug", run, "-o", text, "--archive", Path(folder, "a.tar.gz")),
            *("--workloads", workloads),
        )
    # where this machine keeps checkpoints is nobody's business
    shown = text.read_text(encoding="utf-8").replace(str(default_cache()), "~/.cache/specfloor")
    text.write_text(shown, encoding="utf-8")


def _run(reports: Path, name: str, *options: str) -> Path:
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests/suite", "-p", "no:cacheprovider"),
            *("--reports", reports, "--run-name", name, *options),
        ],
        cwd=ROOT,
        check=False,  # the drifted family fails, as it should
    )
    return reports / name


def _specfloor(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "specfloor", *arguments],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    # 0 and 1 are answers; anything else is not an example
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return done.stdout


if __name__ == "__main__":
    main()
