"""What the user says of the files beside what the files say themselves."""

from collections.abc import Iterable
from typing import Any

from specfloor.catalog import Catalog
from specfloor.errors import UsageError
from specfloor.ledger.names import FAMILIES, ledger_method
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


def is_known(method: str) -> bool:
    """Whether the ledger knows a method that a log names; others rule nothing out."""
    try:
        ledger_method(method)
    except UsageError:
        return False
    return True


def drafting_of(family: str | None, method: str | None, catalog: Catalog) -> dict[str, Any]:
    """Return what every speculative configuration of the catalogue for a family and method has.

    ``family`` is a name of the ledger, which may cover several of the catalogue's. Empty where
    there is none, or where the method is not known.
    """
    if family is None or method is None or not is_known(method):
        return {}
    configs = [
        one.config
        for name in FAMILIES.get(family, (family,))
        if name in catalog.families
        for one in catalog.families[name].methods
        if ledger_method(one.name) == ledger_method(method)
    ]
    first, *others = configs or [{}]
    return {name: v for name, v in first.items() if all(o.get(name) == v for o in others)}
