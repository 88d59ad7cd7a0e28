"""Tables of ``npu-smi info``, by their bars, not by character places: widths differ by driver.

A device is a chip: an A3 card has two, each with rows of its own. Ids may start anywhere, since a
container sees part of a host. What a table does not have is None, never 0.
"""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from specfloor.catalog.model import Soc

_VERSION = re.compile(r"npu-smi[ \t]{1,60}\S{1,60}[ \t]{1,200}Version:[ \t]{0,60}(\S{1,60})")
_RET = re.compile(r"ret is (-?\d{1,9})")
_FAILED = ("not found", "No such file", "ermission denied", "shared librar")
_FIELD = re.compile(
    r"^\s*(NPU ID|Chip ID|Aicore(?: cur)? ?Freq\(MHZ\))\s*:\s*(\d{1,9})\s*$",
    re.MULTILINE | re.IGNORECASE,
)
_FIRMWARE = re.compile(r"^\s*Firmware Version\s*:\s*(\d[\w.]*)\s*$", re.MULTILINE)
_PAIR = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})")
_BUS = re.compile(r"[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+\.\d|^(?:NA|-|)$")
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,6})?")
_INDEX = re.compile(r"\d{1,9}")
_WIDE = 60
"""Characters of the third column from which a table is one of the wide kind (driver 26)."""
_FULL = 0.99
"""Share of a chip's memory from which it is full: the next allocation fails."""
_USED = 0.15
"""Share of a chip's memory over which it does not idle: 3 to 9 % is the driver's own."""
_WELL = "OK"
_NO_FAILURE = (_WELL, "Warning", "NA", "")
"""States in which a chip does its work; Alarm, Critical, UNKNOWN and the like are others."""

_SOCS: tuple[tuple[str, Soc], ...] = (
    ("910B", "a2"),
    ("310P", "310p"),
    ("950", "a5"),
    ("910_93", "a3"),
    ("910C", "a3"),
    ("910", "a3"),
)
"""Name of a chip to the class of hardware. Driver tables call A3's chip plain ``Ascend910``; the
first generation, which vLLM-Ascend does not support, has the same name and one chip a card."""

Layout = Literal["A2", "A3", "A3-wide", "A2-wide", "310P", "310P-wide"]


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One chip: its place, health and load. Memory is in MB, power in W, temperature in °C."""

    npu: int
    chip: int
    name: str
    health: str
    bus_id: str | None
    power_w: float | None
    temp_c: int | None
    aicore_pct: int | None
    memory_used_mb: int | None
    memory_total_mb: int | None
    hbm_used_mb: int | None
    hbm_total_mb: int | None
    phy_id: int | UnsetType = UNSET

    @property
    def fails(self) -> bool:
        """Whether the chip reports a state in which its work cannot be trusted."""
        return self.health not in _NO_FAILURE

    @property
    def used_share(self) -> float | None:
        """Share of the device memory that is in use."""
        pairs = (
            (self.hbm_used_mb, self.hbm_total_mb),
            (self.memory_used_mb, self.memory_total_mb),
        )
        return next((used / of for used, of in pairs if used is not None and of), None)


class Process(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A process on a chip; its name is empty where the table, seen from a container, has none."""

    npu: int
    chip: int
    pid: int
    name: str
    memory_mb: int | None


class Clock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The clock of one chip's cores, now and as rated, in MHz; an idle chip runs slower."""

    npu: int
    chip: int
    now_mhz: int
    rated_mhz: int


class NpuTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``npu-smi info`` said; with an ``error``, everything else is unknown."""

    layout: Layout | None = None
    tool_version: str | None = None
    soc: Soc | None = None
    devices: tuple[Device, ...] = ()
    processes: tuple[Process, ...] = ()
    error: str | None = None

    @property
    def busy(self) -> bool:
        """Whether anything is computing on, or holds memory of, the chips."""
        return bool(self.processes) or any(
            bool(d.aicore_pct) or (d.used_share or 0.0) > _USED for d in self.devices
        )

    @property
    def full(self) -> tuple[int, ...]:
        """The NPUs with a chip whose memory is full."""
        return tuple(dict.fromkeys(d.npu for d in self.devices if (d.used_share or 0) >= _FULL))

    @property
    def unwell(self) -> tuple[Device, ...]:
        """The chips that do not report to be well."""
        return tuple(device for device in self.devices if device.health != _WELL)


def read_npu_smi(text: str) -> NpuTable | None:
    """Read the output of ``npu-smi info``; None when the text is no such output."""
    version = _VERSION.search(text)
    if version is None:
        error = _error(text)
        return NpuTable(error=error) if error else None
    rows = [_cells(line) for line in text.splitlines() if line.lstrip().startswith("|")]
    header: list[list[str]] = []
    devices: list[Device] = []
    processes: list[Process] = []
    upper: list[str] | None = None
    in_processes = False
    for row in rows:
        if row and row[0].startswith("NPU"):
            in_processes = len(row) > 1 and "Process" in row[1]
            header = header if in_processes else [row]
        elif row and row[0].startswith("Chip"):
            header.append(row)
        elif in_processes:
            processes += _process(row)
        elif len(row) == 3 and header:
            if not _BUS.search(row[1]):
                upper = row
            elif upper is not None:
                devices += _device(upper, row, header)
                upper = None
    name = devices[0].name if devices else ""
    return NpuTable(
        layout=_layout(header, text) if devices else None,
        tool_version=version[1],
        soc=next((soc for part, soc in _SOCS if part in name), None),
        devices=tuple(devices),
        processes=tuple(processes),
    )


def read_clocks(text: str) -> tuple[Clock, ...]:
    """Read the clocks that ``npu-smi info -t common`` prints, a chip at a time."""
    found: dict[tuple[int, int], dict[str, int]] = {}
    npu = chip = 0
    for name, number in _FIELD.findall(text):
        value, key = int(number), name.lower()
        if key == "npu id":
            npu = value
        elif key == "chip id":
            chip = value
        elif "freq" in key:
            found.setdefault((npu, chip), {})["now" if "cur" in key else "rated"] = value
    return tuple(
        Clock(*place, mhz["now"], mhz["rated"]) for place, mhz in found.items() if len(mhz) == 2
    )


def read_firmware(text: str) -> str | None:
    """Read the firmware's version that ``npu-smi info -t board`` prints; containers get NA."""
    found = _FIRMWARE.search(text)
    return found[1] if found else None


def _error(text: str) -> str | None:
    """Return what npu-smi, or the shell that did not find it, said instead of a table."""
    for line in text.splitlines():
        if "dcmi" in line and "initiali" in line and "failed" in line:
            ret = _RET.search(line)
            return f"dcmi initialisation failed, ret {ret[1] if ret else 'unknown'}"
        if "npu-smi" in line and any(words in line for words in _FAILED):
            return line.strip()
    return None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _layout(header: Sequence[Sequence[str]], text: str) -> Layout:
    names = " ".join(cell for row in header for cell in row)
    border = next((line for line in text.splitlines() if line.count("+") == 4), "")
    wide = len(border.strip().strip("+").rpartition("+")[2]) >= _WIDE
    kind: Literal["A2", "A3", "310P"] = "A2"
    if "Phy-ID" in names:
        kind = "A3"
    elif "HBM-Usage" not in names:
        kind = "310P"
    if kind == "A3":
        return "A3-wide" if wide else "A3"
    if kind == "310P":
        return "310P-wide" if wide else "310P"
    return "A2-wide" if wide else "A2"


def _device(
    upper: Sequence[str], lower: Sequence[str], header: Sequence[Sequence[str]]
) -> list[Device]:
    """Return the chip of two rows; none when they are damaged."""
    top, low = upper[0].split(), lower[0].split()
    if len(top) < 2 or not _INDEX.fullmatch(top[0]) or not low or not _INDEX.fullmatch(low[0]):
        return []
    power, temperature = (*upper[2].split()[:2], "", "")[:2]
    load = lower[2].split()
    pairs = [(int(a), int(b)) for a, b in _PAIR.findall(lower[2])]
    has_hbm = "HBM-Usage" in " ".join(cell for row in header for cell in row)
    memory = pairs[0] if pairs else (None, None)
    hbm = pairs[1] if has_hbm and len(pairs) > 1 else (None, None)
    return [
        Device(
            npu=int(top[0]),
            chip=int(low[0]),
            name=top[1],
            health=upper[1],
            bus_id=lower[1] or None,
            power_w=_number(power),
            temp_c=_integer(temperature),
            aicore_pct=_integer(load[0]) if load else None,
            memory_used_mb=memory[0],
            memory_total_mb=memory[1],
            hbm_used_mb=hbm[0],
            hbm_total_mb=hbm[1],
            phy_id=int(low[1]) if len(low) > 1 and _INDEX.fullmatch(low[1]) else UNSET,
        )
    ]


def _process(row: Sequence[str]) -> list[Process]:
    places = row[0].split()
    if len(row) != 4 or len(places) != 2 or not all(map(_INDEX.fullmatch, (*places, row[1]))):
        return []
    npu, chip = map(int, places)
    return [Process(npu, chip, int(row[1]), row[2], _integer(row[3]))]


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _integer(text: str) -> int | None:
    number = _number(text)
    return None if number is None else round(number)
