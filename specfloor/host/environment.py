"""What run.json says of the machine, its Ascend software, and the packages of its interpreters."""

import os
import platform
import shutil
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

import psutil

from specfloor.catalog import Catalog, load_catalog
from specfloor.catalog.model import Release
from specfloor.catalog.pairs import cann_fault, pair_fault
from specfloor.catalog.versions import FieldVersion, read_version
from specfloor.errors import UsageError
from specfloor.host.ascend import (
    PLACES,
    AscendSoftware,
    find_software,
    in_container,
    is_driver_number,
)
from specfloor.host.npu import has_npu
from specfloor.host.npu_smi import NpuTable, read_firmware, read_npu_smi
from specfloor.host.packages import engine_packages
from specfloor.host.programs import NPU_SMI_S, run_program
from specfloor.host.variables import (
    readable,
    relevant_variables,
    unknown_variable_flags,
    unread_variable_flags,
)
from specfloor.i18n import ENGLISH, speaking
from specfloor.runs.records import Environment, HostFlag

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

_SAID = 120
"""Characters of what a failing npu-smi says that are quoted."""


@speaking(ENGLISH)  # it goes on record
def describe_environment(
    *,
    interpreters: Iterable[Path] = (),
    releases: Sequence[Release] = (),
    variables: Mapping[str, str] | None = None,
    root: Path = Path("/"),
) -> Environment:
    """Return the environment of this process, and of the engines that will run in it.

    Never fails and never waits long: what is missing, hangs or may not be read stays unknown.

    Args:
        interpreters: those that engines will run with; their packages are looked up.
        releases: what will be measured, to say what of the environment does not suit it.
        variables: the environment variables; those of this process when None.
        root: where the file system begins.
    """
    catalog = load_catalog()
    settings = readable(os.environ if variables is None else variables)
    software = find_software(settings, root)
    table = _npu_smi()
    engines = {str(python): engine_packages(python) for python in interpreters}
    flags = [
        *_software_flags(catalog, software, engines.values(), npu=has_npu()),
        *_device_flags(table),
        *unknown_variable_flags(catalog, settings),
    ]
    for release in releases:
        flags += release_flags(release, software.cann, settings)
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=psutil.virtual_memory().total,
        packages={name: version for name in _PACKAGES if (version := _version(name))},
        accelerators=_accelerators(table),
        cann=software.cann,
        cann_home=software.cann_home,
        # its number is the driver's, and a container may not show the driver's own file
        driver=software.driver or table.tool_version,
        firmware=software.firmware or software.firmware_number or _firmware(table),
        npu_smi=table.tool_version,
        container=in_container(root),
        engines=engines,
        variables=relevant_variables(catalog, settings),
        flags=tuple(flags),
    )


@speaking(ENGLISH)
def release_flags(
    release: Release, cann: str | None, variables: Mapping[str, str]
) -> list[HostFlag]:
    """Return what of an environment does not suit ``release``: its CANN and its variables."""
    found = []
    if cann is not None and not is_driver_number(cann) and (fault := cann_fault(release, cann)):
        found.append(HostFlag("cann_mismatch", fault))
    return found + unread_variable_flags(load_catalog(), release, variables)


def absence_flags(found: Environment) -> list[HostFlag]:
    """Return what a host without NPUs lacks for vLLM-Ascend, and where it was looked for.

    Not of :func:`describe_environment`: a run on the CPU, or one that measures servers of other
    hosts, needs none of it.
    """
    if found.accelerators:
        return []
    message = "no NPU was found: there is no /dev/davinci device and npu-smi shows none"
    flags = [HostFlag("npu_missing", message)]
    if not shutil.which("npu-smi"):
        flags.append(HostFlag("npu_smi", "no npu-smi was found on PATH"))
    if found.cann is None:
        flags.append(HostFlag("cann_unknown", f"no CANN was found: looked in {', '.join(PLACES)}"))
    return flags


def _software_flags(
    catalog: Catalog,
    software: AscendSoftware,
    engines: Iterable[Mapping[str, str]],
    *,
    npu: bool,
) -> list[HostFlag]:
    """Return what of CANN and of each engine's packages does not fit together."""
    found = []
    if software.cann is None and npu:
        found.append(HostFlag("cann_unknown", "no installation of CANN was found on this NPU host"))
    elif software.cann is not None and is_driver_number(software.cann):
        message = (
            f"CANN {software.cann} in {software.cann_home} is the number of a driver; "
            "the version of CANN is in its ascend_toolkit_install.info"
        )
        found.append(HostFlag("driver_as_cann", message))
    for packages in engines:
        vllm, ascend = (_field(packages.get(name)) for name in ("vllm", "vllm-ascend"))
        if vllm and ascend and (fault := pair_fault(catalog, vllm, ascend)):
            found.append(HostFlag("version_pair", fault))
    return found


def _device_flags(table: NpuTable) -> list[HostFlag]:
    found = []
    if table.error:
        found.append(HostFlag("npu_smi", table.error))
    if table.unwell:
        told = ", ".join(f"NPU {d.npu} chip {d.chip}: {d.health}" for d in table.unwell)
        found.append(HostFlag("device_unwell", f"not every device is well ({told})"))
    if table.full:
        npus = ", ".join(map(str, table.full))
        found.append(HostFlag("memory_full", f"the memory of NPU {npus} is full"))
    return found


def _npu_smi() -> NpuTable:
    """Return the table of devices; with an error where it should be had and cannot.

    That is where there are NPUs, or the program itself, which the driver brings.
    """
    output = run_program(["npu-smi", "info"], timeout_s=NPU_SMI_S)
    table = read_npu_smi(output.text)
    if table is not None and not output.problem:
        return table
    said = output.text.strip().partition("\n")[0][:_SAID]
    problem = output.problem or "npu-smi info printed no table of devices"
    if said and said.isprintable() and not output.problem:
        problem = f"npu-smi info printed no table of devices ({said})"
    return NpuTable(error=problem if has_npu() or shutil.which("npu-smi") else None)


def _firmware(table: NpuTable) -> str | None:
    """Return what the first device says of its firmware, where the package's file is not seen."""
    if not table.devices:
        return None
    argv = ["npu-smi", "info", "-t", "board", "-i", str(table.devices[0].npu)]
    return read_firmware(run_program(argv, timeout_s=NPU_SMI_S).text)


def _accelerators(table: NpuTable) -> tuple[str, ...]:
    """Return the devices as npu-smi names them, else as many as the driver has files for."""
    names = tuple(device.name for device in table.devices)
    return names or ("NPU",) * len(list(Path("/dev").glob("davinci[0-9]*")))


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _field(text: str | None) -> FieldVersion | None:
    try:
        return read_version(text) if text else None
    except UsageError:
        return None
