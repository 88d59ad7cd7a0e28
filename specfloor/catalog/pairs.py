"""Which vLLM goes with which vLLM-Ascend, and which CANN with both."""

from specfloor.catalog import Catalog
from specfloor.catalog.model import Release
from specfloor.catalog.versions import FieldVersion, read_version
from specfloor.errors import UsageError
from specfloor.i18n import _


def pair_fault(catalog: Catalog, vllm: FieldVersion, ascend: FieldVersion) -> str | None:
    """Return in a sentence why two packages do not belong together; None when nothing says so.

    Of a development build nothing is known. A release that the catalogue does not have is judged
    by the first two parts of its number.
    """
    if ascend.development_build or vllm.development_build:
        return None
    pair = catalog.releases.get(ascend.version)
    if pair is not None and pair.vllm != vllm.version:
        return _("vllm-ascend {ascend} goes with vllm {pair}, not {vllm}").format(
            ascend=ascend.version, pair=pair.vllm, vllm=vllm.version
        )
    if pair is None and _base(ascend.version) != _base(vllm.version):
        return _("vllm-ascend {ascend} and vllm {vllm} are not of one release").format(
            ascend=ascend.version, vllm=vllm.version
        )
    return None


def releases_for(catalog: Catalog, vllm: str) -> list[str]:
    """Return the releases of vLLM-Ascend that were made for a version of vLLM."""
    return [
        release.name
        for release in catalog.releases.values()
        if release.platform == "ascend" and release.vllm == vllm
    ]


def cann_fault(release: Release, cann: str) -> str | None:
    """Return in a sentence why a CANN is not the one ``release`` was made for."""
    if release.cann is None or release.cann.lower() == cann.lower():
        return None
    return _("{release} was made for CANN {cann}, and CANN {found} is installed").format(
        release=release.name, cann=release.cann, found=cann
    )


def _base(version: str) -> str:
    try:
        return ".".join(read_version(version).version.split(".")[:2])
    except UsageError:
        return version
