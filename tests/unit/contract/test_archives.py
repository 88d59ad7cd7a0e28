"""Unpacking published archives: the Python files alone, once, and never half."""

import io
import sys
import tarfile
import zipfile

import pytest

from specfloor.errors import UsageError
from tests.contract.archives import unpacked

FAKE_PIP = """#!{python}
import pathlib, shutil, sys
arguments = sys.argv[1:]
if not pathlib.Path({archive!r}).exists():
    sys.exit("ERROR: No matching distribution found for " + arguments[-1])
to = pathlib.Path(arguments[arguments.index("--dest") + 1])
to.mkdir()
shutil.copy({archive!r}, to)
"""


@pytest.fixture
def pip(tmp_path):
    """Makes an interpreter whose pip always downloads the same archive."""

    def make(archive):
        python = tmp_path / "python"
        python.write_text(FAKE_PIP.format(python=sys.executable, archive=str(archive)))
        python.chmod(0o755)
        return python

    return make


def wheel(folder):
    path = folder / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("demo/__init__.py", "VERSION = 1\n")
        archive.writestr("demo/_C.so", "binary")
        archive.writestr("demo-1.0.dist-info/METADATA", "Name: demo\n")
    return path


def source_archive(folder, *more):
    path = folder / "demo-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("demo-1.0/demo/__init__.py", "demo-1.0/csrc/kernel.cpp", *more):
            content = b"VERSION = 1\n"
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_wheel_leaves_its_python_files_and_metadata(tmp_path, pip):
    folder = unpacked("demo", "1.0", python=pip(wheel(tmp_path)), cache=tmp_path / "cache")
    assert files(folder) == {"demo/__init__.py", "demo-1.0.dist-info/METADATA"}


def test_a_source_archive_leaves_its_python_files_without_its_one_folder(tmp_path, pip):
    archive = source_archive(tmp_path)
    folder = unpacked("demo", "1.0", python=pip(archive), cache=tmp_path / "cache")
    assert files(folder) == {"demo/__init__.py"}


def test_a_path_out_of_the_archive_is_left_alone(tmp_path, pip):
    archive = source_archive(tmp_path, "demo-1.0/../../../outside.py")
    folder = unpacked("demo", "1.0", python=pip(archive), cache=tmp_path / "cache")
    assert files(folder) == {"demo/__init__.py"}
    assert not list(tmp_path.rglob("outside.py"))


def test_what_is_there_is_not_fetched_again(tmp_path, pip):
    archive = wheel(tmp_path)
    first = unpacked("demo", "1.0", python=pip(archive), cache=tmp_path / "cache")
    archive.unlink()
    assert unpacked("demo", "1.0", python=pip(archive), cache=tmp_path / "cache") == first


def test_a_failure_gives_the_reason_and_leaves_nothing_that_looks_whole(tmp_path, pip):
    python = pip(tmp_path / "none.whl")
    with pytest.raises(UsageError, match="No matching distribution found for demo"):
        unpacked("demo", "1.0", python=python, cache=tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]
