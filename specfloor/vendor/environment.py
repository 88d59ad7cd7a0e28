"""The environment as the form asks for it: what the run knows, and how to get the rest."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from specfloor.catalog.model import Release
from specfloor.host.npu_smi import Device
from specfloor.i18n import _
from specfloor.judge.evidence import ArmEvidence
from specfloor.runs.records import Environment, HostSampleRecord, Record
from specfloor.runs.spoken import spoken
from specfloor.vendor import words


class Surroundings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``known`` are names and values; ``missing`` what the form wants and how to get it."""

    known: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    devices: tuple[str, ...]


def surroundings(
    environment: Environment,
    release: Release,
    arms: Iterable[ArmEvidence],
    records: Iterable[Record],
    *,
    attached: bool,
) -> Surroundings:
    """Return the environment of a cell.

    Args:
        environment: of ``run.json``.
        release: the release that was asked for.
        arms: the cell's launches, for what the engine says of itself.
        records: of the run, for samples of the devices.
        attached: whether the user gives the text of collect_env or npu-smi besides.
    """
    known = list(_known(environment, release, arms))
    launches = {arm.key.id for arm in arms}
    devices = tuple(_devices(records, launches))
    missing = [] if attached else list(_missing(environment, release))
    return Surroundings(tuple(known), tuple(missing), devices)


def _known(
    environment: Environment, release: Release, arms: Iterable[ArmEvidence]
) -> Iterator[tuple[str, str]]:
    yield _("release"), release.name
    launches = [arm.launch for arm in arms if arm.launch]
    answers = {launch.version for launch in launches if launch.version}
    yield (
        "vLLM",
        ", ".join(sorted(answers)) or _(words.NO_ANSWER).format(vllm=release.vllm),
    )
    for name, value in (
        ("vLLM-Ascend", release.vllm_ascend),
        ("CANN", environment.cann),
        (_("CANN of the release"), release.cann),
        (_("driver"), environment.driver),
        (_("firmware"), environment.firmware),
        ("npu-smi", environment.npu_smi),
        ("NPUs", ", ".join(environment.accelerators)),
        (_("Python of the harness"), environment.python),
        (_("platform"), environment.platform),
        (
            _("processor"),
            _("{cpu}, {cores} cores").format(cpu=environment.cpu, cores=environment.cores),
        ),
        (_("memory"), f"{environment.memory_bytes / 2**30:.1f} GiB"),
    ):
        if value:
            yield name, value
    if environment.container is not None:
        yield _("container"), _("yes") if environment.container else _("no")
    packages = next((launch.packages for launch in launches if launch.packages), None)
    engines = {_("engine"): packages} if packages else environment.engines
    for name, packages in engines.items():
        yield name, " ".join(f"{n}=={v}" for n, v in sorted(packages.items()))
    yield _("harness"), " ".join(f"{n}=={v}" for n, v in sorted(environment.packages.items()))
    variables = dict(environment.variables)
    for launch in launches:
        variables |= launch.variables
    yield from sorted(variables.items())
    for notice in dict.fromkeys(notice.text for launch in launches for notice in launch.notices):
        yield _("the engine says"), notice
    for flag in environment.flags:
        yield _("note"), spoken(flag.message)


def _missing(environment: Environment, release: Release) -> Iterator[str]:
    yield _(words.WHOLE_LISTING)
    if release.platform != "ascend":
        return
    if not environment.accelerators or environment.npu_smi is None:
        yield _(words.DEVICES)
    if environment.cann is None:
        yield _(words.CANN)
    if environment.driver is None:
        yield _(words.DRIVER)


def _devices(records: Iterable[Record], launches: set[str]) -> Iterator[str]:
    """Yield one line a chip: the range of what npu-smi showed while the cell was measured."""
    seen: dict[tuple[int, int], list[Device]] = defaultdict(list)
    for record in records:
        if isinstance(record, HostSampleRecord) and record.launch in launches:
            for device in record.devices:
                seen[device.npu, device.chip].append(device)
    for (npu, chip), devices in sorted(seen.items()):
        health = ", ".join(sorted({device.health for device in devices}))
        shown = (
            _range("AICore", "%", [device.aicore_pct for device in devices]),
            _range("HBM", "MB", [device.hbm_used_mb for device in devices]),
            _range("", "°C", [device.temp_c for device in devices]),
            _range("", "W", [device.power_w for device in devices]),
        )
        told = ", ".join(filter(None, shown))
        yield _("NPU {npu} chip {chip} {name}: {health}, {told} in {samples} samples").format(
            npu=npu,
            chip=chip,
            name=devices[0].name,
            health=health,
            told=told,
            samples=len(devices),
        )


def _range(name: str, unit: str, values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    figures = f"{low:g}" if low == high else _("{low:g} to {high:g}").format(low=low, high=high)
    return f"{name} {figures} {unit}".strip()
