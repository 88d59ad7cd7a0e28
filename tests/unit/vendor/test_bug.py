"""The report to the vendor: its text, its archive, the command."""

import io
import json
import re
import subprocess
import tarfile

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import OFF, Cell
from specfloor.judge.run import judge_stored
from specfloor.judge.verdict import Verdict
from specfloor.load.workload import load_workload
from specfloor.runs.records import RequestRecord
from specfloor.runs.store import read_run
from specfloor.triage.findings import Finding
from specfloor.vendor.form import BUG, PERFORMANCE, form_of, keywords, title
from specfloor.vendor.logs import cut_log
from specfloor.vendor.prompts import prompts_on_acceptance, prompts_on_speed
from specfloor.vendor.reproduce import shell
from tests.unit.builders import (
    CELL,
    GLM,
    both_arms,
    catalog,
    evidence,
    fault,
    floor,
    launch,
    natural,
    report_only,
)
from tests.unit.vendor.builders import DEAD, GOOD, two_releases, write_run, write_workloads

SLOW = (floor(0.6), floor(4.0, "speedup"))


@pytest.fixture
def bug(monkeypatch, typed, tmp_path):
    """Run the command; return exit code, output, errors, the text, the archive's files."""
    monkeypatch.setattr("specfloor.commands.bug.load_catalog", catalog)
    monkeypatch.setattr("specfloor.commands.bug.platform.node", lambda: "this-host-7")
    text, archive = tmp_path / "out.md", tmp_path / "out.tar.gz"

    def run(*arguments):
        code, out, err = typed("bug", *arguments, "-o", text, "--archive", archive)
        members = unpack(archive.read_bytes()) if archive.exists() else {}
        shown = text.read_text(encoding="utf-8") if text.exists() else ""
        return code, out, err, shown, members

    return run


def unpack(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive.getmembers()}


def fields_of(text):
    return re.findall(r"^### (.*)$", text, re.MULTILINE)


def test_a_draft_that_went_bad(bug, tmp_path):
    code, out, err, text, members = bug(write_run(tmp_path / "r1", both_arms(on=DEAD)))
    assert code == 1
    assert err.startswith("The text has no requests to send: ")
    assert err.count("\n") == 1
    assert fields_of(text) == ["Your current environment", "🐛 Describe the bug"]
    first = text.splitlines()[0]
    assert first == (
        "[Bug]: MTP k=3, A family with two methods and two tiers, vLLM 2.0 on the CPU: "
        "no draft is accepted"
    )
    assert out.startswith(first)
    assert "expected an acceptance rate of at least 0.600; measured 0.000" in text
    assert "at least 0.6 (floor since 2026-05-01: it was reached)" in text
    assert "acceptance length, pooled (bonus token counted) | - | 1.000" in text
    assert "This run has no baseline." in text
    assert text.count("| - | 0.000 [0.000, 0.") == 3 + 2
    assert "python collect_env.py" in text
    assert members["bug.md"].decode() == text
    assert sorted(members) == [
        "basis.json",
        "bug.md",
        "engines/cpu-2.0-glm_9_1_tiny-mtp3-0.log",
        "engines/cpu-2.0-glm_9_1_tiny-off-0.log",
        "records.jsonl",
        "run.json",
        "verdict.json",
    ]


def test_the_good_release_stands_beside_the_bad_one(bug, tmp_path):
    folder = write_run(
        tmp_path / "r1",
        two_releases(accepted=(1, 0, 1, 0, 0, 1, 0, 0, 0, 0)),
        cells=(GOOD, CELL),
        baseline_release="cpu-1.0",
    )
    code, _, _, text, members = bug(folder)
    assert code == 1
    assert "| quantity | good: cpu-1.0 | reported: cpu-2.0 | expected |" in text
    assert re.search(
        r"rate, mean over requests \| 0\.683 \[.*n = 40 \| 0\.083 \[.*\| at least 0", text
    )
    assert re.search(r"^\| 1 \| 0\.900 \[.* \| 0\.250 \[", text, re.MULTILINE)
    assert "the largest fall of the acceptance rate from the good side on the same prompt" in text
    assert "WORSE" in text
    assert any("cpu-1.0" in name for name in members)


def test_the_good_side_may_be_another_run(bug, tmp_path):
    old = write_run(tmp_path / "old", both_arms(cell=GOOD), cells=(GOOD,))
    new = write_run(tmp_path / "new", both_arms(on=DEAD), baseline_run=str(old))
    _, _, _, text, members = bug(new)
    assert "good: cpu-1.0 (run old)" in text
    assert json.loads(members["baseline/run.json"])["run"] == "old"
    assert "baseline/engines/cpu-1.0-glm_9_1_tiny-mtp3-0.log" in members
    assert json.loads(members["basis.json"])["baseline_run"] == "baseline"


def test_the_unpacked_archive_can_be_judged_again(bug, tmp_path, monkeypatch):
    other = Cell("cpu-2.0", "glm-9.1-tiny", "mtp", 1, "code", "off", 1)
    old = write_run(tmp_path / "old", both_arms(cell=GOOD), cells=(GOOD,))
    new = write_run(
        tmp_path / "new", both_arms(on=DEAD), cells=(CELL, other), baseline_run=str(old)
    )
    before = judge_stored(read_run(new), catalog()).cells[0]
    *_, members = bug(new)
    for name, data in members.items():
        path = tmp_path / "unpacked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    monkeypatch.chdir(tmp_path / "unpacked")
    (again,) = judge_stored(read_run(tmp_path / "unpacked"), catalog()).cells
    assert again == before
    assert again.verdict is Verdict.FAIL


def test_the_same_run_gives_the_same_bytes(bug, tmp_path):
    folder = write_run(tmp_path / "r1", both_arms(on=DEAD))
    bug(folder)
    first = (tmp_path / "out.tar.gz").read_bytes()
    bug(folder)
    assert (tmp_path / "out.tar.gz").read_bytes() == first


def test_a_speed_that_is_lost_goes_into_the_performance_form(bug, tmp_path):
    _, _, _, text, _ = bug(write_run(tmp_path / "r1", both_arms(launches=3), *SLOW))
    assert text.startswith("[Performance]: MTP k=3, ")
    assert "speedup 3.10, expected at least 4" in text.splitlines()[0]
    assert fields_of(text) == [
        "Your current environment (if you think it is necessary)",
        "Report of performance regression",
        "Proposal to improve performance",
        "Misc discussion on performance",
    ]
    assert "the longest time per output token with speculation over that without" in text
    assert "3 pairs of launches" in text


def test_a_server_that_does_not_start(bug, tmp_path):
    records = [
        launch(OFF),
        *natural(OFF),
        fault(
            Finding.START_FAIL, CELL.arm, cause="ValueError: no such op", evidence="engines/on.log"
        ),
    ]
    folder = write_run(tmp_path / "r1", records)
    (folder / "engines" / "on.log").write_text("line\n" * 100 + "ValueError: no such op\n")
    code, _, _, text, members = bug(folder)
    assert code == 1
    assert text.splitlines()[0].endswith(": server does not start")
    assert "(no such server came up in this run; the command is the catalogue's)" in text
    assert '--speculative-config \'{"method":"mtp","num_speculative_tokens":3}\'' in text
    assert "The end of engines/on.log" in text
    assert '"ValueError: no such op"' in text.split("Searches for duplicates")[1]
    assert members["engines/on.log"].endswith(b"ValueError: no such op\n")
    assert "the first that were sent" in text


@pytest.mark.parametrize(
    ("message", "cause", "of_the_host"),
    [
        ("the engine ended (exit code 125)", "docker: unknown server OS", True),
        ("no NPU was found on this host (there is no device)", None, True),
        ("the engine ended", "docker: OCI runtime: exec: /bin/bash: not found", False),
        ("the engine ended", "ValueError: no such op", False),
        ("the engine ended (exit code 1)", None, False),
    ],
)
def test_what_the_host_lacks_is_no_fault_of_the_vendors(bug, tmp_path, message, cause, of_the_host):
    faults = [fault(Finding.START_FAIL, arm, cause=cause) for arm in (OFF, CELL.arm)]
    records = [msgspec.structs.replace(one, message=message) for one in faults]
    code, out, _, text, _ = bug(write_run(tmp_path / "r1", records))
    assert code == 1
    for shown in (out, text):
        assert ("the host is at fault, not the release" in shown) is of_the_host
    if of_the_host:
        assert (cause or message) in out


def test_a_host_that_started_one_server_is_not_at_fault(bug, tmp_path):
    said = "docker: unknown server OS"
    records = [launch(OFF), *natural(OFF), fault(Finding.START_FAIL, CELL.arm, cause=said)]
    _, out, _, text, _ = bug(write_run(tmp_path / "r1", records))
    assert "the host is at fault" not in out + text


@pytest.mark.parametrize(
    ("records", "said", "code"),
    [
        (both_arms(), "No cell of this run fails: there is nothing to report. --cell ID", 0),
        ([], f"Undecided or without data: {CELL.id}.", 10),
    ],
)
def test_nothing_to_report(bug, tmp_path, records, said, code):
    folder = write_run(tmp_path / "r1", records)
    exit_code, out, _, text, _ = bug(folder)
    assert (exit_code, text) == (code, "")
    assert said in out


def test_a_cell_that_is_named_is_reported_all_the_same(bug, tmp_path):
    folder = write_run(tmp_path / "r1", both_arms())
    for name in (CELL.id, CELL.pair_id):
        code, _, _, text, _ = bug(folder, "--cell", name)
        assert code == 0
        assert "Nothing of this cell fails" in text
    code, _, err, _, _ = bug(folder, "--cell", "other")
    assert code == 4
    assert CELL.id in err
    assert err.count("\n") == 1


def test_the_cell_furthest_below_its_floor_is_the_one(bug, tmp_path):
    dead = msgspec.structs.replace(CELL, workload="structured-output")
    low = {"accepted": (1, 0, 1, 0, 0, 1, 0, 0, 0, 0)}
    records = [launch(OFF), launch(CELL.arm)]
    records += [*natural(CELL.arm, **low), *natural(CELL.arm, cell=dead, **DEAD)]
    _, out, _, text, members = bug(write_run(tmp_path / "r1", records, cells=(CELL, dead)))
    assert f"cell `{dead.id}`" in text
    assert f"- {CELL.id}: ACCEPT_REGRESSION" in text
    assert "1 more cells fail; --cell ID reports another" in out
    blocks = {
        json.loads(line).get("block", {}).get("workload")
        for line in members["records.jsonl"].splitlines()
    }
    assert blocks == {"structured-output", None}


def test_ten_prompts_are_sent_by_a_shell(bug, tmp_path):
    records = write_workloads(tmp_path / "w", both_arms(on=DEAD))
    settings = {"workloads_dir": str(tmp_path / "w")}
    _, _, err, text, _ = bug(write_run(tmp_path / "r1", records, settings=settings))
    assert err == ""
    script = re.search(r"```sh\n(cat > requests.*?)counters\(\)", text, re.DOTALL)[1]
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True)
    lines = (tmp_path / "requests.jsonl").read_text().splitlines()
    sent = [json.loads(line) for line in lines]
    assert len(sent) == 10
    assert sent[0]["model"] == GLM.name
    assert sent[0]["max_tokens"] == 9
    known = {p.messages[0].content for p in load_workload(tmp_path / "w" / "glm" / "code.jsonl")}
    assert {body["messages"][0]["content"] for body in sent} <= known


def test_prompts_are_looked_for_here_where_the_run_had_them_no_more(bug, tmp_path, monkeypatch):
    records = write_workloads(tmp_path / "clone" / "fixtures" / "workloads", both_arms(on=DEAD))
    run = write_run(tmp_path / "r1", records, settings={"workloads_dir": str(tmp_path / "gone")})
    monkeypatch.chdir(tmp_path / "clone")
    _, _, err, text, _ = bug(run)
    assert err == ""
    assert "cat > requests" in text
    # a folder that is named is the only one
    _, _, err, text, _ = bug(run, "--workloads", tmp_path / "gone")
    assert "cat > requests" not in text
    assert "name the folder that has them with --workloads\n" in err
    assert str(tmp_path / "gone") in err
    _, _, err, _, _ = bug(run, "--workloads", tmp_path / "gone", "--without-texts")
    assert err == ""


def test_prompts_that_changed_are_not_sent(bug, tmp_path):
    records = write_workloads(tmp_path / "w", both_arms(on=DEAD))
    records = [
        r if not hasattr(r, "fingerprint") else msgspec.structs.replace(r, fingerprint="x")
        for r in records
    ]
    folder = write_run(tmp_path / "r1", records)
    _, _, _, text, _ = bug(folder, "--workloads", tmp_path / "w")
    assert "has other prompts than were sent" in text
    assert "requests.jsonl" not in text
    _, _, _, text, _ = bug(folder)
    assert "name the folder that has them with --workloads" in text


def test_texts_may_be_left_out(bug, tmp_path):
    records = write_workloads(tmp_path / "w", both_arms(on=DEAD))
    folder = write_run(tmp_path / "r1", records, settings={"workloads_dir": str(tmp_path / "w")})
    *_, text, members = bug(folder, "--without-texts")
    assert "texts were asked to be left out" in text
    assert "it's" not in text
    requests = [json.loads(line) for line in members["records.jsonl"].splitlines()]
    requests = [msgspec.convert(r, RequestRecord) for r in requests if r["record"] == "request"]
    assert requests
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", r.text) for r in requests)
    assert b"text of 1" not in b"".join(members.values())


def test_files_that_are_attached(bug, tmp_path):
    (tmp_path / "env.txt").write_text(
        "vLLM Version: 0.23.0\n```\nHOSTNAME=gpu-box-9\nthis-host-7 is up\n"
    )
    folder = write_run(tmp_path / "r1", both_arms(on=DEAD))
    code, out, _, text, members = bug(folder, "--attach", tmp_path / "env.txt", "--show-redactions")
    assert code == 1
    assert "````text\nvLLM Version: 0.23.0\n```\nHOSTNAME=host-" in text
    assert "collect_env" not in text
    assert "attached/env.txt" in members
    assert re.search(r"host +host-\d +2 +attached/env.txt, bug.md", out)
    assert "host-2 is up" in text or "host-1 is up" in text
    assert not re.search("gpu-box-9|this-host-7", out + text)
    assert bug(folder, "--attach", tmp_path / "none.txt")[0] == 4


def test_files_have_names_in_the_runs_folder(monkeypatch, typed, tmp_path):
    monkeypatch.setattr("specfloor.commands.bug.load_catalog", catalog)
    folder = write_run(tmp_path / "r1", both_arms(on=DEAD))
    _, out, _ = typed("bug", folder)
    for name in (f"bug-{CELL.id}.md", f"bug-{CELL.id}.tar.gz"):
        assert (folder / name).exists()
        assert str(folder / name) in out


# parts


def test_forms():
    assert form_of([Finding.SPEED_REGRESSION]) is PERFORMANCE
    assert form_of([Finding.SPEED_REGRESSION, Finding.ACCEPT_ZERO]) is BUG
    assert form_of([]) is BUG


LABELS = {
    "mtp/speculative-decode": r"(mtp|speculative decode)",
    "glm5": r"(glm5)",
    "glm-4": r"(glm\s*4\.(?![^v\s]*v)\S*)",
    "qwen3-moe": r"(Qwen3-(?:235B|480B)\S*)",
    "deepseek": r"(deepseek[- ]*(r1|v3(\.2)?)\S*)",
}
"""Of .github/issue-labeler.yml of vllm-project/vllm-ascend."""


@pytest.mark.parametrize(
    ("family", "method", "labels"),
    [
        ("glm-5.2", "mtp", {"mtp/speculative-decode", "glm5"}),
        ("glm-4.7", "mtp", {"mtp/speculative-decode", "glm-4"}),
        ("qwen3-235b", "eagle3", {"mtp/speculative-decode", "qwen3-moe"}),
        ("deepseek-r1", "mtp", {"mtp/speculative-decode", "deepseek"}),
        ("kimi-k2.6", "suffix", {"mtp/speculative-decode"}),
    ],
)
def test_titles_and_keywords_get_the_labels(family, method, labels):
    known = load_catalog()
    of = known.family(family)
    cell = Cell("0.23.0", of.name, method, 3, "code", "off", 1)
    text = title(BUG, "x", cell, of, known.release("0.23.0")) + " " + " ".join(keywords(cell, of))
    assert {label for label, p in LABELS.items() if re.search(p, text, re.IGNORECASE)} == labels
    assert "vLLM-Ascend 0.23.0" in text


def test_the_ledger_is_in_the_text(bug, tmp_path, monkeypatch):
    monkeypatch.setattr("specfloor.commands.bug.load_catalog", load_catalog)
    cell = Cell("0.18.0", "glm-5", "mtp", 3, "general", "off", 1)
    entries = [floor(0.6, family="glm-5"), report_only("speedup", family="glm-5")]
    folder = write_run(tmp_path / "r1", both_arms(on=DEAD, cell=cell), *entries, cells=(cell,))
    _, _, _, text, _ = bug(folder)
    assert re.search(r"^- #\d+, .* \(mended in .*\): (shown|not here|open), ", text, re.MULTILINE)
    assert "MTP k=3, GLM-5, vLLM-Ascend 0.18.0" in text
    assert "npu-smi info" in text
    assert "asked about 0.18.0, up to 2" in text
    assert "**Likely causes, surest first**" in text


OTHER_LABELS = r"\b(wan|emu|pcp|dpc)|quantization|hunyuan|seed(ance|ream)|eplb|aclgraph|310p"
"""Patterns of labels about other things, in words that a sentence may hold by chance."""


def test_the_words_of_the_form_get_no_label_of_something_else(bug, tmp_path):
    _, _, _, text, _ = bug(write_run(tmp_path / "r1", both_arms(on=DEAD)))
    assert re.search(OTHER_LABELS, text, re.IGNORECASE) is None


def test_prompts_are_chosen_by_what_they_lose():
    records = [launch(CELL.arm), *natural(CELL.arm, prompts=30)]
    found = prompts_on_acceptance(evidence(*records), None, GLM)
    # every second request accepts less, and among equals names decide
    assert [one.prompt_id for one in found.shown] == sorted(f"p{i}" for i in range(1, 30, 2))[:10]
    assert all(one.good is None for one in found.shown)
    good = evidence(*[launch(CELL.arm), *natural(CELL.arm, prompts=30, vary=False)])
    assert all(
        one.good > one.counts.rate
        for one in prompts_on_acceptance(evidence(*records), good, GLM).shown
    )


def test_requests_that_drafted_little_come_last():
    records = [launch(CELL.arm), *natural(CELL.arm, prompts=3, accepted=(0,))]
    few = prompts_on_acceptance(evidence(*records), None, GLM)
    assert [one.counts.drafted for one in few.shown] == [3, 3, 3]


def test_prompts_on_speed_are_those_that_gain_least():
    shown = prompts_on_speed(evidence(*both_arms())).shown
    assert len(shown) == 8
    ratios = [one.on_s / one.off_s for one in shown]
    assert ratios == sorted(ratios, reverse=True)


def test_commands_can_be_pasted():
    argv = (
        "/opt/x/bin/python",
        "-m",
        "m",
        "--port",
        "32869",
        "--c",
        '{"a": 1}',
        "--flag",
        "--z",
        "b c",
    )
    text = shell(argv, {"A": "x y"})
    said = subprocess.run(
        ["sh", "-c", text.replace("python -m m", 'printf "%s|"')],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == '--port|8000|--c|{"a": 1}|--flag|--z|b c|'
    assert text.startswith("A='x y' \\\n  python -m m")


def test_a_log_is_cut_to_what_matters():
    lines = [f"line {i}" for i in range(1000)]
    lines[500] = "SpecDecoding metrics: Mean acceptance length: 1.00"
    lines[700] = "ERROR it broke"
    text = cut_log("\n".join(lines))
    kept = text.splitlines()
    assert kept[0] == "line 0"
    assert kept[-1] == "line 999"
    assert lines[500] in kept
    assert "line 690" in kept
    assert "line 710" in kept
    assert "line 680" not in kept
    cut = sum(int(n) for n in re.findall(r"\[… (\d+) lines cut …\]", text))
    assert cut + len(kept) - text.count("lines cut") == 1000
    assert cut_log("a\nb") == "a\nb\n"
    assert cut_log("") == ""
