"""Published figures: the data, the query, the lines beside a cell, the command."""

import json
import re

import msgspec
import pytest
from click.testing import CliRunner

from specfloor.catalog import load_catalog
from specfloor.catalog.references import (
    FEW_PROMPTS,
    OWNERS,
    Lowering,
    Reference,
    beside,
    describe,
    load_references,
    references_for,
)
from specfloor.cells import Cell
from specfloor.commands.references import references
from specfloor.errors import UsageError


def cell(family="glm-5.2", method="mtp", k=3, tier="max", concurrency=1):
    return Cell("0.30.0rc2", family, method, k, "general", tier, concurrency)


def only(**fields):
    """Return the one reference with these fields."""
    (found,) = [r for r in load_references() if all(getattr(r, n) == v for n, v in fields.items())]
    return found


# the data as a whole


def test_every_reference_is_of_a_method_the_catalogue_has_for_the_family():
    catalog = load_catalog()
    for r in load_references():
        assert r.method in [m.name for m in catalog.families[r.family].methods], r


def test_figures_can_be_what_they_say_they_are():
    for r in load_references():
        positions = r.quantity == "per_position"
        assert 1 <= len(r.value) <= ((r.k or len(r.value)) if positions else 2), r
        assert list(r.value) == sorted(r.value, reverse=positions), r
        if r.quantity == "acceptance_length":
            assert min(r.value) > 1, r
            assert max(r.value) <= (r.k or 99) + 1, r
        elif r.quantity != "speedup":
            assert min(r.value) >= 0, r
            assert max(r.value) <= 1, r
        assert r.minimum is None or r.minimum < r.value[0], r
        assert r.prompts is None or r.prompts > 0, r


def test_vllms_goldens_by_position_add_up_to_the_length_of_the_same_test():
    def same_test(r):
        return (r.family, r.k, r.draft, r.source, r.setting, r.hardware)

    vllm = [r for r in load_references() if r.owner == "vLLM" and r.k]
    lengths = {same_test(r): r for r in vllm if r.quantity == "acceptance_length"}
    pairs = [
        (r, lengths[same_test(r)])
        for r in vllm
        if r.quantity == "per_position" and same_test(r) in lengths
    ]
    assert len(pairs) == 6
    for positions, length in pairs:
        assert 1 + sum(positions.value) == pytest.approx(length.value[0], abs=0.01), length


def test_what_was_lowered_is_lower_and_ends_at_the_figure():
    lowered = [(r, low) for r in load_references() for low in r.lowered]
    assert len(lowered) == 8
    for r, low in lowered:
        assert sum(low.after) < sum(low.before), r
        assert low.after == r.value, r


def test_owners_are_those_whose_figures_come_with_specfloor():
    assert {r.owner for r in load_references()} == set(OWNERS)


def test_no_reference_is_there_twice():
    assert len(set(load_references())) == len(load_references())


def test_releases_of_vllm_ascend_are_those_of_the_catalogue():
    catalog = load_catalog()
    for r in load_references():
        if r.owner == "vllm-ascend":
            assert {r.since, r.until} <= catalog.releases.keys(), r
        elif r.owner == "vLLM":
            assert re.fullmatch(r"0\.\d+\.\d+", r.since), r
        assert r.date is None or re.fullmatch(r"20\d\d-\d\d-\d\d", r.date), r


def test_the_file_is_read_once_and_a_field_it_should_not_have_is_refused():
    assert load_references() is load_references()
    row = msgspec.to_builtins(load_references()[0])
    assert msgspec.convert(row, Reference) == load_references()[0]
    for wrong in ({"K": 3}, {"quantity": "tps"}, {"kind": "rumour"}, {"value": 2.99}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(row | wrong, Reference)


# rows checked by hand against their sources


def test_golden_lengths_of_inferencex():
    found = [r for r in load_references() if r.owner == "InferenceX"]
    assert {r.k: r.value for r in found} == {
        1: (1.84,),
        2: (2.50,),
        3: (2.99,),
        4: (3.33,),
        5: (3.61,),
        6: (3.78,),
        7: (3.91,),
        8: (4.06,),
    }
    kinds = {(r.family, r.method, r.quantity, r.kind, r.thinking) for r in found}
    assert kinds == {("glm-5.2", "mtp", "acceptance_length", "golden", True)}


def test_lengths_of_tensorrt_llm():
    found = only(owner="TensorRT-LLM", family="glm-5.2")
    assert (found.value, found.minimum, found.k) == ((3.356,), 3.188, 3)
    unnamed = [r for r in load_references() if r.owner == "TensorRT-LLM" and r != found]
    assert [r.family for r in unnamed] == ["glm-4.5", "glm-4.6", "glm-4.7"]
    assert {(r.value, r.k, r.checkpoint) for r in unnamed} == {((1.969,), None, None)}
    assert all("neither checkpoint nor k" in r.note for r in unnamed)


def test_goldens_of_vllm_ascend():
    nightly = only(family="glm-5.2", method="mtp", hardware="A3-560T, 16 devices", setting=None)
    assert (nightly.value, nightly.k) == ((0.9, 0.77, 0.63), 3)
    assert (nightly.since, nightly.until) == ("0.28.0rc1", "0.30.0rc2")
    first = only(family="deepseek-v4-flash", value=(0.925,))
    assert (first.quantity, first.k, first.prompts, first.concurrency) == (
        "per_position",
        3,
        128,
        32,
    )
    forty = only(family="glm-5.2", method="mtp", k=3, value=(3.06,))
    assert (forty.prompts, forty.since, forty.until) == (40, "0.27.1rc1", "0.27.1rc1")
    assert only(family="glm-5.2", method="dspark", value=(3.5,)).setting == "model runner V2"
    assert only(family="glm-5.2", method="dspark", value=(3.83,)).setting is None
    assert "copied" in only(family="step3.5").note


def test_a_golden_that_was_lowered_says_from_what():
    dspark = only(family="qwen3-dense", method="dspark", drafts=5)
    assert dspark.value == (1, 0.8, 0.6, 0.6, 0.6, 0.6, 0.6)
    assert dspark.since == "0.25.1rc1"
    assert dspark.lowered == (
        Lowering(
            before=(1, 1, 1, 1, 1, 1, 0.75),
            after=dspark.value,
            when="2026-07-21",
            subject="[Feature][Refactor] DSv4 DSpark (#11431)",
        ),
    )
    suffix = only(method="suffix", owner="vLLM")
    assert (suffix.kind, suffix.value, suffix.lowered[0].before) == ("minimum", (0.8,), (0.825,))


def test_references_of_vllm():
    gemma = [r for r in load_references() if r.family == "gemma4-e4b"]
    assert {(r.workload, r.prompts, r.value) for r in gemma} == {
        ("MT-Bench", 80, (2.28,)),
        ("HumanEval", 164, (2.68,)),
        ("GSM8K", 200, (2.67,)),
    }
    eagle = only(family="qwen3-dense", value=(2.26,))
    assert (eagle.k, eagle.prompts, eagle.max_tokens, eagle.tolerance) == (3, 80, 256, "±5 %")
    assert only(family="deepseek-v4.1", kind="minimum").value == (2.5,)


def test_a_speedup_is_on_over_off_at_its_concurrency():
    found = references_for("qwen3.8-moe", "mtp", 1, quantity="speedup")
    assert {r.concurrency: r.value for r in found} == {1: (1.034,), 128: (0.91,), 256: (0.77,)}
    users = references_for("qwen3.8-moe", "mtp", 3, quantity="speedup")
    assert {r.value for r in users} == {(2.362,), (2.286,)}  # 130 to 307, 133 to 304 token/s


def test_a_recipe_tells_one_generation():
    recipes = [r for r in load_references() if r.source.startswith("recipes/models/zai-org/GLM-5")]
    glm = {(r.family, r.k, r.value) for r in recipes}
    assert ("glm-5.3", 5, (2.77,)) in glm
    assert ("glm-5.3", 5, (3.19,)) in glm
    assert len(glm) == 8
    assert {r.prompts for r in recipes} == {1}
    assert "sampling noise" in describe(only(family="glm-5.3", value=(2.77,)))
    assert "sampling noise" not in describe(only(family="glm-5.2", value=(2.99,)))


# the query


@pytest.mark.parametrize(
    ("family", "method", "same"),
    [
        ("glm_5_2", "MTP", ("glm-5.2", "mtp")),
        ("qwen3-8b", "dflash2", ("qwen3-dense", "dflash")),
        ("Qwen3.6-27B", "qwen3_5_mtp", ("qwen3.6-dense", "mtp")),
        ("deepseek-v4-flash-dspark", "dspark", ("deepseek-v4-flash-0731", "dspark")),
    ],
)
def test_names_are_taken_as_people_write_them(family, method, same):
    assert references_for(family, method) == references_for(*same) != ()


def test_a_name_of_the_ledger_covers_its_families():
    found = {r.family for r in references_for("deepseek-v4")}
    assert found == {"deepseek-v4-flash", "deepseek-v4-flash-0731", "deepseek-v4-pro"}
    assert {r.family for r in references_for("qwen3.5")} > {"qwen3.5-9b", "qwen3.8-moe"}


def test_names_nobody_knows_are_refused_and_known_ones_may_have_nothing():
    with pytest.raises(UsageError, match="glm-9"):
        references_for("glm-9")
    with pytest.raises(UsageError, match="telepathy"):
        references_for("glm-5.2", "telepathy")
    assert references_for("glm_moe_tiny", "mtp", 3) == ()
    assert references_for("kimi-k2.6") == ()


def test_without_names_everything_is_returned_once_in_catalogue_order():
    found = references_for()
    assert sorted(map(describe, found)) == sorted(map(describe, load_references()))
    place = list(load_catalog().families)
    assert [place.index(r.family) for r in found] == sorted(place.index(r.family) for r in found)


def test_another_k_is_not_asked_for_and_an_unknown_one_comes_last():
    found = references_for("qwen3-dense", "dflash", 7)
    assert {r.k for r in found} == {7, None}
    assert [r.k is None for r in found] == sorted(r.k is None for r in found)
    assert references_for("glm-5.2", "mtp", 99) == ()


def test_a_quantity_may_be_asked_for():
    found = references_for("glm-5.2", "mtp", 3, quantity="per_position")
    assert [r.value for r in found] == [(0.9, 0.77, 0.63)] * 2
    assert [r.setting for r in found] == [None, "model runner V2"]


DRAFT = "RedHatAI/Qwen3-8B-speculator.eagle3"


def nearest(family, method, k, tier=None):
    return references_for(family, method, k, tier)[0]


def test_thinking_as_the_tier_has_it_is_nearer():
    assert nearest("glm-5.2", "mtp", 3, "max").owner == "InferenceX"
    off = references_for("glm-5.2", "mtp", 3, "off")
    assert (off[0].owner, off[-1].owner) == ("vllm-ascend", "InferenceX")
    # without a tier nothing is known to fit, and the NPU is nearer
    assert nearest("glm-5.2", "mtp", 3).owner == "vllm-ascend"


def test_more_than_a_few_prompts_are_nearer_than_an_npu():
    found = references_for("qwen3-dense", "eagle3", 3, "on", "acceptance_length")
    assert found[0].prompts == 80
    plain = [r for r in references_for("qwen3-dense", "eagle3", 3, "on") if not r.setting]
    few = [r.prompts is not None and r.prompts < FEW_PROMPTS for r in plain if r.draft == DRAFT]
    assert few == sorted(few)
    assert few.count(True) == 1


def test_a_draft_the_catalogue_does_not_know_is_further():
    found = references_for("qwen3-dense", "eagle3", 3)
    others = [r.draft != DRAFT for r in found if r.k]
    assert others == sorted(others)
    assert any(others)


# beside a cell


def test_the_lines_beside_a_cell_give_their_conditions():
    first, *rest = beside(cell())
    assert first == (
        "acceptance length 2.99 (InferenceX, golden; GLM-5.2 FP8; thinking on; SPEED-Bench, coding;"
        " 80 prompts; temperature 1; top_p 0.95; up to 4096 tokens; B300)"
    )
    assert len(rest) == 3
    assert any("3.356 (TensorRT-LLM" in line and "passes from 3.188" in line for line in rest)
    assert any(line.startswith("accepted by position 0.9 0.77 0.63 (") for line in rest)
    assert beside(cell(), limit=1) == (first,)


def test_a_reference_that_thinks_the_other_way_is_not_beside():
    assert not any("InferenceX" in line for line in beside(cell(tier="off"), limit=99))
    off = cell("qwen3-dense", "dflash", 8, "off")
    assert any("thinking off" in line for line in beside(off))
    on = msgspec.structs.replace(off, tier="on")
    assert beside(on) == ()


def test_another_draft_model_is_not_beside():
    assert references_for("llama3-eagle", "eagle3", 3)
    assert beside(cell("llama3-eagle", "eagle3", 3, "none")) == ()
    assert beside(cell("llama3-eagle", "eagle", 3, "none"))


@pytest.mark.parametrize(("concurrency", "speedup"), [(1, "1.034"), (256, "0.77"), (8, None)])
def test_a_speedup_is_beside_its_own_concurrency_only(concurrency, speedup):
    lines = beside(cell("qwen3.8-moe", "mtp", 1, "on", concurrency), limit=9)
    told = [line.split()[1] for line in lines if line.startswith("speedup")]
    assert told == ([speedup] if speedup else [])


def test_an_unknown_k_is_told():
    (advice, length) = sorted(beside(cell("glm-4.7", "mtp", 1, "on")), reverse=True)
    assert "k unknown" not in advice
    assert "advice" in advice
    assert "acceptance length 1.969 (TensorRT-LLM, golden; k unknown;" in length


def test_a_cell_nobody_publishes_about_has_nothing_beside():
    assert beside(cell("glm_moe_tiny", "mtp", 3, "off")) == ()
    assert beside(cell("glm-5.2", "custom_class", 3)) == ()
    assert beside(cell("of-tomorrow", "mtp", 3)) == ()


def test_every_reference_can_be_told_on_one_line():
    for r in load_references():
        line = describe(r)
        assert "None" not in line
        assert "\n" not in line
        assert r.owner in line


# the command


def run(*arguments):
    result = CliRunner().invoke(references, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_lists_them_with_their_conditions():
    text = run("--family", "glm_5_2", "--method", "mtp", "--spec-tokens", "3")
    for part in ("acceptance length 2.99", "thinking on", "InferenceX", "passes from 3.188"):
        assert part in text
    assert "3.61" not in text
    assert "glm-4.7" in run()


def test_the_command_says_when_there_is_none():
    text = run("--family", "kimi-k2.6", "--spec-tokens", "7")
    assert text == "No published figure is known for kimi-k2.6 · k = 7.\n"
    assert json.loads(run("--family", "kimi-k2.6", "--format", "json")) == []


def test_the_command_gives_the_records_as_json():
    (first, *rest) = json.loads(
        run("--family", "glm-5.2", "--method", "mtp", "--spec-tokens", "5", "--format", "json")
    )
    assert (first["owner"], first["value"], first["minimum"]) == ("InferenceX", [3.61], None)
    assert [r["value"] for r in rest] == [[4.0], [3.62]]


def test_the_command_refuses_names_nobody_knows():
    with pytest.raises(UsageError, match="telepathy"):
        run("--method", "telepathy")
