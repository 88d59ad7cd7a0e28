"""The verdict on the answers of both arms, from their blocks."""

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.judge.cell import Rule
from specfloor.judge.output import Check, judge_output
from specfloor.judge.verdict import Verdict
from specfloor.load.expect import ExpectJson, ExpectToolCalls
from specfloor.runs.records import ToolCall
from specfloor.triage.findings import Finding
from tests.unit.judge.output.builders import ON, SUMS, answer, block, prompt, right

RULE = Rule()
ALL = [right(i) for i in range(40)]


def wrong(*indexes, text="I cannot say, but it is surely more than 99."):
    return [text if i in indexes else one for i, one in enumerate(ALL)]


def judge(on, off=ALL, again=None, prompts=SUMS, rule=RULE, **sent):
    return judge_output(
        block(on, ON, prompts, **sent),
        None if off is None else block(off, prompts=prompts),
        None if again is None else block(again, prompts=prompts, repeat=1),
        prompts,
        rule,
    )


def result(verdict, check):
    return next(c for c in verdict.checks if c.check is check)


class TestPass:
    def test_the_same_answers(self):
        said = judge(ALL)
        assert (said.verdict, said.findings) == (Verdict.PASS, ())
        assert "right answers 40 of 40 with it and 40 without" in said.reason
        assert "the same text as the off arm: 40 of 40" in said.reason
        assert {c.check for c in said.checks} == {
            Check.ANSWERED,
            Check.ANSWER,
            Check.TEXT,
            Check.LOOPS,
            Check.ENDING,
        }

    def test_other_words_for_all_of_them_do_not_matter(self):
        others = [f"Well, if you count them again, it is {i + 1}" for i in range(40)]
        said = judge(others, again=others)
        assert said.agreement.same == 0
        assert said.verdict is Verdict.PASS

    def test_a_few_wrong_answers_on_either_side(self):
        said = judge(wrong(3), wrong(17), wrong(8))
        assert said.verdict is Verdict.PASS
        assert result(said, Check.ANSWER).lost == ("p003",)
        assert result(said, Check.ANSWER).gained == ("p017",)

    def test_what_the_workload_itself_brings(self):
        marks = [f"\ufffd {text}" for text in ALL]
        asked = {
            p.id: msgspec.structs.replace(
                p, messages=(msgspec.structs.replace(p.messages[0], content="What is \ufffd?"),)
            )
            for p in SUMS.values()
        }
        assert judge(marks, marks, prompts=asked).verdict is Verdict.PASS


class TestFail:
    def test_wrong_answers(self):
        said = judge(wrong(*range(0, 40, 2)))
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.OUTPUT_BROKEN,))
        assert (
            "speculation breaks answers: right answers 20 of 40 with it and 40 without"
            in said.reason
        )
        assert "; p000, p002" in said.reason
        assert result(said, Check.ANSWER).worse == "on"

    @pytest.mark.parametrize(
        ("text", "check"),
        [
            ("One m\ufffdre is 1.", Check.TEXT),
            ("", Check.TEXT),
            ("it is the same again and again, " * 60, Check.LOOPS),
        ],
    )
    def test_broken_texts(self, text, check):
        said = judge(wrong(*range(12), text=text), again=ALL)
        assert said.verdict is Verdict.FAIL
        assert result(said, check).worse == "on"
        assert result(said, check).pairs.lost == 12

    def test_lost_json_and_tool_calls(self):
        tool = {"function": {"name": "f", "parameters": {"required": ["x"]}}}
        calls = ExpectToolCalls(())
        prompts = {
            p.id: p
            for i in range(40)
            for p in [
                prompt(i, expect=ExpectJson({"type": "object"}))
                if i < 20
                else prompt(i, tools=(tool,), expect=calls)
            ]
        }
        good = ["{}"] * 20 + ["Hello"] * 20
        call = answer("", tool_calls=(ToolCall("f", "{}"),), reason="tool_calls")
        said = judge(["{"] * 15 + ["{}"] * 5 + [call] * 18 + ["Hello"] * 2, good, prompts=prompts)
        assert said.verdict is Verdict.FAIL
        assert {c.check for c in said.checks if c.worse == "on"} == {Check.JSON, Check.TOOL_CALLS}
        assert judge(good, good, prompts=prompts).verdict is Verdict.PASS

    @pytest.mark.parametrize(("on", "off"), [("length", "stop"), ("stop", "length")])
    def test_answers_that_end_differently(self, on, off):
        mine, theirs = ([answer(text, reason=r) for text in ALL] for r in (on, off))
        said = judge(mine, theirs)
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.OUTPUT_BROKEN,))
        assert "end by themselves" in said.reason

    def test_texts_that_part_in_their_first_words_from_an_off_arm_at_one_with_itself(self):
        others = [f"No: {text}" for text in ALL]
        said = judge(others, again=ALL)
        assert said.verdict is Verdict.FAIL
        assert result(said, Check.PARTING).worse == "on"
        assert result(said, Check.PARTING).pairs.lost == 40

    @pytest.mark.parametrize("broken", [12, 40])
    def test_streams_that_break_off(self, broken):
        cut = answer("Adding", error="the server sent an error in the stream: no name")
        said = judge([cut] * broken + ALL[broken:])
        assert (said.verdict, said.findings) == (Verdict.FAIL, (Finding.OUTPUT_BROKEN,))
        assert result(said, Check.ANSWERED).worse == "on"
        assert "the first error is: the server sent an error in the stream: no name" in said.reason
        assert said.compared == 40 - broken

    def test_a_loss_against_both_launches_of_the_off_arm(self):
        bad = wrong(*range(12))
        assert judge(bad, again=wrong(30)).verdict is Verdict.FAIL
        one_sided = judge(bad, again=bad)
        assert one_sided.verdict is Verdict.INCONCLUSIVE
        assert one_sided.findings == (Finding.BASELINE_INVALID,)
        assert one_sided.unlike == (Check.ANSWER,)
        assert "two launches of the off arm differ" in one_sided.reason


class TestBaseline:
    def test_the_off_arm_is_the_broken_one(self):
        said = judge(ALL, wrong(*range(20)))
        assert (said.verdict, said.findings) == (
            Verdict.INCONCLUSIVE,
            (Finding.BASELINE_INVALID,),
        )
        assert "the broken arm is the one without speculation" in said.reason
        assert "right answers 40 of 40 with it and 20 without" in said.reason

    def test_an_off_arm_that_does_not_end_because_it_loops(self):
        loop = answer("and again " * 200, reason="length")
        said = judge(ALL, [loop if i % 2 else text for i, text in enumerate(ALL)])
        assert said.findings == (Finding.BASELINE_INVALID,)

    def test_both_arms_give_garbage(self):
        bad = wrong(*range(10), text="\ufffd\ufffd 1")
        said = judge(bad, bad)
        assert said.findings == (Finding.BASELINE_INVALID,)
        assert "by itself, and not by a draft: 10 of its 40 answers" in said.reason

    def test_both_broken_in_their_own_ways(self):
        said = judge(wrong(*range(30)), wrong(*range(30, 40), text="\ufffd 99"))
        assert said.verdict is Verdict.FAIL
        assert said.findings == (Finding.OUTPUT_BROKEN, Finding.BASELINE_INVALID)
        assert "10 of its 40 answers hold garbage" in said.reason

    def test_nondeterminism_is_not_blamed_on_the_draft(self):
        on, again = ([f"{word}: {text}" for text in ALL] for word in ("No", "Yes"))
        said = judge(on, again=again)
        assert said.verdict is Verdict.PASS
        assert (said.agreement.same, said.self_agreement.same) == (0, 0)

    def test_without_a_second_launch_early_partings_are_left_open(self):
        said = judge([f"No: {text}" for text in ALL])
        assert (said.verdict, said.findings) == (Verdict.INCONCLUSIVE, (Finding.INCONCLUSIVE,))
        assert "start the off arm a second time" in said.reason

    def test_sampled_texts_part_as_they_like(self):
        blocks = [
            block(texts, arm, sampling={"temperature": 0.8})
            for texts, arm in (([f"No: {text}" for text in ALL], ON), (ALL, OFF))
        ]
        assert judge_output(*blocks, None, SUMS, RULE).verdict is Verdict.PASS


class TestNothingToJudge:
    def test_no_off_arm(self):
        said = judge(wrong(0, 1, text="\ufffd"), None)
        assert (said.verdict, said.findings) == (Verdict.NO_DATA, (Finding.NO_DATA,))
        assert "2 of its own 40 answers hold garbage" in said.reason
        assert judge(ALL, None).verdict is Verdict.NO_DATA

    def test_no_prompt_with_both_answers(self):
        refused = answer("", error="HTTP 400 instead of an answer: no tool parser")
        said = judge([refused] * 40, [refused] * 40)
        assert said.verdict is Verdict.NO_DATA
        assert "no tool parser" in said.reason
        assert judge([], []).verdict is Verdict.NO_DATA

    def test_a_second_launch_that_answered_little_is_left_out(self):
        said = judge(wrong(*range(20)), again=ALL[:19])
        assert said.verdict is Verdict.FAIL
        assert result(said, Check.ANSWER).again_good is None

    def test_arms_that_broke_off_at_different_prompts(self):
        tool = {"function": {"name": "f"}}
        prompts = {p.id: p for i in range(4) for p in [prompt(i, tools=(tool,) * (i < 2))]}
        said = judge(["Hi"] * 2, [None, None, "Hi", "Hi"], prompts=prompts)
        assert said.verdict is Verdict.NO_DATA

    def test_too_few_prompts(self):
        said = judge(ALL[:19])
        assert (said.verdict, said.findings) == (Verdict.INCONCLUSIVE, (Finding.INCONCLUSIVE,))
        assert "19 prompts were answered by both arms; 20 are needed" in said.reason

    def test_a_loss_neither_shown_nor_excluded(self):
        said = judge(wrong(*range(4)))
        assert said.findings == (Finding.INCONCLUSIVE,)
        assert "neither shown nor excluded: right answers 36 of 40 with it" in said.reason

    def test_too_many_failures(self):
        failed = answer("", error="no full answer within 10 s")
        said = judge([failed] * 3 + ALL[3:])
        assert (said.verdict, said.failed) == (Verdict.INCONCLUSIVE, 3)
        assert "3 of 40 requests failed" in said.reason
        assert judge([failed] * 2 + ALL[2:]).verdict is Verdict.PASS

    def test_a_task_that_neither_arm_can_do(self):
        none = wrong(*range(40))
        said = judge(none, none)
        assert (said.verdict, said.findings) == (
            Verdict.INCONCLUSIVE,
            (Finding.WORKLOAD_INVALID,),
        )
        assert "neither arm gets any of 40 prompts right" in said.reason

    def test_a_task_that_the_off_arm_seldom_does_excludes_little(self):
        seldom = wrong(*range(6, 40))
        assert judge(seldom, seldom).verdict is Verdict.INCONCLUSIVE

    def test_loops_on_both_arms(self):
        loop = wrong(*range(5), text="it is the same again and again, " * 60)
        prompts = {p: msgspec.structs.replace(one, expect=None) for p, one in SUMS.items()}
        said = judge(loop, loop, prompts=prompts)
        assert said.findings == (Finding.WORKLOAD_INVALID,)
        assert "both arms fall into a loop on 5 of 40" in said.reason

    @pytest.mark.parametrize(
        ("field", "value"),
        [("fingerprint", "f"), ("sampling", {"temperature": 0.5}), ("template", {"think": True})],
    )
    def test_arms_that_were_not_sent_the_same(self, field, value):
        said = judge(ALL, **{field: value})
        assert (said.verdict, said.findings) == (
            Verdict.INCONCLUSIVE,
            (Finding.WORKLOAD_INVALID,),
        )
        assert field in said.reason

    def test_prompts_that_are_not_those_that_were_sent(self):
        fewer = dict(list(SUMS.items())[:39])
        said = judge_output(block(ALL, ON), block(ALL), None, fewer, RULE)
        assert said.findings == (Finding.WORKLOAD_INVALID,)


def test_the_verdict_is_a_record():
    said = judge(wrong(*range(20)), again=ALL)
    assert msgspec.json.decode(msgspec.json.encode(said), type=type(said)) == said
