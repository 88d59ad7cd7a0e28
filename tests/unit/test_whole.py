"""A file that is there whole or not at all."""

import errno
from pathlib import Path

import pytest

from specfloor.whole import write_whole


def test_a_file_is_written_and_nothing_else_stays(tmp_path):
    path = tmp_path / "state.json"
    for data in (b"one", b"another"):
        write_whole(path, data)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file_and_no_half_of_the_new(tmp_path, monkeypatch):
    path = tmp_path / "index.html"
    path.write_bytes(b"old")

    def full(self, data):
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, b"new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path):
    (tmp_path / "floors.toml").write_bytes(b"old")
    link = tmp_path / "link.toml"
    link.symlink_to("floors.toml")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "floors.toml").read_bytes() == b"new"
    write_whole(Path("/dev/null"), b"new")
    assert Path("/dev/null").is_char_device()


def test_what_could_not_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    (tmp_path / "state.json.part").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
