"""Which vLLM goes with which vLLM-Ascend, and which CANN with both."""

from specfloor.catalog import Catalog
from specfloor.catalog.model import Release
from specfloor.catalog.versions import FieldVersion, read_version
from specfloor.errors import UsageError


def pair_fault(catalog: Catalog, vllm: FieldVersion, ascend: FieldVersion) -> str | None:
    """Return in a sentence why two packages do not belong together; None when nothing says so.

    Of a development build nothing is known. A release that the catalogue does not have is judged
    by the first two parts of its number.
    """
    if ascend.development_build or vllm.development_build:
        return None
    pair = catalog.releases.get(ascend.version)
    if pair is not None and pair.vllm != vllm.version:
        return f"vllm-ascend {ascend.version} goes with vllm {pair.vllm}, not {vllm.version}"
    if pair is None and _base(ascend.version) != _base(vllm.version):
        return f"vllm-ascend {ascend.version} and vllm {vllm.version} are not of one release"
    return None


def cann_fault(release: Release, cann: str) -> str | None:
    """Return in a sentence why a CANN is not the one ``release`` was made for."""
    if release.cann is None or release.cann.lower() == cann.lower():
        return None
    return f"{release.name} was made for CANN {release.cann}, and CANN {cann} is installed"


def _base(version: str) -> str:
    try:
        return ".".join(read_version(version).version.split(".")[:2])
    except UsageError:
        return version
