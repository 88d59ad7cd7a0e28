"""Commands of the catalogue that their release does not take, each with the reason.

The catalogue has one set of flags for a placement, whatever the release, so that a release that is
older than the guide the flags are from may not know all of them.
"""

import re

_NO_MXFP8 = (
    "the platform takes --quantization mxfp8 from 0.27.1rc1 on, whose guide the flags are of"
)

GAPS = {
    ("0.13.0rc3", r"deepseek-v4-.*"): (
        "the flags are those of guides since 0.21.0rc1: neither vLLM 0.13 nor 0.13.0rc3 has the "
        "reasoning parser and the tokenizer mode deepseek_v4"
    ),
    ("0.25.1rc1", r"minimax-m3-a5x8"): _NO_MXFP8,
    ("0.26.0rc1", r"minimax-m3-a5x8"): _NO_MXFP8,
}
"""Reasons by release and what matches family and placement."""


def gap(release: str, family: str, placement: str) -> str | None:
    """Return why a release is known not to take the commands of a placement, if it is."""
    name = f"{family}-{placement}"
    return next(
        (why for (at, which), why in GAPS.items() if at == release and re.fullmatch(which, name)),
        None,
    )
