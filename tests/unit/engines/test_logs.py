"""What an engine's log says; ``data`` holds excerpts of real logs, named version and fault."""

from pathlib import Path

import pytest

from specfloor.engines.logs import (
    ResolvedSpeculation,
    address_in_use,
    last_words,
    message_of,
    parse_speculative_config,
    resolved_speculative_config,
    root_cause,
)

DATA = Path(__file__).parent / "data"

GAVE_UP = "RuntimeError: draft proposer gave up after 5 steps"
NO_FLAG = "api_server.py: error: unrecognized arguments: --no-such-flag"
BAD_METHOD = (
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig: "
    "method: Input should be 'ngram', "
)
CORE_KILLED = "[shutdown] MPClient: engine core exited unexpectedly; starting cleanup"
NO_WEIGHTS = "RuntimeError: Cannot find any model weights with `/models/tiny`"
PORT_USED = "OSError: [Errno 98] Address already in use"


def real(name):
    return (DATA / name).read_text().splitlines()


def headed(process, *lines, level="ERROR"):
    return [f"({process}) {level} 01-02 03:04:05 [core.py:7] {line}" for line in lines]


def traceback(error, *chained):
    return ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "    g()", error]


CAUSED = "The above exception was the direct cause of the following exception:"
MEANWHILE = "During handling of the above exception, another exception occurred:"


@pytest.mark.parametrize(
    ("log", "start"),
    [
        ("0.28.0-bad-flag.log", NO_FLAG),
        ("0.32.0-bad-flag.log", NO_FLAG),
        ("0.32.0-bad-json.log", "api_server.py: error: argument --speculative-config/-sc: Value"),
        ("0.28.0-bad-method.log", BAD_METHOD),
        ("0.32.0-bad-method.log", BAD_METHOD),
        ("0.32.0-bad-model.log", "huggingface_hub.errors.HFValidationError: Repo id must be"),
        ("0.28.0-crash.log", GAVE_UP),
        ("0.32.0-crash.log", GAVE_UP),
        ("0.32.0-kv-too-big.log", "ValueError: Available memory on node 0 (12.21/14.34 GiB)"),
        ("0.28.0-kv-too-small.log", "ValueError: To serve at least one request with the model's"),
        ("0.32.0-kv-too-small.log", "ValueError: No available memory for the cache blocks."),
        (
            "0.32.0-len-too-long.log",
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig: "
            "Value error, User-specified max_model_len (99999) is greater than",
        ),
        ("0.28.0-mtp-kill-core.log", CORE_KILLED),
        ("0.32.0-mtp-kill-core.log", CORE_KILLED),
        ("0.28.0-no-weights.log", NO_WEIGHTS),
        ("0.32.0-no-weights.log", NO_WEIGHTS),
        ("0.28.0-port-used.log", PORT_USED),
        ("0.32.0-port-used.log", PORT_USED),
        (
            "0.28.0-start-sigkill.log",
            "RuntimeError: Engine core initialization failed. See root cause above. "
            "Failed core proc(s): {'EngineCore': -9}",
        ),
        ("0.32.0-start-sigkill.log", "RuntimeError: Engine core initialization failed."),
        ("0.32.0-suffix.log", "ImportError: Arctic Inference is required for suffix decoding."),
    ],
)
def test_root_cause_of_real_logs(log, start):
    cause = root_cause(real(log))
    assert cause is not None
    assert cause.startswith(start)
    assert "\n" not in cause


def test_a_server_that_was_only_stopped_has_no_cause_of_its_own():
    assert root_cause(real("0.32.0-off.log")) is None
    # 0.28 reports a dead engine even when it stops one itself: nothing but the report is left
    assert "EngineDeadError" in (root_cause(real("0.28.0-off.log")) or "")


def test_every_excerpt_is_judged():
    named = {"ngram", "off"}
    source = Path(__file__).read_text()
    logs = list(DATA.glob("*.log"))
    assert logs
    for path in logs:
        assert path.stem.split("-", 1)[1] in named or path.name in source


@pytest.mark.parametrize("log", ["0.32.0-crash.log", "0.28.0-no-weights.log"])
def test_colours_and_carriage_returns_do_not_matter(log):
    plain = real(log)
    decorated = [
        f"\x1b[0;36m{line.replace('ERROR', chr(27) + '[31mERROR' + chr(27) + '[0m')}\x1b[0m\r"
        for line in plain
    ]
    assert root_cause(decorated) == root_cause(plain) is not None


def test_interleaved_tracebacks_are_told_apart_and_the_first_one_counts():
    first = headed("Worker_TP3 pid=8", "WorkerProc hit an exception.", *traceback("OSError: one"))
    second = headed("Worker_TP1 pid=6", "WorkerProc hit an exception.", *traceback("OSError: two"))
    mixed = [line for pair in zip(first, second, strict=True) for line in pair]
    assert root_cause(mixed) == "OSError: one"
    mixed = [line for pair in zip(second, first, strict=True) for line in pair]
    assert root_cause(mixed) == "OSError: two"


def test_an_error_that_ended_a_process_wins_over_one_that_did_not():
    harmless = headed("APIServer pid=1", "Error in a request", *traceback("KeyError: 'x'"))
    fatal = headed("EngineCore pid=2", "EngineCore failed to start.", *traceback("OSError: two"))
    assert root_cause([*harmless, *fatal]) == "OSError: two"
    assert root_cause([*fatal, *harmless]) == "OSError: two"
    assert root_cause(harmless) == "KeyError: 'x'"


def test_a_traceback_in_a_warning_is_no_cause():
    warning = headed("APIServer pid=1", *traceback("ImportError: optional"), level="WARNING")
    assert root_cause(warning) is None
    assert root_cause([*warning, *traceback("ValueError: real")]) == "ValueError: real"


def test_of_a_chain_the_declared_cause_counts():
    lines = [*traceback("KeyError: 'inner'"), "", CAUSED, "", *traceback("OSError: outer")]
    assert root_cause(lines) == "KeyError: 'inner'"


def test_of_a_chain_without_a_declared_cause_the_last_counts():
    lines = [*traceback("KeyError: 'inner'"), "", MEANWHILE, "", *traceback("OSError: outer")]
    assert root_cause(lines) == "OSError: outer"


def test_of_a_chain_a_consequence_does_not_count():
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."
    lines = [*traceback("KeyError: 'inner'"), "", MEANWHILE, "", *traceback(dead)]
    assert root_cause(lines) == "KeyError: 'inner'"


def test_two_tracebacks_without_a_link_are_no_chain():
    lines = [*traceback("OSError: first"), "starting again", *traceback("OSError: second")]
    assert root_cause(lines) == "OSError: second"


def test_a_message_on_the_next_line_is_part_of_the_cause():
    lines = [*traceback("RuntimeError: "), "NPU out of memory", "more"]
    assert root_cause(lines) == "RuntimeError: NPU out of memory"


def test_an_exception_without_a_message_is_a_cause():
    assert root_cause([*traceback("AssertionError"), ""]) == "AssertionError"


def test_a_traceback_that_is_cut_off_is_no_cause():
    assert root_cause(traceback("AssertionError")[:-1]) is None


@pytest.mark.parametrize(
    "line",
    [
        "Fatal Python error: Segmentation fault",
        "run.sh: line 3: 4242 Killed   python -m server",
        "Worker proc VllmWorker-0 died unexpectedly, shutting down executor.",
    ],
)
def test_a_process_that_vanished_is_a_cause_where_nothing_was_raised(line):
    assert root_cause(["loading", line, "bye"]) == line
    assert root_cause([line, *traceback("ValueError: why")]) == "ValueError: why"


@pytest.mark.parametrize(
    "lines",
    [
        ["docker: unknown server OS: .", "See 'docker run --help'."],
        [
            "Unable to find image 'vendor/engine:v1' locally",
            "docker: Error response from daemon: manifest unknown",
            "",
            "Run 'docker run --help' for more information",
        ],
        ["bash: line 1: exec: python3: not found"],
    ],
)
def test_a_container_that_could_not_be_started_is_a_cause(lines):
    (expected,) = (line for line in lines if line.startswith(("docker: ", "bash: ")))
    assert root_cause(lines) == expected
    assert root_cause([*lines, *traceback("ValueError: why")]) == "ValueError: why"


def test_the_last_words_are_neither_calm_nor_hints():
    calm = ["INFO:     Started server process [7]", *headed("E pid=2", "loading", level="WARNING")]
    lines = ["launcher: no licence", "See 'launcher --help'.", *calm, ""]
    assert root_cause(lines) is None
    assert last_words(lines) == "launcher: no licence"
    assert last_words(calm) is None
    assert last_words([]) is None


def test_nothing_wrong_is_no_cause():
    calm = headed("EngineCore pid=2", "will be Killed later", level="INFO")
    assert root_cause(["INFO:     Application startup complete.", *calm]) is None
    assert root_cause([]) is None


@pytest.mark.parametrize(
    ("log", "method", "k"),
    [
        ("0.28.0-mtp-kill-core.log", "mtp", 3),
        ("0.32.0-mtp-kill-core.log", "mtp", 3),
        ("0.28.0-ngram.log", "ngram", 4),
        ("0.32.0-ngram.log", "ngram", 4),
        ("0.32.0-crash.log", "custom_class", 3),
        ("0.28.0-off.log", None, None),
        ("0.32.0-off.log", None, None),
    ],
)
def test_resolved_speculative_config_of_real_logs(log, method, k):
    text = resolved_speculative_config(real(log))
    assert text is not None
    assert parse_speculative_config(text) == ResolvedSpeculation(method, k)


def test_the_resolved_configuration_is_returned_as_logged():
    assert resolved_speculative_config(real("0.32.0-mtp-kill-core.log")) == (
        "SpeculativeConfig(method='mtp', model='/models/tiny', num_spec_tokens=3)"
    )
    assert resolved_speculative_config(real("0.32.0-off.log")) == "None"


def test_an_engine_that_says_nothing_has_no_resolved_configuration():
    asked = "non-default args: {'speculative_config': {'method': 'mtp'}}"
    assert resolved_speculative_config([asked]) is None
    assert resolved_speculative_config(real("0.32.0-bad-method.log")) is None


def test_the_last_engine_that_started_counts_and_paths_may_have_brackets():
    config = "Initializing a V1 LLM engine (v1) with config: model='m', speculative_config={}, x=1"
    second = "SpeculativeConfig(method='mtp', model='/a(b)/m', num_spec_tokens=1)"
    lines = headed("EngineCore pid=1", config.format("None"), config.format(second))
    assert resolved_speculative_config(lines) == second


def test_address_in_use():
    assert address_in_use(real("0.32.0-port-used.log"))
    assert address_in_use(real("0.28.0-port-used.log"))
    assert not address_in_use(real("0.32.0-bad-model.log"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(EngineCore_DP0 pid=7) INFO 11-29 15:20:43 [core.py:1510]   indented", "  indented"),
        ("INFO 05-14 10:46:01 core.py:271] old style", "old style"),
        ("(APIServer pid=7) INFO:     Started", "INFO:     Started"),
        ("(Worker pid=7) ERROR 11-29 15:20:43 [core.py:1510]", ""),
        ("(RayWorker pid=7, ip=192.0.2.1) plain", "plain"),
        ("\x1b[32mINFO\x1b[0m 11-29 15:20:43 [a/b.py:3] text\r\n", "text"),
        ("(not a process) text", "(not a process) text"),
    ],
)
def test_message_of(line, message):
    assert message_of(line) == message
