"""Commands and settings with one mistake each, which a contract that holds has to refuse."""

from typing import Any

_SERVE = ("--model", "m", "--served-model-name", "m", "--port", "8000")

SPECULATIVE = {
    "method": '{"method": "mpt", "num_speculative_tokens": 3}',
    "field": '{"method": "mtp", "num_speculative_token": 3}',
    "another field": '{"method": "ngram", "num_speculative_tokens": 3, "promt_lookup_max": 4}',
    "value": '{"method": "mtp", "num_speculative_tokens": "three"}',
    "range": '{"method": "mtp", "num_speculative_tokens": 0}',
}
"""Values of ``--speculative-config``, each with what is wrong in it."""

FLAGS = {
    "flag": ("--tensor-paralel-size", "8"),
    "number": ("--max-model-len", "long"),
    "key of a mapping": ("--compilation-config", '{"cudagraf_mode": "FULL_DECODE_ONLY"}'),
    "value of a mapping": ("--compilation-config", '{"cudagraph_mode": "FULL_DECODE_ONLI"}'),
    "cache type": ("--kv-cache-dtype", "pf8"),
}
"""Flags of the server, each with what is wrong in it."""

REFUSED = {
    f"speculative {what}": (*_SERVE, "--speculative-config", value)
    for what, value in SPECULATIVE.items()
} | {what: (*_SERVE, *flags) for what, flags in FLAGS.items()}
"""Argument vectors that every vLLM has to refuse."""

TAKEN = {
    "nothing wrong": (
        *_SERVE,
        "--speculative-config",
        '{"method": "mtp", "num_speculative_tokens": 3}',
    ),
    "additional key": (*_SERVE, "--additional-config", '{"enable_cpu_bindings": true}'),
    "quantization": (*_SERVE, "--quantization", "ascent"),
}
"""Argument vectors that every vLLM takes, though only the first is right."""

NAMES = {
    "quen3": (*_SERVE, "--reasoning-parser", "quen3"),
    "deapseek_v4": (*_SERVE, "--tokenizer-mode", "deapseek_v4"),
}
"""Argument vectors by the name in them that no vLLM has."""

COMMANDS = (*REFUSED.values(), *NAMES.values(), *TAKEN.values())

ADDITIONAL: dict[str, dict[str, Any]] = {
    "enable_cpu_bindings": {"enable_cpu_bindings": True},
    "ascend_compilation_config.fuse_norm_quants": {
        "ascend_compilation_config": {"fuse_norm_quants": False}
    },
    "finegrained_tp_config.oproj_tensor_paralel_size": {
        "finegrained_tp_config": {"oproj_tensor_paralel_size": 2}
    },
    "eplb_config.dynamic_epbl": {"eplb_config": {"dynamic_epbl": True}},
    "xlite_graph_config.enable": {"xlite_graph_config": {"enable": True}},
}
"""Values of ``--additional-config`` by the key in them that no release knows."""
