"""The index: appended by runs that end at once, read past damage, rebuilt without loss."""

import multiprocessing

import msgspec
import pytest
from filelock import FileLock

from specfloor.errors import UsageError
from specfloor.history.index import HISTORY, read_history, rebuild, record_run
from specfloor.judge.run import judge_stored
from specfloor.runs.store import read_run
from tests.unit.builders import both_arms, catalog
from tests.unit.history.builders import encode, entry, store


def record(folder):
    run = read_run(folder)
    return record_run(run, judge_stored(run, catalog()))


def runs_of(folder):
    return [one.run for one in read_history(folder).entries]


def test_runs_are_appended(tmp_path):
    assert record(store(tmp_path / "r1", both_arms())) == 1
    before = (tmp_path / HISTORY).read_bytes()
    assert record(store(tmp_path / "r2", both_arms())) == 1
    assert (tmp_path / HISTORY).read_bytes().startswith(before)
    assert runs_of(tmp_path) == ["r1", "r2"]


def test_a_run_that_did_not_come_to_its_end_is_not(tmp_path):
    assert record(store(tmp_path / "r1", both_arms(), complete=False)) == 0
    assert not (tmp_path / HISTORY).exists()


def test_entries_are_in_the_order_of_their_runs_and_the_later_line_counts(tmp_path):
    later, earlier = entry(2), entry(1)
    again = msgspec.structs.replace(later, verdict="FAIL")
    (tmp_path / HISTORY).write_bytes(b"".join(map(encode, (later, earlier, again))))
    assert [one.verdict for one in read_history(tmp_path).entries] == ["PASS", "FAIL"]
    assert runs_of(tmp_path) == ["run1", "run2"]


DAMAGED = (
    b"not json\n",
    b'{"schema": 1, "run": "r"}\n',
    b'{"schema": 2, "something": "new"}\n',
    b"\xff\xfe\n",
    b"[]\n",
)


def test_lines_that_cannot_be_read_are_named_and_skipped(tmp_path):
    (tmp_path / HISTORY).write_bytes(encode(entry(1)) + b"".join(DAMAGED) + encode(entry(2)))
    found = read_history(tmp_path)
    assert [one.run for one in found.entries] == ["run1", "run2"]
    assert [one.where for one in found.skipped] == [
        f"{tmp_path / HISTORY} line {number}" for number in range(2, 2 + len(DAMAGED))
    ]
    assert found.skipped[2].why == "it has schema 2 and this specfloor reads up to 1"
    assert all(one.why for one in found.skipped)


def test_a_line_cut_off_swallows_no_other(tmp_path):
    (tmp_path / HISTORY).write_bytes(encode(entry(1)) + encode(entry(2))[:70])
    record(store(tmp_path / "r1", both_arms()))
    found = read_history(tmp_path)
    assert {one.run for one in found.entries} == {"run1", "r1"}
    assert len(found.skipped) == 1


def test_no_index_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"history\.jsonl cannot be read .*--rebuild"):
        read_history(tmp_path)


def append(folder):
    record(folder)


def test_runs_that_end_at_once_lose_nothing(tmp_path):
    folders = [store(tmp_path / f"r{i}", both_arms()) for i in range(4)]
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        pool.map(append, folders)
    found = read_history(tmp_path)
    assert sorted(one.run for one in found.entries) == ["r0", "r1", "r2", "r3"]
    assert found.skipped == ()


def test_a_lock_that_is_never_let_go_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("specfloor.history.index._LOCK_S", 0.0)
    folder = store(tmp_path / "r1", both_arms())
    with (
        FileLock(tmp_path / "history.lock"),
        pytest.raises(UsageError, match="held by another process"),
    ):
        record(folder)


class TestRebuild:
    def test_the_same_as_what_was_appended(self, tmp_path):
        for name in ("r1", "r2"):
            record(store(tmp_path / name, both_arms()))
        before = read_history(tmp_path)
        assert rebuild(tmp_path, catalog()).judged == 2
        assert read_history(tmp_path) == before
        # and again
        text = (tmp_path / HISTORY).read_bytes()
        rebuild(tmp_path, catalog())
        assert (tmp_path / HISTORY).read_bytes() == text

    def test_runs_that_are_gone_and_lines_that_cannot_be_read_are_kept(self, tmp_path):
        store(tmp_path / "r1", both_arms())
        (tmp_path / HISTORY).write_bytes(encode(entry(1)) + b"".join(DAMAGED))
        done = rebuild(tmp_path, catalog())
        assert (done.judged, done.kept) == (1, 1 + len(DAMAGED))
        text = (tmp_path / HISTORY).read_bytes()
        assert all(line in text for line in (encode(entry(1)), *DAMAGED))
        assert {one.run for one in read_history(tmp_path).entries} == {"run1", "r1"}

    def test_a_run_that_cannot_be_judged_keeps_its_entries_and_is_named(self, tmp_path):
        broken = store(tmp_path / "r1", both_arms())
        record(broken)
        store(tmp_path / "r2", both_arms())
        store(tmp_path / "r3", both_arms(), complete=False)
        (broken / "basis.json").unlink()
        done = rebuild(tmp_path, catalog())
        assert (done.judged, done.kept) == (1, 1)
        assert [one.where for one in done.skipped] == [str(broken), str(tmp_path / "r3")]
        assert {one.run for one in read_history(tmp_path).entries} == {"r1", "r2"}

    def test_a_folder_without_runs_is_one_sentence(self, tmp_path):
        with pytest.raises(UsageError, match="has no run in it"):
            rebuild(tmp_path, catalog())
