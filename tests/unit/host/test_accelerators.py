"""What run.json says of NPUs: named, or at least counted, and never a reason to hang."""

from pathlib import Path

from specfloor.host import environment
from specfloor.host.environment import describe_environment
from specfloor.judge.baseline import hardware_class

CASES = Path(__file__).parents[2] / "cases" / "npu_smi"


def test_devices_are_named(npu_smi):
    (table,) = (CASES / "a2-eight-idle").glob("*.txt")
    npu_smi(f"cat {table}")
    described = describe_environment()
    assert len(described.accelerators) == 8
    assert hardware_class(described).startswith("8 × 910B")


def test_a_host_without_npu_smi_has_none(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    described = describe_environment()
    assert described.accelerators == ()
    assert hardware_class(described).endswith("cores")


def test_an_npu_smi_that_hangs_is_given_up(npu_smi, monkeypatch):
    monkeypatch.setattr(environment, "NPU_SMI_S", 0.2)
    npu_smi("exec sleep 60")
    assert describe_environment().accelerators == ()
