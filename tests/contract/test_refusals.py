"""The contract refuses a mistake, wherever it is made: a contract that takes all shows nothing."""

import pytest

from specfloor.catalog import load_catalog
from tests.contract.launches import releases_under_contract
from tests.contract.misspelled import ADDITIONAL, NAMES, REFUSED, TAKEN

RELEASES = releases_under_contract(load_catalog())
every_vllm = pytest.mark.parametrize(
    "vllm", list(dict.fromkeys(release.vllm for release in RELEASES))
)
every_release = pytest.mark.parametrize(
    "vllm_ascend", [release.vllm_ascend for release in RELEASES if release.vllm_ascend]
)


@every_vllm
@pytest.mark.parametrize("what", REFUSED)
def test_vllm_refuses(vllm, what, answers):
    assert answers[vllm].commands[REFUSED[what]].error


@every_vllm
@pytest.mark.parametrize("name", NAMES)
def test_vllm_does_not_know_the_name(vllm, name, answers):
    assert answers[vllm].commands[NAMES[name]].unknown == (name,)


@every_vllm
@pytest.mark.parametrize("what", TAKEN)
def test_vllm_takes(vllm, what, answers):
    """Two mistakes among these pass its parser: the source of vllm-ascend has to refuse them."""
    assert answers[vllm].commands[TAKEN[what]].error is None


@every_release
@pytest.mark.parametrize("key", ADDITIONAL)
def test_no_release_knows_the_misspelled_key(vllm_ascend, key, sources):
    # a release without the whole setting does not know what it is in either
    (unknown,) = sources[vllm_ascend].keys.unknown(ADDITIONAL[key])
    assert unknown in (key, key.partition(".")[0])


@every_release
def test_every_release_knows_the_right_key(vllm_ascend, sources):
    right = {
        "enable_cpu_binding": True,
        "ascend_compilation_config": {"fuse_norm_quant": False},
        "finegrained_tp_config": {"oproj_tensor_parallel_size": 2},
        "xlite_graph_config": {"enabled": True},
    }
    assert sources[vllm_ascend].keys.unknown(right) == []


@every_release
def test_no_release_takes_the_misspelled_quantization(vllm_ascend, sources):
    known = sources[vllm_ascend].quantizations
    assert "ascend" in known
    assert "ascent" not in known


@every_release
def test_no_release_has_a_proposer_for_the_misspelled_method(vllm_ascend, sources):
    known = sources[vllm_ascend].methods
    assert "mtp" in known
    assert "mpt" not in known
