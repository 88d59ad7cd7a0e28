"""Settings and notices in the words of several versions of vLLM and vLLM-Ascend."""

from pathlib import Path

import msgspec
import pytest

from specfloor.engines import effect
from specfloor.engines.effect import complete, notices_in_log, read_settings, settings_in_log
from specfloor.runs.records import EngineSettings
from tests.unit.builders import CELL, catalog, launch

PREFIX = "(EngineCore pid=7) INFO 11-29 17:25:56 [core.py:133] "
INIT = PREFIX + "Initializing a V1 LLM engine (v0.32.0) with config: model='m', "
NEW = (
    "enforce_eager=False, structured_outputs_config=StructuredOutputsConfig(backend='auto', "
    "reasoning_parser='glm45', reasoning_parser_plugin=''), enable_prefix_caching=False, "
    "compilation_config={'mode': <CompilationMode.VLLM_COMPILE: 3>, "
    "'cudagraph_mode': <CUDAGraphMode.FULL_DECODE_ONLY: (2, 0)>, 'cudagraph_num_of_warmups': 1}"
)


def test_the_words_of_new_versions():
    assert read_settings(NEW) == EngineSettings(False, "FULL_DECODE_ONLY", "glm45", False)


@pytest.mark.parametrize(
    ("words", "mode"),
    [
        ('compilation_config={"level":3,"cudagraph_mode":1,"use_cudagraph":true}', "PIECEWISE"),
        ('compilation_config={"level":0,"cudagraph_mode":0}', "NONE"),
        ('compilation_config={"level":3,"cudagraph_mode":[2,1]}', "FULL_AND_PIECEWISE"),
        ('compilation_config={"level":3,"cudagraph_mode":[2, 0]}', "FULL_DECODE_ONLY"),
        ("compilation_config={'cudagraph_mode': <CUDAGraphMode.NONE: 0>}", "NONE"),
        ('{"cudagraph_mode": "PIECEWISE"}', "PIECEWISE"),
        ("compilation_config={'level': 3}", None),
        ('compilation_config={"cudagraph_mode":9}', None),
    ],
)
def test_the_graph_mode_has_been_written_in_several_ways(words, mode):
    assert read_settings(words).graph_mode == mode


@pytest.mark.parametrize(
    ("words", "parser"),
    [
        ("DecodingConfig(backend='auto', reasoning_backend='deepseek_r1')", "deepseek_r1"),
        ("DecodingConfig(guided_decoding_backend='auto', reasoning_backend=None)", ""),
        ("StructuredOutputsConfig(reasoning_parser='')", ""),
        ("nothing of the kind", None),
    ],
)
def test_so_has_the_reasoning_parser(words, parser):
    assert read_settings(words).reasoning_parser == parser


def test_the_last_engine_started_counts():
    again = INIT + NEW.replace("FULL_DECODE_ONLY: (2, 0)", "NONE: 0").replace("False", "True", 1)
    found = settings_in_log(["", INIT + NEW, "anything", again])
    assert found.graph_mode == "NONE"
    assert found.enforce_eager is True
    assert settings_in_log(["nothing", NEW]) is None


WORDINGS = [
    (
        "schedule_lost",
        "Dynamic speculative decoding is not supported with data parallelism because data-parallel "
        "ranks can select different speculative-token counts, causing DP divergence and deadlocks. "
        "Disabling num_speculative_tokens_per_batch_size and falling back to static "
        "num_speculative_tokens=3.",
    ),
    (
        "graphs_lost",
        "CUDAGraphMode.FULL cudagraph_mode is not support on NPU. falling back to NONE",
    ),
    (
        "graphs_lost",
        "cudagraph_mode CUDAGraphMode.FULL is unsupported on NPU; falling back to NONE.",
    ),
    (
        "graphs_lost",
        "NPU does not support compilation mode. mode=3, action: setting CUDAGraphMode to NONE.",
    ),
    (
        "graphs_lost",
        "Cudagraph mode FULL is not compatible with compilation mode 0.Overriding to NONE.",
    ),
    (
        "other",
        "Dynamic speculative decoding changes the target verification length at runtime. "
        "Overriding cudagraph_mode from FULL to PIECEWISE for reliability.",
    ),
    (
        "draft_eager",
        "GLM does not support graph mode. The draft model has been automatically switched to eager "
        "mode (enforce_eager=true).",
    ),
    (
        "other",
        "Speculative quantization is set but Ascend automatically uses the main model's "
        "quantization method. parameter=quantization, action: resetting to None. ",
    ),
]


@pytest.mark.parametrize(("kind", "words"), WORDINGS)
def test_what_the_engine_does_otherwise_is_noticed(kind, words):
    line = f"\x1b[33m(APIServer pid=1) WARNING 11-29 17:25:50 [vllm.py:1703]\x1b[0m {words}"
    (notice,) = notices_in_log([line, line])
    assert (notice.kind, notice.text) == (kind, words.strip())


@pytest.mark.parametrize(
    "words",
    [
        "Enforce eager set, disabling torch.compile and CUDAGraphs.",
        "Enabling num_speculative_tokens > 1 will run multiple times of forward on same MTP layer",
        "Overriding draft model max model len from 2048 to 1024",
        "method `deepseek_mtp` is deprecated and replaced with mtp.",
    ],
)
def test_what_it_does_as_asked_is_not(words):
    assert notices_in_log([PREFIX + words]) == ()


def test_no_real_log_of_a_healthy_engine_has_a_notice():
    logs = sorted((Path(__file__).parent / "data").glob("*.log"))
    assert logs
    for path in logs:
        assert notices_in_log(path.read_text().splitlines()) == (), path.name


@pytest.fixture
def silent(monkeypatch):
    """Let the server say nothing over HTTP and its interpreter have nothing."""
    said = {"labels": {}, "info": None, "rendered": {}}
    monkeypatch.setattr(effect, "metric_labels", lambda url, family: said["labels"])
    monkeypatch.setattr(effect, "server_info", lambda url: said["info"])
    monkeypatch.setattr(effect, "rendered_prompts", lambda url, model, tiers: said["rendered"])
    monkeypatch.setattr(effect, "engine_packages", lambda python: {"vllm": "2.0"})
    return said


TIERS = {"off": {"enable_thinking": False}, "on": {"enable_thinking": True}}


def run_complete(lines=(), tiers=TIERS, **fields):
    argv = ("/opt/python", "-m", "x", "--served-model-name", "m")
    record = launch(CELL.arm, **{"argv": argv} | fields)
    return complete(record, list(lines), "http://x", catalog(), tiers)


def test_a_record_is_completed_from_the_log(silent, monkeypatch):
    monkeypatch.setenv("HCCL_BUFFSIZE", "512")
    silent["labels"] = {"enable_prefix_caching": "True"}
    silent["rendered"] = {"off": "a", "on": "b"}
    found = run_complete([INIT + NEW], env={"VLLM_NO_USAGE_STATS": "1"})
    assert found.settings == EngineSettings(False, "FULL_DECODE_ONLY", "glm45", False)
    assert found.variables["HCCL_BUFFSIZE"] == "512"
    assert found.variables["VLLM_NO_USAGE_STATS"] == "1"
    assert found.packages == {"vllm": "2.0"}
    assert found.rendered == {"off": "a", "on": "b"}
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


def test_without_a_log_the_server_itself_is_asked(silent):
    silent["info"] = NEW
    assert run_complete().settings.graph_mode == "FULL_DECODE_ONLY"
    silent["info"] = None
    silent["labels"] = {"enable_prefix_caching": "True"}
    assert run_complete().settings == EngineSettings(prefix_caching=True)
    silent["labels"] = {}
    assert run_complete().settings is None


def test_one_tier_or_no_name_needs_no_rendering(silent):
    silent["rendered"] = {"off": "a"}
    assert run_complete(tiers={"none": {}}).rendered == {}
    assert run_complete(argv=("python",)).rendered == {}


def test_the_sizes_that_graphs_are_captured_for():
    text = "{'cudagraph_capture_sizes': [1, 2, 4, 8], 'x': []}"
    assert read_settings(text).capture_sizes == (1, 2, 4, 8)
    assert read_settings('{"cudagraph_capture_sizes":[]}').capture_sizes == ()
