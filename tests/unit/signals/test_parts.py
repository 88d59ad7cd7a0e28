"""Which steps wrote the reasoning and which the answer."""

import msgspec
import pytest

from specfloor.signals import per_request
from specfloor.signals.counts import DraftCounts
from specfloor.signals.parts import split_parts
from tests.unit.signals.builders import request, told


def split(tokens, accepted, reasoning_chunks, **changed):
    record = request(tokens=tokens, told=told(*accepted, detailed=True))
    record = msgspec.structs.replace(record, reasoning_chunks=reasoning_chunks, **changed)
    return split_parts(record, per_request.counts_of_request(record))


def test_steps_belong_to_the_part_they_began_in():
    parts = split((1, 4, 2, 3, 1), (3, 1, 2, 0), 3)
    assert parts.reasoning == DraftCounts(2, 6, 4, (2, 1, 1))
    assert parts.answer == DraftCounts(2, 6, 2, (1, 1, 0))


def test_a_step_that_ends_the_reasoning_and_begins_the_answer_is_of_the_reasoning():
    # the parser gives the third chunk's tokens to both
    parts = split((1, 4, 4, 1), (3, 3, 0), 3)
    assert (parts.reasoning.steps, parts.answer.steps) == (2, 1)


def test_an_answer_without_reasoning_is_one_part():
    parts = split((1, 4, 2), (3, 1), 0)
    assert parts.reasoning.steps == 0
    assert parts.answer == DraftCounts(2, 6, 4, (2, 1, 1))


def test_chunks_that_a_parser_swallowed_are_of_the_reasoning():
    # the mark that ends the thinking came in a step of its own, of which no chunk tells
    parts = split((1, 4, 3), (3, 0, 2), 2, completion_tokens=9)
    assert (parts.reasoning.steps, parts.answer.steps) == (2, 1)


def test_a_draft_cut_off_by_the_end_of_the_answer_is_of_the_answer():
    parts = split((1, 4, 1), (3, 3), 2)
    assert parts.answer == DraftCounts(1, 3, 3, (1, 1, 1))


@pytest.mark.parametrize(
    "changed",
    [{"chunk_tokens": ()}, {"completion_tokens": None}, {"completion_tokens": 99}],
)
def test_steps_that_do_not_add_up_are_not_told_apart(changed):
    assert split((1, 4, 2), (3, 1), 2, **changed) is None


def test_reasoning_in_unknown_chunks_is_not_told_apart():
    assert split((1, 4, 2), (3, 1), 0, reasoning="let me see") is None


def test_without_steps():
    record = request(tokens=(1, 4, 2), told=told(3, 1))
    assert split_parts(record, per_request.counts_of_request(record)) is None
