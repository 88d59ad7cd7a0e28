"""The likely cause at the end of a paragraph, and the known faults in the plan."""

from pathlib import Path

import msgspec
from click.testing import CliRunner

from specfloor.catalog import load_catalog
from specfloor.cells import Cell
from specfloor.commands.report import report
from specfloor.judge.run import Basis, Wanted, write_basis
from specfloor.ledger import read_ledger
from specfloor.report.diagnosis import cause_lines
from specfloor.report.files import markdown, write_verdicts
from specfloor.report.known import known_lines
from specfloor.report.paragraphs import paragraph
from specfloor.runs.records import Purpose
from specfloor.runs.store import RunWriter
from specfloor.triage.diagnosis import Confidence, Diagnosis, Link, Stage, Step
from specfloor.triage.findings import Finding
from specfloor.triage.live import diagnose_run
from tests.unit.builders import (
    CELL,
    RULE,
    both_arms,
    catalog,
    floor,
    floors,
    info,
    judged,
    report_only,
)
from tests.unit.triage.test_regressions import CASES, diagnosed, flat, measured, recorded

(GLM,) = [case for case in CASES if case.row == "10878"]
FOLDER = Path("reports/r1")


def test_the_cause_comes_with_its_signature_its_fix_and_what_to_do():
    lines = cause_lines(diagnosed(GLM, "0.18.0"))
    assert lines[0] == "Likely cause:"
    assert lines[1].startswith("  signature later-positions: position ")
    assert lines[2].startswith("  likely (known fix): 10878 (0.18.0 is affected, figures fit): ")
    assert any(line.startswith("  not the target and the devices") for line in lines)
    assert any(line.startswith("  fix ledger: asked about 0.18.0, up to 2026") for line in lines)
    steps = [line for line in lines if line.startswith("  next: ")]
    assert len(steps) == 3
    assert "num_speculative_tokens 1" in steps[0]


def test_where_a_loss_is_shows_without_a_signature_too():
    link = Link(
        Stage.ACCEPTANCE,
        Finding.ACCEPT_REGRESSION,
        Confidence.SHOWN,
        "it fell",
        ("only with graph: 0.4 with it, 0.7 without",),
    )
    lines = cause_lines(Diagnosis(CELL, (link,), ("the configuration: it is in effect",)))
    assert lines[1] == "  no signature: only with graph: 0.4 with it, 0.7 without."
    assert lines[2] == "  not the configuration: it is in effect."


def test_the_devices_are_not_looked_into_before_the_draft():
    eager = Step("serve with --enforce-eager", "it tells")
    fell = Link(
        Stage.ACCEPTANCE, Finding.ACCEPT_REGRESSION, Confidence.SHOWN, "it fell", next=(eager,)
    )
    look = Step("npu-smi info > npu-smi.txt", "it tells too")
    for stage in (Stage.UNKNOWN, Stage.HOST):
        last = Link(stage, Finding.INCONCLUSIVE, Confidence.POSSIBLE, "who knows", next=(look,))
        lines = cause_lines(Diagnosis(CELL, (fell, last)))
        assert lines[-2:] == [f"  next: {eager}.", f"  next: {look}."]


def test_nothing_to_say_is_nothing():
    assert cause_lines(Diagnosis(CELL, ())) == []


def test_a_failed_paragraph_has_it_and_others_not():
    result = measured(GLM, "0.18.0")
    (cell,) = result.cells
    diagnosis = diagnosed(GLM, "0.18.0")
    failed = paragraph(cell.acceptance, FOLDER, diagnosis)
    assert "Likely cause:" in failed
    assert failed.splitlines()[-1].startswith("Evidence: ")
    assert "Likely cause" not in paragraph(cell.configuration, FOLDER, diagnosis)
    known = paragraph(cell.known, FOLDER, diagnosis)
    assert known.startswith("FAIL KNOWN_FIX: known faults of 0.18.0-glm_5-mtp3-code-off-c1\n")
    assert "\n10878: shown, the figures bear its signature" in known
    # it is a cause itself
    assert "Likely cause" not in known


def test_files_hold_the_diagnoses(tmp_path):
    result = judged(both_arms(on={"accepted": (0,) * 10}), floor(0.6), report_only("speedup"))
    diagnoses = diagnose_run(result, info().environment, catalog(), read_ledger())
    assert "Likely cause:" in markdown(result, info(), FOLDER, diagnoses)
    write_verdicts(result, info(), tmp_path, diagnoses)
    stored = msgspec.json.decode((tmp_path / "verdicts.json").read_bytes())
    assert msgspec.convert(stored["diagnoses"], list[Diagnosis]) == [diagnoses[CELL]]


def test_the_plan_tells_known_faults_once_a_method():
    code = Cell("0.18.0", "glm-5", "mtp", 3, "code", "off", 1)
    chat = msgspec.structs.replace(code, workload="chat")
    lines = known_lines([code, chat], load_catalog(), read_ledger())
    assert lines[0].startswith("  KNOWN  0.18.0 glm-5 mtp3: acceptance fault 10878 ")
    assert len(lines) == len(set(lines))
    assert known_lines([CELL], catalog(), read_ledger()) == []


def test_the_plan_says_what_the_ledger_has_not_read():
    known = load_catalog()
    newer = msgspec.structs.replace(
        known.releases["0.30.0rc2"], name="0.99.0", vllm_ascend="0.99.0"
    )
    known = msgspec.structs.replace(known, releases=known.releases | {"0.99.0": newer})
    cell = Cell("0.99.0", "glm-5", "mtp", 3, "code", "off", 1)
    (line,) = known_lines([cell], known, read_ledger())
    assert line.startswith("  UNKNOWN faults of 0.99.0: 0.99.0 is past what the ledger has read")


def stored(folder, case):
    """Write a run of one cell and return its folder."""
    cell = Cell(case.affected, case.family, case.method, case.k, "code", "off", 1)
    entry = floor(0.6, family=case.family, method=case.method)
    basis = Basis((Wanted(cell, frozenset({Purpose.NATURAL})),), floors(entry), RULE)
    with RunWriter(folder, info()) as writer:
        write_basis(basis, writer.folder)
        for record in recorded(case, cell, case.chances):
            writer.append(record)
    return str(folder)


def test_the_command_tells_what_a_loss_takes_from_a_run_beside(tmp_path):
    graph = stored(tmp_path / "graph", GLM)
    eager = msgspec.structs.replace(GLM, serve=("--enforce-eager",), chances=flat(0.87, 0.8, 0.8))
    beside = stored(tmp_path / "eager", eager)

    alone = CliRunner().invoke(report, [graph])
    assert "Likely cause:" in alone.output
    assert "graph" not in alone.output.partition("Likely cause:")[2].partition("Evidence:")[0]
    both = CliRunner().invoke(report, [graph, "--beside", beside])
    assert "only with graph: 0.41" in both.output
