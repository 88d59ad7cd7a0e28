"""What run.json says of the machine and of the harness's own packages."""

import os
import platform
from importlib import metadata
from pathlib import Path

import psutil

from specfloor.runs.records import Environment

_PACKAGES = (
    "specfloor",
    "aiohttp",
    "msgspec",
    "numpy",
    "prometheus-client",
    "pytest",
    "pytest-benchmark",
    "scipy",
)


def describe_environment() -> Environment:
    """Return the environment of this process."""
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=psutil.virtual_memory().total,
        packages={name: version for name in _PACKAGES if (version := _version(name))},
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
