"""What can run on a site, and where its checkpoints are."""

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.catalog.onsite import on_site, split_cells
from specfloor.cells import Cell
from specfloor.errors import UsageError
from specfloor.i18n import speaking
from specfloor.plan import Selection, select_cells

GLM = Cell("0.23.0", "glm-4.7", "mtp", 3, "code", "on", 1)


def site(**options):
    return on_site(load_catalog(), **options)


def test_a_family_is_served_as_documented_on_the_hardware_at_hand():
    small, large = (
        site(soc=soc, cards=cards).catalog.family("glm-4.7")
        for soc, cards in (("a2", 8), ("a3", 16))
    )
    assert (small.cards, large.cards) == (8, 16)
    assert "--data-parallel-size" not in small.serve
    assert large.serve["--data-parallel-size"] == "2"
    assert large.env["HCCL_OP_EXPANSION_MODE"] == "AIV"


def test_without_hardware_nothing_is_refused_for_want_of_it():
    assert site().why_not(GLM) is None
    assert site().catalog.family("glm-4.7") == load_catalog().family("glm-4.7")


@pytest.mark.parametrize(
    ("asked", "hardware", "reason"),
    [
        (GLM, ("a2", 4), "not documented on one a2 host with 4 devices"),
        (
            GLM.on_release("0.13.0"),
            ("a2", 8),
            "0.13.0 does not have mtp for glm-4.7 (first",
        ),
        (GLM.on_release("0.8.4rc2"), ("a3", 16), "0.8.4rc2 is not built for a3 (only a2)"),
        (
            Cell("0.23.0", "qwen3-omni", "eagle3", 3, "code", "on", 1),
            (None, 0),
            "no draft is published; bring one with --draft qwen3-omni/eagle3=PATH",
        ),
        (
            Cell("0.13.0rc3", "deepseek-v4-flash", "mtp", 1, "code", "off", 1),
            (None, 0),
            "it does not take --reasoning-parser deepseek_v4, --tokenizer-mode deepseek_v4",
        ),
        (
            Cell("0.26.0rc1", "minimax-m3", "eagle3", 3, "code", "off", 1),
            ("a5", 8),
            "0.26.0rc1 is older than the guide for minimax-m3: it does not take "
            "--quantization mxfp8",
        ),
    ],
)
def test_why_a_cell_cannot_run(asked, hardware, reason):
    soc, cards = hardware
    assert reason in site(soc=soc, cards=cards).why_not(asked)


def test_other_hardware_of_the_same_release_is_not_refused_for_its_flags():
    asked = Cell("0.26.0rc1", "minimax-m3", "eagle3", 3, "code", "off", 1)
    assert site(soc="a3", cards=16).why_not(asked) is None


def test_pipeline_with_prefill_context_parallelism():
    catalog = load_catalog()
    family = msgspec.structs.replace(
        catalog.family("glm-4.7"),
        serve={"--pipeline-parallel-size": "2", "--prefill-context-parallel-size": "2"},
    )
    known = msgspec.structs.replace(catalog, families=catalog.families | {"glm-4.7": family})
    assert "is not supported" in on_site(known).why_not(GLM)


def test_a_draft_that_the_user_brings_makes_a_method_runnable():
    cell = Cell("0.23.0", "qwen3-omni", "eagle3", 3, "code", "on", 1)
    own = site(drafts={"qwen3-omni": "/models/draft"})
    assert own.why_not(cell) is None
    (method,) = own.catalog.family("qwen3-omni").methods
    assert method.draft == "/models/draft"


def test_a_draft_belongs_to_one_method():
    family = site(drafts={"qwen3_dense/dflash": "/d"}).catalog.family("qwen3-dense")
    drafts = {method.name: method.draft for method in family.methods}
    assert drafts["dflash"] == "/d"
    assert drafts["eagle3"] != "/d"
    for name in ("qwen3-dense", "qwen3-dense/mtp", "glm-4.7"):
        with pytest.raises(UsageError, match="does not say which method's draft"):
            site(drafts={name: "/d"})


def test_a_model_of_the_users_own_wins_over_the_placement():
    placed = site(soc="a2", cards=8, models={"glm_4_7": "/models/GLM-4.7-W8A8"})
    checkpoint = placed.catalog.family("glm-4.7").checkpoint
    assert (checkpoint.kind, checkpoint.source) == ("hub", "/models/GLM-4.7-W8A8")
    with pytest.raises(UsageError, match="unknown family"):
        site(models={"glm-99": "/m"})


def test_workloads_of_the_users_own_are_every_familys():
    families = site(workloads=("mine",)).catalog.families
    assert all(family.more_workloads[-1] == "mine" for family in families.values())
    with pytest.raises(UsageError, match=r"--workload-file Code=…: .* has a workload of that name"):
        site(workloads=("Code",))


def test_cells_are_split_and_none_left_is_an_error():
    here = site(soc="a2", cards=4)
    everything = Selection(platform="ascend", releases=("0.23.0",), families=("all",))
    cells, refused = split_cells(select_cells(here.catalog, everything), here)
    assert {"qwen3-dense", "qwen3-next"} <= {cell.family for cell in cells}
    assert {"glm-4.7", "kimi-k3"} <= {cell.family for cell in refused}
    with pytest.raises(UsageError, match=r"none of the 1 cells can run here; .*glm_4_7.*a2 host"):
        split_cells([GLM], here)
    # the reason of a cell is in the language that is spoken, so all of it is
    with speaking("zh"), pytest.raises(UsageError, match=r"都不能在此运行；.*列出全部原因$"):
        split_cells([GLM], here)
