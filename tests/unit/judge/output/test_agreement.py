"""Where texts part."""

from specfloor.judge.output.agreement import (
    Agreement,
    Parting,
    agreement,
    first_difference,
    partings,
)
from specfloor.runs.records import ToolCall
from tests.unit.judge.output.builders import answer


def test_the_first_difference():
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 5, 3]) == 1
    assert first_difference([1, 2], [1, 2, 3]) == 2
    assert first_difference([], [1]) == 0


def test_in_tokens_where_there_are_ids_and_else_in_characters():
    one = {"a": answer("xyz", token_ids=(1, 2, 3)), "b": answer("same", token_ids=(9,))}
    other = {"b": answer("same", token_ids=(9,)), "a": answer("xyQ", token_ids=(1, 5, 6))}
    assert partings(one, other) == (Parting("a", 1, "tokens"), Parting("b", None, "tokens"))
    one["a"] = answer("xyz", token_ids=())
    assert partings(one, other) == (Parting("a", 3, "characters"), Parting("b", None, "characters"))


def test_reasoning_and_tool_calls_are_part_of_the_text():
    plain = {"a": answer("x", token_ids=())}
    for changed in ({"reasoning": "hm"}, {"tool_calls": (ToolCall("f", "{}"),)}):
        (found,) = partings(plain, {"a": answer("x", token_ids=(), **changed)})
        assert found.position is not None


def test_early_is_among_the_first_tokens():
    assert Parting("a", 7, "tokens").early
    assert not Parting("a", 8, "tokens").early
    assert Parting("a", 23, "characters").early
    assert not Parting("a", 24, "characters").early
    assert not Parting("a", None, "tokens").early


def test_sums_up():
    found = [Parting(str(i), p, "tokens") for i, p in enumerate((3, None, 40, 100))]
    summed = agreement(found)
    assert summed == Agreement(4, 1, 1, 3, 40, "tokens")
    assert str(summed) == "1 of 4, the others parting after 40 tokens (median)"
    assert str(agreement(found[1:2])) == "1 of 1"
    assert agreement([]) is None
