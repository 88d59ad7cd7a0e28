"""Blocks of both arms with given answers."""

import hashlib

import msgspec

from specfloor.cells import OFF, Arm
from specfloor.judge.evidence import Block
from specfloor.load.expect import ExpectNumber
from specfloor.load.workload import Message, Prompt, fingerprint
from specfloor.runs.records import BlockRecord, RequestRecord
from tests.unit import builders
from tests.unit.signals import builders as signals

ON = builders.CELL.arm


def prompt(index=0, content="How many apples are there?", expect=None, **fields):
    return Prompt(f"p{index:03d}", "tasks", (Message("user", content),), expect=expect, **fields)


def answer(text="There are 3.", prompt_id="p000", reason="stop", **fields):
    """A request with an answer; the tokens of a text are its characters."""
    made = msgspec.structs.replace(
        signals.request(0, (1, 2)),
        prompt_id=prompt_id,
        text=text,
        text_sha256=hashlib.sha256(text.encode()).hexdigest(),
        finish_reason=reason,
        token_ids=tuple(map(ord, text)),
    )
    return msgspec.structs.replace(made, **fields)


SUMS = {
    p.id: p
    for p in (
        prompt(i, f"How many apples are {i} + 1?", ExpectNumber(str(i + 1))) for i in range(40)
    )
}


def right(index):
    return f"Adding one apple to the others makes {index + 1}."


def block(answers, arm: Arm = OFF, prompts=SUMS, repeat=0, **sent) -> Block:
    """A block of an arm; ``answers`` are texts or requests in the order of the prompts, or None."""
    launch = builders.key(arm, repeat).id
    key = builders.block_key()
    requests = []
    for index, (prompt_id, given) in enumerate(zip(prompts, answers, strict=False)):
        if given is not None:
            made = given if isinstance(given, RequestRecord) else answer(given)
            requests.append(
                msgspec.structs.replace(
                    made, launch=launch, block=key, index=index, prompt_id=prompt_id
                )
            )
    fields = {
        "launch": launch,
        "block": key,
        "prompts": len(prompts),
        "fingerprint": fingerprint(prompts.values()),
        "seed": 1,
        "sampling": {"temperature": 0.0},
        "template": {},
    }
    return Block(BlockRecord(**fields | sent), tuple(requests), ())
