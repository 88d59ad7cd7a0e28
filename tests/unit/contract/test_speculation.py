"""What speaks against a way of speculating, by what a vLLM made of it."""

import json

import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import OFF, Arm
from tests.contract.additional_config import KnownKeys
from tests.contract.ascend_source import AscendSource
from tests.contract.configurations import load_configurations
from tests.contract.engine_free import Resolution
from tests.contract.launches import BROUGHT_DRAFT, Launch
from tests.contract.speculation import Case, case_of, misfits, needs_the_release

MTP = Case("Glm4MoeForCausalLM", '{"method": "mtp", "num_speculative_tokens": 3}')
DRAFT = "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"
EAGLE = Case("LlamaForCausalLM", '{"method": "eagle3", "num_speculative_tokens": 3}', DRAFT)


def resolution(method="mtp", drafts=("Glm4MoeMTPModel",), unknown=None, error=None):
    return Resolution(unknown, error, method, drafts)


def source(*architectures):
    nothing = frozenset()
    known = KnownKeys(nothing)
    return AscendSource(known, nothing, nothing, frozenset(architectures), nothing, ())


def launch(family, *argv, arm=None, not_taken=()):
    return Launch("0.30.0rc2", "0.30.0", family, "", arm or Arm("mtp", 3), argv, not_taken)


def speculating(family, **fields):
    return launch(family, "--speculative-config", json.dumps(fields))


@pytest.mark.parametrize(
    ("case", "resolved"),
    [
        (MTP, resolution()),
        (EAGLE, resolution("eagle3", ("Eagle3LlamaForCausalLM",))),
        (Case("Qwen3ForCausalLM", '{"method": "ngram"}'), resolution("ngram", ("Qwen3",))),
    ],
)
def test_nothing_speaks_against_what_is_meant(case, resolved):
    assert list(misfits(case, resolved)) == []


@pytest.mark.parametrize(
    ("case", "resolved", "what"),
    [
        (MTP, resolution(error="ValueError: no"), "no"),
        (MTP, resolution(unknown="Glm4MoeForCausalLM"), "nothing adds it"),
        (MTP, resolution(method="draft_model"), "comes to draft_model"),
        (MTP, resolution(drafts=("Glm4MoeForCausalLM",)), "Glm4MoeForCausalLM"),
        (MTP, resolution(drafts=()), "comes to"),
        (EAGLE, resolution("eagle3", ("LlamaForCausalLM",)), "LlamaForCausalLM"),
        (
            Case("Qwen3ForCausalLM", MTP.speculative),
            resolution(drafts=("Qwen3MTP",)),
            "Qwen3MTP",
        ),
    ],
)
def test_what_is_not_meant_is_said(case, resolved, what):
    (misfit,) = misfits(case, resolved)
    assert what in misfit


def test_a_case_is_of_the_target_and_the_draft_in_place_of_names():
    case = case_of(
        launch(
            "kimi-k2.6",
            *("--tensor-parallel-size", "8", "--speculative-config"),
            '{"method": "dflash", "model": "z-lab/Kimi-K2.5-DFlash", "num_speculative_tokens": 7}',
        )
    )
    assert case.tensor_parallel == 8
    question = case.question()
    assert question["target"]["architectures"] == ["KimiK25ForConditionalGeneration"]
    assert question["draft"]["architectures"] == ["DFlashDraftModel"]
    assert question["speculative"] == {"method": "dflash", "num_speculative_tokens": 7}


@pytest.mark.parametrize(
    "without",
    [
        launch("glm-4.7", arm=OFF),
        launch("glm-4.7", "--speculative-config", MTP.speculative, not_taken=("--flag",)),
        speculating("glm_moe_tiny", method="mtp"),
        speculating("qwen3.8-flash-next", method="mtp"),
    ],
)
def test_what_is_not_asked_of_vllm(without):
    assert case_of(without) is None


def test_what_the_release_adds_is_not_held_against_vllm():
    glm = launch("glm-4.7", "--trust-remote-code")
    known, unknown = resolution(), resolution(unknown="Glm4MoeForCausalLM")
    assert needs_the_release(glm, known, source()) is None
    assert needs_the_release(glm, unknown, source("Other")) is None
    assert "Glm4MoeForCausalLM" in needs_the_release(glm, unknown, source("Glm4MoeForCausalLM"))


def test_a_configuration_class_can_come_with_a_checkpoint_only_when_its_code_is_run():
    unknown = resolution(unknown="glm4_moe")
    trusting, other = launch("glm-4.7", "--trust-remote-code"), launch("glm-4.7")
    assert "checkpoints" in needs_the_release(trusting, unknown, source())
    assert needs_the_release(other, unknown, source()) is None


def test_every_family_and_every_draft_of_the_catalogue_has_a_configuration():
    known = load_configurations()
    used = set()
    for family in load_catalog().families.values():
        if family.platform != "ascend" or known.architecture(family) is None:
            continue
        assert known.target_config(known.architecture(family))["model_type"]
        for method in family.methods:
            own = method.name in ("mtp", "dspark", "ngram", "suffix")
            checkpoint = method.draft or (None if own else BROUGHT_DRAFT)
            if checkpoint:
                used.add((method.name, checkpoint))
                assert known.draft_of(method.name, checkpoint).config["architectures"]
    written = {(draft.method, name) for draft in known.draft for name in draft.checkpoints}
    assert written == used, "the file has drafts that no family has"


def test_what_is_no_default_has_a_source():
    known = load_configurations()
    assert all(target.source for target in known.target.values() if target.config)
    assert all(draft.source for draft in known.draft)
