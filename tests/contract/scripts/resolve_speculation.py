"""Imported by parse_commands.py: what vLLM's SpeculativeConfig makes of configurations.

A case is ``{"target", "draft", "speculative", "tensor_parallel"}``: what two files config.json hold
(``draft`` null where the method has none), the fields of the speculative configuration, and the
size of the target's tensor parallelism. No weights and no tokenizer are there, and none are wanted.
"""

import json
import tempfile
from pathlib import Path

import huggingface_hub.constants
import vllm.config.speculative
from torch import nn
from transformers import CONFIG_MAPPING
from vllm.config import ModelConfig, ParallelConfig, SpeculativeConfig
from vllm.model_executor.models import ModelRegistry, registry
from vllm.transformers_utils.config import _CONFIG_REGISTRY


class TextModel(nn.Module):
    """Stands for the class of every architecture, whose import can want kernels."""

    def __init__(self, vllm_config, prefix=""):
        super().__init__()

    def embed_input_ids(self, input_ids):
        raise NotImplementedError

    get_input_embeddings = embed_input_ids

    def forward(self, input_ids, positions):
        raise NotImplementedError

    def compute_logits(self, hidden_states):
        raise NotImplementedError


def stand_in():
    """Replace what a configuration asks of its surroundings, and leave what it decides itself."""
    huggingface_hub.constants.HF_HUB_OFFLINE = True
    # whether an architecture is known is still asked of the registry, before this
    registry._LazyRegisteredModel.inspect_model_cls = lambda _: registry._ModelInfo.from_model_cls(
        TextModel
    )
    # a library of the host
    vllm.config.speculative.has_arctic_inference = lambda: True


def unknown_name(config):
    """Return which name of a target this vLLM does not know, None when it knows them.

    An architecture, or a model type whose configuration class neither it nor transformers has.
    """
    (architecture,) = config["architectures"]
    if architecture not in ModelRegistry.get_supported_archs():
        return architecture
    known = {*CONFIG_MAPPING, *_CONFIG_REGISTRY}
    return None if config["model_type"] in known else config["model_type"]


def written(folder, config):
    folder.mkdir()
    # checkpoints say it; where none does vLLM looks for it in the weights, and waits for them
    config = {"dtype": "bfloat16"} | config
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return str(folder)


def speculative_config(case, folder):
    model = written(folder / "target", case["target"])
    target = ModelConfig(model=model, tokenizer=model, skip_tokenizer_init=True)
    parallel = ParallelConfig(
        tensor_parallel_size=case["tensor_parallel"], distributed_executor_backend="mp"
    )
    draft = {"model": written(folder / "draft", case["draft"])} if case["draft"] else {}
    return SpeculativeConfig(
        target_model_config=target,
        target_parallel_config=parallel,
        **case["speculative"],
        **draft,
    )


def resolve(case):
    """Return what refuses a case, or the method and the architectures of the draft it comes to."""
    answer = {"unknown": unknown_name(case["target"]), "error": None, "method": None, "drafts": []}
    if answer["unknown"]:
        return answer
    try:
        with tempfile.TemporaryDirectory() as folder:
            config = speculative_config(case, Path(folder))
    # whatever it is, the server would have ended with it
    except Exception as error:  # noqa: BLE001
        return answer | {"error": f"{type(error).__name__}: {error}"}
    draft = config.draft_model_config
    drafts = list(draft.hf_config.architectures) if draft is not None else []
    return answer | {"method": config.method, "drafts": drafts}


def resolve_all(cases):
    stand_in()
    return [resolve(case) for case in cases]
