"""What runs of the real suite leave behind: the history, comparisons, and what CI shows."""

import json
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from specfloor.history.index import HISTORY, read_history
from tests.e2e.fake_host import ROOT, FakeHost
from tests.e2e.test_suite_on_fake import interpreter_of

SMALL = ("--family", "glm_moe_tiny", "--workload", "code")
OLD, NEW = "cpu-0.28.0", "cpu-0.32.0"
PAIR = "glm_moe_tiny-mtp3-code-off-c1"
SPEED_FLOOR = """
[[floor]]
family = "glm_moe_tiny"
method = "mtp"
quantity = "speedup"
value = 0.01
source = "this test"
date = 2026-05-01
hardware = "none"
reason = "anything does"
n = 3
launches = 1
"""


def command(*arguments, cwd=ROOT):
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    host = FakeHost(tmp_path_factory.mktemp("host"), tmp_path_factory.mktemp("cache"))
    yield host
    assert host.left_over == []


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    """The file in which a CI server expects the summaries of steps."""
    return tmp_path_factory.mktemp("ci") / "summary.md"


@pytest.fixture(scope="module")
def runs(host, summary):
    """A run of each release, with every prompt."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        older = interpreter_of("0.28.0", host.folder)
        pythons = {OLD: ("--engine-python", f"{OLD}={older}"), NEW: ()}
        return {
            release: host.suite(
                *("tests/suite", "--release", release, "--no-early-stop", *SMALL, *python),
                name=f"run-{release}",
            )
            for release, python in pythons.items()
        }


def test_both_runs_hold(runs):
    assert [run.code for run in runs.values()] == [0, 0], [run.output for run in runs.values()]


def test_pytest_benchmark_compares_the_files_of_two_releases(runs, host):
    files = [run.folder / "benchmark.json" for run in runs.values()]
    done = command("pytest_benchmark", "compare", *files, "--columns=median", cwd=host.folder)
    assert done.returncode == 0, done.stderr
    # one table a cell, with both arms of both releases
    assert f"benchmark '{PAIR}': 4 tests" in done.stdout
    for release in (OLD, NEW):
        for arm in ("off", "on"):
            # each of the names has its run beside it, and a median with a ratio to the best
            row = rf"^{PAIR}-{arm} \(.*run-{re.escape(release)}/benchmark\) +[\d.]+ \([\d.]+\)"
            assert re.search(row, done.stdout, re.MULTILINE), done.stdout
    by_name = command(
        *("pytest_benchmark", "compare", *files, "--group-by=name", "--columns=median"),
        cwd=host.folder,
    )
    assert f"benchmark '{PAIR}-on': 2 tests" in by_name.stdout


def test_each_run_is_in_the_history_and_on_one_line(runs, host):
    found = read_history(host.reports)
    assert [(one.run, one.cell.release, one.verdict) for one in found.entries] == [
        (f"run-{release}", release, "PASS") for release in (OLD, NEW)
    ]
    assert found.skipped == ()
    shown = command("specfloor", "history", host.reports, "--family", "glm-moe-tiny")
    assert shown.returncode == 0, shown.stderr
    # the older release has its counts from the counters, the newer from responses
    assert shown.stdout.count(f"{PAIR}: acceptance rate") == 1
    assert {one.acceptance.rung for one in found.entries} == {"C", "A"}


def test_the_history_rebuilt_is_the_history(runs, host):
    before = (host.reports / HISTORY).read_bytes()
    done = command("specfloor", "history", "--rebuild", host.reports)
    assert done.returncode == 0, done.stderr
    assert (host.reports / HISTORY).read_bytes() == before


def test_the_releases_are_compared(runs):
    folders = [run.folder for run in runs.values()]
    done = command("specfloor", "compare", *folders)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith(f"Upgrade {OLD} → {NEW}: 1 family same\n")
    back = command("specfloor", "compare", *reversed(folders))
    assert back.stdout.startswith(f"Upgrade {NEW} → {OLD}: 1 family same\n")


def test_the_summary_of_each_run_is_where_ci_shows_it(runs, summary):
    text = summary.read_text(encoding="utf-8")
    assert text == "".join(
        (run.folder / "summary.md").read_text(encoding="utf-8") for run in runs.values()
    )
    assert text.startswith("# 2 PASS, 1 reported: verdicts on ")


def test_junit_has_estimate_interval_floor_and_rung(runs):
    cases = ET.parse(runs[NEW].folder / "junit.xml").getroot().findall(".//testcase")
    (case,) = (case for case in cases if case.get("name").startswith("test_acceptance["))
    said = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert (said["quantity"], said["floor"], said["rung"]) == ("acceptance_rate", "0.5", "A")
    low, high = float(said["interval_low"]), float(said["interval_high"])
    assert 0.5 < low < float(said["estimate"]) < high < 1


@pytest.fixture
def undecided_host(host):
    """A host where one pair of launches cannot decide the floor for speed."""
    floors = host.floors / "fake.toml"
    before = floors.read_text()
    floors.write_text(before.partition("[[report_only]]")[0] + SPEED_FLOOR)
    yield host
    floors.write_text(before)


def test_what_is_inconclusive_may_pass_and_what_has_no_data_may_not(undecided_host):
    host = undecided_host
    speed = "tests/suite/test_speedup.py"
    strict = host.suite(speed, *SMALL, name="strict")
    assert strict.code == 10, strict.output
    lenient = host.suite(speed, *SMALL, "--inconclusive=pass", name="lenient")
    assert lenient.code == 0, lenient.output
    assert "1 INCONCLUSIVE, let pass by --inconclusive=pass" in lenient.output
    # the verdict is what it was
    assert lenient.verdicts == strict.verdicts
    host.set_knobs({"3": {"undrafted": 1.0}})
    nothing = host.suite(
        *("tests/suite/test_acceptance.py", *SMALL, "--inconclusive=pass"),
        name="nothing",
    )
    host.set_knobs({})
    assert nothing.code == 10, nothing.output
    document = json.loads((nothing.folder / "verdicts.json").read_text(encoding="utf-8"))
    (cell,) = document["cells"]
    assert cell["acceptance"]["verdict"] == "NO_DATA"
