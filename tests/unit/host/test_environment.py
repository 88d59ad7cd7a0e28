import json
import os
import platform
from pathlib import Path

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.host import environment
from specfloor.host.environment import describe_environment


def test_the_machine_and_the_packages_are_described():
    found = describe_environment()
    assert found.cores >= 1
    assert found.memory_bytes > 2**20
    assert found.cpu
    assert found.python.startswith("3.")
    assert {"msgspec", "pytest", "scipy"} <= found.packages.keys()
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


def test_a_processor_without_a_name_goes_by_its_architecture(monkeypatch):
    def refuse(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert environment._cpu_model() == platform.machine()


def test_a_package_that_is_not_there_is_left_out(monkeypatch):
    monkeypatch.setattr(environment, "_PACKAGES", ("msgspec", "no-such-distribution"))
    assert list(describe_environment().packages) == ["msgspec"]


@pytest.fixture
def host(tmp_path):
    """A file system with CANN, a driver and nothing else, as a container sees them."""
    (tmp_path / "root").mkdir()
    write(tmp_path, "usr/local/Ascend/driver/version.info", "package_version=25.5.2\n")
    write(tmp_path, "usr/local/Ascend/cann/ascend_toolkit_install.info", "version=8.5.1\n")
    write(tmp_path, ".dockerenv", "")
    return tmp_path


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def flags(found):
    return [flag.kind for flag in found.flags]


def test_the_software_of_ascend_is_described(host):
    found = describe_environment(variables={"HCCL_BUFFSIZE": "512"}, root=host)
    assert (found.cann, found.driver, found.firmware) == ("8.5.1", "25.5.2", None)
    assert found.cann_home == str(host / "usr/local/Ascend/cann")
    assert found.container is True
    assert found.variables == {"HCCL_BUFFSIZE": "512"}
    assert found.flags == ()


def test_a_driver_number_given_as_cann_is_noticed(host):
    write(host, "usr/local/Ascend/cann/ascend_toolkit_install.info", "version=25.5.2\n")
    release = load_catalog().release("0.18.0")
    found = describe_environment(variables={}, releases=[release], root=host)
    assert flags(found) == ["driver_as_cann"]
    assert "CANN 25.5.2" in found.flags[0].message
    assert "is the number of a driver" in found.flags[0].message


def test_a_cann_that_a_release_was_not_made_for_is_flagged(host):
    old, new = (load_catalog().release(name) for name in ("0.18.0", "0.30.0rc2"))
    assert describe_environment(variables={}, releases=[old], root=host).flags == ()
    (flag,) = describe_environment(variables={}, releases=[old, new], root=host).flags
    assert flag.message == "0.30.0rc2 was made for CANN 9.2.0, and CANN 8.5.1 is installed"


def test_an_npu_host_without_cann_is_flagged(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "has_npu", lambda: True)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = describe_environment(variables={}, root=tmp_path)
    assert flags(found) == ["cann_unknown", "npu_smi"]
    assert found.flags[1].message == "npu-smi cannot be run: No such file or directory"


@pytest.mark.parametrize("says", ["libdcmi.so: cannot open shared object file", ""])
def test_an_npu_smi_that_is_there_and_fails_is_flagged_without_a_device_too(
    monkeypatch, tmp_path, says
):
    program = tmp_path / "npu-smi"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (flag,) = describe_environment(variables={}, root=tmp_path).flags
    told = f" ({says})" if says else ""
    assert flag.message == f"npu-smi info printed no table of devices{told}"


@pytest.mark.parametrize(
    ("vllm", "flagged"), [("0.23.0+empty", []), ("0.22.1", ["version_pair"]), ("", [])]
)
def test_packages_that_do_not_belong_together_are_flagged(monkeypatch, vllm, flagged):
    packages = {"vllm": vllm, "vllm-ascend": "0.23.0.post1"}
    monkeypatch.setattr(environment, "engine_packages", lambda python: packages)
    found = describe_environment(interpreters=[Path("/opt/python")], variables={})
    assert flags(found) == flagged
    assert found.engines == {"/opt/python": packages}


def test_a_variable_of_any_bytes_can_be_written(host):
    settings = {os.fsdecode(b"VLLM_\xfe"): os.fsdecode(b"\xff"), "ASCEND_HOME_PATH": "/x" * 3000}
    found = describe_environment(variables=settings, root=host)
    assert found.variables["VLLM_\\udcfe"] == "\\udcff"
    assert json.loads(msgspec.json.encode(found))["variables"] == found.variables


def test_a_misspelled_variable_and_one_no_longer_read_are_flagged(host):
    settings = {"VLLM_ASCEND_ENABLE_FLASHCOM1": "1", "VLLM_ASCEND_ENABLE_NZ": "1"}
    release = load_catalog().release("0.27.1rc1")
    write(host, "usr/local/Ascend/cann/ascend_toolkit_install.info", "version=9.1.0\n")
    found = describe_environment(variables=settings, releases=[release], root=host)
    assert flags(found) == ["variable_unknown", "variable_not_read"]


CASES = Path(__file__).parents[2] / "cases" / "npu_smi"


@pytest.mark.parametrize("folder", sorted(CASES.iterdir()), ids=lambda folder: folder.name)
def test_every_table_of_npu_smi_is_described(monkeypatch, folder, tmp_path):
    expected = json.loads((folder / "expected.json").read_text())["expect"]["extract"]
    (text,) = folder.glob("*.txt")
    program = tmp_path / "npu-smi"
    program.write_text(f'#!/bin/sh\n[ "$2" ] && exec cat {board(tmp_path)}\nexec cat {text}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = describe_environment(variables={}, root=tmp_path)
    assert len(found.accelerators) == (expected["device_count"] or 0)
    assert found.npu_smi == expected["tool_version"]
    assert found.driver == expected["tool_version"]
    assert found.firmware == ("7.8.0.6.201" if expected["device_count"] else None)
    if "error" in expected:
        assert found.flags[0].message == expected["error"]


def board(folder):
    """Return a file as ``npu-smi info -t board`` prints it."""
    path = folder / "board.txt"
    path.write_text(
        "\tNPU ID                         : 0\n"
        "\tSoftware Version               : 25.5.2\n"
        "\tFirmware Version               : 7.8.0.6.201\n"
    )
    return path
