"""Which host runs a launch, and what a run on a cluster says where there is none."""

import importlib

import pytest

from specfloor.cells import OFF
from specfloor.cluster import Place, connect, host_for
from specfloor.errors import UsageError
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


def test_without_ray(monkeypatch):
    def no_ray(name, *_):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", no_ray)
    with pytest.raises(UsageError, match=r"install specfloor with the extra: specfloor\[cluster\]"):
        connect("auto")
