"""Benchmark reports of several programs, alone and as arms."""

import gzip
import json
import re

import pytest

from tests.unit.triage.builders import CASES, case_text, codes, triaged, verdict

ON = case_text("bench", "serve-spec-on", "bench.txt")
OFF = case_text("bench", "serve-spec-off", "bench.txt")
JSON = json.loads(case_text("bench", "json-percent-and-fraction", "result.json"))
AIS_OFF, AIS_ON = (case_text("bench", "aisbench-on-off", f"{arm}.txt") for arm in ("off", "on"))
EVALSCOPE = case_text("bench", "evalscope-summary-seconds", "bench.txt")
BASELINE = {"k": 3, "acceptance_rate": 0.7, "acceptance_length": 3.1, "tolerance_points": 5}


def changed(text, label, value):
    """Return a report with another value after a label."""
    found, count = re.subn(rf"({re.escape(label)}:\s+)[\d.]+", rf"\g<1>{value}", text)
    assert count
    return found


def arms(tmp_path, off, on, **more):
    return triaged(tmp_path, {"off.txt": off, "on.txt": on}, **more)


def test_reports_one_after_another_are_runs_of_one_file(tmp_path):
    report = triaged(tmp_path, {"bench.txt": OFF + ON})
    assert [run["spec"] is None for run in report["extract"]["runs"]] == [True, False]


def test_an_old_report_without_failures_and_concurrency(tmp_path):
    old = "".join(
        line
        for line in OFF.splitlines(keepends=True)
        if not line.startswith(("Failed", "Maximum", "Peak"))
    )
    (run,) = triaged(tmp_path, {"bench.txt": old})["extract"]["runs"]
    assert run["failed"] is None
    assert run["concurrency"] is None
    assert run["tpot_ms"]["mean"] == 27.9


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(json.dumps(JSON) for _ in range(2)),
        json.dumps([JSON, JSON]),
        json.dumps(JSON, indent=2),
    ],
)
def test_json_of_one_report_a_list_or_lines(text, tmp_path):
    runs = triaged(tmp_path, {"result.json": text})["extract"]["runs"]
    assert {run["spec"]["accepted_tokens"] for run in runs} == {43363}


@pytest.mark.parametrize("ascii_bars", [True, False])
def test_aisbench_with_any_bars(ascii_bars, tmp_path):
    text = AIS_ON.translate(str.maketrans("│─═", "|-=")) if ascii_bars else AIS_ON
    (run,) = triaged(tmp_path, {"bench.txt": text})["extract"]["runs"]
    assert run["completed"] == 56
    assert run["duration_s"] == pytest.approx(111.8362)
    assert run["tpot_ms"] == {"mean": 38.4, "median": 37.632, "p99": 61.44}


def test_aisbench_as_csv(tmp_path):
    text = (
        "Performance Parameters,Stage,Average,Min,Max,Median,P75,P90,P99,N\n"
        "TTFT,total,0.655 s,0.4 s,1.1 s,0.64 s,0.72 s,0.81 s,1.048 s,56\n"
        "TPOT,total,38.4 ms,23.8 ms,65.2 ms,37.6 ms,42.2 ms,48.0 ms,61.4 ms,56\n"
    )
    (run,) = triaged(tmp_path, {"bench.csv": text})["extract"]["runs"]
    assert run["ttft_ms"] == {"mean": 655.0, "median": 640.0, "p99": 1048.0}
    assert run["completed"] == 56


def test_evalscope_percentiles(tmp_path):
    table = (
        "\nPercentile results:\n"
        "+-------------+----------+---------+----------+\n"
        "| Percentiles | TTFT (s) | ITL (s) | TPOT (s) |\n"
        "+-------------+----------+---------+----------+\n"
        "|     10%     |  0.1     | 0.01    |  0.01    |\n"
        "|     50%     |  0.4     | 0.06    |  0.023   |\n"
        "|     99%     |  0.9     | 0.09    |  0.04    |\n"
    )
    (run,) = triaged(tmp_path, {"bench.txt": EVALSCOPE + table})["extract"]["runs"]
    assert run["tpot_ms"] == {"mean": 24.1, "median": 23.0, "p99": 40.0}


@pytest.mark.parametrize(
    ("cut", "doubt"), [(300, "Speculative Decoding block"), (40, "cut before its end")]
)
def test_a_report_that_is_cut_is_no_pass(cut, doubt, tmp_path):
    whole = triaged(tmp_path / "a", {"bench.txt": ON}, baseline=BASELINE)
    assert verdict(whole) == "EXPECTED"
    report = triaged(tmp_path / "b", {"bench.txt": ON[:-cut]}, baseline=BASELINE)
    assert verdict(report) in {"NO_DATA", "INCONCLUSIVE"}
    assert doubt in report["verdict"]["reason"]
    assert "damaged_report" in codes(report)


@pytest.mark.parametrize(
    "label", ["Successful requests", "Benchmark duration (s)", "Total input tokens"]
)
def test_a_report_without_a_line_that_every_report_has_is_no_pass(label, tmp_path):
    assert label in ON
    report = triaged(tmp_path, {"bench.txt": ON.replace(label, label[:7])}, baseline=BASELINE)
    assert verdict(report) == "INCONCLUSIVE"
    assert f"its line '{label}' is missing or damaged" in report["verdict"]["reason"]


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("Acceptance rate (%)", "20.60"),
        ("Acceptance length", "2.12"),
        ("Accepted tokens", "2157"),
        ("Draft tokens", "61383"),
        ("Drafts", "50461"),
        ("Position 1", "10.22"),
    ],
)
def test_counts_that_do_not_fit_together_are_not_used(label, value, tmp_path):
    report = triaged(tmp_path, {"bench.txt": changed(ON, label, value)}, baseline=BASELINE)
    assert verdict(report) == "NO_DATA"
    assert report["extract"]["runs"][0]["spec"] is None
    assert "damaged_report" in codes(report)


def test_json_that_is_cut_is_no_data(tmp_path):
    report = triaged(tmp_path, {"result.json": json.dumps(JSON, indent=1)[:-200]})
    assert verdict(report) == "NO_DATA"


def test_speculation_that_pays_is_expected(tmp_path):
    report = arms(tmp_path, OFF, ON)
    assert verdict(report) == "EXPECTED"
    assert report["extract"]["tpot_ratio_on_off"] == pytest.approx(14.2 / 27.9)


@pytest.mark.parametrize(("ratio", "wanted"), [(1.02, "EXPECTED"), (1.07, "SPEED_REGRESSION")])
def test_a_loss_of_time_per_token_counts_from_between_scatter_and_six_percent(
    ratio, wanted, tmp_path
):
    on = changed(ON, "Mean TPOT (ms)", f"{27.9 * ratio:.2f}")
    report = arms(tmp_path, OFF, changed(on, "Output token throughput (tok/s)", "546.00"))
    assert verdict(report) == wanted
    if wanted != "EXPECTED":
        assert report["verdict"]["scope"]["metric"] == "tpot"


@pytest.mark.parametrize(
    ("label", "value", "metric"),
    [
        ("Mean TTFT (ms)", "900.00", "ttft"),
        ("Output token throughput (tok/s)", "500.00", "output_tok_s"),
    ],
)
def test_other_losses_count_too(label, value, metric, tmp_path):
    report = arms(tmp_path, OFF, changed(ON, label, value))
    assert verdict(report) == "SPEED_REGRESSION_ACCEPT_OK"
    assert report["verdict"]["scope"]["metric"] == metric


@pytest.mark.parametrize(
    "label", ["Mean TPOT (ms)", "P99 TTFT (ms)", "Output token throughput (tok/s)"]
)
def test_a_number_below_zero_is_damage_and_no_gain(label, tmp_path):
    value = re.search(rf"{re.escape(label)}:\s+([\d.]+)", ON)[1]
    report = arms(tmp_path, OFF, changed(ON, label, f"-{value}"))
    assert verdict(report) in {"INCONCLUSIVE", "NO_DATA"}
    assert "damaged_report" in codes(report)
    assert f"-{value}" not in json.dumps(report["extract"])


def test_a_report_that_lacks_what_the_other_has_is_no_pass(tmp_path):
    on = "".join(line for line in ON.splitlines(keepends=True) if "TTFT" not in line)
    assert verdict(arms(tmp_path, OFF, on)) == "INCONCLUSIVE"


def test_without_acceptance_only_a_clear_gain_is_expected(tmp_path):
    assert verdict(arms(tmp_path / "a", AIS_ON, AIS_OFF)) == "EXPECTED"
    same = arms(tmp_path / "b", AIS_ON, AIS_ON)
    assert verdict(same) == "NO_DATA"
    held = arms(tmp_path / "c", AIS_ON, AIS_OFF, baseline=BASELINE)
    assert verdict(held) == "NO_DATA"


@pytest.mark.parametrize(
    ("off", "on"),
    [
        (ON, ON),
        (changed(OFF, "Successful requests", "64"), ON),
        (changed(OFF, "Total input tokens", "13095"), ON),
        (changed(OFF, "Maximum request concurrency", "8"), ON),
        (OFF, changed(changed(ON, "Failed requests", "20"), "Successful requests", "108")),
    ],
    ids=["off drafts", "requests", "prompts", "concurrency", "failures"],
)
def test_arms_that_cannot_be_compared(off, on, tmp_path):
    assert verdict(arms(tmp_path, off, on)) == "BASELINE_INVALID"


def test_nothing_accepted_comes_before_speed(tmp_path):
    dead = changed(changed(ON, "Accepted tokens", "0"), "Acceptance rate (%)", "0.00")
    dead = re.sub(r"(Position \d:\s+)[\d.]+", r"\g<1>0.00", changed(dead, "Acceptance length", 1))
    report = arms(tmp_path, OFF, changed(dead, "Mean TPOT (ms)", "40.00"))
    assert verdict(report) == "ACCEPT_ZERO"
    assert "SPEED_REGRESSION" in {entry["finding"] for entry in report["findings"]}


def test_acceptance_that_falls_with_the_load(tmp_path):
    folder = CASES / "bench" / "sweep-flip-at-nine"
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("c*.txt")}
    assert verdict(triaged(tmp_path / "a", files)) == "BATCH_FLIP"
    on = files["c16-on.txt"]
    for label, value in {
        "Accepted tokens": 6000,
        "Acceptance rate (%)": f"{6000 / 156.90:.2f}",
        "Acceptance length": f"{1 + 6000 / 5230:.2f}",
        "Position 0": "60.00",
        "Position 1": "35.00",
        "Position 2": "19.72",
    }.items():
        on = changed(on, label, value)
    report = triaged(tmp_path / "b", files | {"c16-on.txt": on})
    assert verdict(report) == "ACCEPT_REGRESSION"
    assert report["verdict"]["scope"]["concurrency"] == 16


def test_a_loss_in_the_middle_is_no_flip(tmp_path):
    folder = CASES / "bench" / "sweep-gain-shrinks-no-flip"
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("c*.txt")}
    files["c06-on.txt"] = changed(files["c06-on.txt"], "Mean TPOT (ms)", "60.00")
    report = triaged(tmp_path, files)
    assert verdict(report) == "SPEED_REGRESSION"
    assert report["verdict"]["scope"]["concurrency"] == [6]
    assert report["extract"]["flip"] is None


def test_two_builds(tmp_path):
    slower = changed(ON, "Mean TPOT (ms)", "20.00")
    report = triaged(tmp_path, {"old.txt": ON, "new.txt": slower})
    assert verdict(report) == "SPEED_REGRESSION_ACCEPT_OK"


@pytest.mark.parametrize(("accuracy", "wanted"), [(0.863, "EXPECTED"), (0.81, "OUTPUT_BROKEN")])
def test_adaptive_drafts_are_judged_by_speed_and_accuracy(accuracy, wanted, tmp_path):
    folder = CASES / "bench" / "adaptive-verification"
    files = {n: (folder / n).read_text(encoding="utf-8") for n in ("fixed.txt", "adaptive.txt")}
    config = {
        "fixed": {"k": 3},
        "adaptive": {"k": 3, "adaptive_verification": True},
        "accuracy": {"fixed": 0.861, "adaptive": accuracy},
    }
    report = triaged(
        tmp_path, files, config=config, roles={"fixed.txt": "reference", "adaptive.txt": "bench"}
    )
    assert verdict(report) == wanted


def test_random_tokens_in_json_or_configuration(tmp_path):
    text = json.dumps(JSON | {"dataset_name": "random"})
    assert verdict(triaged(tmp_path / "a", {"r.json": text})) == "WORKLOAD_INVALID"
    told = triaged(tmp_path / "b", {"r.json": json.dumps(JSON)}, config={"dataset": "random"})
    assert verdict(told) == "WORKLOAD_INVALID"


def test_the_benchmark_of_another_server_is_refused(tmp_path):
    text = ON.replace("Successful requests", "Backend:            sglang\nSuccessful requests")
    report = triaged(tmp_path, {"bench.txt": text})
    assert verdict(report) == "UNSUPPORTED_FORMAT"


SHAPES = {
    "colours": "".join(f"\x1b[32m{line}\x1b[0m\r\n" for line in ON.splitlines()),
    "a service's prefix": "".join(f"client-1  | {line}\n" for line in ON.splitlines()),
    "times": "".join(f"2026-08-09T20:00:10.1Z {line}\n" for line in ON.splitlines()),
    "a progress bar before": f"100%|████| 128/128 [00:10<00:00]\r{ON}",
    "utf-16": ON.encode("utf-16"),
    "gzip": gzip.compress(ON.encode()),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_report_in_another_shape_says_the_same(shape, tmp_path):
    plain = triaged(tmp_path / "a", {"bench.txt": ON})["extract"]["runs"]
    assert triaged(tmp_path / "b", {"bench.txt": SHAPES[shape]})["extract"]["runs"] == plain


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"),
        lambda text: "性能结果\n".encode("gbk") + text.encode(),
        lambda text: "".join(f"08/09 20:00:10 - INFO - {n}\n" for n in text.splitlines()),
    ],
    ids=["CRLF with a byte order mark", "another encoding above", "a logger's prefix"],
)
@pytest.mark.parametrize("text", [AIS_ON, EVALSCOPE], ids=["AISBench", "evalscope"])
def test_tables_in_other_shapes_say_the_same(text, change, tmp_path):
    plain = triaged(tmp_path / "a", {"bench.txt": text})["extract"]["runs"]
    assert triaged(tmp_path / "b", {"bench.txt": change(text)})["extract"]["runs"] == plain


def test_an_arm_that_cannot_be_read_is_no_pass(tmp_path):
    assert verdict(arms(tmp_path / "a", OFF, ON)) == "EXPECTED"
    lost = OFF.replace("= Serving Benchmark Result =", "= Serving Benchmark Result <")
    report = arms(tmp_path / "b", lost, ON, baseline=BASELINE)
    assert verdict(report) == "NO_DATA"
    assert report["verdict"]["scope"] == {"file": "off.txt"}
    others = [
        text.replace("concurrency:             16", f"concurrency:             {n}")
        for n, text in ((4, OFF), (8, OFF))
    ]
    assert others[0] != OFF
    files = {"c04-off.txt": others[0], "c08-off.txt": others[1], "c16-on.txt": ON}
    assert verdict(triaged(tmp_path / "c", files, baseline=BASELINE)) == "BASELINE_INVALID"
