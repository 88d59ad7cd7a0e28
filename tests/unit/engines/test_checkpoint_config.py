"""Configuration files where models lie: folders, and the caches of two hubs."""

import json

import pytest

from specfloor.engines.checkpoint_config import find_config

MODEL = {"model_type": "glm4_moe", "vocab_size": 151552}


@pytest.fixture
def put(tmp_path):
    def put(folder, config=MODEL, **files):
        place = tmp_path / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / "config.json").write_text(json.dumps(config))
        for name, content in files.items():
            (place / f"{name}.json").write_text(json.dumps(content))
        return str(place)

    return put


def test_a_folder(put):
    found = find_config(put("models/a"), {})
    assert found.model == MODEL
    assert (found.quantised, found.rotated) == ("", None)


@pytest.mark.parametrize(
    ("folder", "environment"),
    [
        (".cache/huggingface/hub/models--org--GLM-4.7/snapshots/abc", {}),
        ("face/hub/models--org--GLM-4.7/snapshots/abc", {"HF_HOME": "face"}),
        ("hub/models--org--GLM-4.7/snapshots/abc", {"HF_HUB_CACHE": "hub"}),
        (".cache/modelscope/hub/models/org/GLM-4.7", {}),
        (".cache/modelscope/hub/org/GLM-4___7", {}),
        ("scope/models/org/GLM-4___7", {"MODELSCOPE_CACHE": "scope"}),
    ],
)
def test_a_name_in_a_cache(put, tmp_path, folder, environment):
    put(folder)
    places = {"HOME": str(tmp_path)} | {n: str(tmp_path / p) for n, p in environment.items()}
    assert find_config("org/GLM-4.7", places).model == MODEL
    assert find_config("org/GLM-4.6", places) is None


def test_the_text_part_of_a_multimodal_model(put):
    text = {"vocab_size": 7}
    assert find_config(put("a", {"vision_config": {}, "text_config": text}), {}).model == text


def test_what_the_quantiser_wrote(put):
    described = {"model_quant_type": "W8A8_DYNAMIC", "a.weight": "W8A8"}
    found = find_config(put("a", quant_model_description=described), {})
    assert (found.quantised, found.rotated) == ("W8A8_DYNAMIC", False)
    turned = {"optional": {"quarot": {"rotation_map": {"global_rotation": "q.safetensors"}}}}
    found = find_config(put("b", quant_model_description=turned), {})
    assert (found.quantised, found.rotated) == ("ascend", True)


def test_quantisation_of_the_model_itself(put):
    config = MODEL | {"quantization_config": {"quant_method": "compressed-tensors"}}
    assert find_config(put("a", config), {}).quantised == "compressed-tensors"


@pytest.mark.parametrize("text", ["no json", "[]", ""])
def test_a_damaged_file_is_none(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    assert find_config(str(tmp_path), {}) is None
    assert find_config("", {}) is None
