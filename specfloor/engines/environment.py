"""Building the Python environment of a release's engine, once, from its install steps."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from specfloor.catalog.model import InstallStep, Release
from specfloor.engines.indexes import index_variable
from specfloor.engines.locks import locked
from specfloor.engines.logs import root_cause
from specfloor.errors import UsageError
from specfloor.whole import write_whole

Progress = Callable[[str], None]
"""Takes one line about what goes on."""

INSTALL_LOG = "install.log"
MARKER = "specfloor.json"

_NOT_FOUND = re.compile(
    r"No matching distribution found for "
    r"|Could not find a version that satisfies the requirement "
    r"|have no matching distributions available for your environment"
)
_FROZEN = re.compile(r"[\w.-]+ ?(?:==|@)")
_UNREACHABLE = "after connection broken by"
# pip reports conflicts it has not caused this way, and goes on
_NO_ERROR = "ERROR: pip's dependency resolver does not currently take into account"


class EngineBuildError(UsageError):
    """An engine's environment could not be built; the sentence gives pip's reason and the log."""


class Marker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a finished environment says of itself: written last, so that without it there is none.

    ``fingerprint`` stands for what was asked for; ``freeze`` are the lines of ``pip freeze``.
    """

    release: str
    fingerprint: str
    python: str
    freeze: tuple[str, ...]


def environment_folder(release: Release, extra_requirements: Iterable[str], cache: Path) -> Path:
    """Return where an environment lives: one with extra requirements beside the plain one."""
    extras = sorted(canonicalize_name(Requirement(extra).name) for extra in extra_requirements)
    return cache / "engines" / "+".join((release.name, *extras))


def fingerprint(release: Release, extra_requirements: Iterable[str]) -> str:
    """Return the SHA-256 of everything that decides what an environment holds."""
    asked = (release.steps, release.import_check, sorted(extra_requirements))
    return hashlib.sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()


def build(
    release: Release,
    extra_requirements: tuple[str, ...],
    cache: Path,
    indexes: Mapping[str, str],
    progress: Progress,
) -> Path:
    """Return the interpreter of a release's environment, building it when it is not there.

    A half-built environment, or one built from other steps, is removed and built again. While
    another process builds the same one, this one waits and then uses it.

    Args:
        release: a release of kind ``venv``.
        extra_requirements: what a method needs besides; such an environment is kept apart, and
            may not change what the steps installed.
        cache: folder for ``engines/<release>``.
        indexes: URLs of the indexes that steps name.
        progress: takes lines for the user, pip's last one among them.

    Raises:
        EngineBuildError: a step or the import check failed, a step names an unknown index, or this
            Python is not one the release runs on.
    """
    if release.kind != "venv":
        raise ValueError(f"the engine of {release.name} is not built but found on the host")
    if release.python and platform.python_version() not in SpecifierSet(release.python):
        raise EngineBuildError(
            f"{release.name} needs Python {release.python} and this is Python "
            f"{platform.python_version()}: run specfloor with one that fits"
        )
    folder = environment_folder(release, extra_requirements, cache)
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.parent / f"{folder.name}.lock"
    waiting = f"{folder.name}: waiting for another run that builds this environment"
    with locked(lock, waiting, progress):
        python = folder / "bin" / "python"
        wanted = fingerprint(release, extra_requirements)
        marker = read_marker(folder)
        # the interpreter is a link into the Python it was made with, which may have gone
        if marker and marker.fingerprint == wanted and python.exists():
            return python
        if folder.exists():
            progress(f"{folder.name}: removing an environment that is incomplete or out of date")
            shutil.rmtree(folder)
        folder.mkdir()
        with (folder / INSTALL_LOG).open("w", encoding="utf-8", buffering=1) as log:
            builder = _Builder(folder, python, log.write, indexes, progress)
            freeze = builder.build(release, extra_requirements)
        marker = Marker(release.name, wanted, platform.python_version(), freeze)
        write_whole(folder / MARKER, msgspec.json.format(msgspec.json.encode(marker)))
        return python


def venv_command(folder: Path) -> list[str]:
    """Return the command that makes a virtual environment with pip of this interpreter."""
    return [sys.executable, "-m", "venv", str(folder)]


def read_marker(folder: Path) -> Marker | None:
    """Return the marker of an environment, None when it has none that can be read."""
    try:
        return msgspec.json.decode((folder / MARKER).read_bytes(), type=Marker)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def pip_cause(output: Sequence[str]) -> str:
    """Return the line of pip's output that says why it failed.

    An index that could not be reached explains a distribution that was not found; the last line of
    a build's own output explains a wheel that could not be built; otherwise it is pip's first
    error, or its last line.
    """
    lines = [line.strip() for line in output if line.strip()]
    ends = [number for number, line in enumerate(lines) if line == "[end of output]" and number]
    candidates = (
        [line for line in lines if _UNREACHABLE in line][-1:] if _not_found(lines) else [],
        [lines[number - 1] for number in ends[:1]],
        [line for line in lines if line.startswith("ERROR: ") and not line.startswith(_NO_ERROR)],
        lines[-1:],
    )
    return next((line for group in candidates for line in group), "no output")


def _not_found(output: Iterable[str]) -> bool:
    """Whether pip failed because no index it asked has a distribution or version."""
    return any(_NOT_FOUND.search(line) for line in output)


class _Builder:
    """The steps of one build; ``write`` appends to its log."""

    def __init__(
        self,
        folder: Path,
        python: Path,
        write: Callable[[str], object],
        indexes: Mapping[str, str],
        progress: Progress,
    ) -> None:
        self._folder = folder
        self._python = python
        self._write = write
        self._indexes = indexes
        self._progress = progress

    def build(self, release: Release, extra_requirements: Sequence[str]) -> tuple[str, ...]:
        """Run every step; return the lines of ``pip freeze``."""
        self._progress(f"{self._folder.name}: creating a virtual environment")
        self._run(venv_command(self._folder), doing="creating it")
        for number, step in enumerate(release.steps, 1):
            self._step(step, f"step {number} of {len(release.steps)}")
        frozen = self._freeze()
        if extra_requirements:
            # as constraints, so that an extra cannot exchange the engine it is meant to extend
            constraints = self._folder / "constraints.txt"
            constraints.write_text("\n".join(frozen), encoding="utf-8")
            step = InstallStep(pip=("--constraint", str(constraints), *extra_requirements))
            self._step(step, "extra requirements")
            frozen = self._freeze()
        if release.import_check:
            self._progress(f"{self._folder.name}: checking that it can be imported")
            self._run(
                [str(self._python), "-c", release.import_check],
                env=release.env,
                doing="its import check",
                cause=lambda output: root_cause(output) or pip_cause(output),
            )
        return frozen

    def _step(self, step: InstallStep, name: str) -> None:
        if step.pip:
            self._progress(f"{self._folder.name}: {name}: pip install {' '.join(step.pip)}")
            self._install(step, name)
        if step.uninstall:
            self._progress(f"{self._folder.name}: {name}: removing {' '.join(step.uninstall)}")
            self._run(self._pip("uninstall", "--yes", *step.uninstall), env=step.env, doing=name)

    def _install(self, step: InstallStep, name: str) -> None:
        fallback = self._fallback(step)
        command = self._pip("install", "--progress-bar", "off", *step.pip)
        code, output = self._output_of(command, step.env)
        if code and fallback and _not_found(output):
            self._progress(f"{self._folder.name}: {name}: not found; trying also {fallback}")
            command += ["--extra-index-url", fallback]
            code, output = self._output_of(command, step.env)
        if code:
            raise self._error(name, pip_cause(output))

    def _fallback(self, step: InstallStep) -> str | None:
        if step.fallback_index is None:
            return None
        try:
            return self._indexes[step.fallback_index]
        except KeyError:
            raise self._error(
                "an install step",
                f"no package index is called {step.fallback_index!r}, "
                f"not even in {index_variable(step.fallback_index)}",
            ) from None

    def _freeze(self) -> tuple[str, ...]:
        output = self._run(self._pip("freeze"), doing="listing its packages")
        return tuple(line for line in output if _FROZEN.match(line))

    def _pip(self, *arguments: str) -> list[str]:
        options = ("--disable-pip-version-check", "--no-input", "--no-color")
        return [str(self._python), "-m", "pip", *options, *arguments]

    def _run(
        self,
        command: list[str],
        *,
        doing: str,
        env: Mapping[str, str] | None = None,
        cause: Callable[[list[str]], str] = pip_cause,
    ) -> list[str]:
        code, output = self._output_of(command, env or {})
        if code:
            raise self._error(doing, cause(output))
        return output

    def _output_of(self, command: list[str], env: Mapping[str, str]) -> tuple[int, list[str]]:
        """Run a command; return its exit code and output, which goes to log and progress too."""
        # what the harness imports from is not the engine's
        inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        self._write(f"$ {' '.join(command)}\n")
        output = []
        with subprocess.Popen(
            command,
            env=inherited | dict(env),
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    self._write(line)
                    output.append(line.rstrip())
                    self._progress(output[-1])
            except BaseException:
                process.kill()
                raise
        return process.returncode, output

    def _error(self, doing: str, cause: str) -> EngineBuildError:
        log = self._folder / INSTALL_LOG
        return EngineBuildError(
            f"the engine environment {self._folder.name} could not be built: {doing} failed "
            f"with {cause!r}; all of it is in {log}"
        )
