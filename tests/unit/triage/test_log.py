"""Server logs in the shapes they come in."""

import bz2
import gzip
import io
import json
import lzma
import re
import textwrap

import pytest

from specfloor.triage.log import read_log
from specfloor.triage.log_lines import parse_cumulative, parse_window
from specfloor.triage.log_scan import LogScan, Marker
from specfloor.triage.source import Source
from tests.unit.triage.builders import (
    BASELINE,
    DEAD,
    HEALTHY,
    case_text,
    codes,
    log,
    started,
    throughput,
    triaged,
    verdict,
    window,
)

FINAL = case_text("logs", "v1-final-order", "server.log")
RATE_FIRST = case_text("logs", "v1-rate-first-no-throughput", "server.log")
V0 = case_text("logs", "v0-cumulative-lines", "server.log")


def totals(report):
    found = report["extract"]["totals"]
    return found["drafts"], found["draft_tokens"], found["accepted_tokens"]


def each_line(change, text=FINAL):
    return "".join(f"{change(number, line)}\n" for number, line in enumerate(text.splitlines()))


SHAPES = {
    "cri": each_line(lambda _, line: f"2026-08-20T05:00:10.123456789Z stderr F {line}"),
    "grep with line numbers": each_line(lambda n, line: f"{n}:{line}"),
    "grep with file names": each_line(lambda n, line: f"server.log:{n}:{line}"),
    "grep in colour": FINAL.replace(
        "SpecDecoding metrics", "\x1b[01;31m\x1b[KSpecDecoding metrics\x1b[m\x1b[K"
    ),
    "escaped colours": each_line(lambda _, line: f'{{"line": "\\u001b[32m{line}\\u001b[0m"}}'),
    "utf-16": FINAL.encode("utf-16"),
    "byte order mark": FINAL.encode("utf-8-sig"),
    "all in one line": FINAL.replace("\n", " "),
    "carriage returns alone": FINAL.replace("\n", "\r"),
    "bzip2": bz2.compress(FINAL.encode()),
    "xz": lzma.compress(FINAL.encode()),
    "two gzip members": gzip.compress(FINAL[:3000].encode()) + gzip.compress(FINAL[3000:].encode()),
    "journal": each_line(lambda _, line: f"Aug 09 20:00:10 npu-host-1 vllm[4122]: {line}"),
    "ray": each_line(lambda _, line: f"\x1b[36m(EngineCore_DP0 pid=1, ip=192.0.2.7)\x1b[0m {line}"),
    "progress bars": each_line(lambda n, line: f"Processed: {n}%|#  | {n}/20\r{line}"),
    "csv": "time,message\n" + each_line(lambda n, line: f'2026-08-09 20:00:{n:02d},"{line}"'),
    "an issue": f"# Bug\n\n```text\n{FINAL}```\n\nWhat is this?\n",
    "a quotation": each_line(lambda _, line: f"> {line}"),
    "a list of JSON": json.dumps([{"log": line} for line in FINAL.splitlines()], indent=1),
    "JSON inside JSON": each_line(
        lambda _, line: json.dumps({"severity": "INFO", "jsonPayload": {"message": line}})
    ),
    "another encoding above": "启动服务\n".encode("gbk") + FINAL.encode(),
    "no end of line": FINAL.rstrip("\n"),
    "zeros where the log was emptied": b"\0" * 5000 + FINAL.encode(),
    "a field that a fork adds": FINAL.replace(
        ", Accepted throughput", ", Current speculative depth: 3, Accepted throughput"
    ),
    "a path before the file": FINAL.replace("[metrics.py", "[v1/spec_decode/metrics.py"),
    **{
        f"broken at {width}": each_line(
            lambda _, line, w=width: "\n".join(line[i : i + w] for i in range(0, len(line), w))
        )
        for width in (40, 60, 80, 132)
    },
    **{
        f"wrapped at {width}": each_line(lambda _, line, w=width: "\n".join(textwrap.wrap(line, w)))
        for width in (40, 72, 90)
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_log_in_another_shape_says_the_same(shape, tmp_path):
    plain = triaged(tmp_path / "plain", {"server.log": FINAL})
    other = triaged(tmp_path / "other", {"server.log": SHAPES[shape]})
    assert totals(plain) == totals(other) == (1352, 4056, 2779)
    assert other["extract"]["windows"] == 6
    assert other["extract"]["incomplete_lines"] == 0
    assert verdict(other) == "PARSE"


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("text", [RATE_FIRST, V0], ids=["rate first", "V0"])
def test_other_wordings_survive_a_terminal_too(text, width, tmp_path):
    broken = each_line(
        lambda _, line: "\n".join(line[i : i + width] for i in range(0, len(line), width)), text
    )
    assert totals(triaged(tmp_path / "a", {"s.log": broken})) == totals(
        triaged(tmp_path / "b", {"s.log": text})
    )


def test_the_first_v0_wording_repeats_a_word():
    line = (
        "Speculative metrics: Draft acceptance rate: 0.676, System efficiency: 0.560, Number of "
        "speculative tokens: 4, Number of accepted tokens: 2013, Number of draft tokens tokens: "
        "2976, Number of emitted tokens tokens: 2083."
    )
    found = parse_cumulative(line)
    assert (found.k, found.draft_tokens, found.emitted_tokens) == (4, 2976, 2083)
    assert found.tally.length == pytest.approx(2083 / 744)


WINDOW = window(0, HEALTHY).partition("SpecDecoding")[2].rstrip("\n")


@pytest.mark.parametrize("left", range(1, len(WINDOW), 7))
def test_a_cut_line_is_never_a_window(left):
    assert parse_window(f"SpecDecoding{WINDOW[:-left]}") is None
    assert parse_window(f"SpecDecoding{WINDOW}") is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Accepted: 418", "Accepted: 818"),
        ("Accepted: 418", "Accepted: 18"),
        ("Drafted: 600", "Drafted: 900"),
        ("length: 3.09", "length: 3.39"),
        ("0.870, 0.700", "0.870, 0.900"),
        ("rate: 69.7%", "rate: 49.7%"),
        ("0.870, ", ""),
    ],
)
def test_a_line_with_a_wrong_number_contradicts_itself(old, new, tmp_path):
    assert old in WINDOW
    assert parse_window(f"SpecDecoding{WINDOW}").contradiction is None
    damaged = parse_window(f"SpecDecoding{WINDOW.replace(old, new)}")
    assert damaged.contradiction
    text = log(20) + throughput(300) + window(300, HEALTHY).replace(old, new)
    report = triaged(tmp_path, {"server.log": text}, baseline=BASELINE)
    assert report["extract"]["windows"] == 20
    assert report["extract"]["contradictory_lines"] == 1
    assert "contradictory_line" in codes(report)
    assert verdict(report) == "INCONCLUSIVE"


def test_drafts_shorter_than_k_are_counted_by_what_the_line_says(tmp_path):
    # 300 drafts, of which some were of 2 tokens: drafted over k is 280
    text = throughput(0) + window(0, (200, 100, 50), 300, drafted=840)
    assert totals(triaged(tmp_path, {"server.log": text})) == (300, 840, 350)


def test_without_positions_the_drafts_are_known_only_with_k(tmp_path):
    line = (
        "INFO 04-09 10:00:10 [metrics.py:53] SpecDecoding metrics: Draft acceptance rate: 50.0%, "
        "Accepted: 300 tokens, Drafted: 600 tokens\n"
    )
    unknown = triaged(tmp_path / "a", {"server.log": line})["extract"]
    assert unknown["log_format"] == "v1-0.8.3"
    assert unknown["totals"]["drafts"] is None
    assert unknown["totals"]["acceptance_length"] is None
    assert "per_position" not in unknown["totals"]
    known = triaged(tmp_path / "b", {"server.log": line}, config={"k": 3})["extract"]
    assert known["totals"]["drafts"] == 200
    assert known["totals"]["acceptance_length"] == 2.5


def test_a_cut_after_a_whole_number_is_noticed_by_its_fewer_positions(tmp_path):
    cut = RATE_FIRST.rstrip("\n").rpartition(",")[0]
    report = triaged(tmp_path, {"server.log": cut})
    assert report["extract"]["windows"] == 3
    assert report["extract"]["incomplete_lines"] == 1
    assert "truncated_line" in codes(report)


@pytest.mark.parametrize("cut", [5, 60, 200, 331, 352])
def test_a_log_cut_anywhere_in_its_last_line_is_no_pass(cut, tmp_path):
    text = log(20)
    assert verdict(triaged(tmp_path / "whole", {"s.log": text}, baseline=BASELINE)) == "EXPECTED"
    report = triaged(tmp_path / "cut", {"s.log": text[:-cut]}, baseline=BASELINE)
    assert verdict(report) == "INCONCLUSIVE"
    assert report["extract"]["windows"] == 19


def test_a_gzip_file_that_breaks_off_is_read_so_far_and_said_so(tmp_path):
    packed = gzip.compress(log(50, counts=drifting).encode())
    report = triaged(tmp_path, {"server.log.gz": packed[: len(packed) // 2]})
    assert 0 < report["extract"]["windows"] < 50
    packed = gzip.compress(log(50).encode())
    report = triaged(tmp_path, {"server.log.gz": packed[:-6]}, baseline=BASELINE)
    assert "damaged_file" in codes(report)
    assert verdict(report) == "INCONCLUSIVE"


# -- who wrote it ----------------------------------------------------------------------------------


def test_processes_that_share_engines_are_one_server(tmp_path):
    tags = ["(ApiServer_0 pid=5) ", "(ApiServer_1 pid=6) "]
    text = "".join(log(1, start=10 * n, tag=tags[n % 2]) for n in range(6))
    extract = triaged(tmp_path, {"server.log": text})["extract"]
    assert extract["by_engine"]["000"]["draft_tokens"] == 6 * 600
    assert "segments" not in extract


def test_two_servers_that_write_into_one_log_are_kept_apart(tmp_path):
    tags = ["(APIServer pid=5) ", "(APIServer pid=6) "]
    text = "".join(
        log(1, start=10 * n, tag=tags[n % 2], counts=lambda *_, n=n: (DEAD, HEALTHY)[n % 2])
        for n in range(12)
    )
    report = triaged(tmp_path, {"server.log": text})
    assert verdict(report) == "TOPOLOGY"
    assert report["verdict"]["scope"] == {"engines": ["pid 5/000"]}


def test_services_of_a_compose_file_are_kept_apart(tmp_path):
    healthy, dead = log(6), log(6, counts=lambda *_: DEAD)
    text = "".join(
        f"web-1  | {one}\nbatch-1  | {other}\n"
        for one, other in zip(healthy.splitlines(), dead.splitlines(), strict=True)
    )
    report = triaged(tmp_path, {"compose.log": text})
    assert verdict(report) == "ACCEPT_ZERO"
    assert report["verdict"]["scope"] == {"server": "batch-1"}
    assert report["extract"]["by_server"]["web-1"]["accepted_tokens"] == 6 * sum(HEALTHY)


def test_an_engine_that_generates_without_drafts_is_no_pass(tmp_path):
    text = log(
        10,
        engines=("000", "001"),
        counts=lambda _, engine: HEALTHY if engine == "000" else None,
    )
    report = triaged(tmp_path / "a", {"server.log": text}, baseline=BASELINE)
    assert verdict(report) == "TOPOLOGY"
    assert report["verdict"]["scope"] == {"engines": ["001"]}
    idle = re.sub(r"(Engine 001: .*generation throughput: )52.5", r"\g<1>0.0", text)
    report = triaged(tmp_path / "b", {"server.log": idle}, baseline=BASELINE)
    assert verdict(report) == "EXPECTED"
    assert "idle_engine" in codes(report)


# -- runs ------------------------------------------------------------------------------------------


def run_of(version, counts, *, start, pid):
    tag = f"(APIServer pid={pid}) "
    body = log(6, start=start, tag=tag, counts=lambda *_: counts)
    return started(version, second=start, pid=pid) + body


WORSE = (150, 90, 40)


def test_a_restart_is_seen_without_its_start_lines(tmp_path):
    text = log(6, tag="(APIServer pid=5) ") + log(
        6, start=100, tag="(APIServer pid=9) ", counts=lambda *_: WORSE
    )
    report = triaged(tmp_path, {"server.log": text})
    assert verdict(report) == "ACCEPT_REGRESSION"
    assert report["verdict"]["scope"] == {"from": "run 1", "to": "run 2"}
    assert "restart" in codes(report)


def test_a_restart_that_mends_it_is_no_fault(tmp_path):
    text = run_of("0.23.0", WORSE, start=0, pid=5) + run_of("0.23.0", HEALTHY, start=100, pid=9)
    report = triaged(tmp_path, {"server.log": text})
    assert verdict(report) == "PARSE"
    assert len(report["extract"]["segments"]) == 2


def test_data_parallel_engines_that_start_together_are_one_start(tmp_path):
    start = started(pid=5)
    engine = start.splitlines(keepends=True)[1]
    text = start + engine.replace("pid=6", "pid=7") * 7 + log(4, engines=("000", "001"))
    report = triaged(tmp_path, {"server.log": text})
    assert "restart" not in codes(report)
    assert report["extract"]["configurations"] == [
        {"version": "0.23.0", "model": "GLM-5.2", "method": "mtp", "k": 3, "speculates": True}
    ]


def test_v0_counters_that_fall_are_a_restart(tmp_path):
    report = triaged(tmp_path, {"server.log": V0 + V0})
    assert totals(report) == (2 * 3769, 2 * 15076, 2 * 10275)
    assert "restart" in codes(report)


DIED = (
    "(EngineCore pid=6) ERROR 08-09 00:02:00 [core.py:1510] EngineCore encountered a fatal error.\n"
    "(EngineCore pid=6) ERROR 08-09 00:02:00 [core.py:1510] Traceback (most recent call last):\n"
    '(EngineCore pid=6) ERROR 08-09 00:02:00 [core.py:1510]   File "core.py", line 1, in run\n'
    "(EngineCore pid=6) ERROR 08-09 00:02:00 [core.py:1510] RuntimeError: aclnnTopk failed\n"
    "(APIServer pid=5) ERROR 08-09 00:02:01 [async_llm.py:540] EngineDeadError: see above\n"
)


def test_a_crash_is_told_with_its_cause(tmp_path):
    report = triaged(tmp_path, {"server.log": log(10) + DIED}, baseline=BASELINE)
    assert verdict(report) == "CRASH"
    assert "aclnnTopk failed" in report["verdict"]["reason"]
    assert report["exit_code"] == 1


def test_a_crash_that_a_restart_follows_is_still_told(tmp_path):
    text = log(6, tag="(APIServer pid=5) ") + DIED + run_of("0.23.0", HEALTHY, start=200, pid=9)
    assert verdict(triaged(tmp_path, {"server.log": text})) == "CRASH"


def test_the_last_report_of_an_engine_may_follow_its_death(tmp_path):
    assert verdict(triaged(tmp_path, {"s.log": log(6) + DIED + log(1, start=130)})) == "CRASH"


def test_an_error_that_the_engine_got_over_is_no_crash(tmp_path):
    report = triaged(tmp_path, {"s.log": log(6) + DIED + log(6, start=130)}, baseline=BASELINE)
    assert verdict(report) == "EXPECTED"


@pytest.mark.parametrize(
    "stop",
    [
        "(APIServer pid=5) INFO 08-09 00:01:59 [launcher.py:110] Shutting down FastAPI server.\n",
        "(EngineCore pid=6) INFO 08-09 00:01:59 [core.py:800] Received signal 15\n",
    ],
)
def test_what_dies_after_it_was_told_to_stop_did_not_crash(stop, tmp_path):
    report = triaged(tmp_path, {"server.log": log(10) + stop + DIED}, baseline=BASELINE)
    assert verdict(report) == "EXPECTED"


def test_a_server_that_never_started(tmp_path):
    report = triaged(tmp_path / "a", {"server.log": started() + DIED})
    assert verdict(report) == "START_FAIL"
    assert "aclnnTopk failed" in report["verdict"]["reason"]
    later = started() + DIED + run_of("0.23.0", HEALTHY, start=200, pid=9)
    assert verdict(triaged(tmp_path / "b", {"s.log": later}, baseline=BASELINE)) == "EXPECTED"


def test_what_an_engine_died_of_is_found_without_any_other_line(tmp_path):
    report = triaged(tmp_path / "a", {"errors.log": DIED})
    assert verdict(report) == "CRASH"
    assert "aclnnTopk failed" in report["verdict"]["reason"]
    other = triaged(tmp_path / "b", {"notes.txt": "the process was Killed (SIGKILL)\n"})
    assert verdict(other) == "NO_DATA"


def test_a_server_that_hangs(tmp_path):
    hang = (
        "(EngineCore pid=6) INFO 08-09 00:0{}:00 [shm_broadcast.py:501] No available shared memory "
        "broadcast block found in 60 seconds.\n"
    )
    text = log(10) + hang.format(3) + hang.format(4)
    assert verdict(triaged(tmp_path / "a", {"s.log": text}, baseline=BASELINE)) == "HANG"
    once = log(10) + hang.format(3)
    assert verdict(triaged(tmp_path / "b", {"s.log": once}, baseline=BASELINE)) == "EXPECTED"


# -- parts of a rotated log ------------------------------------------------------------------------


def drifting(number, _engine):
    return tuple(round(count * max(0, 1 - number / 20)) for count in HEALTHY)


@pytest.mark.parametrize(
    "names",
    [
        ("server.log.2", "server.log.1", "server.log"),
        ("server.log-20260808.gz", "server.log-20260809", "server.log"),
        ("server.log.10", "server.log.9", "server.log"),
    ],
)
def test_parts_are_read_in_order_of_time(names, tmp_path):
    whole = log(18, counts=drifting)
    third = len(whole) // 3
    parts = (whole[:third], whole[third : 2 * third], whole[2 * third :])  # cut within lines
    files = {
        name: gzip.compress(part.encode()) if name.endswith("gz") else part
        for name, part in zip(names, parts, strict=True)
    }
    report = triaged(tmp_path, dict(sorted(files.items())))
    assert report["extract"]["windows"] == 18
    assert report["extract"]["first_window"]["accepted_tokens"] == sum(HEALTHY)
    assert verdict(report) == "ACCEPT_DRIFT"


def test_a_year_that_turns_between_the_parts(tmp_path):
    older = log(9, counts=drifting).replace("08-09", "12-31")
    newer = log(9, counts=lambda n, e: drifting(n + 9, e)).replace("08-09", "01-01")
    report = triaged(tmp_path, {"server.log": newer, "server.log.1": older})
    assert verdict(report) == "ACCEPT_DRIFT"


def test_logs_that_are_not_parts_of_one_are_judged_apart(tmp_path):
    dead = log(6, counts=lambda *_: DEAD)
    report = triaged(tmp_path, {"node-a.log": log(6), "node-b.log": dead})
    assert verdict(report) == "ACCEPT_ZERO"
    assert report["verdict"]["scope"] == {"file": "node-b.log"}


def test_a_file_that_no_server_wrote_is_no_servers_silence(tmp_path):
    files = {"server.log": log(20), "nginx.log": "GET / 200\n" * 50}
    report = triaged(tmp_path / "a", files, baseline=BASELINE)
    assert verdict(report) == "EXPECTED"
    assert "unrecognised_file" in codes(report)
    given = triaged(tmp_path / "b", files, baseline=BASELINE, roles={"nginx.log": "decode"})
    assert verdict(given) == "NO_DATA"


# -- nothing in it ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (log(6, counts=lambda *_: None), "speculation is off"),
        (started() + log(6, counts=lambda *_: None), "speculation is configured"),
        (window(0, HEALTHY)[:-60] + "\n", "cut or damaged"),
        ("hello\n", "no line of a vLLM server"),
        ("", "no line of a vLLM server"),
    ],
)
def test_nothing_is_no_data_with_its_reason_and_what_to_capture(text, reason, tmp_path):
    report = triaged(tmp_path, {"server.log": text}, roles={"server.log": "log"}, baseline=BASELINE)
    assert verdict(report) == "NO_DATA"
    assert reason in report["verdict"]["reason"]
    assert report["extract"]["totals"] is None
    assert report["findings"][0]["next"]
    assert report["exit_code"] == 10


@pytest.mark.parametrize(
    ("line", "software"),
    [
        (
            "[2026-10-02 TP0] Decode batch. #token: 9, accept len: 2.67, accept rate: 0.6",
            "sglang",
        ),
        ("[TRT-LLM] [I] Avg acceptance rate 0.6", "trtllm"),
        ("srv  update_slots: all slots are idle", "llamacpp"),
    ],
)
def test_other_programs_are_refused_by_name(line, software, tmp_path):
    report = triaged(tmp_path, {"server.log": f"{line}\n" * 5})
    assert verdict(report) == "UNSUPPORTED_FORMAT"
    assert report["extract"]["engine_software"] == software
    assert report["extract"]["totals"] is None
    assert report["exit_code"] == 10


# -- the search ------------------------------------------------------------------------------------


def blocks_of(content, size):
    return [content[i : i + size] for i in range(0, len(content), size)]


NOISE = (
    '(APIServer pid=27) INFO:     127.0.0.1:45214 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
)


@pytest.mark.parametrize("size", [1000, 9000, 1 << 16, 1 << 17, 1 << 18])
def test_blocks_of_any_size_give_the_same_marks(size):
    engines = ("000", "001")
    text = started()
    for number in range(40):
        text += NOISE * (97 * number % 700) + log(1, engines=engines, start=10 * number)
    text += started(second=500) + NOISE * 50 + log(4, engines=engines, start=510)
    content = text.encode()
    marks = [(m.marker, m.text) for m in LogScan(blocks_of(content, size))]
    found = [marker for marker, _ in marks]
    assert found.count(Marker.WINDOW) == found.count(Marker.THROUGHPUT) == 88
    assert found.count(Marker.ENGINE_START) == 2
    assert all(text.endswith("%") for marker, text in marks if marker is Marker.WINDOW)


def test_the_reason_of_an_early_crash_is_kept_for_the_next_start(tmp_path):
    text = (
        NOISE * 4000
        + log(6, tag="(APIServer pid=5) ")
        + DIED
        + run_of("0.23.0", HEALTHY, start=200, pid=9)
        + NOISE * 4000
    )
    report = triaged(tmp_path, {"server.log": text})
    assert verdict(report) == "CRASH"
    assert "aclnnTopk" in report["verdict"]["reason"]


def test_a_long_filtered_log_without_throughput_lines_is_read_whole():
    text = "".join(window(10 * number, HEALTHY) for number in range(3000))
    reading = read_log([Source("s.log", once(text))])
    assert reading.windows == 3000


def test_acceptance_far_from_any_throughput_line_is_found_in_a_second_pass():
    text = NOISE * 4000 + "".join(window(10 * number, HEALTHY) for number in range(50))
    assert read_log([Source("s.log", once(text))]).windows == 50


def test_memory_stays_bounded_however_many_windows_there_are():
    text = "".join(log(1, start=10 * number) for number in range(5000))
    (run,) = read_log([Source("s.log", once(text))]).runs
    assert sum(part.windows for part in run.parts) == 5000
    assert len(run.parts) <= 2048
    assert run.tally.draft_tokens == 5000 * 600


def once(text):
    return lambda: io.BytesIO(text.encode())


# -- lines that lost the words by which they are found ---------------------------------------------


@pytest.mark.parametrize("word", ["SpecDecoding", "metrics: Mean", "SpecDecoding metrics: "])
@pytest.mark.parametrize("damage", ["", "#", "metr\0cs"])
def test_an_acceptance_line_that_is_not_found_is_still_missed(word, damage, tmp_path):
    text = log(20)
    place = text.index(word, len(text) // 2)
    damaged = text[:place] + damage + text[place + len(word) :]
    report = triaged(tmp_path, {"server.log": damaged}, baseline=BASELINE)
    assert verdict(report) == "INCONCLUSIVE"
    assert "truncated_line" in codes(report)
    assert report["extract"]["windows"] == 19


def test_a_cumulative_line_that_is_not_found_is_missed(tmp_path):
    report = triaged(tmp_path, {"server.log": V0.replace("Speculative m", "S m", 1)})
    assert report["extract"]["incomplete_lines"] == 1


def test_an_arm_without_speculation_that_shows_no_speed_is_no_measure(tmp_path):
    off = log(20, counts=lambda *_: None)
    files = {"off.log": off, "on.log": log(20)}
    assert verdict(triaged(tmp_path / "a", files)) == "EXPECTED"
    report = triaged(tmp_path / "b", files | {"off.log": off.partition("Avg gen")[0]})
    assert verdict(report) == "BASELINE_INVALID"
    assert "shows no speed" in report["verdict"]["reason"]
