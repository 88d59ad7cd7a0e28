"""Names in both spellings, arms, and the ids that cells go by."""

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import OFF, Arm, Cell, pick, slug
from specfloor.errors import UsageError
from tests.unit.builders import CELL


@pytest.mark.parametrize("spelled", ["glm-4.7", "glm_4_7", "GLM-4.7", " glm_4.7 "])
def test_every_spelling_is_one_slug(spelled):
    assert slug(spelled) == "glm_4_7"


def test_the_id_has_the_parts_in_the_order_of_the_matrix():
    assert CELL.id == "cpu-2.0-glm_9_1_tiny-mtp3-code-off-c1"
    assert CELL.pair_id == "glm_9_1_tiny-mtp3-code-off-c1"


def test_two_releases_of_a_cell_pair_up():
    other = CELL.on_release("cpu-1.0")
    assert other != CELL
    assert other.pair_id == CELL.pair_id
    assert other.on_release(CELL.release) == CELL


def test_ids_tell_all_cells_of_the_catalogue_apart():
    cells = [
        Cell(release, family.name, method.name, k, workload, tier, concurrency)
        for release in load_catalog().releases
        for family in load_catalog().families.values()
        for method in family.methods
        for k in method.k
        for workload in family.workloads
        for tier in family.tiers
        for concurrency in (1, 16)
    ]
    assert len({cell.id for cell in cells}) == len(set(cells)) == len(cells)
    assert not any(set(cell.pair_id) & {" ", "[", "]", "/", ":"} for cell in cells)


def test_a_cell_survives_json():
    assert msgspec.json.decode(msgspec.json.encode(CELL), type=Cell) == CELL


def test_arms():
    assert not OFF.speculates
    assert OFF.label == "off"
    assert CELL.arm == Arm("mtp", 3)
    assert Arm("draft-model", 2).label == "draft_model2"


@pytest.mark.parametrize(("method", "k"), [("mtp", 0), ("", 3), ("mtp", -1)])
def test_an_arm_with_half_a_configuration_is_none(method, k):
    with pytest.raises(ValueError, match="both a method and k > 0, or neither"):
        Arm(method, k)


@pytest.mark.parametrize("asked", ["glm-4.7", "glm_4_7", "GLM_4.7"])
def test_pick_takes_both_spellings(asked):
    assert pick(asked, ["qwen3-moe", "glm-4.7"], "family") == "glm-4.7"


def test_pick_takes_aliases_and_prefers_names():
    known = {"glm": "glm-4.7", "glm-4.7": "glm-4.7", "glm-air": "glm-4.5-air", "old": "old-name"}
    assert pick("GLM_AIR", known, "family") == "glm-4.5-air"
    assert pick("glm-4.5-air", known, "family") == "glm-4.5-air"
    # a name is never taken away by an alias of another
    assert pick("b", {"b": "a", "x": "b"}, "family") == "b"


def test_pick_names_what_is_known():
    with pytest.raises(UsageError, match=r"unknown family 'glm5'; known here: glm-4\.7, qwen3"):
        pick("glm5", ["qwen3", "glm-4.7"], "family")
    with pytest.raises(UsageError, match="known here: none"):
        pick("x", [], "release")
