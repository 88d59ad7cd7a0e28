"""Targets, drafts and k that do not fit each other, and their neighbours that do."""

import json
from typing import Any

from tests.contract.speculation import Case


def _case(target: str, *, draft: str = "", tensor_parallel: int = 1, **speculative: Any) -> Case:
    return Case(target, json.dumps(speculative, sort_keys=True), draft, tensor_parallel)


_EAGLE = {"method": "eagle3", "draft": "lightseekorg/kimi-k2.5-eagle3", "num_speculative_tokens": 3}
_DENSE, _TWO_LAYERS = "Qwen3ForCausalLM", "two draft layers"

REFUSED = {
    "mtp of a target without draft layers": (
        _case(_DENSE, method="mtp", num_speculative_tokens=3),
        "Unsupported speculative method: 'mtp'|draft model is not supported yet",
    ),
    "k that is no multiple of the draft layers": (
        _case(_TWO_LAYERS, method="mtp", num_speculative_tokens=3),
        "must be divisible by n_predict=2",
    ),
    "a draft over fewer devices than the target, and not over one": (
        _case(_DENSE, tensor_parallel=8, draft_tensor_parallel_size=4, **_EAGLE),
        "cannot be other value than 1 or target model tensor_parallel_size",
    ),
    "a draft with another vocabulary": (
        _case(
            _DENSE, method="draft_model", draft="amd/PARD-Llama-3.2-1B", num_speculative_tokens=3
        ),
        "should have the same vocabulary size|draft model is not supported yet",
    ),
    "no draft where the method takes one": (
        _case(_DENSE, method="eagle3", num_speculative_tokens=3),
        "without speculative model",
    ),
}
"""Cases that every vLLM has to refuse, with what its refusal matches.

vLLM before 0.15 has no method ``draft_model``, and takes what it cannot tell for one.
"""

TAKEN = {
    "k that is a multiple of the draft layers": _case(
        _TWO_LAYERS, method="mtp", num_speculative_tokens=4
    ),
    "k below the draft layers": _case(_TWO_LAYERS, method="mtp", num_speculative_tokens=1),
    "a draft over one device": _case(
        _DENSE, tensor_parallel=8, draft_tensor_parallel_size=1, **_EAGLE
    ),
}
"""Cases that every vLLM has to take."""

CASES = (*(case for case, _ in REFUSED.values()), *TAKEN.values())
