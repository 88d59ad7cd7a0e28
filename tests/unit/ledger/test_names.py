"""From the names people use to those of the ledger."""

import pytest

from specfloor.catalog import load_catalog
from specfloor.errors import UsageError
from specfloor.ledger.names import find_family, ledger_family, ledger_method


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("glm-4.5", "glm-4.5-moe"),
        ("glm_4_7", "glm-4.7"),
        ("glm-4.5-4.6-4.7", "glm-4.7"),
        ("qwen3.6-27b", "qwen3.5"),
        ("qwen3.5", "qwen3.5"),
        ("kimi-k2.7", "kimi-k2"),
        ("deepseek-v4", "deepseek-v4"),
        ("pangu_ultra_moe", "pangu-ultra-moe"),
        ("qwen3-moe", "qwen3-moe"),
        ("qwen3", "qwen3"),
        ("llama3", "llama3"),
        ("gpt-oss", "gpt-oss"),
    ],
)
def test_a_family_is_found_by_any_of_its_names(asked, name):
    assert find_family(asked, load_catalog()) == name


@pytest.mark.parametrize("asked", ["glm_moe_tiny", "smollm2_135m"])
def test_families_of_the_cpu_are_not_in_the_ledger(asked):
    with pytest.raises(UsageError, match="vLLM-Ascend"):
        find_family(asked, load_catalog())
    with pytest.raises(UsageError, match=asked):
        ledger_family(asked)


def test_a_family_nobody_knows_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match=r"unknown family 'glm-9'.*glm-4\.7"):
        find_family("glm-9", load_catalog())


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("mtp", "mtp"),
        ("deepseek_mtp", "mtp"),
        ("qwen3-next-mtp", "mtp"),
        ("EAGLE3", "eagle3"),
        ("dflash2", "dflash"),
        ("ngram_gpu", "ngram"),
        ("draft-model", "draft_model"),
    ],
)
def test_a_method_is_found_by_the_spellings_of_the_field(asked, name):
    assert ledger_method(asked) == name
