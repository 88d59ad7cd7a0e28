"""What run.json says of the machine and of the harness's own packages."""

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import psutil

from specfloor.host.npu_smi import read_npu_smi
from specfloor.runs.records import Environment

_NPU_SMI_S = 20.0
"""Seconds for npu-smi, which has been seen to hang on a device that does."""
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
        accelerators=_accelerators(),
    )


def _accelerators() -> tuple[str, ...]:
    """Return the names of the NPU devices as npu-smi has them.

    Where it is missing, hangs or cannot be read, what the driver shows is still counted.
    """
    devices = sorted(Path("/dev").glob("davinci[0-9]*"))
    try:
        done = subprocess.run(
            ["npu-smi", "info"],  # noqa: S607 - wherever the driver's package has put it
            capture_output=True,
            text=True,
            timeout=_NPU_SMI_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ("NPU",) * len(devices)
    table = read_npu_smi(done.stdout)
    names = tuple(device.name for device in table.devices) if table else ()
    return names or ("NPU",) * len(devices)


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
