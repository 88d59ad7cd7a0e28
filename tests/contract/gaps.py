"""Ways of speculating that vLLM alone refuses, each with what a release has instead."""

import re

GAPS = {
    r"0\.18\.0(rc1)?-minimax-m2\.[57]-eagle3": (
        "vllm-ascend 0.18.0 adds MiniMax to the targets of eagle3 (patch_minimax_m2_config.py)"
    ),
    r"0\.27\.1rc1-qwen3\.8-dense-dflash": (
        "vllm-ascend 0.27.1rc1 registers DFlash2DraftModel, which vLLM has from 0.28 on"
    ),
    r"0\.(28|29|30)\.\d+rc\d-step3\.7-mtp": (
        "vLLM since 0.28 refuses the class that transformers has for step3p7, whose layers each "
        "have a configuration; where transformers has none, it is that of the checkpoint"
    ),
}
"""Reasons by what matches release, family and method."""


def gap(name: str) -> str | None:
    """Return why vLLM alone is known to refuse a method of a family on a release, if it is."""
    return next((why for which, why in GAPS.items() if re.fullmatch(which, name)), None)
