"""Paragraphs, files and properties: what is said of what does not hold."""

import json
from pathlib import Path

import pytest

from specfloor.cells import OFF
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.upgrade import Side, judge_cell_upgrade
from specfloor.report.files import SCHEMA, headline, markdown, write_summary, write_verdicts
from specfloor.report.paragraphs import paragraph
from specfloor.report.properties import VERDICT, properties_of
from specfloor.runs.records import Purpose
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    CELL,
    GLM,
    RULE,
    both_arms,
    fault,
    floor,
    info,
    judged,
    launch,
    natural,
    report_only,
)

ON = CELL.arm
FOLDER = Path("reports/r1")
FLOORS = (floor(0.6), floor(4.0, "speedup"))
DEAD = {"accepted": (0,) * 10}


def cell_of(records, *entries):
    (cell,) = judged(records, *entries).cells
    return cell


class TestParagraph:
    def test_acceptance_that_collapsed(self):
        judgement = cell_of(both_arms(on=DEAD), *FLOORS).acceptance
        head, reason, *details, evidence = paragraph(judgement, FOLDER).splitlines()
        assert head == f"FAIL ACCEPT_ZERO: acceptance of {CELL.id}"
        assert reason.startswith("expected an acceptance rate of at least 0.600; measured 0.000")
        assert reason.endswith("so look at the draft before the hardware.")
        assert "on 40 of 40 prompts" in reason
        assert details[0] == "Floor 0.6 since 2026-05-01: it was reached (a run)."
        assert details[1].startswith("Rung A, 40 of 40 prompts sent. ")
        assert details[2].startswith("Accepted by position: 0.000 0.000 0.000")
        assert len(details) == 3
        assert evidence == (
            f"Evidence: reports/r1/records.jsonl reports/r1/{launch(ON).log} "
            f"reports/r1/{launch(OFF).log}"
        )

    def test_failed_requests_are_counted(self):
        records = [launch(ON), *natural(ON, failed=[1, 2])]
        text = paragraph(cell_of(records, *FLOORS).acceptance, FOLDER)
        assert "2 of 40 requests failed." in text

    def test_speed(self):
        judgement = cell_of(both_arms(launches=3), *FLOORS).speed
        head, reason, *details, evidence = paragraph(judgement, FOLDER).splitlines()
        assert head == f"FAIL SPEED_REGRESSION_ACCEPT_OK: speed of {CELL.id}"
        assert reason.startswith("expected a speedup of at least 4.00; measured 3.10")
        assert details == [
            "Floor 4 since 2026-05-01: it was reached (a run).",
            "Paired by prompt: 8 + 8 + 8 prompts in 3 pair(s) of launches.",
            "Speedup 3.10 ≈ acceptance length 3.05 ÷ step cost 1.00 (a step with drafts over one "
            "without).",
        ]
        assert evidence.count("engines/") == 6

    def test_configuration(self):
        records = [launch(OFF), launch(ON, resolved_k=1), *natural(ON)]
        text = paragraph(cell_of(records).configuration, FOLDER)
        assert text.splitlines()[:2] == [
            f"FAIL CONFIG_NOT_IN_EFFECT: configuration of {CELL.id}",
            "num_speculative_tokens in the engine's log: asked for 3, found 1.",
        ]

    @pytest.mark.parametrize("cause", ["no memory", "no memory.", None])
    def test_a_fault_ends_in_one_full_stop(self, cause):
        log = "engines/on.log"
        broken = fault(Finding.START_FAIL, ON, cause=cause, evidence=log)
        text = paragraph(cell_of([broken]).acceptance, FOLDER)
        _, reason, evidence = text.splitlines()
        said = ". The log says: no memory" if cause else ""
        assert reason == f"it was a START_FAIL{said}."
        assert evidence == f"Evidence: reports/r1/records.jsonl reports/r1/{log}"

    def test_a_crash_says_what_had_been_measured(self):
        records = [
            launch(ON),
            *natural(ON, answered=9),
            fault(Finding.CRASH, ON),
        ]
        text = paragraph(cell_of(records, *FLOORS).acceptance, FOLDER)
        assert "it was a CRASH. Until then: expected an acceptance rate" in text
        assert ".." not in text

    def test_no_data(self):
        text = paragraph(cell_of([], *FLOORS).speed, FOLDER)
        assert text.startswith(f"NO_DATA NO_DATA: speed of {CELL.id}\n")

    def test_reported(self):
        text = paragraph(cell_of(both_arms()).speed, FOLDER)
        assert text.startswith(f"reported EXPECTED: speed of {CELL.id}\nmeasured 3.10 ×")


ON_THREE = ": verdicts on configuration, acceptance, speed of 1 cell"


class TestHeadline:
    def test_counts_of_verdicts(self):
        result = judged(both_arms(), floor(0.6), report_only("speedup"))
        assert headline(result, complete=True) == f"2 PASS, 1 reported{ON_THREE}"

    def test_what_was_judged_of_how_many_cells(self):
        cells = [CELL, CELL.on_release("cpu-1.0")]
        records = [*both_arms(), *both_arms(cell=cells[1])]
        result = judged(records, floor(0.6), cells=cells, purposes=[Purpose.NATURAL])
        said = headline(result, complete=True)
        assert said == "4 PASS: verdicts on configuration, acceptance of 2 cells"

    def test_what_is_worse_is_said_too(self):
        result = judged(both_arms(on=DEAD), floor(0.6), floor(1.3, "speedup"))
        assert headline(result, complete=True) == f"1 PASS, 1 FAIL, 1 INCONCLUSIVE{ON_THREE}"

    def test_a_run_that_was_interrupted(self):
        said = headline(judged([], *FLOORS), complete=False)
        assert said == f"3 NO_DATA{ON_THREE} (the run did not come to its end)"

    def test_nothing(self):
        assert headline(judged([], cells=[]), complete=True) == "nothing judged"


class TestFiles:
    def test_the_summary(self):
        text = markdown(judged(both_arms(on=DEAD), *FLOORS), info(complete=True), FOLDER)
        answer, run, *_ = text.split("\n\n")
        assert answer == f"# 1 PASS, 1 FAIL, 1 INCONCLUSIVE{ON_THREE}"
        assert run.startswith("Run r1, 2026-05-01T10:00")
        assert "\n## cpu-2.0\n\n| family" in text
        assert "\n## What does not hold\n\n```\nFAIL ACCEPT_ZERO: acceptance" in text
        assert text.count("```") == 4
        # what people have to see comes before what they may want to
        assert text.index("## What does not hold") < text.index("## Acceptance in detail")

    def test_a_summary_of_what_holds_has_no_list(self):
        text = markdown(judged(both_arms()), info(), FOLDER)
        assert "What does not hold" not in text
        assert "(the run did not come to its end)" in text

    def test_both_files_and_the_same_bytes_again(self, tmp_path):
        result = judged(both_arms(on=DEAD), *FLOORS)
        write_summary(result, info(), tmp_path)
        write_verdicts(result, info(), tmp_path)
        first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        assert first.keys() == {"summary.md", "verdicts.json"}
        again = judged(both_arms(on=DEAD), *FLOORS)
        write_summary(again, info(), tmp_path)
        write_verdicts(again, info(), tmp_path)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first

    def test_verdicts_for_programs(self, tmp_path):
        write_verdicts(judged(both_arms(on=DEAD), *FLOORS), info(), tmp_path)
        document = json.loads((tmp_path / "verdicts.json").read_text())
        assert (document["schema"], document["run"]) == (SCHEMA, "r1")
        (cell,) = document["cells"]
        assert cell["cell"]["family"] == "glm-9.1-tiny"
        assert cell["acceptance"]["verdict"] == "FAIL"
        assert cell["acceptance"]["findings"] == ["ACCEPT_ZERO"]
        assert cell["acceptance"]["floor"]["date"] == "2026-05-01"
        assert cell["configuration"]["verdict"] == "PASS"


class TestProperties:
    def test_acceptance(self):
        found = dict(properties_of(cell_of(both_arms(), *FLOORS).acceptance))
        assert found["cell"] == CELL.id
        assert found[VERDICT] == "PASS"
        assert found["findings"] == "EXPECTED"
        assert found["rung"] == "A"
        assert found["floor"] == "0.6"
        assert float(found["acceptance_rate_mean"]) == pytest.approx(0.68333)
        assert float(found["acceptance_rate_pooled"]) == pytest.approx(0.68333)
        low, high = found["acceptance_rate_pooled_low"], found["acceptance_rate_pooled_high"]
        assert float(low) < 0.68 < float(high)
        assert float(found["acceptance_length_pooled"]) == pytest.approx(3.05)

    def test_speed(self):
        found = dict(properties_of(cell_of(both_arms(launches=2), *FLOORS).speed))
        assert found["speedup"] == "3.1000"
        assert float(found["speedup_low"]) <= 3.1 <= float(found["speedup_high"])
        assert found["floor"] == "4"

    def test_the_figures_that_were_judged_are_in_the_unit_of_the_floor(self):
        length = floor(2.0, "acceptance_length", k=3)
        acceptance, speed = (
            dict(properties_of(j))
            for j in (
                cell_of(both_arms(), length).acceptance,
                cell_of(both_arms(launches=2), *FLOORS).speed,
            )
        )
        assert (acceptance["quantity"], acceptance["floor"]) == ("acceptance_length", "2")
        assert float(acceptance["estimate"]) > 3
        assert (speed["quantity"], speed["estimate"]) == ("speedup", "3.10000")
        for found in (acceptance, speed):
            low, high = float(found["interval_low"]), float(found["interval_high"])
            assert low <= float(found["estimate"]) <= high
            assert 0 < float(found["interval_level"]) < 1

    def test_after_an_early_stop_the_interval_is_that_of_the_verdict(self):
        judgement = cell_of(both_arms(on={"answered": 9}), *FLOORS).acceptance
        found = dict(properties_of(judgement))
        assert judgement.detail.mean.interval != judgement.summary.rate_mean.interval
        assert float(found["interval_low"]) == pytest.approx(
            judgement.detail.mean.interval.low, abs=1e-5
        )

    def test_without_a_floor_the_estimate_is_there(self):
        found = dict(properties_of(cell_of(both_arms()).acceptance))
        assert (found["quantity"], "floor" in found) == ("acceptance_rate", False)
        assert float(found["estimate"]) == pytest.approx(0.68333)

    @pytest.mark.parametrize(("on", "outcome"), [({}, "SAME"), ({"accepted": (1,) * 10}, "WORSE")])
    def test_an_upgrade(self, on, outcome):
        old = both_arms(cell=CELL.on_release("cpu-1.0"))
        index = RecordIndex([*old, *both_arms(on=on)])
        sides = [Side(index.evidence(CELL.on_release(r)), "here") for r in ("cpu-1.0", "cpu-2.0")]
        found = dict(properties_of(judge_cell_upgrade(*sides, GLM, RULE, "cpu-1.0")))
        assert (found["baseline"], found["outcome"]) == ("cpu-1.0", outcome)
        assert found["quantity"] == "acceptance_rate_change"
        low, change = float(found["interval_low"]), float(found["estimate"])
        assert (low, change) == (0, 0) if outcome == "SAME" else low < change < -0.5

    def test_without_data_there_are_no_numbers(self):
        cell = cell_of([])
        for judgement in (cell.acceptance, cell.speed, cell.configuration):
            assert [name for name, _ in properties_of(judgement)] == ["cell", "verdict", "findings"]

    def test_what_is_only_reported_says_so(self):
        assert dict(properties_of(cell_of(both_arms()).speed))[VERDICT] == "reported"

    def test_everything_is_text(self):
        for judgement in judged(both_arms(launches=2), *FLOORS).judgements:
            assert all(
                isinstance(name, str) and isinstance(value, str)
                for name, value in properties_of(judgement)
            )


def test_purposes_not_asked_for_are_not_in_the_files(tmp_path):
    write_verdicts(judged(both_arms(), purposes=[Purpose.NATURAL]), info(), tmp_path)
    (cell,) = json.loads((tmp_path / "verdicts.json").read_text())["cells"]
    assert cell["speed"] is None
