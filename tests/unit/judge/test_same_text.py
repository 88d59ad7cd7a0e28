import msgspec

from specfloor.cells import OFF
from specfloor.judge.same_text import OutputAgreement, compare_outputs
from specfloor.runs.records import RequestRecord, ToolCall
from tests.unit.builders import CELL, natural


def requests(*args, **options):
    return [r for r in natural(*args, **options) if isinstance(r, RequestRecord)]


OFF_ARM = requests(OFF, prompts=4)


def test_the_same_texts():
    found = compare_outputs(requests(CELL.arm, prompts=4), OFF_ARM)
    assert found == OutputAgreement(4, 4)
    assert str(found) == "4 of 4"
    assert found.share == 1


def test_texts_are_compared_prompt_by_prompt_whatever_their_order():
    on = requests(CELL.arm, prompts=4)
    on[1] = msgspec.structs.replace(on[1], text_sha256="other")
    assert compare_outputs(reversed(on), OFF_ARM) == OutputAgreement(3, 4)


def test_the_reasoning_is_part_of_the_text():
    on = [msgspec.structs.replace(r, reasoning="hm") for r in requests(CELL.arm, prompts=4)]
    assert compare_outputs(on, OFF_ARM) == OutputAgreement(0, 4)


def test_answers_that_are_calls_are_compared_by_them():
    calls = ToolCall("weather", '{"city": "Oslo"}'), ToolCall("weather", '{"city": "Bergen"}')
    on, off = (
        [msgspec.structs.replace(r, tool_calls=(call,)) for r in requests(CELL.arm, prompts=4)]
        for call in calls
    )
    assert compare_outputs(on, on) == OutputAgreement(4, 4)
    assert compare_outputs(on, off) == OutputAgreement(0, 4)


def test_only_prompts_with_both_answers_count():
    on = requests(CELL.arm, prompts=4, failed=[0])
    off = requests(OFF, prompts=3, failed=[2])
    assert compare_outputs(on, off) == OutputAgreement(1, 1)
    assert compare_outputs(on, []) is None
    assert compare_outputs([], OFF_ARM) is None
