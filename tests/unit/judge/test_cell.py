"""One cell judged: what passes, what fails and with which words, and what nobody can tell."""

import msgspec
import pytest

from specfloor.cells import OFF
from specfloor.errors import UsageError
from specfloor.judge.cell import Rule
from specfloor.judge.cell_acceptance import acceptance_floor, judge_cell_acceptance
from specfloor.judge.cell_speed import judge_cell_speed
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import CountersRecord, Purpose, RequestRecord
from specfloor.signals.counts import DraftCounts, Rung
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    CELL,
    GLM,
    RULE,
    SMALL,
    block_key,
    both_arms,
    evidence,
    fault,
    floor,
    forced,
    launch,
    natural,
    report_only,
)

ON = CELL.arm
DEAD = (0,) * 10
LOOP = " ".join(["round and round it goes"] * 100)


def acceptance(*records, entry=None, rule=RULE, cell=CELL, family=GLM):
    entry = report_only() if entry is None else entry
    return judge_cell_acceptance(evidence(*records, cell=cell), family, entry, rule)


def speed(*records, entry=None, rule=RULE):
    found = evidence(*records)
    judged = judge_cell_acceptance(found, GLM, floor(), rule)
    return judge_cell_speed(found, entry or report_only("speedup"), judged, rule)


def on_only(*args, **options):
    return [launch(OFF), *natural(OFF), launch(ON), *natural(ON, *args, **options)]


class TestAcceptance:
    def test_a_floor_that_holds(self):
        judged = acceptance(*both_arms(), entry=floor(0.6))
        assert judged.verdict is Verdict.PASS
        assert judged.findings == (Finding.EXPECTED,)
        assert judged.rung is Rung.PER_REQUEST
        assert (judged.sent, judged.failed) == (40, 0)
        assert str(judged.outputs) == "40 of 40"
        assert judged.summary.rate_mean.value == pytest.approx(0.6833, abs=1e-3)
        assert "everything else" not in judged.reason
        assert judged.logs == (launch(ON).log, launch(OFF).log)

    def test_a_floor_that_does_not(self):
        judged = acceptance(*both_arms(), entry=floor(0.8))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.ACCEPT_REGRESSION,)
        assert "expected an acceptance rate of at least 0.800; measured 0.683" in judged.reason
        assert "While acceptance fell, everything else looked healthy" in judged.reason

    def test_acceptance_zero_says_what_looked_healthy(self):
        judged = acceptance(*both_arms(on={"accepted": DEAD}), entry=floor(0.6))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.ACCEPT_ZERO,)
        assert judged.reason.endswith(
            "While acceptance collapsed, everything else looked healthy: the server answered 40 "
            "of 40 requests and 40 of 40 prompts got the text of the off arm; so look at the draft "
            "before the hardware"
        )

    def test_acceptance_zero_with_other_texts_is_not_called_healthy(self):
        judged = acceptance(
            *both_arms(on={"accepted": DEAD, "text": "nonsense {}"}), entry=floor(0.6)
        )
        assert judged.findings == (Finding.ACCEPT_ZERO,)
        assert "looked healthy" not in judged.reason
        assert "0 of 40 prompts got the text of the off arm" in judged.reason

    def test_half_of_the_texts_is_what_near_ties_may_part(self):
        records = both_arms(on={"accepted": DEAD})
        answers = [r for r in records if isinstance(r, RequestRecord) and r.speculation]
        for parted, healthy in ((20, True), (21, False)):
            others = {
                r.index: msgspec.structs.replace(r, text_sha256="x") for r in answers[:parted]
            }
            changed = [others.get(r.index, r) if r in answers else r for r in records]
            judged = acceptance(*changed, entry=floor(0.6))
            assert judged.outputs.same == 40 - parted
            assert ("everything else looked healthy" in judged.reason) is healthy

    def test_acceptance_zero_with_failed_requests_is_not_called_healthy(self):
        judged = acceptance(*on_only(accepted=DEAD, failed=range(5)), entry=floor(0.6))
        assert judged.findings == (Finding.ACCEPT_ZERO,)
        assert "looked healthy" not in judged.reason
        assert "the server answered 35 of 40 requests" in judged.reason

    def test_without_an_off_arm_texts_are_not_compared(self):
        judged = acceptance(launch(ON), *natural(ON, accepted=DEAD), entry=floor(0.6))
        assert judged.outputs is None
        assert "the server answered 40 of 40 requests; so look at the draft" in judged.reason

    def test_a_floor_of_the_length(self):
        good = acceptance(*both_arms(), entry=floor(2.8, "acceptance_length"))
        bad = acceptance(*both_arms(), entry=floor(3.4, "acceptance_length"))
        assert (good.verdict, bad.verdict) == (Verdict.PASS, Verdict.FAIL)
        assert bad.detail.unit == "length"
        assert "expected an acceptance length of at least 3.400; measured 3.050" in bad.reason

    def test_reported_without_a_floor(self):
        judged = acceptance(*both_arms())
        assert judged.verdict is None
        assert judged.findings == (Finding.EXPECTED,)
        assert judged.reason == (
            "measured 0.683 (pooled) on 40 requests; no floor: nothing to go by yet"
        )
        assert judged.summary.requests == 40
        assert judged.summary.rate_mean.interval is not None

    def test_a_dead_draft_fails_without_a_floor_too(self):
        judged = acceptance(*both_arms(on={"accepted": DEAD}))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.ACCEPT_ZERO,)
        assert "measured 0.0" in judged.reason
        assert "everything else looked healthy" in judged.reason

    def test_a_draft_that_is_always_right_fails_without_a_floor_too(self):
        judged = acceptance(*both_arms(on={"accepted": (3,) * 10, "vary": False}))
        assert judged.findings == (Finding.SUSPICIOUS_ACCEPTANCE,)

    def test_too_many_failed_requests_do_not_pass(self):
        few = acceptance(*both_arms(on={"failed": (3,)}), entry=floor(0.5))
        many = acceptance(*both_arms(on={"failed": tuple(range(15))}), entry=floor(0.5))
        assert (few.verdict, many.verdict) == (Verdict.PASS, Verdict.INCONCLUSIVE)
        assert "15 of 40 requests failed" in many.reason

    def test_domains_are_told_apart(self):
        domains = ("code", "math", "code")
        judged = acceptance(*both_arms(on={"domains": domains}), entry=floor(0.6))
        assert [one.domain for one in judged.summary.per_domain] == ["code", "math"]

    @pytest.mark.parametrize("entry", [floor(), report_only()])
    def test_nothing_measured_is_no_data(self, entry):
        for records in ([], [launch(OFF), *natural(OFF)], [launch(ON)]):
            judged = acceptance(*records, entry=entry)
            assert judged.verdict is Verdict.NO_DATA
            assert judged.findings == (Finding.NO_DATA,)
            assert judged.reason == "this cell was not measured"

    @pytest.mark.parametrize("entry", [floor(), report_only()])
    def test_nothing_drafted_is_no_data(self, entry):
        sent, *requests = natural(ON, per_request=False, counted=False, accepted=DEAD)
        nothing = CountersRecord(sent.launch, sent.block, {"0": DraftCounts()})
        judged = acceptance(
            launch(ON), sent, *requests, nothing, entry=entry, cell=CELL, family=GLM
        )
        assert judged.verdict is Verdict.NO_DATA
        assert judged.findings == (Finding.NO_DATA,)

    @pytest.mark.parametrize("entry", [floor(), report_only()])
    def test_objects_of_requests_that_drafted_nothing_are_no_data(self, entry):
        judged = acceptance(launch(ON), *natural(ON, accepted=(), vary=False), entry=entry)
        assert judged.rung is Rung.PER_REQUEST
        assert judged.verdict is Verdict.NO_DATA
        assert "drafted a token, so there is no acceptance to judge" in judged.reason

    @pytest.mark.parametrize("entry", [floor(), report_only()])
    def test_no_kind_of_evidence_is_no_data(self, entry):
        block = natural(ON, per_request=False, counted=False, accepted=DEAD)
        judged = acceptance(launch(ON), *block, entry=entry)
        assert judged.verdict is Verdict.NO_DATA
        assert "no counters tell whether anything was drafted" in judged.reason

    def test_all_requests_failed_says_with_what(self):
        records = on_only(failed=range(40), counted=False)
        records[-1] = msgspec.structs.replace(records[-1], error="something else")
        judged = acceptance(*records, entry=floor())
        assert judged.verdict is Verdict.NO_DATA
        assert judged.reason == (
            "all 40 requests failed, the first with: HTTP 400 instead of an answer: no"
        )
        assert judged.failed == 40

    def test_a_few_failed_requests_are_counted(self):
        judged = acceptance(*on_only(failed=[3, 7]), entry=floor(0.3))
        assert judged.verdict is Verdict.PASS
        assert (judged.sent, judged.failed) == (40, 2)

    def test_only_the_total_of_a_block_decides_nothing(self):
        """An n-gram draft at concurrency 4 on a release without per-request objects."""
        cell = msgspec.structs.replace(
            CELL, family=SMALL.name, method="ngram", k=4, workload="rewrite", tier="none",
            concurrency=4,
        )  # fmt: skip
        sent, *requests = natural(cell.arm, cell=cell, per_request=False, counted=False)
        total = CountersRecord(sent.launch, sent.block, {"0": DraftCounts(300, 1000, 640)})
        for entry in (floor(0.1), floor(0.9), report_only()):
            judged = acceptance(
                launch(cell.arm, cell=cell), sent, *requests, total,
                entry=entry, cell=cell, family=SMALL,
            )  # fmt: skip
            assert judged.verdict is Verdict.INCONCLUSIVE
            assert judged.findings == (Finding.INCONCLUSIVE,)
            assert judged.rung is Rung.COUNTERS
            assert "0.640 of 1000 drafted tokens" in judged.reason
            assert "run at concurrency 1" in judged.reason

    def test_the_stream_carries_a_release_without_per_request_objects(self):
        judged = acceptance(*both_arms(on={"per_request": False}), entry=floor(0.6))
        assert judged.verdict is Verdict.PASS
        assert judged.rung is Rung.STREAM
        assert "to the token" in judged.reconciliation

    def test_too_good_is_no_pass(self):
        records = [launch(ON), *natural(ON, accepted=(3,) * 20, vary=False)]
        judged = acceptance(*records, entry=floor(0.6))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.SUSPICIOUS_ACCEPTANCE,)
        # the target as its own draft has every reason to be perfect
        (mtp, *_) = GLM.methods
        same = msgspec.structs.replace(GLM, methods=(msgspec.structs.replace(mtp, draft="target"),))
        assert acceptance(*records, entry=floor(0.6), family=same).verdict is Verdict.PASS

    @pytest.mark.parametrize("where", ["text", "reasoning"])
    def test_loops_are_no_pass(self, where):
        records = on_only()
        looping = [
            msgspec.structs.replace(record, **{where: LOOP}) if hasattr(record, where) else record
            for record in records
        ]
        assert acceptance(*records, entry=floor(0.6)).verdict is Verdict.PASS
        judged = acceptance(*looping, entry=floor(0.6))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.SUSPICIOUS_ACCEPTANCE,)

    def test_a_block_that_was_interrupted_is_judged_on_what_there_is(self):
        few = acceptance(*on_only(answered=2), entry=floor(0.68))
        assert few.verdict is Verdict.INCONCLUSIVE
        assert few.detail.still_needed > 0
        # so far from the floor that a part decides
        assert acceptance(*on_only(answered=20), entry=floor(0.2)).verdict is Verdict.PASS


class TestAcceptanceWithFaults:
    def test_a_server_that_did_not_start(self):
        for entry in (floor(), report_only()):
            judged = acceptance(
                launch(OFF),
                *natural(OFF),
                fault(Finding.START_FAIL, ON, cause="no memory", evidence="engines/on.log"),
                entry=entry,
            )
            assert judged.verdict is Verdict.FAIL
            assert judged.findings == (Finding.START_FAIL,)
            assert judged.reason == "it was a START_FAIL. The log says: no memory"
            assert judged.logs == ("engines/on.log", launch(OFF).log)

    def test_both_arms_that_did_not_start_exonerate_speculation(self):
        judged = acceptance(fault(Finding.START_FAIL, OFF), fault(Finding.START_FAIL, ON))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.START_FAIL, Finding.BASELINE_INVALID)
        assert judged.reason == (
            "it was a START_FAIL. With speculation off a launch ended with START_FAIL too, so "
            "speculation is not the cause"
        )

    def test_another_fault_of_the_off_arm_exonerates_nothing(self):
        judged = acceptance(fault(Finding.START_FAIL, OFF), launch(ON), fault(Finding.CRASH, ON))
        assert "not the cause" not in judged.reason
        assert "ended with START_FAIL: it was a START_FAIL" in judged.reason

    def test_a_crash_in_the_block_keeps_what_was_measured(self):
        judged = acceptance(*on_only(answered=9), fault(Finding.CRASH, ON), entry=floor(0.2))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.CRASH,)
        assert judged.sent == 9
        assert judged.summary.requests == 9
        assert judged.reason.startswith("it was a CRASH. Until then: expected an acceptance rate")

    def test_a_crash_on_the_last_request_is_no_pass(self):
        judged = acceptance(*on_only(failed=[39]), fault(Finding.CRASH, ON), entry=floor(0.2))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.CRASH,)

    def test_a_crash_after_the_block_changes_nothing(self):
        later = fault(Finding.CRASH, ON, since=Purpose.FORCED)
        judged = acceptance(*on_only(), *forced(ON, answered=1), later, entry=floor(0.6))
        assert judged.verdict is Verdict.PASS

    def test_a_hang_in_a_later_round_changes_nothing(self):
        later = fault(Finding.HANG, ON, 1, since=Purpose.FORCED)
        judged = acceptance(*both_arms(), launch(ON, 1), later, entry=floor(0.6))
        assert judged.verdict is Verdict.PASS

    def test_an_off_arm_that_did_not_start_leaves_acceptance_judged(self):
        records = [fault(Finding.START_FAIL, OFF), launch(ON), *natural(ON)]
        assert acceptance(*records, entry=floor(0.6)).verdict is Verdict.PASS
        assert acceptance(*records, entry=floor(0.9)).verdict is Verdict.FAIL


class TestSpeed:
    def test_a_floor_that_holds(self):
        judged = speed(*both_arms(launches=3), entry=floor(1.5, "speedup"))
        assert judged.verdict is Verdict.PASS
        assert judged.findings == (Finding.EXPECTED,)
        # ten steps give 31 tokens
        assert judged.summary.speedup == pytest.approx(3.1, rel=0.01)
        assert judged.summary.step_cost == pytest.approx(1.0)
        assert judged.summary.length == pytest.approx(3.05)
        assert judged.off_s == pytest.approx(3.1 * judged.on_s, rel=0.02)

    def test_a_floor_that_does_not(self):
        judged = speed(*both_arms(launches=3), entry=floor(3.5, "speedup"))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.SPEED_REGRESSION_ACCEPT_OK,)

    def test_one_pair_of_launches_decides_nothing(self):
        for value in (0.5, 6.0):
            judged = speed(*both_arms(), entry=floor(value, "speedup"))
            assert judged.verdict is Verdict.INCONCLUSIVE
            assert judged.detail.launches_needed >= 2

    def test_reported_without_a_floor(self):
        judged = speed(*both_arms())
        assert judged.verdict is None
        assert judged.reason == (
            "measured 3.10 × over 1 pair(s) of launches; no floor: nothing to go by yet"
        )

    @pytest.mark.parametrize("entry", [floor(1.3, "speedup"), report_only("speedup")])
    def test_without_a_pair_there_is_no_data(self, entry):
        half = [launch(OFF), *natural(OFF), *forced(OFF), launch(ON), *natural(ON)]
        for records in ([], half):
            judged = speed(*records, entry=entry)
            assert judged.verdict is Verdict.NO_DATA
            assert judged.findings == (Finding.NO_DATA,)

    @pytest.mark.parametrize("entry", [floor(1.3, "speedup"), report_only("speedup")])
    def test_a_fault_of_the_on_arm(self, entry):
        broken = fault(Finding.CRASH, ON, since=Purpose.FORCED, cause="no memory")
        judged = speed(
            launch(OFF), *forced(OFF), launch(ON), *natural(ON), *forced(ON, answered=3), broken,
            entry=entry,
        )  # fmt: skip
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.CRASH,)
        assert judged.reason == "it was a CRASH. The log says: no memory"

    def test_a_hang_in_a_later_round_is_a_fault_of_speed(self):
        later = fault(Finding.HANG, ON, 1, since=Purpose.FORCED)
        judged = speed(*both_arms(), launch(ON, 1), later, entry=floor(1.3, "speedup"))
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.HANG,)

    def test_a_fault_in_the_block_of_another_cell_changes_nothing(self):
        other = msgspec.structs.replace(CELL, workload="structured-output")
        for arm in (ON, OFF):
            elsewhere = fault(Finding.CRASH, arm, lost=(block_key(Purpose.FORCED, other),))
            assert speed(*both_arms(), elsewhere).verdict is None
            # nor does one in a round of launches that this cell has no part in
            later = fault(Finding.START_FAIL, arm, 1, lost=(block_key(Purpose.FORCED, other),))
            assert speed(*both_arms(), later).verdict is None

    @pytest.mark.parametrize("entry", [floor(1.3, "speedup"), report_only("speedup")])
    def test_a_broken_baseline_is_no_regression(self, entry):
        judged = speed(
            fault(Finding.START_FAIL, OFF, cause="no memory"),
            launch(ON),
            *natural(ON),
            *forced(ON),
            entry=entry,
        )
        assert judged.verdict is Verdict.NO_DATA
        assert judged.findings == (Finding.BASELINE_INVALID,)
        assert judged.reason == (
            "the off arm cannot be compared with: it was a START_FAIL. The log says: no memory"
        )
        assert judged.on_s is not None
        assert judged.off_s is None

    def test_both_arms_crash(self):
        judged = speed(
            launch(OFF),
            fault(Finding.CRASH, OFF),
            launch(ON),
            fault(Finding.CRASH, ON),
        )
        assert judged.verdict is Verdict.FAIL
        assert judged.findings == (Finding.CRASH,)
        assert judged.reason.endswith("ended with CRASH too, so speculation is not the cause")


class TestRuleAndFloor:
    def test_they_go_together(self):
        rule = Rule(alpha=0.01, beta=0.02, margin=0.1)
        rate = acceptance_floor(floor(0.6), CELL, rule, 40)
        assert (rate.unit, rate.k, rate.population) == ("rate", None, 40)
        assert (rate.alpha, rate.beta, rate.margin) == (0.01, 0.02, 0.1)
        length = acceptance_floor(floor(2.5, "acceptance_length"), CELL, rule, None)
        assert (length.unit, length.k, length.population) == ("length", 3, None)

    @pytest.mark.parametrize("value", [4.0, 1.04])
    def test_or_not(self, value):
        with pytest.raises(UsageError, match="acceptance length"):
            acceptance_floor(floor(value, "acceptance_length"), CELL, RULE, 40)

    def test_a_sampled_workload_is_no_population(self):
        judged = acceptance(*both_arms(), entry=floor(0.3), rule=Rule(sampled=True))
        assert judged.detail.population is None
        assert acceptance(*both_arms(), entry=floor(0.3)).detail.population == 40


class TestEngines:
    """Several engines behind one server: data-parallel ranks, decode nodes."""

    def judged(self, *rates, floor_at=0.5):
        """Judge a block whose engines accepted ``rates`` of 3,000 drafted tokens each."""
        made = both_arms()
        counts = {
            str(number): DraftCounts(1000, 3000, round(3000 * rate))
            if rate is not None
            else DraftCounts()
            for number, rate in enumerate(rates)
        }
        records = [
            msgspec.structs.replace(record, by_engine=counts)
            if isinstance(record, CountersRecord)
            else record
            for record in made
        ]
        return judge_cell_acceptance(evidence(*records), GLM, floor(floor_at), RULE)

    def test_one_that_lost_its_draft_fails_a_cell_whose_mean_passes(self):
        said = self.judged(0.7, 0.7, 0.7, 0.05)
        assert said.verdict is Verdict.FAIL
        assert said.findings[0] is Finding.TOPOLOGY
        assert said.reason.startswith("only some engines are affected: 3 accepts ")

    def test_engines_that_differ_as_their_requests_do(self):
        said = self.judged(0.7, 0.62, 0.68, 0.74)
        assert said.verdict is Verdict.PASS

    def test_an_engine_without_requests_has_no_data(self):
        said = self.judged(0.7, None, 0.68)
        assert said.verdict is Verdict.PASS
        assert said.figures.engines["1"].trials == 0

    def test_all_of_them_ill_is_no_matter_of_engines(self):
        said = self.judged(0.02, 0.03)
        assert Finding.TOPOLOGY not in said.findings
