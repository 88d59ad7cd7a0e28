"""What a vllm-ascend's source says of names: quantizations, methods, what it adds and replaces."""

import pytest

from specfloor.cells import Arm
from tests.contract.ascend_source import read_source
from tests.contract.complaints import complaints
from tests.contract.engine_free import Answer
from tests.contract.launches import Launch

FILES = {
    "utils.py": 'ASCEND_METHOD = "ascend"\n',
    "platform.py": """
from vllm_ascend.utils import ASCEND_METHOD

class NPUPlatform:
    supported_quantization: list[str] = [ASCEND_METHOD, "fp8"]
""",
    "ascend_config.py": """
class AscendConfig:
    def __init__(self, vllm_config):
        self.binding = vllm_config.additional_config.get("enable_cpu_binding", True)
""",
    "spec_decode/__init__.py": """
def get_spec_decode_method(method, vllm_config):
    if method == "ngram":
        return 1
    elif method in ("eagle3", "mtp"):
        return 2
""",
    "models/__init__.py": """
def register_model():
    ModelRegistry.register_model("Draft", "vllm_ascend.models.draft:Draft")
    other.register_model(name)
""",
    "patch/platform/patch_parsers.py": """
MODE = "kimi_k3"
ReasoningParserManager.register_module(name="kimi", module=object)
TokenizerRegistry.register(MODE, "vllm.tokenizers.hf", "CachedHfTokenizer")
OtherRegistry.register("not-a-parser")
SpeculativeConfig.__post_init__ = object
""",
}


@pytest.fixture
def package(tmp_path):
    def write(**changed):
        for name, text in (FILES | changed).items():
            path = tmp_path / "vllm_ascend" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "vllm_ascend"

    return write


def launch(*argv):
    return Launch("0.30.0rc2", "0.30.0", "glm", "", Arm("mtp", 3), argv)


def test_names_are_read_through_constants(package):
    source = read_source(package())
    assert source.quantizations == {"ascend", "fp8"}
    assert source.methods == {"ngram", "eagle3", "mtp"}
    assert source.architectures == {"Draft"}
    assert source.registers == {"kimi", "kimi_k3"}
    assert source.replaces == ("SpeculativeConfig.__post_init__",)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("platform.py", "class NPUPlatform: ...\n", "supported_quantization"),
        ("spec_decode/__init__.py", "def get(method): ...\n", "proposer"),
    ],
)
def test_a_place_that_moved_is_an_error_not_an_empty_answer(package, name, text, what):
    with pytest.raises(ValueError, match=what):
        read_source(package(**{name: text}))


def test_a_right_command_has_no_complaint(package):
    right = launch(
        *("--quantization", "ascend", "--additional-config", '{"enable_cpu_binding": true}'),
        *("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}'),
    )
    assert list(complaints(right, Answer(unknown=("kimi",)), read_source(package()))) == []


@pytest.mark.parametrize(
    ("argv", "answer", "what"),
    [
        ((), Answer("parser", "unrecognized"), "unrecognized"),
        ((), Answer(unknown=("quen3",)), "quen3"),
        (("--quantization", "ascent"), Answer(), "ascent"),
        (("--additional-config", '{"bindings": 1}'), Answer(), "bindings"),
        (("--speculative-config", '{"method": "mpt"}'), Answer(), "mpt"),
    ],
)
def test_one_mistake_is_one_complaint(package, argv, answer, what):
    (complaint,) = complaints(launch(*argv), answer, read_source(package()))
    assert what in complaint


def test_vllm_alone_has_no_further_names():
    (complaint,) = complaints(launch(), Answer(unknown=("kimi",)), None)
    assert "kimi" in complaint
