"""Which variables are recorded, and which are flagged."""

import pytest

from specfloor.catalog import load_catalog
from specfloor.catalog.environment_names import load_names, not_read_by_vllm, unknown_names
from specfloor.host.variables import (
    relevant_variables,
    unknown_variable_flags,
    unread_variable_flags,
)

CATALOG = load_catalog()


def test_what_engines_read_is_recorded_and_nothing_else():
    found = relevant_variables(
        CATALOG,
        {
            "VLLM_USE_V1": "1",
            "HCCL_BUFFSIZE": "512",
            "ASCEND_RT_VISIBLE_DEVICES": "0,1",
            "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
            "HOME": "/home/me",
            "MY_VLLM_NOTES": "x",
        },
    )
    assert list(found) == [
        "ASCEND_RT_VISIBLE_DEVICES",
        "HCCL_BUFFSIZE",
        "PYTORCH_NPU_ALLOC_CONF",
        "VLLM_USE_V1",
    ]


def test_secrets_are_not():
    found = relevant_variables(
        CATALOG,
        {"VLLM_API_KEY": "abc", "VLLM_DP_MASTER_IP": "tcp://me:pass@127.0.0.1", "VLLM_PLUGINS": ""},
    )
    assert "abc" not in str(found)
    assert "pass" not in str(found)
    assert found["VLLM_PLUGINS"] == ""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("VLLM_ASCEND_ENABLE_FLASHCOM1", "VLLM_ASCEND_ENABLE_FLASHCOMM1"),
        ("VLLM_ASCEND_ENABLE_FLASH_COMM1", "VLLM_ASCEND_ENABLE_FLASHCOMM1"),
        ("HCCL_BUFSIZE", "HCCL_BUFFSIZE"),
        ("HCCL_OP_EXPANTION_MODE", "HCCL_OP_EXPANSION_MODE"),
        ("ASCEND_RT_VISIBLE_DEVICE", "ASCEND_RT_VISIBLE_DEVICES"),
        ("VLLM_USE_V2_MODELRUNNER", "VLLM_USE_V2_MODEL_RUNNER"),
    ],
)
def test_a_misspelled_switch_is_flagged_with_the_name_it_means(name, meant):
    (flag,) = unknown_variable_flags(CATALOG, {name: "1"})
    assert flag.kind == "variable_unknown"
    assert (
        flag.message == f"{name} is set and is no variable that is known to be read; {meant} is one"
    )


def test_a_name_like_no_other_is_flagged_only_where_the_list_is_whole():
    found = unknown_names(CATALOG, ["VLLM_QZX", "HCCL_QZX", "ASCEND_QZX", "ATB_QZX", "QZX"])
    assert [(one.name, one.nearest) for one in found] == [("HCCL_QZX", None), ("VLLM_QZX", None)]


def test_no_name_of_the_lists_is_flagged():
    names = load_names()
    read = {name for release in CATALOG.releases.values() for name in release.variables or ()}
    assert unknown_names(CATALOG, {*names.vllm.read, *names.ascend.names, *read}) == ()


def test_no_variable_a_family_or_release_sets_is_flagged():
    ours = [family.env for family in CATALOG.families.values()]
    ours += [place.env for family in CATALOG.families.values() for place in family.placements]
    ours += [release.env for release in CATALOG.releases.values()]
    assert [unknown_names(CATALOG, env) for env in ours if unknown_names(CATALOG, env)] == []


def test_a_variable_the_release_no_longer_reads_is_flagged_with_what_replaces_it():
    script = {"VLLM_ASCEND_ENABLE_NZ": "1", "HCCL_BUFFSIZE": "512"}
    (flag,) = unread_variable_flags(CATALOG, CATALOG.release("0.27.1rc1"), script)
    assert flag.kind == "variable_not_read"
    assert flag.message == (
        "0.27.1rc1 does not read VLLM_ASCEND_ENABLE_NZ, which is set (last read by 0.26.0rc1); "
        "additional_config.weight_nz_mode stands for it"
    )
    assert unread_variable_flags(CATALOG, CATALOG.release("0.26.0rc1"), script) == []


def test_so_is_a_variable_of_vllm_itself():
    (flag,) = unread_variable_flags(CATALOG, CATALOG.release("0.30.0rc2"), {"VLLM_USE_V1": "1"})
    assert flag.message == (
        "vLLM 0.30.0 does not read VLLM_USE_V1, which is set (last seen to be read by 0.11.0)"
    )


@pytest.mark.parametrize(
    ("version", "said"),
    [("0.9.2", False), ("0.11.0", False), ("0.12.0", False), ("0.13.0", True), ("0.32.0", True)],
)
def test_between_two_versions_that_were_looked_at_nothing_is_said(version, said):
    assert bool(not_read_by_vllm(version, {"VLLM_USE_V1": "1"})) is said


def test_of_a_version_that_is_none_nothing_is_said():
    assert not_read_by_vllm("main", {"VLLM_USE_V1": "1"}) == {}
