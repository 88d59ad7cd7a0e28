import json

import msgspec

from specfloor.load.sampling import Sampling, request_body
from specfloor.load.workload import Message, Prompt

PROMPT = Prompt("a", "code", (Message("system", "Be short."), Message("user", "Hi")))


def body(sampling=None, template=None, *, continuous_usage=False):
    raw = request_body(
        "m",
        PROMPT,
        sampling or Sampling(max_tokens=64),
        template or {},
        continuous_usage=continuous_usage,
    )
    return json.loads(raw)


def test_no_sampling_parameter_is_left_to_the_checkpoint():
    # What vLLM 0.32 takes from generation_config.json when a request does not say it, and the
    # parameters that decide where an answer ends.
    sent = body()
    filled_by_server = {
        "temperature": 0.0,
        "top_p": 1.0,
        "top_k": -1,
        "min_p": 0.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "repetition_penalty": 1.0,
    }
    ends = {"max_tokens": 64, "min_tokens": 0, "ignore_eos": False, "seed": 0, "n": 1}
    assert filled_by_server | ends == {
        name: sent[name] for name in sent if name in filled_by_server | ends
    }


def test_asks_for_a_stream_that_can_be_counted():
    sent = body()
    assert sent["stream"] is True
    assert sent["stream_options"] == {"include_usage": True}
    assert sent["return_token_ids"] is True
    assert body(continuous_usage=True)["stream_options"] == {
        "include_usage": True,
        "continuous_usage_stats": True,
    }


def test_sends_the_prompt_and_the_tier():
    sent = body(template={"enable_thinking": True})
    assert sent["model"] == "m"
    assert sent["messages"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Hi"},
    ]
    assert sent["chat_template_kwargs"] == {"enable_thinking": True}


def test_offers_the_tools_of_a_prompt():
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    prompt = msgspec.structs.replace(PROMPT, tools=(tool,))
    raw = request_body("m", prompt, Sampling(max_tokens=1), {}, continuous_usage=False)
    sent = json.loads(raw)
    assert (sent["tools"], sent["tool_choice"]) == ([tool], "auto")
    assert not {"tools", "tool_choice"} & body().keys()


def test_a_forced_length_ignores_the_end_of_sequence():
    sent = body(Sampling(max_tokens=96, ignore_eos=True))
    assert (sent["ignore_eos"], sent["max_tokens"]) == (True, 96)
