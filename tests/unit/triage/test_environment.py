"""Environment texts and tables of devices."""

import pytest

from specfloor.host.collect_env import read_environment
from specfloor.host.npu_smi import read_npu_smi
from tests.unit.triage.builders import case_text, codes, triaged, verdict

COMPLETE = case_text("env", "complete-a2", "collect_env.txt")
A2 = case_text("npu_smi", "a2-eight-idle", "npu-smi.txt")


def test_windows_line_ends_change_nothing():
    assert read_environment(COMPLETE.replace("\n", "\r\n")) == read_environment(COMPLETE)


@pytest.mark.parametrize(
    ("text", "version", "development"),
    [
        ("vllm_ascend==0.18.0\ntorch==2.9.0\n", "0.18.0", False),
        ("vllm-ascend 0.18.0rc1\nvllm 0.18.0\n", "0.18.0rc1", False),
        (
            "Package     Version\n------- -------\nvllm-ascend  0.23.0.post1\n",
            "0.23.0.post1",
            False,
        ),
        ("vllm.ascend    0.24.0rc2.dev3+g0123abc\n", "0.24.0rc2.dev3", True),
    ],
)
def test_listings_of_packages(text, version, development):
    found = read_environment(text)
    assert found.source == "pip_list"
    assert found.vllm_ascend.version == version
    assert found.vllm_ascend.development_build is development


SCRIPT = """#!/bin/bash
export ASCEND_HOME_PATH=/usr/local/Ascend/ascend-toolkit/8.5.0
#export VLLM_ASCEND_ENABLE_NZ=1
docker run -e HCCL_BUFFSIZE=1024 -e TASK_QUEUE_ENABLE="1" image:tag \\
  bash -c run
OMP_NUM_THREADS=8 vllm serve GLM-5.2 --tensor-parallel-size 8 \\
  --speculative-config '{"method": "mtp", "num_speculative_tokens": 3}'
"""


def test_a_start_script_gives_variables_and_the_speculative_configuration():
    found = read_environment(SCRIPT)
    assert found.source == "start_script"
    assert found.variables == {
        "ASCEND_HOME_PATH": "/usr/local/Ascend/ascend-toolkit/8.5.0",
        "HCCL_BUFFSIZE": "1024",
        "TASK_QUEUE_ENABLE": "1",
        "OMP_NUM_THREADS": "8",
    }
    assert found.off == ("VLLM_ASCEND_ENABLE_NZ",)
    assert (found.method, found.k, found.cann_hint) == ("mtp", 3, "8.5.0")
    assert found.vllm is None
    assert "vllm" in found.missing


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("package_name=Ascend-cann-toolkit\nversion=9.1.0\npath=/usr/local/x\n", "cann", "9.1.0"),
        ("Version=25.2.1\nascendhal_version=7.35.23\naicpu_version=1.0\n", "driver", "25.2.1"),
    ],
)
def test_version_files(text, field, value):
    found = read_environment(text)
    assert found.source == "version_file"
    assert getattr(found, field) == value


def test_a_python_version_file_of_a_development_build():
    text = "__version__ = version = '0.18.1.dev7+g0123abcd'\n"
    found = read_environment(text)
    assert found.vllm_ascend.commit == "0123abcd"


@pytest.mark.parametrize("text", ["", "hello\n", "a = 1\n", "torchvision 0.2\n"])
def test_other_texts_are_no_environment(text):
    assert read_environment(text) is None


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("vLLM Version: 0.23.0", "vLLM Version: 0.22.0", "version_pair"),
        ("version=8.5.0", "", "cann_unknown"),
        ("version=8.5.0", "version=25.5.2", "driver_as_cann"),
        ("3308 / 65536", "65500/ 65536", "memory_full"),
        ("| OK            | 96.3", "| Warning       | 96.3", "device_unwell"),
    ],
)
def test_what_is_warned_of_and_what_not(old, new, code, tmp_path):
    assert old in COMPLETE
    assert code not in codes(triaged(tmp_path / "a", {"env.txt": COMPLETE}))
    changed = triaged(tmp_path / "b", {"env.txt": COMPLETE.replace(old, new)})
    assert code in codes(changed)
    assert verdict(changed) == "PARSE"


@pytest.mark.parametrize(
    ("tag", "differs"),
    [("v0.23.0rc1", False), ("v0.23.0rc1-a3", False), ("v0.22.1rc1", True), ("main", False)],
)
def test_the_tag_of_the_image(tag, differs, tmp_path):
    report = triaged(tmp_path, {"env.txt": COMPLETE}, config={"image_tag": tag})
    assert ("image_tag_differs" in codes(report)) is differs


@pytest.mark.parametrize(("told", "driver"), [("25.5.2", True), ("9.1.0", False), (25, False)])
def test_a_number_that_the_user_takes_for_canns(told, driver, tmp_path):
    report = triaged(tmp_path, {"env.txt": COMPLETE}, config={"cann": told})
    assert ("driver_as_cann" in codes(report)) is driver


def test_a_variable_that_the_release_does_not_read(tmp_path):
    script = "export VLLM_ASCEND_ENABLE_MLAPO=1\n"
    old = triaged(tmp_path / "a", {"start.sh": script}, release="0.18.0")
    new = triaged(tmp_path / "b", {"start.sh": script}, release="0.27.1rc1")
    assert "variable_not_read" not in codes(old)
    assert "variable_not_read" in codes(new)


def test_a_slip_in_a_name_is_told_from_a_stranger(tmp_path):
    script = "export VLLM_ASCEND_ENABLE_NZZ=1\nexport VLLM_ASCEND_QWERTY=1\nexport FOO=1\n"
    unknown = triaged(tmp_path, {"start.sh": script})["extract"]["unknown_variables"]
    assert unknown == {
        "VLLM_ASCEND_ENABLE_NZZ": "VLLM_ASCEND_ENABLE_NZ",
        "VLLM_ASCEND_QWERTY": None,
    }


# -- devices ---------------------------------------------------------------------------------------


def test_a_damaged_row_costs_one_device_not_the_table():
    lines = A2.splitlines()
    lines[9] = "| garbage"
    found = read_npu_smi("\n".join(lines))
    assert [device.npu for device in found.devices] == [0, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("name", "soc"),
    [
        ("910B3", "a2"),
        ("Ascend910", "a3"),
        ("910_9392", "a3"),
        ("Ascend950PR", "a5"),
        ("310P3", "310p"),
    ],
)
def test_the_class_of_hardware(name, soc):
    table = A2.replace("910B2 ", f"{name} ")
    assert read_npu_smi(table).soc == soc


@pytest.mark.parametrize(
    "text",
    [
        "bash: npu-smi: command not found",
        "dcmi model initialized failed, because the device is used. ret is -8020",
    ],
)
def test_an_error_is_no_table_of_nothing(text, tmp_path):
    report = triaged(tmp_path, {"npu.txt": text}, roles={"npu.txt": "npu_smi"})
    assert verdict(report) == "NO_DATA"
    assert report["extract"]["device_count"] is None


@pytest.mark.parametrize(
    ("health", "wanted", "exit_code"),
    [("OK", "PARSE", 0), ("Warning", "PARSE", 0), ("Critical", "BASELINE_INVALID", 10)],
)
def test_devices_that_are_unwell(health, wanted, exit_code, tmp_path):
    text = A2.replace("| OK            | 95.6", f"| {health:13} | 95.6")
    report = triaged(tmp_path, {"npu.txt": text})
    assert verdict(report) == wanted
    assert report["exit_code"] == exit_code
    assert ("device_unwell" in codes(report)) is (health != "OK")
    names = {entry["finding"] for entry in report["findings"]}
    assert ("HARDWARE" in names) is (health == "Critical")


def test_processes_are_foreign_only_where_the_servers_own_are_known(tmp_path):
    text = case_text("npu_smi", "a2-910b1-busy", "npu-smi.txt")
    own = [24000, 24017, 24034, 24051]
    for number, (pids, wanted) in enumerate(
        (([], "PARSE"), (own, "PARSE"), (own[1:], "BASELINE_INVALID"))
    ):
        config = {"server_pids": pids}
        report = triaged(tmp_path / str(number), {"npu.txt": text}, config=config)
        assert verdict(report) == wanted
