"""Scrapes of /metrics: pairs, series, single ones, V0's, damaged ones."""

import re

import pytest

from tests.unit.triage.builders import BASELINE, CASES, case_text, codes, triaged, verdict

PAIR = "pair-total-and-created"
BEFORE, AFTER = (case_text("metrics", PAIR, f"{name}.prom") for name in ("before", "after"))
WANTED = (7311, 21933, 15066)


def totals(report):
    found = report["extract"]["totals"]
    return found["drafts"], found["draft_tokens"], found["accepted_tokens"]


def with_timestamps(text):
    return re.sub(r"^(vllm.*\d)$", r"\1 1790000000000", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ({"before.prom": BEFORE}, {"after.prom": AFTER}),
        ({"z.prom": BEFORE}, {"a.prom": AFTER}),
        ({"metrics-0.txt": BEFORE}, {"metrics-1.txt": AFTER}),
        ({"start.txt": BEFORE.replace("\n", "\r\n")}, {"end.txt": AFTER.replace("\n", "\r\n")}),
        ({"before.prom": with_timestamps(BEFORE)}, {"after.prom": with_timestamps(AFTER)}),
    ],
)
def test_a_pair_is_ordered_by_its_names_or_by_its_counts(early, late, tmp_path):
    report = triaged(tmp_path, late | early)
    assert totals(report) == WANTED
    assert verdict(report) == "PARSE"


def test_one_scrape_counts_since_the_start_and_says_so(tmp_path):
    report = triaged(tmp_path, {"metrics.prom": AFTER})
    assert totals(report) == (12717, 38151, 26293)
    assert report["extract"]["since_start"] is True
    assert "since_start" in codes(report)


def test_a_series_without_names_is_ordered_by_its_counts(tmp_path):
    folder = CASES / "metrics" / "six-scrapes-soak"
    files = {
        f"{'fbdaec'[n]}.txt": (folder / f"scrape-{n}.prom").read_text(encoding="utf-8")
        for n in range(6)
    }
    report = triaged(tmp_path, files)
    assert verdict(report) == "ACCEPT_DRIFT"
    rates = [interval["acceptance_rate"] for interval in report["extract"]["intervals"]]
    assert rates == sorted(rates, reverse=True)
    assert report["extract"]["change_points"]


@pytest.mark.parametrize(
    ("after", "code"),
    [
        (AFTER[: len(AFTER) // 2], "not_metrics"),
        ("<html>502</html>", "not_metrics"),
        ("", None),
        (AFTER.replace('accepted_tokens_total{engine="0",model_name="GLM-5.2"} 26293.0', ""), None),
        (AFTER.replace("26293.0", "36293.0"), "contradictory_counters"),
        (AFTER.replace("26293.0", "16293.0"), "contradictory_counters"),
        (AFTER.replace('position="1"} 8791.0', 'position="1"} 9791.0'), "contradictory_counters"),
        (AFTER.replace('position="0"} 11019.0', 'position="0"} 99999.0'), "contradictory_counters"),
        (AFTER.replace("38151.0", "68151.0"), None),
        (AFTER.replace("38151.0", "38151000000000.0"), None),
        (AFTER.replace('position="2"', 'position="2000000000"'), None),
    ],
)
def test_a_damaged_scrape_is_never_a_pass(after, code, tmp_path):
    whole = triaged(tmp_path / "a", {"before.prom": BEFORE, "after.prom": AFTER}, baseline=BASELINE)
    assert verdict(whole) == "EXPECTED"
    files = {"before.prom": BEFORE, "after.prom": after}
    report = triaged(tmp_path / "b", files, baseline=BASELINE)
    assert verdict(report) in {"NO_DATA", "INCONCLUSIVE", "ACCEPT_REGRESSION"}
    assert code is None or code in codes(report)


def test_an_engine_that_restarted_leaves_no_sum_and_the_others_their_counts(tmp_path):
    folder = CASES / "metrics" / "eight-engines-one-zero"
    before = (folder / "before.prom").read_text(encoding="utf-8")
    after = (folder / "after.prom").read_text(encoding="utf-8")
    healthy = re.sub(r'^.*engine="5".*\n', "", before, flags=re.MULTILINE)
    late = re.sub(r'^.*engine="5".*\n', "", after, flags=re.MULTILINE)
    anew = re.sub(r'^(.*(?<!created)\{engine="2".*\}) .*$', r"\1 7", late, flags=re.MULTILINE)
    files = {"before.prom": healthy, "after.prom": anew}
    report = triaged(tmp_path, files, baseline=BASELINE)
    assert report["extract"]["totals"] is None
    assert len(report["extract"]["by_engine"]) == 6
    assert "counter_reset" in codes(report)
    assert verdict(report) == "INCONCLUSIVE"


def test_a_baseline_of_one_model_is_not_held_against_another(tmp_path):
    folder = CASES / "metrics" / "two-models-one-endpoint"
    files = {
        name: (folder / name).read_text(encoding="utf-8") for name in ("before.prom", "after.prom")
    }
    assert verdict(triaged(tmp_path / "a", files, baseline=BASELINE)) == "PARSE"
    named = triaged(tmp_path / "b", files, baseline={**BASELINE, "model": "Qwen3-8B"})
    assert verdict(named) == "ACCEPT_REGRESSION"
    assert named["verdict"]["scope"]["model"] == "Qwen3-8B"


V0 = """# TYPE vllm:spec_decode_draft_acceptance_rate gauge
vllm:spec_decode_draft_acceptance_rate{{model_name="m"}} {rate}
# TYPE vllm:spec_decode_efficiency gauge
vllm:spec_decode_efficiency{{model_name="m"}} 0.5638
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{{model_name="m"}} {accepted}
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{{model_name="m"}} {drafted}
# TYPE vllm:spec_decode_num_emitted_tokens_total counter
vllm:spec_decode_num_emitted_tokens_total{{model_name="m"}} {emitted}
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{model_name="m"}} 10700.0
"""
LATE = V0.format(rate=0.6815, accepted=10275.0, drafted=15076.0, emitted=10625.0)


def test_v0_counters_are_subtracted_where_they_can_be_believed(tmp_path):
    early = V0.format(rate=0.6764, accepted=2013.0, drafted=2976.0, emitted=2083.0)
    report = triaged(tmp_path, {"before.prom": early, "after.prom": LATE})
    assert totals(report) == (12100 // 4, 12100, 8262)
    assert report["extract"]["k"] == 4
    assert report["extract"]["totals"]["acceptance_length"] == pytest.approx(8542 / 3025)
    assert report["extract"]["gauges"]["draft_acceptance_rate"] == 0.6815


def test_v0_counters_above_the_generated_tokens_are_running_totals_added_up(tmp_path):
    inflated = V0.format(rate=0.6815, accepted=102750.0, drafted=150760.0, emitted=106250.0)
    report = triaged(tmp_path, {"metrics.prom": inflated})
    found = report["extract"]["totals"]
    assert found["draft_tokens"] is None
    assert found["acceptance_rate"] == 0.6815
    assert "v0_gauges" in codes(report)


@pytest.mark.parametrize(("rate", "wanted"), [(0.6815, "PARSE"), (0.0, "INCONCLUSIVE")])
def test_v0_gauges_alone_say_a_rate_but_not_of_how_much(rate, wanted, tmp_path):
    alone = "\n".join(V0.format(rate=rate, accepted=0, drafted=0, emitted=0).splitlines()[:4])
    report = triaged(tmp_path / "a", {"metrics.prom": f"{alone}\n"})
    assert verdict(report) == wanted
    assert report["extract"]["totals"]["drafts"] is None
    judged = triaged(tmp_path / "b", {"metrics.prom": f"{alone}\n"}, baseline=BASELINE)
    assert verdict(judged) == "INCONCLUSIVE"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ('sglang_spec_accept_length{tp_rank="0"} 2.6', "UNSUPPORTED_FORMAT"),
        ("tgi_request_count 3", "UNSUPPORTED_FORMAT"),
        ('node_cpu_seconds_total{cpu="0"} 3', "NO_DATA"),
    ],
)
def test_metrics_of_others(line, wanted, tmp_path):
    report = triaged(tmp_path, {"m.prom": f"# TYPE x gauge\n{line}\n"})
    assert verdict(report) == wanted
    assert report["extract"]["totals"] is None


SOAK = {
    f"scrape-{n}.prom": case_text("metrics", "six-scrapes-soak", f"scrape-{n}.prom")
    for n in range(6)
}


@pytest.mark.parametrize(
    ("number", "content", "code"),
    [(3, "<html>502</html>", "not_metrics"), (3, "", "damaged_file"), (5, "", "damaged_file")],
)
def test_a_series_is_read_without_the_scrape_that_failed(number, content, code, tmp_path):
    report = triaged(tmp_path / "a", SOAK | {f"scrape-{number}.prom": content})
    assert verdict(report) == "ACCEPT_DRIFT"
    assert len(report["extract"]["intervals"]) == 4
    assert code in codes(report)
    healthy = {name: text for name, text in SOAK.items() if name[7] in "01"}
    given = {"k": 3, "acceptance_rate": 0.7, "tolerance_points": 5}
    assert verdict(triaged(tmp_path / "b", healthy, baseline=given)) == "EXPECTED"
    with_a_failure = healthy | {"scrape-2.prom": content}
    assert verdict(triaged(tmp_path / "c", with_a_failure, baseline=given)) == "INCONCLUSIVE"


def test_an_engine_without_its_whole_is_not_called_read(tmp_path):
    folder = CASES / "metrics" / "eight-engines-one-zero"
    texts = [(folder / f"{n}.prom").read_text(encoding="utf-8") for n in ("before", "after")]
    before, after = (re.sub(r'^.*engine="5".*\n', "", t, flags=re.MULTILINE) for t in texts)
    lost = re.sub(r'^.*engine="2".*\n', "", after, flags=re.MULTILINE)
    assert verdict(triaged(tmp_path / "a", {"before.prom": before, "after.prom": after})) == "PARSE"
    report = triaged(tmp_path / "b", {"before.prom": before, "after.prom": lost})
    assert verdict(report) == "INCONCLUSIVE"
    assert "is in the first scrape only" in report["verdict"]["reason"]


def test_a_build_that_cannot_be_compared_with_is_said(tmp_path):
    folder = CASES / "metrics" / "two-builds-regression"
    files = {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*.prom")}
    assert verdict(triaged(tmp_path / "a", files)) == "ACCEPT_REGRESSION"
    report = triaged(tmp_path / "b", files | {"old-after.prom": "<html>502</html>"})
    assert verdict(report) == "BASELINE_INVALID"
    assert "the old run says no acceptance" in report["verdict"]["reason"]


@pytest.mark.parametrize("between", ["", "\n", "Sun Aug  9 20:00:10 UTC 2026\n"])
@pytest.mark.parametrize("kept", ["", "spec_decode"], ids=["whole", "grepped"])
def test_scrapes_one_after_another_in_one_file(between, kept, tmp_path):
    texts = [
        "".join(line for line in text.splitlines(keepends=True) if kept in line)
        for text in SOAK.values()
    ]
    report = triaged(tmp_path, {"metrics.log": "".join(between + text for text in texts)})
    assert verdict(report) == "ACCEPT_DRIFT"
    assert len(report["extract"]["intervals"]) == 5
    backwards = {"metrics.log": "".join(between + text for text in reversed(texts))}
    assert "counter_reset" in codes(triaged(tmp_path, backwards))


def test_servers_one_after_another_in_one_scrape_are_engines(tmp_path):
    other = [text.replace('engine="0"', 'engine="1"') for text in (BEFORE, AFTER)]
    files = {"before.prom": BEFORE + other[0], "after.prom": AFTER + other[1]}
    report = triaged(tmp_path, files)
    assert list(report["extract"]["by_engine"]) == ["0", "1"]
    assert totals(report) == (14622, 43866, 30132)
