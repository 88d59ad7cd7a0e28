"""The real suite in a process of its own, against fake servers: what it starts, says and leaves."""

import json
import re
import signal
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from specfloor.host.npu import has_npu
from specfloor.runs.records import FindingRecord, LaunchRecord, RequestRecord
from tests.e2e.fake_host import FLOORS, ROOT, FakeHost, stored_verdict

SMALL = ("--family", "glm_moe_tiny", "--workload", "code")
CODE = "cpu-0.32.0 glm_moe_tiny 3 code"
ALL_PASS = {
    "configuration": ("PASS", ["EXPECTED"]),
    "acceptance": ("PASS", ["EXPECTED"]),
    "speed": (None, ["EXPECTED"]),
}


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Where derived checkpoints go; made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def host(tmp_path, cache):
    host = FakeHost(tmp_path, cache)
    yield host
    assert host.left_over == []


def usage_error(finished):
    """Return the one sentence of a run that ended as a usage error before it began."""
    assert finished.code == 4
    errors = [line for line in finished.output.splitlines() if line.startswith("ERROR: ")]
    assert len(errors) == 1
    assert "Traceback" not in finished.output
    assert not (finished.folder / "records.jsonl").exists()
    return errors[0].removeprefix("ERROR: ")


@pytest.fixture(scope="module")
def healthy_host(tmp_path_factory, cache):
    return FakeHost(tmp_path_factory.mktemp("healthy"), cache)


@pytest.fixture(scope="module")
def healthy(healthy_host):
    """One healthy run, looked at from all sides."""
    return healthy_host.suite("tests/suite", *SMALL)


def test_a_healthy_family_passes(healthy, healthy_host):
    assert healthy.code == 0, healthy.output
    assert healthy.verdicts == {CODE: ALL_PASS}
    assert healthy.info.complete
    assert healthy_host.left_over == []


def test_the_run_says_what_it_does(healthy):
    for line in (
        "specfloor: alpha 0.05, beta 0.05, margin 0.05, fixed prompts",
        f"run: {healthy.folder}",
        "specfloor: 1 cells, 2 launches",
        "  cell   cpu-0.32.0-glm_moe_tiny-mtp3-code-off-c1",
        "  launch cpu-0.32.0-glm_moe_tiny-off-0: 2 blocks of requests",
        "[2/2] cpu-0.32.0-glm_moe_tiny-mtp3-0: starting",
        "[2/2] cpu-0.32.0-glm_moe_tiny-mtp3-0: healthy after",
        "acceptance (mean)",
        "2 PASS, 1 reported",
        "s server start and stop",
    ):
        assert line in healthy.output


def test_every_file_that_the_readme_names_is_written(healthy):
    readme = (ROOT / "reports" / "README.md").read_text()
    names = [line.split("`")[1] for line in readme.splitlines() if line.startswith("| `")]
    # what a command writes later, if somebody runs it
    names = [name for name in names if not name.startswith("bug-")]
    assert {"records.jsonl", "junit.xml", "benchmark.json", "engines/*.log"} <= set(names)
    for name in names:
        found = list(healthy.folder.glob(name))
        assert found, name
        assert all(path.stat().st_size for path in found)
    assert len(list(healthy.folder.glob("engines/*.log"))) == 2


def test_junit_has_the_numbers(healthy):
    cases = ET.parse(healthy.folder / "junit.xml").getroot().findall(".//testcase")
    named = {case.get("name").partition("[")[0]: case for case in cases}
    assert named.keys() == {
        *("test_acceptance", "test_configuration", "test_speedup", "test_time_per_token"),
        *("test_kernels", "test_draft_agrees_with_its_target"),
    }
    said = {p.get("name"): p.get("value") for p in named["test_acceptance"].iter("property")}
    assert said["verdict"] == "PASS"
    assert said["cell"] == "cpu-0.32.0-glm_moe_tiny-mtp3-code-off-c1"
    assert said["rung"] == "A"
    assert 0.5 < float(said["acceptance_rate_mean"]) < 0.9


def test_the_records_hold_what_was_in_effect(healthy):
    off, on = (r for r in healthy.records if isinstance(r, LaunchRecord))
    assert (off.key.arm.label, on.key.arm.label) == ("off", "mtp3")
    assert (off.resolved_method, off.resolved_k, off.speculation_series) == (None, None, ())
    assert (on.resolved_method, on.resolved_k, on.version) == ("mtp", 3, "0.32.0")
    assert "vllm:spec_decode_num_drafts" in on.speculation_series


def test_both_arms_got_the_same_prompts_in_the_same_order(healthy):
    requests = [r for r in healthy.records if isinstance(r, RequestRecord)]
    assert all(request.ok and request.text for request in requests)
    orders = {}
    for request in requests:
        order = orders.setdefault((request.block.purpose.value, request.launch), [])
        order.append(request.prompt_id)
    (off_forced, on_forced), (off, on) = (
        [order for (sent, _), order in sorted(orders.items()) if sent == purpose]
        for purpose in ("forced", "natural")
    )
    assert off_forced == on_forced
    # an arm that is decided stops
    assert min(len(off), len(on)) > 0
    assert all(one == other for one, other in zip(off, on, strict=False))


def test_the_off_arm_starts_without_any_speculative_configuration(healthy, healthy_host):
    off, on = healthy_host.launches[:2]
    assert "--speculative-config" not in off["argv"]
    assert "--per-request-spec-decode-metrics" not in off["argv"]
    assert "--per-request-spec-decode-metrics" in on["argv"]
    for one in (off, on):
        assert "--no-enable-prefix-caching" in one["argv"]


def test_the_stored_run_is_judged_the_same(healthy):
    done = stored_verdict(healthy.folder)
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = (line for line in healthy.output.splitlines() if line.startswith("glm_moe_tiny "))
    assert row in done.stdout
    assert done.stdout.splitlines()[-1].startswith("2 PASS, 1 reported: verdicts on ")


def test_a_folder_that_holds_a_run_is_left_alone(healthy, healthy_host):
    before = {p: p.read_bytes() for p in healthy.folder.rglob("*") if p.is_file()}
    again = healthy_host.suite("tests/suite", *SMALL)
    assert again.code == 4
    assert f"{healthy.folder} already holds a run" in again.output
    assert {p: p.read_bytes() for p in healthy.folder.rglob("*") if p.is_file()} == before
    assert len(healthy_host.launches) == 2


def interpreter_of(version, folder):
    """Return an interpreter whose vLLM says that it is ``version``."""
    python = folder / f"python-{version}"
    knobs = json.dumps({"version": version})
    python.write_text(f"#!/bin/sh\nFAKE_VLLM='{knobs}' exec {sys.executable} \"$@\"\n")
    python.chmod(0o755)
    return python


def test_releases_do_not_share_an_interpreter(host):
    finished = host.suite(
        "tests/suite", "--release", "cpu-0.28.0", "--release", "cpu-0.32.0", *SMALL
    )
    assert finished.code == 4
    assert "would run with the same engine" in finished.output
    assert host.launches == []


def test_an_interpreter_of_another_release_is_found_out(host):
    finished = host.suite("tests/suite", "--release", "cpu-0.28.0", *SMALL)
    assert finished.code == 1
    assert "vLLM of the mtp3 arm: asked for 0.28.0, found 0.32.0" in finished.output


def test_two_releases_start_each_arm_once_and_pair_up(host, tmp_path):
    """Whatever the order of the files on the command line."""
    older = interpreter_of("0.28.0", tmp_path)
    finished = host.suite(
        *("--engine-python", f"cpu-0.28.0={older}"),
        *("tests/suite/test_speedup.py", "tests/suite/test_acceptance.py"),
        *("--release", "cpu-0.28.0", "--release", "cpu-0.32.0", *SMALL),
    )
    assert finished.code == 0, finished.output
    assert [one["k"] for one in host.launches] == [0, 3, 0, 3]
    started = [r.key.id for r in finished.records if isinstance(r, LaunchRecord)]
    assert started == [
        f"{release}-glm_moe_tiny-{arm}-0"
        for release in ("cpu-0.28.0", "cpu-0.32.0")
        for arm in ("off", "mtp3")
    ]
    assert len(finished.verdicts) == 2
    benchmarks = json.loads((finished.folder / "benchmark.json").read_text())["benchmarks"]
    assert len(benchmarks) == 4
    assert {one["group"] for one in benchmarks} == {"glm_moe_tiny-mtp3-code-off-c1"}
    names = [one["name"] for one in benchmarks]
    assert set(names) == {f"glm_moe_tiny-mtp3-code-off-c1-{arm}" for arm in ("off", "on")}
    by_release = {one["extra_info"]["release"] for one in benchmarks}
    assert by_release == {"cpu-0.28.0", "cpu-0.32.0"}
    on = [one["extra_info"] for one in benchmarks if one["extra_info"]["arm"] == "on"]
    assert all(0.5 < info["acceptance_rate"] < 0.9 for info in on)
    compared = subprocess.run(
        [
            *(sys.executable, "-m", "pytest_benchmark", "compare"),
            str(finished.folder / "benchmark.json"),
        ],
        capture_output=True,
        text=True,
        cwd=host.folder,
        check=False,
    )
    assert compared.returncode == 0, compared.stderr
    again = stored_verdict(finished.folder)
    assert again.returncode == 0, again.stderr
    assert "benchmark 'glm_moe_tiny-mtp3-code-off-c1': 4 tests" in compared.stdout


def test_a_chinese_run_says_the_same_and_records_english(host):
    host.set_knobs({"3": {"acceptance": [0.0]}})
    finished = host.suite("tests/suite", *SMALL, "--lang", "zh")
    assert finished.code == 1
    assert finished.verdicts[CODE] == ALL_PASS | {"acceptance": ("FAIL", ["ACCEPT_ZERO"])}
    assert "接受率崩塌的同时，其余一切正常" in finished.output
    assert "FAIL ACCEPT_ZERO：" in (finished.folder / "summary.md").read_text()
    assert 'lang="zh-CN"' in (finished.folder / "index.html").read_text()
    for name in ("verdicts.json", "run.json", "basis.json", "records.jsonl"):
        lines = (finished.folder / name).read_text().splitlines()
        told = [line for line in lines if '"record":"request"' not in line]  # answers hold any text
        assert re.search(r"[\u4e00-\u9fff]", "".join(told)) is None, name
    assert "While acceptance collapsed" in (finished.folder / "verdicts.json").read_text()


def test_acceptance_that_collapsed_in_silence(host):
    host.set_knobs({"3": {"acceptance": [0.0]}})
    finished = host.suite("tests/suite", *SMALL)
    assert finished.code == 1
    assert finished.verdicts[CODE] == ALL_PASS | {"acceptance": ("FAIL", ["ACCEPT_ZERO"])}
    assert "FAIL ACCEPT_ZERO: acceptance of cpu-0.32.0-glm_moe_tiny-mtp3-code" in finished.output
    assert "While acceptance collapsed, everything else looked healthy" in finished.output
    assert "prompts got the text of the off arm" in finished.output
    assert "1 failed, 5 passed, 1 skipped" in finished.output
    assert finished.info.complete
    assert "FAIL ACCEPT_ZERO" in (finished.folder / "summary.md").read_text()
    assert "<code>ACCEPT_ZERO</code>" in (finished.folder / "index.html").read_text()
    again = stored_verdict(finished.folder)
    assert again.returncode == 1
    assert finished.reason(CODE, "acceptance") in again.stdout


def test_engines_that_fail_end_their_cells_and_no_others(host):
    """One arm does not start, one dies, one stops answering; the other and the off arms go on."""
    host.set_knobs(
        {
            "glm_moe_tiny 3": {"start": "fail"},
            "glm_moe_tiny 1": {"crash_after": 12},
            "glm_moe_tiny_drifted 3": {"hang_after": 12},
        }
    )
    finished = host.suite(
        *("tests/suite", "--workload", "code", "--spec-tokens", "3", "--spec-tokens", "1"),
        *("--family", "glm_moe_tiny", "--family", "glm_moe_tiny_drifted"),
        *("--silence-timeout", "4", "--no-early-stop"),
    )
    assert finished.code == 1, finished.output
    faults = {
        r.launch.partition("-glm")[2]: r for r in finished.records if isinstance(r, FindingRecord)
    }
    assert {name: fault.finding.value for name, fault in faults.items()} == {
        "_moe_tiny-mtp3-0": "START_FAIL",
        "_moe_tiny-mtp1-0": "CRASH",
        "_moe_tiny_drifted-mtp3-0": "HANG",
    }
    # the line of the log that says why, not the last one
    assert faults["_moe_tiny-mtp3-0"].cause == (
        "ValueError: fake start failure: the device has no memory left"
    )
    assert faults["_moe_tiny-mtp1-0"].cause == (
        "RuntimeError: fake device lost: a kernel did not return"
    )
    verdicts = finished.verdicts
    drifted = "cpu-0.32.0 glm_moe_tiny_drifted"
    for what in ("configuration", "acceptance", "speed"):
        assert verdicts[CODE][what] == ("FAIL", ["START_FAIL"])
    crashed = verdicts["cpu-0.32.0 glm_moe_tiny 1 code"]
    assert crashed["acceptance"] == crashed["speed"] == ("FAIL", ["CRASH"])
    hung = verdicts[f"{drifted} 3 code"]
    assert hung["acceptance"] == hung["speed"] == ("FAIL", ["HANG"])
    # what had been measured until then stays, the configuration was in effect
    assert crashed["configuration"] == hung["configuration"] == ("PASS", ["EXPECTED"])
    assert "Until then: expected an acceptance rate" in finished.reason(
        "cpu-0.32.0 glm_moe_tiny 1 code", "acceptance"
    )
    assert verdicts[f"{drifted} 1 code"] == ALL_PASS
    assert [one["k"] for one in host.launches] == [0, 3, 1, 0, 3, 1]
    assert finished.info.complete


def test_what_nobody_can_tell_is_no_data(host):
    """No metrics, no per-request object, no token ids: the texts come, and say nothing."""
    host.set_knobs({"all": {"garbage_metrics": True, "per_request": False, "token_ids": False}})
    finished = host.suite("tests/suite", *SMALL)
    assert finished.code == 10, finished.output
    nothing = ("NO_DATA", ["NO_DATA"])
    assert finished.verdicts == {
        CODE: {"configuration": nothing, "acceptance": nothing, "speed": nothing}
    }
    assert "5 failed" in finished.output
    assert "error" not in finished.output.splitlines()[-1]


def test_a_draft_that_drafts_nothing_is_no_data_for_acceptance(host):
    host.set_knobs({"3": {"undrafted": 1.0}})
    finished = host.suite("tests/suite", "-k", "acceptance", *SMALL)
    assert finished.code == 10, finished.output
    assert finished.verdicts[CODE]["acceptance"] == ("NO_DATA", ["NO_DATA"])
    # only what the selected test needs was sent
    assert [one["k"] for one in host.launches] == [0, 3]
    requests = [r for r in finished.records if isinstance(r, RequestRecord)]
    assert {r.block.purpose.value for r in requests} == {"natural"}


def test_a_server_that_ignores_the_configuration(host):
    host.set_knobs({"3": {"ignore_speculation": True}})
    finished = host.suite(
        *("tests/suite/test_configuration.py", "tests/suite/test_acceptance.py", "-x", *SMALL)
    )
    assert finished.code == 1, finished.output
    assert finished.verdicts[CODE]["configuration"] == ("FAIL", ["CONFIG_NOT_IN_EFFECT"])
    # stopped at the first failure, not at the end
    assert not finished.info.complete


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_told_to_end(host, number):
    # slow enough that the signal comes in the middle
    host.set_knobs({"3": {"prefill_s": 0.4}})
    running = host.start("tests/suite", *SMALL, "--no-early-stop")
    finished = host.interrupt(
        running, number, after=b'"launch":"cpu-0.32.0-glm_moe_tiny-mtp3-0","b'
    )
    assert finished.code == 2, finished.output
    assert not finished.info.complete
    for name in ("index.html", "summary.md", "verdicts.json", "junit.xml"):
        assert (finished.folder / name).stat().st_size
    # what was measured is judged
    assert finished.verdicts[CODE]["speed"] == ("NO_DATA", ["NO_DATA"])
    assert "measured 0." in finished.reason(CODE, "acceptance")
    assert "the run did not come to its end" in finished.output
    assert host.left_over == []


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("--family", "glm5"), "unknown family 'glm5'; known here: "),
            (("--margin", "1.5"), "--margin 1.5 is outside (0, 1)"),
            (("--family", "smollm2_135m"), "no floor for the acceptance_rate of cpu-0.32.0-smoll"),
        ],
    )
    def test_one_sentence_and_exit_code_4(self, host, arguments, sentence):
        assert usage_error(host.suite("tests/suite", *arguments)).startswith(sentence)
        assert host.launches == []

    @pytest.mark.skipif(has_npu(), reason="this host has an NPU, and the run would start")
    def test_without_an_npu_the_ascend_plan_is_shown_and_nothing_started(self, host):
        # the floors of this repository
        finished = host.suite(
            *("tests/suite", "--platform", "ascend", "--family", "glm_4_7"),
            *("--floors-dir", str(ROOT / "fixtures" / "floors")),
        )
        assert usage_error(finished).startswith("no NPU was found on this host")
        lines = [line for line in finished.output.splitlines() if line.startswith("  cell ")]
        assert lines
        assert all("-glm_4_7-mtp3-" in line for line in lines)
        assert "  launch " in finished.output
        assert host.launches == []

    def test_the_suite_is_not_run_unless_it_is_named(self):
        listed = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "--collect-only", "-q", "tests"),
                *(f"--ignore=tests/{other}" for other in ("unit", "e2e", "browser", "contract")),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert listed.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, listed.stdout


class TestFilesOfTheUser:
    def test_prompts_of_ones_own_are_a_workload_without_a_floor(self, host, tmp_path):
        of_code = FLOORS.replace("[floor]]", '[floor]]\nworkload = "code"')
        (host.floors / "fake.toml").write_text(of_code.replace("only]]", 'only]]\ntier = "off"'))
        path = tmp_path / "mine.jsonl"
        lines = [json.dumps({"prompt": f"say {i} times hello"}) for i in range(30)]
        path.write_text("\n".join(lines))
        finished = host.suite(
            *("tests/suite", "--family", "glm_moe_tiny", "--workload-file", f"mine={path}"),
            *("--workload-prompts", "12"),
        )
        assert finished.code == 0, finished.output
        ((name, said),) = finished.verdicts.items()
        assert name.endswith(" 3 mine")
        assert said["acceptance"] == (None, ["EXPECTED"])
        requests = [r for r in finished.records if isinstance(r, RequestRecord)]
        assert {r.block.workload for r in requests} == {"mine"}
        assert len({r.prompt_id for r in requests}) == 12

    def test_a_file_that_is_none_is_named_before_anything_starts(self, host, tmp_path):
        path = tmp_path / "mine.jsonl"
        path.write_text('{"prompt": "hello"}\n{"promt": "hello"}\n')
        finished = host.suite(
            *("tests/suite", "--family", "glm_moe_tiny", "--workload-file", f"mine={path}")
        )
        assert "mine.jsonl, line 2" in usage_error(finished)
        assert host.launches == []


def test_one_of_several_engines_that_lost_its_draft(host):
    host.set_knobs({"glm_moe_tiny 3": {"engines": 4, "zero_engine": 2}})
    finished = host.suite("tests/suite", *SMALL, "--no-early-stop")
    assert finished.code == 1, finished.output
    verdict, findings = finished.verdicts[CODE]["acceptance"]
    assert (verdict, findings[0]) == ("FAIL", "TOPOLOGY")
    assert "only some engines are affected: 2 accepts 0.000" in finished.reason(CODE, "acceptance")
