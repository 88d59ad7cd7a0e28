import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from specfloor.signals.counters import Problem, difference, read_counters, since_start, total
from specfloor.signals.counts import DraftCounts

SERIES = {
    "drafts": "vllm:spec_decode_num_drafts",
    "drafted": "vllm:spec_decode_num_draft_tokens",
    "accepted": "vllm:spec_decode_num_accepted_tokens",
}
POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos"
OTHER = "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3.0\n"


def registry_of(positions, steps, *, drafted=None, **labels):
    """Return the registry of an engine that accepted ``positions`` in ``steps`` steps."""
    labels = labels or {"model_name": "m", "engine": "0"}
    registry = CollectorRegistry()
    values = {
        "drafts": steps,
        "drafted": steps * len(positions) if drafted is None else drafted,
        "accepted": sum(positions),
    }
    for name, value in values.items():
        Counter(SERIES[name], name, list(labels), registry=registry).labels(**labels).inc(value)
    counter = Counter(POSITIONS, "positions", [*labels, "position"], registry=registry)
    for position, value in enumerate(positions):
        counter.labels(**labels, position=str(position)).inc(value)
    return registry


def without_created(text):
    return "".join(line for line in text.splitlines(keepends=True) if "_created" not in line)


def text_of(positions, steps, **more):
    """Return metrics text; without ``_created``, so that two texts are of one life."""
    return OTHER + without_created(generate_latest(registry_of(positions, steps, **more)).decode())


BEFORE, AFTER = text_of((20, 10, 5), 30), text_of((100, 70, 43), 130)
GAINED = DraftCounts(100, 300, 178, (80, 60, 38))


def gained(before, after):
    return difference(read_counters(before), read_counters(after))


def by_engine(before, after, model=None):
    found = gained(before, after)
    assert found.problem is None, found.sentence
    return found.by_engine(model)


def test_after_minus_before():
    assert by_engine(BEFORE, AFTER) == {"0": GAINED}


@pytest.mark.parametrize(
    "rename",
    [
        lambda text: text.replace("_total", ""),
        lambda text: text.replace("vllm:", "vllm_"),
        lambda text: text.replace("vllm:", "vllm_").replace("_total", ""),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "".join(li for li in text.splitlines(True) if not li.startswith("#")),
        lambda text: text + "# EOF\n",
    ],
    ids=["no total", "gateway", "gateway without total", "crlf", "no comments", "eof"],
)
def test_other_spellings_of_the_same(rename):
    assert by_engine(rename(BEFORE), rename(AFTER)) == {"0": GAINED}


def test_openmetrics_text():
    texts = [
        without_created(openmetrics.generate_latest(registry_of(*args)).decode())
        for args in (((20, 10, 5), 30), ((100, 70, 43), 130))
    ]
    assert texts[0].endswith("# EOF\n")
    assert by_engine(*texts) == {"0": GAINED}


def test_times_of_creation_are_no_counts():
    text = generate_latest(registry_of((20, 10, 5), 30)).decode()
    assert "_created" in text
    assert since_start(read_counters(text)).by_engine() == {
        "0": DraftCounts(30, 90, 35, (20, 10, 5))
    }


def test_large_values_in_scientific_notation():
    def text(drafts, drafted, accepted):
        return (
            f"vllm:spec_decode_num_drafts_total {drafts}\n"
            f"vllm:spec_decode_num_draft_tokens_total {drafted}\n"
            f"vllm:spec_decode_num_accepted_tokens_total {accepted}\n"
        )

    before = text("1.234567e+07", "3.703701e+07", "2.5e+07")
    after = text("1.234667e+07", "3.704001e+07", "2.50018e+07")
    assert by_engine(before, after)["0"] == DraftCounts(1000, 3000, 1800)


def merged(*texts):
    """Return texts as one: the comments are left out, since a name may have only one."""
    lines = [line for text in texts for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(lines) + "\n"


def test_engines_are_kept_apart_and_the_total_is_their_sum():
    before = merged(*(text_of((0, 0), 0, model_name="m", engine=str(e)) for e in range(3)))
    after = merged(
        text_of((8, 4), 10, model_name="m", engine="0"),
        text_of((0, 0), 90, model_name="m", engine="1"),
        text_of((0, 0), 0, model_name="m", engine="2"),
    )
    found = by_engine(before, after)
    assert found == {
        "0": DraftCounts(10, 20, 12, (8, 4)),
        "1": DraftCounts(90, 180, 0, (0, 0)),
        "2": DraftCounts(0, 0, 0, (0, 0)),
    }
    assert found["2"].rate is None
    assert total(found).rate == 0.06


def test_models_of_one_endpoint_are_never_mixed():
    before = merged(*(text_of((0,), 0, model_name=m, engine="0") for m in "ab"))
    after = merged(
        text_of((8,), 10, model_name="a", engine="0"), text_of((1,), 10, model_name="b", engine="0")
    )
    assert by_engine(before, after, "a") == {"0": DraftCounts(10, 10, 8, (8,))}
    assert by_engine(before, after, "b") == {"0": DraftCounts(10, 10, 1, (1,))}
    assert by_engine(before, after, "c") == {}
    assert total({}) is None


def test_a_lone_model_counts_under_any_name():
    assert by_engine(BEFORE, AFTER, "renamed by a gateway") == {"0": GAINED}


def test_engines_without_the_label_are_named_by_what_tells_them_apart():
    def both(positions):
        return merged(
            *(
                text_of(positions, 10, model_name="m", tp_rank="0", worker=worker)
                for worker in ("x:1", "x:2")
            )
        )

    found = gained(both((0,)), both((5,)))
    assert [engine.engine for engine in found.engines] == ["worker=x:1", "worker=x:2"]
    assert by_engine(text_of((0,), 1, model_name="m"), text_of((1,), 2, model_name="m")).keys() == {
        "0"
    }


def test_a_missing_position_is_unknown_and_not_zero():
    def text(*args):
        return "".join(li for li in text_of(*args).splitlines(True) if 'position="1"' not in li)

    found = gained(text((20, 10, 5), 30), text((100, 70, 43), 130))
    assert found.engines[0].per_position == (80, None, 38)
    assert found.engines[0].counts == DraftCounts(100, 300, 178)


def test_positions_missing_at_the_end_show_in_k():
    def text(*args):
        return "".join(li for li in text_of(*args).splitlines(True) if 'position="2"' not in li)

    found = gained(text((20, 10, 5), 30), text((100, 70, 43), 130))
    assert found.engines[0].per_position == (80, 60, None)


def test_counters_that_fell_are_a_reset():
    found = gained(AFTER, BEFORE)
    assert (found.problem, found.engines) == (Problem.RESET, ())
    assert since_start(read_counters(BEFORE)).by_engine()["0"].steps == 30


def test_a_new_process_is_a_reset_even_when_counters_grew():
    started = "process_start_time_seconds 1.79e+09\n"
    again = "process_start_time_seconds 1.790003e+09\n"
    assert gained(started + BEFORE, again + AFTER).problem is Problem.RESET
    assert gained(started + BEFORE, started + AFTER).problem is None


def test_counters_made_anew_are_a_reset_even_when_they_grew():
    created = 'vllm:spec_decode_num_drafts_created{model_name="m",engine="0"} 1.79000000%de+09\n'
    assert gained(BEFORE + created % 1, AFTER + created % 2).problem is Problem.RESET
    assert gained(BEFORE + created % 1, AFTER + created % 1).problem is None


def test_one_engine_that_restarted_does_not_spoil_the_others():
    before = merged(*(text_of((5,), 9, model_name="m", engine=e) for e in "01"))
    after = merged(
        text_of((1,), 2, model_name="m", engine="0"), text_of((8,), 12, model_name="m", engine="1")
    )
    found = gained(before, after)
    assert found.problem is Problem.RESET
    assert found.by_engine() == {"1": DraftCounts(3, 3, 3, (3,))}


@pytest.mark.parametrize("swap", [False, True])
def test_an_engine_in_one_scrape_only_is_a_problem(swap):
    one = text_of((5,), 9, model_name="m", engine="0")
    two = merged(one, text_of((5,), 9, model_name="m", engine="1"))
    assert gained(*((two, one) if swap else (one, two))).problem is Problem.GONE


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", Problem.EMPTY),
        ("\n \n", Problem.EMPTY),
        ("<html><body>502 Bad Gateway</body></html>", Problem.NOT_METRICS),
        ('{"error": "no such route"}', Problem.NOT_METRICS),
        (OTHER, Problem.NO_SPECULATION),
        (OTHER.replace("vllm:", "vllm_"), Problem.NO_SPECULATION),
        ("sglang:spec_accept_length 2.61\n", Problem.FOREIGN),
        ('vllm:spec_decode_num_drafts_total{engine="0" 3\n', Problem.NOT_METRICS),
        ("vllm:spec_decode_num_drafts_total 3\n", Problem.INCOMPLETE),
        ("vllm:iteration_tokens_total_count 3\n", Problem.NO_SPECULATION),
    ],
)
def test_what_is_no_data_has_a_problem_and_no_counts(text, problem):
    scrape = read_counters(text)
    assert scrape.problem is problem
    assert scrape.sentence
    for found in (gained(text, AFTER), gained(BEFORE, text), since_start(scrape)):
        assert (found.problem, found.engines, found.by_engine()) == (problem, (), {})


def test_foreign_software_is_named():
    assert read_counters("sglang:num_running_reqs 3.0\n").software == "sglang"


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-3.0"])
def test_what_no_counter_can_be_is_damage_and_not_speculation_that_is_off(value):
    text = text_of((5,), 9).replace("} 9.0", f"}} {value}")
    scrape = read_counters(text)
    assert scrape.problem is Problem.DAMAGED
    assert f"spec_decode_num_drafts_total {float(value)} cannot be" in scrape.sentence


@pytest.mark.parametrize("position", ["999", "1000", "2000000000", "9" * 5000])
def test_a_damaged_position_makes_no_endless_list(position):
    text = AFTER.replace('position="2"', f'position="{position}"')
    scrape = read_counters(text)
    if position == "999":
        assert len(since_start(scrape).engines[0].per_position) == 1000
        return
    assert scrape.problem is Problem.DAMAGED
    assert "engine=0, model_name=m is damaged: a position" in scrape.sentence
    assert len(scrape.sentence) < 200
    assert (since_start(scrape).problem, gained(BEFORE, text).engines) == (Problem.DAMAGED, ())


def test_counters_that_would_mean_thousands_of_draft_tokens_a_step_are_damaged():
    assert read_counters(text_of((5,), 9, drafted=9000)).problem is None
    scrape = read_counters(text_of((5,), 9, drafted=9001))
    assert scrape.problem is Problem.DAMAGED
    assert "9001 draft tokens in 9 drafts cannot be" in scrape.sentence
