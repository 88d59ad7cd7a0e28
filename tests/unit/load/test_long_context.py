"""Documents made to length: the same everywhere, with an answer that can be found."""

import pytest

from specfloor.load.long_context import LongContext, long_prompts, rough_tokens
from specfloor.load.workload import fingerprint

WANTED = LongContext((300, 1500), each=12)
PROMPTS = long_prompts(WANTED)


def test_as_many_as_asked_for_of_every_kind_and_length():
    assert len({p.id for p in PROMPTS}) == len(PROMPTS) == 24
    assert PROMPTS[0].id == "tickets-300-01"
    assert {p.id.split("-")[0] for p in PROMPTS} == {
        *("tickets", "incidents", "minutes", "orders", "visits", "diary")
    }


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda p: p.id)
def test_the_length_is_about_what_was_asked_for(prompt):
    tokens = int(prompt.id.split("-")[1])
    assert tokens <= rough_tokens(prompt.messages[0].content) <= tokens + 150


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda p: p.id)
def test_the_document_holds_the_answer_and_the_question_does_not(prompt):
    document, _, question = prompt.messages[0].content.rpartition("\n\n")
    for fact in prompt.expect.values:
        assert fact in document
        assert fact not in question


def test_documents_differ():
    documents = [p.messages[0].content.split("\n\n")[1] for p in PROMPTS]
    lines = [line for document in documents for line in document.splitlines()]
    assert len(set(lines)) > 0.98 * len(lines)


def test_the_same_on_every_machine():
    assert fingerprint(PROMPTS) == FINGERPRINT
    assert fingerprint(long_prompts(LongContext((300, 1500), 12, seed=2))) != FINGERPRINT


FINGERPRINT = "41f95170b8d4f41f752b3caeeb53dc7df0568feb8e9cefa1a4736c73956e2591"
