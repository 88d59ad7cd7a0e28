"""Whether this host has NPUs and an interpreter that can serve on them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from specfloor.errors import UsageError

_PROBE = (
    "import importlib.util as u, sys; "
    "sys.exit(not (u.find_spec('vllm') and u.find_spec('vllm_ascend')))"
)
_PROBE_TIMEOUT_S = 30
"""Generous: it imports nothing, but an interpreter on a network file system is slow to start."""


def has_npu() -> bool:
    """Whether a device file of the NPU driver is there; works without root and without npu-smi."""
    return any(Path("/dev").glob("davinci[0-9]*"))


def require_npu() -> None:
    """Refuse a host without NPUs; UsageError."""
    if not has_npu():
        raise UsageError(
            "no NPU was found on this host (there is no /dev/davinci device) and so no release of "
            "vLLM-Ascend can be measured here; run on an NPU host, or `tox -e cpu` for the CPU"
        )


def find_ascend_python(asked: Path | None = None) -> Path:
    """Return the interpreter that has vllm and vllm-ascend.

    Args:
        asked: the one the user named; otherwise those on PATH outside this environment are tried.

    Raises:
        UsageError: this host has no NPU, or no interpreter with vllm-ascend.
    """
    require_npu()
    candidates = [asked] if asked else list(_interpreters_on_path())
    for python in candidates:
        if _can_import(python):
            return python
    tried = ", ".join(map(str, candidates)) or "none on PATH"
    raise UsageError(
        f"no interpreter with vllm and vllm-ascend was found (tried: {tried}); "
        "name one with --engine-python PATH"
    )


def _interpreters_on_path() -> Iterator[Path]:
    """Yield python3 and python as the host has them: tox puts its own environment first."""
    own = Path(sys.prefix).resolve()
    seen: set[Path] = set()
    for folder in filter(None, os.environ.get("PATH", "").split(os.pathsep)):
        for name in ("python3", "python"):
            python = Path(folder, name)
            # not resolved: a virtual environment's interpreter is a link to the system's
            if python.is_file() and own not in python.absolute().parents and python not in seen:
                seen.add(python)
                yield python


def _can_import(python: Path) -> bool:
    if not shutil.which(str(python)):
        return False
    try:
        probe = subprocess.run(
            [python, "-c", _PROBE], capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return probe.returncode == 0
