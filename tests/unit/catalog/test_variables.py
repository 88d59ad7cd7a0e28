"""One start script on two releases."""

from specfloor.catalog import Catalog, load_catalog
from specfloor.catalog.model import Release, Variable
from specfloor.catalog.variables import differences, known_variables, unread

CATALOG = load_catalog()
FOUR = {
    "VLLM_ASCEND_ENABLE_MLAPO": "additional_config.enable_mlapo",
    "VLLM_ASCEND_ENABLE_NZ": "additional_config.weight_nz_mode",
    "VLLM_ASCEND_ENABLE_FUSED_MC2": "additional_config.enable_fused_mc2",
    "VLLM_ASCEND_BALANCE_SCHEDULING": (
        "additional_config.scheduler_config.enable_balance_scheduling"
    ),
}


def test_four_variables_stop_being_read_at_0_27_1rc1():
    script = dict.fromkeys(FOUR, "1") | {"HCCL_BUFFSIZE": "512"}
    assert unread(CATALOG, CATALOG.release("0.26.0rc1"), script) == ()
    found = unread(CATALOG, CATALOG.release("0.27.1rc1"), script)
    assert {one.name: one.replaced_by for one in found} == FOUR
    assert {one.last_read for one in found} == {"0.26.0rc1"}


def test_flashcomm_1_is_read_to_the_end():
    script = {"VLLM_ASCEND_ENABLE_FLASHCOMM1": "1"}
    for name in ("0.11.0rc1", "0.23.0", "0.30.0rc2"):
        assert unread(CATALOG, CATALOG.release(name), script) == ()


def test_flashcomm_had_another_name_before():
    old, new = CATALOG.release("0.10.2rc1"), CATALOG.release("0.11.0rc1")
    (found,) = differences(CATALOG, old, new, {"VLLM_ASCEND_ENABLE_FLASHCOMM": "1"})
    assert (found.old, found.new) == ("1", None)
    assert found.replaced_by == "VLLM_ASCEND_ENABLE_FLASHCOMM1"


def test_a_default_that_moved_is_a_difference_though_nothing_is_set():
    old, new = CATALOG.release("0.13.0"), CATALOG.release("0.14.0rc1")
    moved = {one.name: (one.old, one.new) for one in differences(CATALOG, old, new, {})}
    assert moved["VLLM_ASCEND_ENABLE_MLAPO"] == ("0", "1")
    assert not differences(CATALOG, old, new, {"VLLM_ASCEND_ENABLE_MLAPO": "1"})


def test_the_same_release_differs_in_nothing():
    one = CATALOG.release("0.23.0")
    assert differences(CATALOG, one, one, dict.fromkeys(FOUR, "1")) == ()


def test_nothing_is_said_of_variables_no_release_reads():
    assert "HCCL_BUFFSIZE" not in known_variables(CATALOG)
    assert unread(CATALOG, CATALOG.release("0.30.0rc2"), {"HCCL_BUFFSIZE": "512"}) == ()


def test_nothing_is_said_of_a_release_whose_variables_are_unknown():
    cpu = CATALOG.release("cpu-0.32.0")
    assert unread(CATALOG, cpu, dict.fromkeys(FOUR, "1")) == ()
    assert differences(CATALOG, cpu, CATALOG.release("0.23.0"), dict.fromkeys(FOUR, "1")) == ()


def test_every_variable_with_a_story_is_read_by_some_release():
    assert set(CATALOG.variables) <= known_variables(CATALOG)


def test_a_variable_only_the_new_release_reads_shows_when_it_is_set():
    def release(name: str, variables: dict[str, str | None]) -> Release:
        return Release(name, "ascend", "host", "0.1.0", variables=variables)

    old, new = release("0.1.0", {}), release("0.2.0", {"X": "0"})
    catalog = Catalog({r.name: r for r in (old, new)}, {}, {"X": Variable("X", "came", "key")})
    (found,) = differences(catalog, old, new, {"X": "1"})
    assert (found.old, found.new, found.replaced_by) == (None, "1", "key")
    assert differences(catalog, old, new, {}) == ()
    assert [one.name for one in unread(catalog, old, {"X": "1"})] == ["X"]
