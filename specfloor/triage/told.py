"""What the user says of the files beside what the files say themselves."""

from collections.abc import Iterable

from specfloor.catalog import Catalog
from specfloor.triage.evidence import Run


def platform_of(release: str | None, runs: Iterable[Run], catalog: Catalog) -> str:
    """Return the platform the files are of: ``cpu`` where release or log say so, else ``ascend``.

    A build of vLLM for the CPU says it in its version (``0.28.0+cpu``); a release may be one that
    the catalogue has for the CPU only.
    """
    versions = [release, *(run.version for run in runs)]
    if any(version and version.endswith("+cpu") for version in versions):
        return "cpu"
    if release in catalog.releases:
        return catalog.releases[release].platform
    return "cpu" if f"cpu-{release}" in catalog.releases else "ascend"
