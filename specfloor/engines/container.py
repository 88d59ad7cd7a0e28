"""A server's command in a container: image, devices, mounts, and what removes it at the end."""

import os
import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from specfloor.catalog.model import Release, Soc
from specfloor.engines.ascend import VISIBLE, device_numbers
from specfloor.engines.command import Command
from specfloor.engines.indexes import load_indexes
from specfloor.errors import UsageError
from specfloor.host.programs import run_program

PYTHON = Path("python3")
"""The interpreter that has vLLM inside the image, by name: images differ in where it is."""
PROGRAM_VARIABLE = "SPECFLOOR_CONTAINER_PROGRAM"
"""Names the program that runs containers; docker or podman are found without it."""

_PROGRAMS = ("docker", "podman")
_ANSWER_S = 30.0
"""Seconds for the program's version: its daemon may be starting."""
_IMAGES = "ascend-images"
_MANAGERS = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
"""The driver's management devices, which every container with an NPU needs (vLLM-Ascend's
installation guide)."""
_DRIVER = (
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/version.info",
    "/etc/ascend_install.info",
)
_SEVERAL_NODES = ("/usr/bin/hccn_tool", "/etc/hccn.conf")
"""What the guides for several nodes mount besides: the cards' own network."""
_DIES_PER_CARD: dict[Soc, int] = {"a3": 2}
"""Devices that one card shows as; they are to be given together."""

_CACHES = {"HF_HOME": ".cache/huggingface", "MODELSCOPE_CACHE": ".cache/modelscope"}
"""Where the hubs keep what they have downloaded: the variable that says, and the place at home."""
_PASSED = ("HF_", "HCCL_", "MODELSCOPE_", "PYTORCH_NPU_", "VLLM_")
_OWN_WAY = frozenset(_CACHES)

# images set CANN's environment in a login shell's files only, which no command line reads
_ENTRY = (
    "for file in /usr/local/Ascend/cann/set_env.sh /usr/local/Ascend/ascend-toolkit/set_env.sh"
    " /usr/local/Ascend/nnal/atb/set_env.sh; do"
    ' if [ -f "$file" ]; then source "$file"; fi; done; exec "$@"'
)


def container_program(environ: Mapping[str, str] = os.environ) -> str:
    """Return the program that runs containers; UsageError without one."""
    named = environ.get(PROGRAM_VARIABLE)
    for name in (named,) if named else _PROGRAMS:
        if found := shutil.which(name, path=environ.get("PATH")):
            return found
    raise UsageError(
        f"no program that runs containers was found (tried {named or ', '.join(_PROGRAMS)}); "
        f"install one, or name it in {PROGRAM_VARIABLE}"
    )


def check_program(program: str) -> None:
    """Ask the program for its version, which docker answers only where its daemon does.

    Raises:
        UsageError: it failed, or did not answer in time.
    """
    output = run_program([program, "version"], timeout_s=_ANSWER_S)
    if output.code == 0:
        return
    said = [line.strip() for line in output.text.splitlines() if line.strip()]
    why = output.problem or (said[-1] if said else f"exit code {output.code}")
    raise UsageError(
        f"containers cannot be run here: `{program} version` failed ({why.rstrip('.')}); start its "
        f"daemon, or name another program in {PROGRAM_VARIABLE}"
    )


def check_devices(devices: Iterable[str], root: Path = Path("/")) -> None:
    """Refuse device files that a container would be given and that are not there; UsageError."""
    missing = [one for one in devices if not (root / one.lstrip("/")).exists()]
    if missing:
        raise UsageError(
            f"this host has no {', '.join(missing)}, which the container would be given; give as "
            f"many --cards as there are, name those there are in {VISIBLE}, or mend the driver"
        )


def image_of(release: Release, named: str | None, soc: Soc | None) -> str:
    """Return the image to run: as named, else the vendor's for a release and class of hardware.

    Raises:
        UsageError: the hardware is not known, or the vendor has no image for it.
    """
    if named:
        return named
    if soc is None:
        raise UsageError(
            f"the image of {release.name} depends on the class of the NPUs, which is not known "
            "here; name it with --soc, or the image with --engine image:NAME"
        )
    if not release.images.get(soc):
        raise UsageError(
            f"the vendor has no image of {release.name} for {soc}; name one with "
            f"--engine {release.name}=image:NAME"
        )
    return f"{load_indexes()[_IMAGES]}:{release.images[soc][0]}"


def devices_of(cards: int, soc: Soc | None, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the device files of an engine with ``cards`` devices, and the driver's own.

    The first of those that ``ASCEND_RT_VISIBLE_DEVICES`` names, or of the host; whole cards where a
    card is several devices.

    Raises:
        UsageError: too few are allowed.
    """
    if not cards:
        return []
    dies = _DIES_PER_CARD.get(soc, 1) if soc else 1
    wanted = -(-cards // dies) * dies
    numbers = device_numbers(wanted, environ)
    return [f"/dev/davinci{number}" for number in numbers] + list(_MANAGERS)


def in_container(
    command: Command,
    *,
    program: str,
    image: str,
    devices: Sequence[str] = (),
    models: Sequence[str] = (),
    nodes: int = 1,
    root: Path = Path("/"),
    environ: Mapping[str, str] = os.environ,
) -> Command:
    """Return a command that runs ``command`` in a container.

    The container shares the host's network, so that the port is the same, and its IPC namespace,
    through whose shared memory tensor-parallel workers talk. What the driver has installed is
    mounted as far as it is there, checkpoints read-only, and the hubs' caches so that a download is
    not lost. Variables that engines read are passed on. It is removed at its end, and by the guard
    when it or the harness is killed.

    Args:
        command: as it would be on the host, with an interpreter of the image.
        program: runs containers, as ``docker`` does.
        image: the image.
        devices: device files, of :func:`devices_of`.
        models: checkpoints and drafts; those that are folders of the host are mounted.
        nodes: hosts that the engine spans.
        root: where the host's files are looked for.
        environ: the host's variables.
    """
    name = f"specfloor-{uuid.uuid4().hex[:12]}"
    argv = [program, "run", "--rm", "--name", name, "--init", "--network", "host", "--ipc", "host"]
    for device in devices:
        argv += ["--device", device]
    driver = (*_DRIVER, *(_SEVERAL_NODES if nodes > 1 else ())) if devices else ()
    for path in driver:
        if (root / path.lstrip("/")).exists():
            argv += ["--volume", f"{path}:{path}:ro"]
    for path in dict.fromkeys(models):
        if Path(path).is_dir():
            argv += ["--volume", f"{Path(path).resolve()}:{Path(path).resolve()}:ro"]
    for variable, folder in _caches(environ).items():
        argv += ["--volume", f"{folder}:{folder}", "--env", f"{variable}={folder}"]
    # by name alone: a token has no business on a command line, which is recorded
    for variable in sorted(environ):
        if variable.startswith(_PASSED) and variable not in _OWN_WAY:
            argv += ["--env", variable]
    for variable, value in command.env.items():
        argv += ["--env", f"{variable}={value}"]
    argv += ["--entrypoint", "/bin/bash", image, "-c", _ENTRY, "bash", *command.argv]
    return Command(tuple(argv), {}, cleanup=(program, "rm", "--force", name))


def _caches(environ: Mapping[str, str]) -> dict[str, Path]:
    """Return the hubs' caches that are there, by the variable that names them.

    Whole paths: what is mounted by a relative one is a volume of that name to docker.
    """
    home = Path(environ.get("HOME") or Path.home())
    found = {
        name: Path(environ.get(name) or home / place).expanduser().absolute()
        for name, place in _CACHES.items()
    }
    return {name: folder for name, folder in found.items() if folder.is_dir()}
