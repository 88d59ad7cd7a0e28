"""A file that is there whole or not at all."""

import pytest

from specfloor.whole import write_whole


def test_a_file_is_written_and_nothing_else_stays(tmp_path):
    path = tmp_path / "state.json"
    for data in (b"one", b"another"):
        write_whole(path, data)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_what_could_not_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    (tmp_path / "state.json.part").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
