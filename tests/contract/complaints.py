"""What is wrong with one command, by what its vLLM answered and the source of its vllm-ascend."""

from collections.abc import Iterator

from tests.contract.ascend_source import AscendSource
from tests.contract.engine_free import Answer
from tests.contract.launches import Launch


def complaints(launch: Launch, answer: Answer, source: AscendSource | None) -> Iterator[str]:
    """Yield a sentence for everything that the pair of a release would not take.

    ``source`` is None for a release that is vLLM alone.
    """
    if answer.error:
        yield f"refused by the {answer.stage} of vLLM {launch.vllm}: {answer.error}"
    for name in answer.unknown:
        if source is None or name not in source.registers:
            yield f"no reasoning parser or tokenizer mode {name!r} in vLLM {launch.vllm}"
    if source is None:
        return
    for key in source.keys.unknown(launch.mapping("--additional-config")):
        yield f"nothing reads additional_config {key}"
    quantization = launch.flag("--quantization")
    if quantization and quantization not in source.quantizations:
        yield f"the platform takes --quantization {sorted(source.quantizations)}: {quantization}"
    method = launch.mapping("--speculative-config").get("method")
    if method and method not in source.methods:
        yield f"there are proposers for {sorted(source.methods)}: {method}"
