"""The Python files of published distributions, unpacked once in the cache."""

import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import filelock

from specfloor.engines.environment import pip_cause
from specfloor.errors import UsageError


def unpacked(
    distribution: str,
    version: str,
    *,
    python: Path,
    cache: Path,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Return the folder with a distribution's Python files and metadata, fetching it when needed.

    The wheel where the package index has one that this Python can use, else the source archive.

    Args:
        distribution: its name on the package index.
        version: exactly which.
        python: an interpreter with pip, and with what a source archive wants to tell its metadata.
        cache: the folder for all of them.
        environ: the environment of pip; None is this process's own.

    Raises:
        UsageError: pip cannot get it; the sentence gives pip's reason.
    """
    folder = cache / f"{distribution}-{version}"
    cache.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(cache / f"{folder.name}.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=cache, prefix=f"{folder.name}.") as temporary:
                part = Path(temporary) / "files"
                part.mkdir()
                archive = _download(f"{distribution}=={version}", python, Path(temporary), environ)
                for name, content in _python_files(archive):
                    to = part / name
                    to.parent.mkdir(parents=True, exist_ok=True)
                    to.write_bytes(content)
                shutil.move(part, folder)
    return folder


def _download(
    requirement: str, python: Path, folder: Path, environ: Mapping[str, str] | None
) -> Path:
    to = folder / "archive"
    command = [str(python), "-m", "pip", "download", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", "--dest", str(to), requirement]
    done = subprocess.run(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        cause = pip_cause(done.stdout.splitlines())
        raise UsageError(f"pip cannot download {requirement}: {cause}")
    return next(to.iterdir())


def _python_files(archive: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield path and content of what is kept, without the one folder of a source archive."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                if _kept(PurePosixPath(name)):
                    yield PurePosixPath(name), wheel.read(name)
        return
    with tarfile.open(archive) as source:
        for member in source:
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            content = source.extractfile(member) if member.isfile() and _kept(path) else None
            if content is not None:
                yield path, content.read()


def _kept(path: PurePosixPath) -> bool:
    safe = not path.is_absolute() and ".." not in path.parts
    metadata = path.parent.suffix == ".dist-info"
    return safe and (path.suffix == ".py" or metadata)
