"""The families of the catalogue: names, methods, tiers, flags, floors."""

from pathlib import Path

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.catalog.placement import place
from specfloor.cells import Cell, slug
from specfloor.errors import UsageError
from specfloor.judge.floors import Quantity, check_floors, read_floors
from specfloor.plan import Selection, select_cells

CATALOG = load_catalog()
ASCEND = [f for f in CATALOG.families.values() if f.platform == "ascend"]
LINES = [
    "glm-4.5-4.6-4.7",
    "glm-4.7-flash",
    "glm-5",
    "glm-5.1",
    "glm-5.2",
    "glm-5.3",
    "glm-5.3-flash",
    "qwen3-dense",
    "qwen3-moe",
    "qwen3-next",
    "qwen3.5-dense",
    "qwen3.5-moe",
    "qwen3.6-dense",
    "qwen3.6-moe",
    "qwen3.8-dense",
    "qwen3.8-moe",
    "deepseek-v3-r1",
    "deepseek-v3.2",
    "deepseek-v4-flash",
    "deepseek-v4-pro",
    "deepseek-v4.1",
    "kimi-k2.5",
    "kimi-k2.6",
    "kimi-k2.7",
    "kimi-k3",
    "minimax-m2",
    "minimax-m3",
    "llama3-eagle",
    "step3.5",
    "gemma4",
    "hy3",
    "hy4",
    "dots3-note",
    "qwen3-vl-omni",
    "mimo",
    "gpt-oss",
]
"""Model lines, a name each, of which a finer family is the catalogue's."""


@pytest.mark.parametrize("line", LINES)
def test_every_line_has_a_family_of_its_name_or_alias(line):
    assert CATALOG.family(line).platform == "ascend"
    assert CATALOG.family(slug(line)) == CATALOG.family(line)


def test_names_and_aliases_are_each_of_one_family():
    names = [slug(n) for f in CATALOG.families.values() for n in (f.name, *f.aliases)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_a_checkpoint_belongs_to_one_family():
    names = [c for f in ASCEND for c in {f.checkpoint.source, *f.checkpoints}]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_glm_4_7_alone_is_run_unasked():
    assert [f.name for f in ASCEND if f.core] == ["glm-4.7"]
    assert [m.name for m in CATALOG.family("glm-4.7").methods if m.core] == ["mtp"]


@pytest.mark.parametrize("family", ASCEND, ids=lambda f: f.name)
def test_a_family_can_be_planned_and_launched(family):
    assert family.workload_set == "general"
    assert family.workloads == ("code", "math", "chat")
    assert family.tiers
    assert family.sources
    assert len({m.name for m in family.methods}) == len(family.methods)
    for method in family.methods:
        assert method.k
        assert len(set(method.k)) == len(method.k)
        # the attention operator takes at most 16 tokens a request
        assert all(1 <= k <= 15 for k in method.k)
        for name in (method.first_release, *(method.releases or ())):
            assert name is None or name in CATALOG.releases
    assert family.documented_in is None or family.documented_in in CATALOG.releases


def flag_sets(family):
    yield family.cards, family.serve
    for placement in family.placements:
        yield placement.cards, placement.serve


@pytest.mark.parametrize("family", ASCEND, ids=lambda f: f.name)
def test_flags_use_the_devices_they_say(family):
    for cards, serve in flag_sets(family):
        tensor = int(serve["--tensor-parallel-size"])
        assert tensor * int(serve.get("--data-parallel-size", "1")) == cards
        for flag, value in serve.items():
            assert flag.startswith("--")
            assert flag != "--speculative-config"
            if value.startswith("{"):
                msgspec.json.decode(value)


@pytest.mark.parametrize("family", ASCEND, ids=lambda f: f.name)
def test_the_flags_of_no_placement_are_those_of_the_first(family):
    if family.placements:
        first = family.placements[0]
        assert (first.serve, first.cards) == (family.serve, family.cards)
        assert first.checkpoint is None
    hosts = [(p.soc, p.cards, p.nodes) for p in family.placements]
    assert len(set(hosts)) == len(hosts)


def test_effort_tiers_checked_by_hand():
    assert list(CATALOG.family("glm-5.2").tiers) == ["max", "high", "off"]
    assert CATALOG.family("glm-4.7").tiers["off"] == {"enable_thinking": False}
    assert CATALOG.family("deepseek-v3.1").tiers["on"] == {"thinking": True}
    assert "off" not in CATALOG.family("glm-5.3").tiers
    assert CATALOG.family("minimax-m3").tiers["adaptive"] == {"thinking_mode": "adaptive"}
    assert CATALOG.family("llama3-eagle").tiers == {"none": {}}


def test_drafts_checked_by_hand():
    methods = {m.name: m for m in CATALOG.family("glm-5.2").methods}
    assert methods["mtp"].k == (3, 5, 1)
    assert methods["mtp"].draft is None
    assert methods["dspark"].draft == "RedHatAI/GLM-5.2-speculator.dspark"
    assert "0.23.0" not in methods["dspark"].releases
    assert methods["dspark"].first_release == "0.25.1rc1"
    (kimi,) = CATALOG.family("kimi-k3").methods
    # that of the target, which is not the same on all hardware
    assert "draft_tensor_parallel_size" not in kimi.config
    assert "Inferact/Kimi-K3-DSpark" in kimi.other_drafts


def test_a_family_is_placed_on_the_host_at_hand():
    glm = CATALOG.family("glm-4.7")
    a2 = place(glm, "a2", 8)
    assert (a2.cards, a2.serve, a2.name) == (8, glm.serve, "glm-4.7")
    a3 = place(glm, "a3", 16)
    assert (a3.cards, a3.serve["--data-parallel-size"]) == (16, "2")
    assert a3.env["HCCL_OP_EXPANSION_MODE"] == "AIV"
    v4 = CATALOG.family("deepseek-v4-flash")
    assert place(v4, "a3", 8).serve["--tensor-parallel-size"] == "8"
    assert place(v4, "a3", 16).serve["--data-parallel-size"] == "4"
    assert place(v4, "a5", 8).checkpoint.source == "deepseek-ai/DeepSeek-V4-Flash"


@pytest.mark.parametrize(
    ("name", "soc", "cards", "why"),
    [
        ("glm-4.7", "a3", 8, "16 devices on 1"),
        ("glm-5.3", "a3", 16, "32 devices on 2"),
        ("glm-4.7", "310p", 4, "nothing"),
    ],
)
def test_a_host_that_does_not_hold_it_is_refused_with_what_would(name, soc, cards, why):
    with pytest.raises(UsageError, match=why):
        place(CATALOG.family(name), soc, cards)


def test_every_method_of_every_family_has_a_word_on_its_floors():
    path = Path(__file__).parents[3] / "fixtures" / "floors" / "ascend.toml"
    floors = read_floors([path])
    check_floors(
        floors,
        CATALOG,
        [
            Cell("0.23.0", family.name, method.name, k, "chat", tier, 4)
            for family in ASCEND
            for method in family.methods
            for k in method.k
            for tier in family.tiers
        ],
    )
    named = {(entry.family, entry.method, entry.quantity) for entry in floors.entries}
    methods = [(family.name, method.name) for family in ASCEND for method in family.methods]
    # where the flip lies is asked by an experiment, which reports without a floor
    every = set(Quantity) - {Quantity.FLIP_CONCURRENCY}
    assert named == {(*method, quantity) for method in methods for quantity in every}


def test_the_whole_matrix_can_be_selected():
    cells = select_cells(
        CATALOG,
        Selection(
            platform="ascend",
            releases=tuple(r.name for r in CATALOG.releases.values() if r.platform == "ascend"),
            families=tuple(family.name for family in ASCEND),
            methods=tuple({method.name for family in ASCEND for method in family.methods}),
        ),
    )
    methods = sum(len(family.methods) for family in ASCEND)
    assert len(cells) == 49 * methods * 3
    assert len({cell.id for cell in cells}) == len(cells)
