"""What an engine on NPUs needs of its host: CANN's environment, devices, and packages that fit."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.version import InvalidVersion, Version

from specfloor.catalog.model import InstallStep, Release
from specfloor.errors import UsageError
from specfloor.host.ascend import AscendSoftware

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
"""Which devices a process sees, by number; the Ascend runtime numbers what is left from 0."""

_SCRIPTS = (
    (
        "ASCEND_HOME_PATH",
        (
            "/usr/local/Ascend/cann/set_env.sh",
            "/usr/local/Ascend/ascend-toolkit/set_env.sh",
            "{home}/Ascend/cann/set_env.sh",
            "{home}/Ascend/ascend-toolkit/set_env.sh",
        ),
    ),
    (
        "ATB_HOME_PATH",
        ("/usr/local/Ascend/nnal/atb/set_env.sh", "{home}/Ascend/nnal/atb/set_env.sh"),
    ),
)
"""The variable that a script sets, and where it is: CANN since 8.5 and before, then ATB, whose
script needs CANN's to have run (vLLM-Ascend's installation guide)."""
_SOURCE_S = 30.0
_ASCEND_INDEX = "ascend"


def set_env_scripts(environ: Mapping[str, str], root: Path = Path("/")) -> tuple[Path, ...]:
    """Return the scripts to source for what is installed and not yet in effect, in their order."""
    home = environ.get("HOME", "/root")
    found = []
    for variable, places in _SCRIPTS:
        if variable not in environ:
            paths = (root / place.format(home=home).lstrip("/") for place in places)
            found += [path for path in paths if path.is_file()][:1]
    return tuple(found)


def sourced(scripts: Sequence[Path], environ: Mapping[str, str]) -> dict[str, str]:
    """Return what sourcing ``scripts`` changes in ``environ``.

    Raises:
        UsageError: a script failed or took too long.
    """
    if not scripts:
        return {}
    # nounset is off as in a login shell: the scripts append to variables that may not be there
    script = 'for file in "$@"; do source "$file" >&2 || exit 1; done; exec env -0'
    try:
        done = subprocess.run(
            ["/bin/bash", "-c", script, "bash", *map(str, scripts)],
            env=dict(environ),
            capture_output=True,
            timeout=_SOURCE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        names = " and ".join(map(str, scripts))
        raise UsageError(
            f"sourcing {names} failed ({error}); source it yourself before the run"
        ) from None
    pairs = (entry.partition("=") for entry in done.stdout.decode(errors="replace").split("\0"))
    after = {name: value for name, _, value in pairs if name}
    return {
        name: value
        for name, value in after.items()
        if environ.get(name) != value and name not in ("_", "SHLVL", "PWD", "OLDPWD")
    }


def visible_devices(cards: int, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variable that gives an engine ``cards`` devices: the first of those to be had.

    Raises:
        UsageError: the variable is set already, to fewer.
    """
    return {VISIBLE: ",".join(device_numbers(cards, environ))}


def device_numbers(cards: int, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the numbers of the first ``cards`` devices that are allowed, or of the host.

    Raises:
        UsageError: fewer are allowed.
    """
    allowed = [one.strip() for one in environ.get(VISIBLE, "").split(",") if one.strip()]
    if allowed and len(allowed) < cards:
        raise UsageError(
            f"{VISIBLE}={environ[VISIBLE]} leaves {len(allowed)} devices and {cards} are needed; "
            "unset it or name more"
        )
    return allowed[:cards] or [str(number) for number in range(cards)]


def ascend_steps(release: Release) -> tuple[InstallStep, ...]:
    """Return how an environment with a release of vLLM-Ascend is built, step by step.

    vLLM comes first, from source without a device as the vendor builds it; then vLLM-Ascend with
    its own torch, torch_npu and triton-ascend, which win over vLLM's. Ascend's index is asked only
    for what the usual one lacks. vLLM's triton goes before triton-ascend comes, which installs into
    the same place.

    Raises:
        UsageError: the release's pins are not known, or the index has no such vLLM-Ascend.
    """
    if not release.vllm_ascend or release.pypi is False:
        raise UsageError(
            f"{release.name} cannot be installed from the package index; name an interpreter that "
            f"has it with --engine-python {release.name}=PATH"
        )
    pins = {
        "torch": release.torch,
        "torch-npu": release.torch_npu,
        "triton-ascend": release.triton_ascend,
        "transformers": release.transformers,
    }
    wanted = [f"{name}=={version}" for name, version in pins.items() if version]
    return (
        InstallStep(
            pip=("--no-binary", "vllm", f"vllm=={release.vllm}"),
            env={"VLLM_TARGET_DEVICE": "empty"},
        ),
        InstallStep(uninstall=("triton",)),
        InstallStep(
            pip=(f"vllm-ascend=={release.vllm_ascend}", *wanted), fallback_index=_ASCEND_INDEX
        ),
    )


IMPORT_CHECK = "import torch, torch_npu, vllm, vllm_ascend"


def check_cann(release: Release, software: AscendSoftware) -> None:
    """Refuse a host whose CANN is of another line than the release's.

    Raises:
        UsageError: it is, or none was found. The patch number may differ.
    """
    if release.cann is None:
        return
    if software.cann is None:
        raise UsageError(
            f"{release.name} needs CANN {release.cann} and none was found; install it, or source "
            "its set_env.sh"
        )
    if _line(software.cann) != _line(release.cann):
        raise UsageError(
            f"{release.name} needs CANN {release.cann} and {software.cann_home} has "
            f"{software.cann}; use the release's image (--engine {release.name}=image) or another "
            "CANN"
        )


def _line(version: str) -> tuple[int, ...] | str:
    try:
        return Version(version).release[:2]
    except InvalidVersion:
        return version
