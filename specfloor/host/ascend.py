"""What of Ascend's software is installed on a host: CANN, driver, firmware. Reads files only.

All of them are readable by everyone, so no root is needed. In a container the driver is the host's,
mounted, and the firmware's file is mostly not there; what cannot be seen is None.
"""

import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
"""Variables that CANN's ``set_env.sh`` sets to the toolkit in effect."""
_TOOLKITS = ("cann", "ascend-toolkit/latest", "nnae/latest", "nnrt/latest")
"""Where the installer puts it: ``cann`` since 8.5, ``ascend-toolkit/latest`` before (installation
guides of CANN 8.0 and 8.5, "File Paths")."""
PLACES = (*(f"${name}" for name in _HOMES), "/usr/local/Ascend", "~/Ascend")
"""Where a toolkit is looked for, in that order, for people."""
_RECORDS = ("ascend_toolkit_install.info", "ascend_nnae_install.info", "ascend_nnrt_install.info")
_VERSION = re.compile(r"^version\s*=\s*\[?([\w.]+)", re.MULTILINE | re.IGNORECASE)
_PACKAGE_VERSION = re.compile(r"^package_version\s*=\s*\[?([\w.]+)", re.MULTILINE)
_IN_PATH = re.compile(r"(?:cann|ascend-toolkit|nnae|nnrt)[-/](\d+\.\d+[\w.]*)")
_INSTALL_PATH = re.compile(r"^Driver_Install_Path_Param\s*=\s*(\S+)", re.MULTILINE)
_FIRST_DRIVER_YEAR = 20
"""Drivers are numbered by year (23.0.rc3, 24.1.0, 25.5.2, 26.0.rc1); CANN has got to 9."""


class AscendSoftware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Versions as the files have them; ``cann_home`` is the folder the CANN version is from.

    ``driver`` and ``firmware`` are the versions of their packages; ``firmware_number`` is the
    number that the devices themselves report.
    """

    cann: str | None = None
    cann_home: str | None = None
    driver: str | None = None
    firmware: str | None = None
    firmware_number: str | None = None


def find_software(environment: Mapping[str, str], root: Path = Path("/")) -> AscendSoftware:
    """Return what is installed below ``root``.

    The toolkit that ``environment`` puts in effect goes before the one that is installed in the
    default place, since several may be installed.
    """
    base = root / _installed_in(root)
    driver = _read(base / "driver" / "version.info")
    firmware = _read(base / "firmware" / "version.info")
    cann, home = _cann(environment, root)
    return AscendSoftware(
        cann=cann,
        cann_home=str(home) if home else None,
        driver=_match(_PACKAGE_VERSION, driver) or _match(_VERSION, driver),
        firmware=_match(_PACKAGE_VERSION, firmware),
        firmware_number=_match(_VERSION, firmware),
    )


def is_driver_number(version: str) -> bool:
    """Whether what is given as a version of CANN is the number of a driver.

    ``npu-smi info`` prints the driver's, and it is often copied as CANN's.
    """
    major = version.strip().lower().removeprefix("v").partition(".")[0]
    return major.isdigit() and int(major) >= _FIRST_DRIVER_YEAR


def in_container(root: Path = Path("/")) -> bool:
    """Whether this is a container, as far as its runtime lets it be seen."""
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        return True
    return any(
        word in _read(root / "proc/1/cgroup") for word in ("docker", "kubepods", "containerd")
    )


def _cann(environment: Mapping[str, str], root: Path) -> tuple[str | None, Path | None]:
    for home in _homes(environment, root):
        for folder in (home, home / f"{platform.machine()}-linux"):
            for name in _RECORDS:
                if version := _match(_VERSION, _read(folder / name)):
                    return version, home
        # an installation without its record still has its version in its name
        with suppress(OSError):  # a variable may hold what is no path at all
            if home.is_dir() and (named := _IN_PATH.search(str(home.resolve()))):
                return named[1], home
    return None, None


def _homes(environment: Mapping[str, str], root: Path) -> Iterator[Path]:
    for name in _HOMES:
        if home := environment.get(name):
            yield root / home.lstrip("/")
    bases = [root / "usr/local/Ascend"]
    if user := environment.get("HOME"):
        bases.append(root / user.lstrip("/") / "Ascend")
    for base in bases:
        yield from (base / toolkit for toolkit in _TOOLKITS)


def _installed_in(root: Path) -> str:
    """Return the folder of driver and firmware, relative to ``root``."""
    path = _match(_INSTALL_PATH, _read(root / "etc/ascend_install.info"))
    return (path or "/usr/local/Ascend").lstrip("/")


def _match(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[1] if found else None


def _read(path: Path) -> str:
    try:
        return (
            path.read_text(encoding="utf-8", errors="replace") if os.access(path, os.R_OK) else ""
        )
    except OSError:
        return ""
