"""Which host runs a launch, and what a run on a cluster says where there is none."""

import importlib
import tempfile

import pytest

from specfloor import cluster
from specfloor.cells import OFF
from specfloor.cluster import Place, RunNeeds, Worker, connect, host_for
from specfloor.errors import UsageError
from specfloor.measure import ENGINE_LOGS, Timeouts
from tests.unit.builders import CELL, key

A, B, C = (Place(name, "10.0.0.1", {"NPU": 8, "CPU": 4}) for name in "abc")
SMALL = Place("d", "10.0.0.2", {"NPU": 2, "soc:a2": 1})
ON = CELL.arm


class TestHosts:
    def test_both_arms_of_a_round_share_one(self):
        places = [C, A, B]
        for repeat in range(4):
            off, on = (host_for(key(arm, repeat), {"NPU": 8}, places) for arm in (OFF, ON))
            assert off == on

    def test_rounds_cross_over(self):
        found = [host_for(key(OFF, repeat), {"NPU": 8}, [A, B]) for repeat in range(4)]
        assert found[0] != found[1]
        assert found[:2] == found[2:]

    def test_only_hosts_with_what_it_needs(self):
        places = [A, B, C, SMALL]
        for repeat in range(6):
            assert host_for(key(OFF, repeat), {"NPU": 8}, places) != SMALL
            assert host_for(key(OFF, repeat), {"NPU": 1, "soc:a2": 0.001}, places) == SMALL
        assert host_for(key(OFF), {"NPU": 16}, places) is None
        assert host_for(key(OFF), {"NPU": 1}, []) is None

    def test_two_hosts_of_one_machine_have_names_of_their_own(self):
        assert A.name != B.name


class TestWorker:
    @pytest.fixture
    def worker(self, monkeypatch, tmp_path):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return Worker(None, RunNeeds(Timeouts(1.0, 1.0), seed=0, began=0.0))

    @pytest.mark.parametrize(("written", "kept"), [(b"0123456789", b"56789"), (None, b"")])
    def test_the_end_of_a_log_comes_back_and_nothing_stays(
        self, worker, monkeypatch, tmp_path, written, kept
    ):
        monkeypatch.setattr(cluster, "_LOG_BYTES", 5)
        if written is not None:
            (folder,) = tmp_path.iterdir()
            (folder / ENGINE_LOGS).mkdir()
            (folder / ENGINE_LOGS / "a-launch.log").write_bytes(written)
        assert worker.hand_over_log("a-launch") == kept
        assert list(tmp_path.iterdir()) == []


def test_without_ray(monkeypatch):
    def no_ray(name, *_):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", no_ray)
    with pytest.raises(UsageError, match=r"install specfloor with the extra: specfloor\[cluster\]"):
        connect("auto")
