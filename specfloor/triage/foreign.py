"""Other servers by what they print, so that they can be refused by name.

They count acceptance in other ways (SGLang's ``accept len`` includes the bonus token and its
``accept rate`` is a share of the length), so their numbers are not to be read as vLLM's.
"""

import re

NAMES = {
    "sglang": "SGLang",
    "trtllm": "TensorRT-LLM",
    "tgi": "Text Generation Inference",
    "lmdeploy": "LMDeploy",
    "llamacpp": "llama.cpp",
    "mindie": "MindIE",
}
"""How each is called, by the name used in JSON."""

_LOG = {
    "sglang": re.compile(r"Decode batch[.,]|Prefill batch[.,]|\bsglang\b|accept len: "),
    "trtllm": re.compile(r"\[TRT-LLM\]|\[TensorRT-LLM\]|tensorrt_llm"),
    "tgi": re.compile(r"text_generation_(?:router|launcher|server)"),
    "lmdeploy": re.compile(r"\blmdeploy\b"),
    "llamacpp": re.compile(r"slot print_timing|llama_(?:model|context|kv_cache)|srv +update_slots"),
    "mindie": re.compile(r"\bmindie(?:_llm|server|-service)?\b", re.IGNORECASE),
}
_METRIC = {
    "sglang": re.compile(r"^sglang[:_]", re.MULTILINE),
    "trtllm": re.compile(r"^(?:trtllm[:_]|tensorrt_llm[:_]|nv_trt_llm_)", re.MULTILINE),
    "tgi": re.compile(r"^tgi_", re.MULTILINE),
    "lmdeploy": re.compile(r"^lmdeploy[:_]", re.MULTILINE),
    "llamacpp": re.compile(r"^llamacpp[:_]", re.MULTILINE),
    "mindie": re.compile(r"^mindie[:_]", re.MULTILINE),
}
_OURS = re.compile(
    r"SpecDecoding metrics|Speculative metrics|Engine \d+: Avg|Avg prompt throughput|LLM engine \(v"
    r"|\(APIServer pid=|\bvllm\b"
)


def software_of_log(text: str) -> str | None:
    """Return which other server wrote a log; None for vLLM's and for what no one is known to."""
    if _OURS.search(text):
        return None
    return next((name for name, pattern in _LOG.items() if pattern.search(text)), None)


def software_of_metrics(text: str) -> str | None:
    """Return which other server gave these metrics; None for vLLM's and for unknown ones."""
    if re.search(r"^vllm[:_]", text, re.MULTILINE):
        return None
    return next((name for name, pattern in _METRIC.items() if pattern.search(text)), None)
