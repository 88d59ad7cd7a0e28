"""``specfloor watch`` as typed, with readings in place of servers."""

import io
import json

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from specfloor.commands import watch as command
from specfloor.errors import UsageError
from specfloor.watch import loop
from specfloor.watch.endpoint import read_sample
from specfloor.watch.show import PLAIN_BARS, as_table, sparkline
from specfloor.watch.state import Watch
from tests.unit.watch.builders import engine, metrics
from tests.unit.watch.test_state import GONE, URL, rising

HEALTHY = rising(60)
DEAD = rising(60, accepted=(0, 0, 0))
OTHER = "http://b:2/metrics"


@pytest.fixture
def watch(monkeypatch):
    """Run the command over readings, one a period; an interrupt follows the last.

    The first answer takes ``late`` seconds.
    """

    def run(*arguments, readings, url="a:1", late=0.0):
        now = [1_790_000_000.0]
        left = list(readings)

        def fetch(url, timeout_s, renames):
            if len(left) == len(readings):
                now[0] += late
            told = left[0].get(url) if isinstance(left[0], dict) else left[0]
            return read_sample(told, renames) if isinstance(told, str) else told

        def sleep(seconds):
            now[0] += seconds
            left.pop(0)
            if not left:
                raise KeyboardInterrupt

        monkeypatch.setattr(loop, "fetch", fetch)
        monkeypatch.setattr(command, "steady_clock", lambda: lambda: now[0])
        monkeypatch.setattr(command, "sleep", sleep)
        result = CliRunner().invoke(
            command.watch, [url, *arguments], standalone_mode=False, catch_exceptions=False
        )
        return result.stdout, result.return_value

    return run


def test_a_line_for_every_reading_and_a_summary(watch):
    text, exit_code = watch(readings=HEALTHY[:5])
    lines = text.splitlines()
    assert len(lines) == 7
    assert lines[0].endswith("first reading, 4 running 1 waiting")
    assert lines[4].endswith(
        "drafted 150.0/s, accepted 90.0/s, rate 60.0% over 8 s, length 2.80, "
        "by position 0.80 0.60 0.40, 4 running 1 waiting, since start 60.0%"
    )
    assert lines[5] == "watched 8 s: 5 readings, 0 unanswered, 0 restarts"
    assert lines[6] == (
        "  engine 0: 720 of 1,200 tokens accepted, rate 60.0%, length 2.80, "
        "by position 0.80 0.60 0.40, least in a window 60.0%"
    )
    assert exit_code == 0


def test_once_reads_twice(watch):
    text, exit_code = watch("--once", "--period", "1m", readings=HEALTHY)
    assert "rate 60.0% over 60 s" in text
    assert "watched 60 s: 2 readings" in text
    assert exit_code == 0


def test_a_first_answer_that_is_late_does_not_shorten_the_window(watch):
    text, exit_code = watch(
        "--once", "--period", "1m", "--floor", "0.5", readings=HEALTHY, late=20.0
    )
    assert "the floor of 50.0% held in 1 windows" in text
    assert exit_code == 0


def test_json_lines(watch):
    text, exit_code = watch("--json", readings=HEALTHY[:3])
    first, _, last, summary = map(json.loads, text.splitlines())
    assert first["engines"][0]["window"] is None
    (one,) = last["engines"]
    assert one["window"]["acceptance_rate"] == 0.6
    assert (one["engine"], one["model"], one["state"]) == ("0", "GLM-5.2", "drafting")
    assert (one["drafted_per_s"], one["accepted_per_s"], one["generated_per_s"]) == (150, 90, 140)
    assert last["total"]["window"]["per_position"] == [0.8, 0.6, 0.4]
    assert last["at"] == "2026-09-21T14:13:24.000Z"
    assert summary["summary"]["total"]["draft_tokens"] == 600
    assert exit_code == 0


def test_below_the_floor_it_stops_with_1_and_says_whom_and_by_how_much(watch):
    text, exit_code = watch("--floor", "0.55", readings=HEALTHY)
    assert "the floor of 55.0% held in 33 windows" in text
    assert exit_code == 0
    text, exit_code = watch("--floor", "0.55", "--over", "20s", readings=DEAD)
    assert text.splitlines()[-1] == (
        "FAIL: acceptance fell below the floor of 55.0%: "
        "engine 0 0.0% (0 of 2,700 draft tokens in 18 s)"
    )
    assert "watched 18 s: 10 readings" in text
    assert exit_code == 1
    text, exit_code = watch("--floor", "0.55", "--once", "--json", readings=DEAD)
    assert json.loads(text.splitlines()[-1])["summary"]["below_floor"].startswith("acceptance fell")
    assert exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "readings"),
    [
        ((), HEALTHY[:1]),
        ((), [HEALTHY[5]] * 5),
        ((), [GONE] * 3),
        ((), [*HEALTHY[:5], GONE]),
        (("--floor", "0.1"), HEALTHY[:20]),
        (("--floor", "0.1"), [HEALTHY[5]] * 60),
        (("--floor", "0.1"), [*HEALTHY, GONE]),
        (("--floor", "0.1"), [""] * 5),
        (("--floor", "0.1"), ["vllm:spec_decode_draft_acceptance_rate 0.71\n"] * 60),
        (("--once", "--floor", "0.1"), [HEALTHY[5]] * 2),
    ],
)
def test_no_data_is_no_pass(watch, arguments, readings):
    text, exit_code = watch(*arguments, readings=readings)
    assert exit_code == 10
    assert " held in " not in text or "an endpoint gave no counters" in text


def test_several_endpoints_and_one_of_them_gone(watch):
    readings = [{URL: text, OTHER: GONE} for text in HEALTHY[:3]]
    text, exit_code = watch("b:2", readings=readings)
    lines = text.splitlines()
    assert all(f"{OTHER} gives no metrics (refused), retried" in line for line in lines[:3])
    assert lines[0].count("(refused)") == 1
    assert "watched 4 s: 3 readings, 3 unanswered, 0 restarts" in text
    assert exit_code == 10


def test_engines_have_names_and_those_of_several_endpoints_their_host(watch):
    text = metrics(engine(0, (0,)), engine(0, (0,)))
    later = metrics(engine(100, (50,)), engine(0, (0,)))
    lines = watch(readings=[text, later])[0].splitlines()
    assert lines[1].endswith("| engines: 0 50.0%, 1 no drafts")
    assert lines[-1].startswith("  together: 50 of 100 tokens")
    readings = [{URL: text, OTHER: text}, {URL: later, OTHER: text}]
    lines = watch("b:2", readings=readings)[0].splitlines()
    assert lines[1].endswith(
        "| engines: a:1 0 50.0%, a:1 1 no drafts, b:2 0 no drafts, b:2 1 no drafts"
    )
    assert "  engine b:2 1: no drafts" in lines


def test_servers_behind_one_gateway_have_their_paths(watch):
    first, second = "http://gw/a/metrics", "http://gw/b/metrics"
    readings = [dict.fromkeys((first, second), text) for text in HEALTHY[:2]]
    lines = watch("gw/b", url="gw/a", readings=readings)[0].splitlines()
    assert lines[1].endswith("| engines: gw/a/metrics 0 60.0%, gw/b/metrics 0 60.0%")
    assert [line.split(":")[0] for line in lines[-3:]] == [
        *("  engine gw/a/metrics 0", "  engine gw/b/metrics 0", "  together"),
    ]


def test_a_renamed_metric(watch):
    readings = [text.replace("vllm:", "gw_vllm_") for text in HEALTHY[:3]]
    assert watch(readings=readings)[1] == 10
    text, exit_code = watch("--rename", "gw_vllm_=vllm:", readings=readings)
    assert "rate 60.0%" in text
    assert exit_code == 0


def test_v0_says_a_rate_since_its_start(watch):
    text, _ = watch(readings=["vllm:spec_decode_draft_acceptance_rate 0.71\n"] * 2)
    assert text.splitlines()[1].endswith("rate 71.0% since its start (V0 says no other)")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--period", "soon"), "soon is no time"),
        (("--period", "0"), "too short"),
        (("--over", "1s"), "shorter than --period"),
        (("--rename", "gateway"), "is not OLD=NEW"),
        (("ftp://a",), "is no address"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence(watch, arguments, message):
    with pytest.raises(UsageError, match=message):
        watch(*arguments, readings=[])


@pytest.mark.parametrize("floor", ["nan", "inf", "0", "1.01"])
def test_a_floor_that_nothing_could_fall_below_is_refused(watch, floor):
    with pytest.raises(click.BadParameter):
        watch("--floor", floor, readings=DEAD)


def test_a_line_over_time():
    assert sparkline((None, 0.0, 0.5, 1.0)) == " ▁▅█"
    assert sparkline((0.0, 1.0), PLAIN_BARS) == "_@"


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_of_a_terminal_shows_every_quantity(width):
    taken = Watch([URL, OTHER], 60.0)
    for number in range(12):
        told = engine(100 * number, (80 * number, 60 * number, 40 * number))
        dead = engine(100 * number, (0, 0, 0))
        silent = engine(0, (0, 0, 0), generated=number)
        sample = read_sample(metrics(told, dead, silent, engine(0, (0, 0, 0))))
        view = taken.take(1000.0 + 2 * number, {URL: sample, OTHER: GONE})
    console = Console(width=width, record=True, file=io.StringIO(), force_terminal=True)
    console.print(as_table(view, floor=0.5, width=width))
    text, styled = console.export_text(clear=False), console.export_text(styles=True)
    assert "…" not in text
    rows = {line.split()[1]: line for line in text.splitlines() if line.startswith("a:1 ")}
    for part in ("60.0%", "2.80", "0.80 0.60 0.40", "150.0", "90.0", "4/1", "▅▅▅"):
        assert part in rows["0"]
    assert "▁▁▁" in rows["1"]
    assert "no drafts" in rows["2"]
    assert "no drafts" in rows["3"]
    assert "engine a:1 2 generates tokens without drafts" in text
    assert f"{OTHER} gives no metrics (refused), since " in text
    (red,) = (line for line in styled.splitlines() if "a:1 1" in line)
    assert "\x1b[1;31m" in red
