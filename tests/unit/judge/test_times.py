"""Times of a request: which of them say something, and of what."""

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.judge.times import (
    Clock,
    clock_for,
    clock_of_cell,
    time_per_step,
    time_per_token,
    times_per_token,
)
from tests.unit.builders import CELL, evidence, forced, launch

ON = CELL.arm
CLOCKS = tuple(Clock)


def requests(arm=ON, prompts=1):
    return [r for r in forced(arm, prompts=prompts) if hasattr(r, "chunk_s")]


def in_a_burst(request):
    """Return a request whose chunks all come in one read, at its end."""
    last = request.chunk_s[-1]
    return msgspec.structs.replace(request, chunk_s=(last,) * len(request.chunk_s))


def test_the_first_token_is_not_in_the_time_after_it():
    (request,) = requests()
    assert time_per_token(request, Clock.AFTER_FIRST) == pytest.approx(10 * 0.02 / 31)
    assert time_per_step(request, Clock.AFTER_FIRST) == pytest.approx(0.02)


def test_the_whole_request_is_all_its_tokens():
    (request,) = requests()
    assert time_per_token(request, Clock.WHOLE) == request.chunk_s[-1] / 32
    assert time_per_step(request, Clock.WHOLE) == request.chunk_s[-1] / 11


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    "change",
    [
        {"error": "it broke"},
        {"chunk_tokens": (), "chunk_s": ()},
        {"chunk_tokens": (5,), "chunk_s": (0.1,)},
        {"chunk_tokens": (), "chunk_s": (0.1, 0.2)},
    ],
)
def test_what_cannot_be_told(change, clock):
    (request,) = requests()
    assert time_per_token(msgspec.structs.replace(request, **change), clock) is None


def test_a_stream_that_keeps_up_is_timed_from_its_first_token():
    assert clock_for(requests(prompts=8)) is Clock.AFTER_FIRST


def test_a_stream_in_bursts_is_timed_as_a_whole():
    smooth, *rest = requests(prompts=8)
    assert clock_for([smooth, *map(in_a_burst, rest)]) is Clock.WHOLE


def test_a_rare_late_read_is_no_burst():
    first, *rest = requests(prompts=40)
    assert clock_for([in_a_burst(first), *rest]) is Clock.AFTER_FIRST


def test_one_arm_in_bursts_times_both_as_a_whole():
    records = [launch(OFF), *forced(OFF), launch(ON)]
    records += [in_a_burst(r) if hasattr(r, "chunk_s") else r for r in forced(ON)]
    assert clock_of_cell(evidence(*records)) is Clock.WHOLE


def test_a_block():
    found = evidence(launch(OFF), *forced(OFF, prompts=3))
    assert times_per_token(None, Clock.AFTER_FIRST) == {}
    times = times_per_token(found.off[0].forced, Clock.AFTER_FIRST)
    assert times == pytest.approx({"p0": 0.02, "p1": 0.0202, "p2": 0.0204})
