"""A server that the host kept from starting is no fault of the vendor's."""

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import OFF
from specfloor.engines.ascend import VISIBLE, device_numbers, sourced
from specfloor.engines.container import check_devices, check_program, container_program, image_of
from specfloor.errors import UsageError
from specfloor.host.npu import require_npu
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


@pytest.mark.parametrize(
    "lacks",
    [
        lambda _: require_npu(),
        lambda _: container_program({"PATH": ""}),
        lambda _: check_program("no-such-program"),
        lambda _: check_devices(["/dev/no-such-device"]),
        lambda _: image_of(load_catalog().release("0.23.0"), None, None),
        lambda _: device_numbers(2, {VISIBLE: "0"}),
        lambda folder: sourced([folder / "none.sh"], {}),
    ],
)
def test_what_is_said_of_a_host_is_recognised(monkeypatch, tmp_path, lacks):
    monkeypatch.setattr("specfloor.host.npu.has_npu", lambda: False)
    with pytest.raises(UsageError) as said:
        lacks(tmp_path)
    assert host_fault(evidence(dead(OFF, str(said.value), None))) == str(said.value)


def test_a_host_that_started_one_server_is_not_at_fault():
    died = dead(CELL.arm, "the engine ended", "docker: unknown server OS")
    assert host_fault(evidence(died)) is not None
    assert host_fault(evidence(launch(OFF), *natural(OFF), died)) is None


def test_another_fault_beside_it_is_not_put_down_to_the_host():
    lacks = dead(OFF, "no NPU was found on this host", None)
    assert host_fault(evidence(lacks, dead(CELL.arm, "the engine ended", "OSError: no"))) is None
    assert host_fault(evidence()) is None
