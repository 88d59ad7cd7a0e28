"""The chain: the order that saves days, what is exonerated, and what is never blamed."""

import pytest

from specfloor.ledger import read_ledger
from specfloor.ledger.model import Facet, Signature
from specfloor.triage.chain import diagnose
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.diagnosis import Confidence, Stage
from specfloor.triage.facts import Facts, Speed
from specfloor.triage.findings import Finding
from specfloor.triage.signatures import Contrast, Seen
from specfloor.triage.steps import Place

FELL = Conclusion(Finding.ACCEPT_REGRESSION, "it fell")
SLOW = Conclusion(Finding.SPEED_REGRESSION_ACCEPT_OK, "it is slow")
SLOWER = Conclusion(Finding.SPEED_REGRESSION, "it is slow")
CRASH = Conclusion(Finding.CRASH, "it died")
HUNG = Conclusion(Finding.HANG, "it hangs")
BROKEN = Conclusion(Finding.OUTPUT_BROKEN, "it prints nonsense")
WRONG = Conclusion(Finding.CONFIG_NOT_IN_EFFECT, "k is 1")
HOT = Conclusion(Finding.HARDWARE, "NPU 3 is unwell")
LATER = Seen(Signature.LATER_POSITIONS, "position 2 of 800 drafts")


def chained(*conclusions, **fields):
    glm = {"release": "0.18.0", "family": "glm-5", "method": "mtp"}
    place = Place(k=3, **glm)
    return diagnose(Facts(conclusions, **{**glm, "place": place, **fields}), read_ledger())


def stages(diagnosis):
    return list(dict.fromkeys(link.stage for link in diagnosis.links))


def test_nothing_wrong_has_no_links():
    diagnosis = chained(Conclusion(Finding.EXPECTED, "as ever"), healthy="it holds")
    assert (diagnosis.links, diagnosis.exonerated, diagnosis.ledger) == ((), (), None)


def test_the_links_come_in_the_order_that_saves_days():
    diagnosis = chained(
        FELL, WRONG, SLOWER, seen=(LATER,), setting={Facet.ADAPTIVE: True}, devices=(HOT,)
    )
    assert stages(diagnosis) == [
        Stage.ACCEPTANCE,
        Stage.CONFIGURATION,
        Stage.KNOWN_FIX,
        Stage.ADAPTIVE,
        Stage.HOST,
    ]
    assert diagnosis.links[0].evidence == ("position 2 of 800 drafts",)


def test_a_signature_makes_a_known_fix_likely_and_says_how_to_confirm_it():
    first = chained(FELL, seen=(LATER,)).causes[0]
    assert (first.finding, first.confidence) == (Finding.KNOWN_FIX, Confidence.LIKELY)
    assert first.fix.change == "10878"
    assert "0.23.0" in first.sentence
    commands = [step.command for step in first.next]
    assert commands == [
        "serve with num_speculative_tokens 1",
        "tox -e ascend -- --release 0.23.0 --family glm-5 --method mtp --spec-tokens 3 "
        "-k acceptance",
    ]


def test_what_a_loss_needs_moves_its_rows_up_and_what_it_does_not_rules_them_out():
    asked = {"release": "0.25.1rc1", "family": "deepseek-v4", "method": "dspark"}
    seen = (Seen(Signature.ALL_POSITIONS, "position 1 fell"),)

    def rows(*contrasts):
        return [
            f.change for f in chained(FELL, seen=seen, contrasts=contrasts, **asked).known_fixes
        ]

    assert "15422" in rows()
    needed = Contrast("dsa-cp", only=True, evidence="0.38 with it", facet=Facet.DSA_CP)
    assert rows(needed)[0] == "15422"
    cleared = Contrast("dsa-cp", only=False, evidence="0.38 both", facet=Facet.DSA_CP)
    assert "15422" not in rows(cleared)


@pytest.mark.parametrize(
    "facet", [Facet.GRAPH, Facet.FLASHCOMM, Facet.DSA_CP, Facet.KV_POOL, Facet.PD, None]
)
def test_what_is_only_with_one_thing_has_an_experiment_of_its_own(facet):
    contrast = Contrast("it", only=True, evidence="so", facet=facet)
    (first, *_) = chained(FELL, contrasts=(contrast,)).links
    assert first.evidence == ("only with it: so",)
    assert first.next
    other = Contrast("it", only=False, evidence="so", facet=facet)
    (first, *_) = chained(FELL, contrasts=(other,)).links
    assert first.evidence == ("also without it: so",)


def test_without_a_signature_it_is_only_possible_and_the_rest_unknown():
    diagnosis = chained(FELL)
    assert {link.confidence for link in diagnosis.causes} == {Confidence.POSSIBLE}
    assert diagnosis.links[-1].stage is Stage.UNKNOWN
    look, *others = diagnosis.next[::-1]
    assert look.command == "npu-smi info > npu-smi.txt && specfloor triage npu-smi.txt"
    assert others
    assert look in diagnosis.links[-1].next


def test_nobody_is_sent_to_the_npus_of_a_cpu_or_to_those_that_were_looked_at():
    for known in ({"place": Place(platform="cpu")}, {"sampled": True}, {"devices": (HOT,)}):
        commands = [step.command for step in chained(FELL, **known).next]
        assert commands
        assert not any("npu-smi" in command for command in commands)
    shape = (Seen(Signature.ALL_POSITIONS, "position 1 fell"),)
    on_cpu = chained(FELL, seen=shape, place=Place(platform="cpu"))
    assert not any("FlashComm" in step.command for step in on_cpu.next)


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ({"release": "0.24.0rc1", "family": "glm-5.2", "method": "dspark"}, True),
        ({"release": None}, True),
        ({"release": None, "place": Place(platform="cpu")}, False),
        ({"release": "0.99.0"}, False),
        ({"release": "0.18.0", "family": "glm-4.7", "method": "ngram"}, False),
    ],
)
def test_a_ledger_that_lists_none_is_not_asked_for_the_known_ones(known, asked):
    zero = (Seen(Signature.ZERO, "none of 900"),)
    diagnosis = chained(FELL, seen=zero, **known)
    assert bool(diagnosis.known_fixes) is (asked and known["release"] is not None)
    steps = [step.command for step in diagnosis.next]
    assert steps
    assert any(step.startswith("specfloor fixes") for step in steps) is asked


def test_what_the_figures_contradict_is_not_offered():
    diagnosis = chained(FELL, seen=(Seen(Signature.ZERO, "none of 900"),))
    assert "10878" not in [fix.change for fix in diagnosis.known_fixes]
    assert "contradicted by the figures" in diagnosis.ledger


@pytest.mark.parametrize(
    ("slow", "confidence"),
    [
        (SLOW, Confidence.LIKELY),
        (Conclusion(Finding.BATCH_FLIP, "loses at 16"), Confidence.SHOWN),
    ],
)
def test_speed_lost_with_healthy_acceptance_is_never_the_draft(slow, confidence):
    diagnosis = chained(
        slow, healthy="0.70 accepted", speed=Speed(speedup=0.9, length=3.1, step_cost=3.4)
    )
    assert Stage.ACCEPTANCE not in stages(diagnosis)
    assert diagnosis.exonerated[0] == "the draft: 0.70 accepted"
    cost = next(link for link in diagnosis.links if link.stage is Stage.STEP_COST)
    assert cost.confidence is confidence
    assert cost.evidence == ("speedup 0.90 is acceptance length 3.10 over step cost 3.40",)
    kinds = {row.id: row.kind.value for row in read_ledger().rows}
    assert {kinds[fix.change] for fix in diagnosis.known_fixes} <= {"perf"}


@pytest.mark.parametrize(
    ("found", "release", "family", "avoided", "upgraded"),
    [
        (FELL, "0.18.0", "glm-5", "acceptance that is back", "acceptance that holds"),
        (SLOW, "0.23.0", "glm-4.7", "speed that is back", None),
        (CRASH, "0.23.0rc1", "deepseek-v4", "does not crash any more", "does not crash on"),
        (HUNG, "0.22.1rc1", "glm-5", "does not hang any more", "does not hang on"),
        (BROKEN, "0.23.0rc1", "glm-5.2", "are right again", "are right on"),
    ],
)
def test_what_is_back_is_what_the_kind_of_row_takes(found, release, family, avoided, upgraded):
    links = chained(found, release=release, family=family, healthy="yes").links
    fixes = [link for link in links if link.fix]
    assert fixes
    steps = [step for link in fixes for step in link.next]
    tests = [step for step in steps if step.command.startswith("tox")]
    others = [step for step in steps if step not in tests]
    assert others
    assert all(avoided in step.tells for step in others)
    assert bool(tests) is bool(upgraded)
    assert all(upgraded in step.tells for step in tests)
    if found is SLOW:
        assert "acceptance" not in " ".join(map(str, steps))


def test_what_the_catalogues_configuration_sets_itself_is_said_beside_the_row():
    def sentences(**config):
        asked = {"release": "0.23.0", "family": "glm-4.7"}
        found = chained(SLOW, healthy="yes", drafting=config, **asked).links
        return {link.fix.change: link.sentence for link in found if link.fix}

    own = "; the catalogue's own configuration of the draft has enforce_eager=true"
    assert sentences(enforce_eager=True)["glm-draft-eager"].endswith(own)
    assert not any(own in told for told in sentences(enforce_eager=False).values())
    told = sentences(enforce_eager=True)
    rows = {row.id: row for row in read_ledger().rows}
    for change, sentence in told.items():
        about = " ".join((rows[change].symptom, *rows[change].conditions))
        assert (own in sentence) is ("eager" in about and "raft" in about)


def test_where_the_batch_turns_it_round_it_is_the_batch():
    diagnosis = chained(SLOW, healthy="yes", speed=Speed(flip="wins at 4, loses at 16"))
    cost = next(link for link in diagnosis.links if link.stage is Stage.STEP_COST)
    assert cost.confidence is Confidence.SHOWN
    assert cost.sentence.endswith("the batch: wins at 4, loses at 16")


def test_eager_mode_is_named():
    diagnosis = chained(SLOW, healthy="yes", setting={Facet.EAGER: True})
    cost = next(link for link in diagnosis.links if link.stage is Stage.STEP_COST)
    assert "eager mode" in cost.sentence
    assert "serve without --enforce-eager" in [step.command for step in cost.next]


def test_speed_without_known_acceptance_asks_for_it_first():
    diagnosis = chained(SLOWER)
    cost = next(link for link in diagnosis.links if link.stage is Stage.STEP_COST)
    assert cost.confidence is Confidence.POSSIBLE
    assert "-k acceptance" in cost.next[0].command
    assert diagnosis.exonerated == ()


def test_speed_lost_with_the_acceptance_is_the_acceptance():
    assert Stage.STEP_COST not in stages(chained(FELL, SLOWER, seen=(LATER,)))


def test_a_crash_in_both_arms_exonerates_speculation():
    diagnosis = chained(CRASH, off_failure=CRASH, unasked=None)
    assert [link.finding for link in diagnosis.links] == [Finding.CRASH, Finding.BASELINE_INVALID]
    assert diagnosis.known_fixes == ()
    assert diagnosis.exonerated == ("speculation: a launch without it failed too",)


def test_a_crash_with_speculation_alone_is_speculations():
    diagnosis = chained(CRASH, off_served=True, release="0.25.1rc1", family="deepseek-v4")
    assert diagnosis.links[0].evidence == ("the arm without speculation served the same requests",)
    assert diagnosis.known_fixes
    assert chained(CRASH).links[0].next[0].tells.endswith("exonerates speculation")


def test_a_broken_off_arm_makes_the_comparison_invalid_and_blames_nobody():
    diagnosis = chained(SLOWER, off_failure=CRASH)
    assert [link.finding for link in diagnosis.links] == [Finding.BASELINE_INVALID]
    assert diagnosis.known_fixes == ()


def test_a_broken_off_arm_does_not_hide_a_loss_of_acceptance():
    diagnosis = chained(FELL, off_failure=CRASH, seen=(LATER,))
    assert [link.finding for link in diagnosis.links[:2]] == [
        Finding.BASELINE_INVALID,
        Finding.ACCEPT_REGRESSION,
    ]
    assert diagnosis.known_fixes[0].change == "10878"


def test_the_devices_come_last_and_only_with_evidence():
    assert Stage.HOST not in stages(chained(FELL, seen=(LATER,)))
    diagnosis = chained(FELL, sampled=True, seen=(LATER,))
    assert "the devices: npu-smi shows none that is unwell or shared" in diagnosis.exonerated
    diagnosis = chained(FELL, devices=(HOT,), sampled=True)
    assert stages(diagnosis)[-2:] == [Stage.HOST, Stage.UNKNOWN]


def test_same_texts_exonerate_the_target():
    diagnosis = chained(FELL, seen=(LATER,), same_texts="38 of 40 prompts got the off arm's text")
    assert diagnosis.exonerated == (
        "the target and the devices under it: 38 of 40 prompts got the off arm's text",
    )


def test_past_the_ledger_it_says_unknown():
    diagnosis = chained(FELL, release="0.99.0")
    assert diagnosis.ledger_unknown
    assert "0.99.0 is past what the ledger has read" in diagnosis.ledger
    assert diagnosis.known_fixes == ()
    assert stages(diagnosis) == [Stage.ACCEPTANCE, Stage.UNKNOWN]


def test_a_release_the_ledger_does_not_cover():
    diagnosis = chained(FELL, release=None, unasked="the ledger is about vLLM-Ascend")
    assert diagnosis.ledger == "the ledger is about vLLM-Ascend"
    assert not diagnosis.ledger_unknown


@pytest.mark.parametrize("signature", list(Signature))
def test_every_signature_has_experiments_that_name_the_place(signature):
    steps = chained(FELL, seen=(Seen(signature, "so"),)).links[0].next
    assert steps
    assert all(step.command and step.tells for step in steps)
    assert "MODEL" in steps[0].command or "glm-5" in steps[0].command
