"""Settings that engines replace without an error, and that those in effect pass."""

import json

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import OFF
from specfloor.judge.asked import asked_of
from specfloor.judge.configuration import judge_configuration
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import CountersRecord, EngineSettings, Notice, ToolCall
from specfloor.signals.counts import DraftCounts
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, GLM, RecordIndex, catalog, evidence, launch, natural

ON = CELL.arm
SPECULATION = {"method": "mtp", "num_speculative_tokens": 3}


def argv(*flags, **speculation):
    config = json.dumps(SPECULATION | speculation)
    return ("python", "-m", "server", "--speculative-config", config, *flags)


def run(flags=(), *, speculation=None, block=None, family=GLM, others=None, **said):
    said = {"argv": argv(*flags, **speculation or {})} | said
    return judge_configuration(
        evidence(launch(OFF), launch(ON, **said), *(natural(ON) if block is None else block)),
        catalog().release(CELL.release),
        family=family,
        other_tiers=others,
    )


def fails(judged, reason):
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.CONFIG_NOT_IN_EFFECT,)
    assert reason in judged.reason


def passes(judged, *words):
    assert judged.verdict is Verdict.PASS, judged.reason
    for word in words:
        assert word in judged.reason


GRAPHS = ("--compilation-config", '{"cudagraph_mode": "FULL_DECODE_ONLY"}')


def test_the_graph_mode_that_was_asked_for():
    settings = EngineSettings(enforce_eager=False, graph_mode="FULL_DECODE_ONLY")
    passes(run(GRAPHS, settings=settings), "graph mode of the mtp3 arm: FULL_DECODE_ONLY")


@pytest.mark.parametrize(
    ("mode", "found"), [("NONE", "NONE, which is eager"), ("PIECEWISE", "PIECEWISE")]
)
def test_another_graph_mode(mode, found):
    judged = run(GRAPHS, settings=EngineSettings(graph_mode=mode))
    fails(judged, f"graph mode of the mtp3 arm: asked for FULL_DECODE_ONLY, found {found}")


def test_a_fall_to_eager_that_only_a_notice_tells():
    notice = Notice("graphs_lost", "cudagraph_mode FULL is unsupported; falling back to NONE")
    fails(run(notices=(notice,)), f"asked for graphs, found {notice.text}")


def test_eager_that_was_asked_for_is_no_fall():
    notice = Notice("graphs_lost", "falling back to NONE")
    settings = EngineSettings(enforce_eager=True, graph_mode="NONE")
    passes(run(("--enforce-eager",), settings=settings, notices=(notice,)))
    judged = run(("--enforce-eager",), settings=EngineSettings(False, "PIECEWISE"))
    fails(judged, "asked for eager, found PIECEWISE")


def test_graphs_that_nobody_asked_for_are_not_judged():
    passes(run(settings=EngineSettings(enforce_eager=False, graph_mode="NONE")))


def test_a_draft_that_falls_to_eager():
    notice = Notice("draft_eager", "The draft model has been automatically switched to eager mode")
    settings = EngineSettings(graph_mode="FULL_DECODE_ONLY")
    judged = run(GRAPHS, settings=settings, notices=(notice,))
    fails(judged, "graph mode of the draft on the mtp3 arm: asked for FULL_DECODE_ONLY")
    passes(run(notices=(notice,)), f"Note: {notice.text}")


SCHEDULE = {"num_speculative_tokens_per_batch_size": [[1, 8, 3], [9, 64, 1]]}


def test_a_schedule_that_data_parallelism_disables():
    notice = Notice("schedule_lost", "Disabling num_speculative_tokens_per_batch_size and more")
    judged = run(speculation=SCHEDULE, notices=(notice,))
    fails(judged, "schedule of k of the mtp3 arm: asked for [[1, 8, 3], [9, 64, 1]], found Disab")
    passes(run(speculation=SCHEDULE))


@pytest.mark.parametrize(("found", "holds"), [("glm45", True), ("", False), (None, None)])
def test_the_reasoning_parser(found, holds):
    judged = run(("--reasoning-parser", "glm45"), settings=EngineSettings(reasoning_parser=found))
    (check,) = [c for c in judged.checks if c.what.startswith("reasoning parser")]
    assert check.holds is holds
    if holds is False:
        fails(judged, "reasoning parser of the mtp3 arm: asked for glm45, found none")


def test_prefix_caching_that_stays_on():
    judged = run(("--no-enable-prefix-caching",), settings=EngineSettings(prefix_caching=True))
    fails(judged, "prefix caching of the mtp3 arm: asked for off, found on")
    passes(run(("--no-enable-prefix-caching",), settings=EngineSettings(prefix_caching=False)))
    passes(run(settings=EngineSettings(prefix_caching=True)))


def test_of_a_switch_that_is_given_twice_the_last_one_counts():
    twice = ("--no-enable-prefix-caching", "--enable-prefix-caching")
    passes(run(twice, settings=EngineSettings(prefix_caching=True)))
    judged = run(twice, settings=EngineSettings(prefix_caching=False))
    fails(judged, "prefix caching of the mtp3 arm: asked for on, found off")


@pytest.mark.parametrize("name", ["glm4_moe_mtp", "deepseek_mtp", "mtp"])
def test_mtp_had_a_name_for_every_line(name):
    passes(run(speculation={"method": name}, resolved_method="mtp"))
    passes(run(resolved_method=name))


def test_what_the_command_asks_for_is_what_counts():
    fails(run(speculation={"method": "eagle3"}), "asked for eagle3, found mtp")


def drafts(drafted, steps):
    sent, *requests = natural(ON, counted=False)
    counts = DraftCounts(steps, drafted, steps)
    return [sent, *requests, CountersRecord(sent.launch, sent.block, {"0": counts})]


@pytest.mark.parametrize(
    ("drafted", "holds"), [(300, True), (298, True), (200, False), (100, False)]
)
def test_a_method_that_always_drafts_k_did(drafted, holds):
    judged = run(block=drafts(drafted, 100))
    if holds:
        passes(judged, "tokens drafted a step")
    else:
        fails(judged, f"tokens drafted a step: asked for 3, found {drafted / 100:.2f}")


@pytest.mark.parametrize(
    "options",
    [
        {"speculation": SCHEDULE},
        {"speculation": {"enable_adaptive_verification": True}},
        {"flags": ("--additional-config", '{"dynamic_spec_config": {"a": 1}}')},
    ],
)
def test_one_that_may_draft_fewer_may(options):
    passes(run(block=drafts(150, 100), **options), "tokens drafted a step")
    fails(run(block=drafts(310, 100), **options), "asked for at most 3, found 3.10")


TIERS = {"rendered": {"off": "aa", "on": "bb"}}


def test_a_tier_with_a_prompt_of_its_own():
    passes(run(**TIERS), "effort tier: another prompt than on")


def test_a_tier_that_was_not_taken():
    judged = run(rendered={"off": "aa", "on": "aa"})
    fails(judged, "effort tier: asked for a prompt of its own for off, found the prompt of on")


def other_tier(*, tokens=0, text="text of {}", prompts=40, calls=()):
    """Return the block of the other tier; each of its prompts has ``tokens`` more."""
    records = natural(ON, text=text, prompts=prompts)
    more = [
        msgspec.structs.replace(r, prompt_tokens=r.prompt_tokens + tokens, tool_calls=calls)
        if hasattr(r, "prompt_tokens")
        else r
        for r in records
    ]
    return RecordIndex([launch(ON), *more]).evidence(CELL).on[0].natural


def test_where_nothing_is_rendered_the_numbers_of_prompt_tokens_tell():
    passes(run(others={"on": other_tier(tokens=5)}), "other numbers of prompt tokens than on")
    fails(
        run(others={"on": other_tier()}), "found as many prompt tokens and the same answers as on"
    )


@pytest.mark.parametrize(
    "other",
    [{"text": "another {}"}, {"calls": (ToolCall("now", "{}"),)}],
    ids=["another text", "another call"],
)
def test_equal_numbers_with_other_answers_say_nothing(other):
    judged = run(others={"on": other_tier(**other)})
    assert not [check for check in judged.checks if check.what == "effort tier"]
    passes(judged)


def test_too_few_prompts_say_nothing_either():
    passes(run(block=natural(ON, prompts=2), others={"on": other_tier(prompts=2)}))


def test_a_tier_with_the_same_arguments_is_no_rival():
    family = msgspec.structs.replace(GLM, tiers={"off": {"a": 1}, "same": {"a": 1}})
    passes(run(family=family, rendered={"off": "aa", "same": "aa"}))


THINKS = msgspec.structs.replace(GLM, tiers={"off": {"enable_thinking": True}})


def test_thinking_that_stays_in_the_answer():
    block = natural(ON, text="so it is {}</think>7")
    judged = run(block=block, family=THINKS)
    fails(
        judged, "thinking parser: asked for thinking apart from the answer, found marks of thinki"
    )
    assert "40 of 40 requests" in judged.reason
    fails(run(("--reasoning-parser", "glm45"), block=block), "asked for glm45")


def test_marks_in_a_tier_without_thinking_are_part_of_the_text():
    passes(run(block=natural(ON, text="the tag </think> of {}")))


def test_thinking_that_was_taken_out():
    block = [
        msgspec.structs.replace(r, reasoning="hm") if hasattr(r, "reasoning") else r
        for r in natural(ON)
    ]
    passes(run(block=block, family=THINKS), "thinking apart from the answer in 40 of 40 requests")


def test_variables_that_the_release_does_not_read_are_noted_and_decide_nothing():
    known = load_catalog()
    cell = msgspec.structs.replace(CELL, release="0.27.1rc1")
    said = {"version": "0.27.1", "variables": {"VLLM_ASCEND_ENABLE_NZ": "1"}}
    judged = judge_configuration(
        evidence(
            launch(OFF, cell=cell, **said),
            launch(ON, cell=cell, **said),
            *natural(ON, cell=cell),
            cell=cell,
        ),
        known.release("0.27.1rc1"),
        catalog=known,
    )
    passes(judged, "Note: 0.27.1rc1 does not read VLLM_ASCEND_ENABLE_NZ, which is set")
    assert len(judged.notes) == 1


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ((), (None, None, None)),
        (("--speculative-config", "no json"), (None, None, None)),
        (("--speculative-config", '["a"]'), (None, None, None)),
        (
            ('--speculative-config={"method":"mtp","num_speculative_tokens":"3"}',),
            ("mtp", None, None),
        ),
        (("--compilation-config", '{"cudagraph_mode": null}'), (None, None, None)),
        (("--reasoning-parser", "a", "--reasoning-parser=b"), (None, None, "b")),
        (("--reasoning-parser",), (None, None, None)),
    ],
)
def test_commands_are_read_with_care(words, asked):
    found = asked_of(words)
    assert (found.method, found.k, found.reasoning_parser) == asked
