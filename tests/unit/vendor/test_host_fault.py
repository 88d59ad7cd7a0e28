"""A server that the host kept from starting is no fault of the vendor's."""

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.triage.findings import Finding
from specfloor.vendor.host_fault import host_fault
from tests.unit.builders import CELL, evidence, fault, launch, natural


def dead(arm, message, cause):
    return msgspec.structs.replace(fault(Finding.START_FAIL, arm, cause=cause), message=message)


@pytest.mark.parametrize(
    ("message", "cause", "of_the_host"),
    [
        ("the engine ended (exit code 125)", "docker: unknown server OS", True),
        ("no NPU was found on this host (there is no device)", None, True),
        ("the engine ended", "docker: OCI runtime: exec: /bin/bash: not found", False),
        ("the engine ended", "ValueError: no such op", False),
        ("the engine ended (exit code 1)", None, False),
    ],
)
def test_only_what_shows_it_is_put_down_to_the_host(message, cause, of_the_host):
    said = host_fault(evidence(*(dead(arm, message, cause) for arm in (OFF, CELL.arm))))
    assert (said is not None) is of_the_host
    if said:
        assert said.startswith(message)
        assert said.endswith(cause or message)


def test_a_host_that_started_one_server_is_not_at_fault():
    died = dead(CELL.arm, "the engine ended", "docker: unknown server OS")
    assert host_fault(evidence(died)) is not None
    assert host_fault(evidence(launch(OFF), *natural(OFF), died)) is None


def test_another_fault_beside_it_is_not_put_down_to_the_host():
    lacks = dead(OFF, "no NPU was found on this host", None)
    assert host_fault(evidence(lacks, dead(CELL.arm, "the engine ended", "OSError: no"))) is None
    assert host_fault(evidence()) is None
