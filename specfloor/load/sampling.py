"""What is asked of the server: sampling parameters and the body of a request."""

from collections.abc import Mapping
from typing import Any

import msgspec

from specfloor.load.workload import Prompt


class Sampling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every parameter that decides which tokens come out, all sent with every request.

    vLLM fills a parameter that a request leaves out from the checkpoint's
    ``generation_config.json``, and which parameters it fills differs between versions; so none is
    left out. ``top_k`` is −1 for "all", which every version takes (0 is refused by early ones).
    A forced length is ``ignore_eos`` alone: ``min_tokens`` would mask the end of sequence in the
    logits, which costs time in each step and changes the text.
    """

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    min_tokens: int = 0
    ignore_eos: bool = False
    seed: int = 0
    n: int = 1


def request_body(
    model: str,
    prompt: Prompt,
    sampling: Sampling,
    template: Mapping[str, Any],
    *,
    continuous_usage: bool,
) -> bytes:
    """Return the JSON body of a streaming chat completion.

    Args:
        model: the served model name.
        prompt: what to send. Its tools are offered as ``auto`` does, which a server refuses unless
            it was started with ``--enable-auto-tool-choice`` and ``--tool-call-parser``.
        sampling: how to sample.
        template: arguments of the chat template, such as ``{"enable_thinking": True}``.
        continuous_usage: whether every chunk is to carry usage so far, for servers that know no
            ``return_token_ids`` (vLLM before 0.10.2 ignores that field).
    """
    usage = {"include_usage": True} | ({"continuous_usage_stats": True} if continuous_usage else {})
    tools = {"tools": prompt.tools, "tool_choice": "auto"} if prompt.tools else {}
    return msgspec.json.encode(
        {
            "model": model,
            "messages": prompt.messages,
            "stream": True,
            "stream_options": usage,
            "return_token_ids": True,
            "chat_template_kwargs": dict(template),
        }
        | tools
        | msgspec.structs.asdict(sampling)
    )
