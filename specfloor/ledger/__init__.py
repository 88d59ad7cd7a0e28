"""The fix ledger: what a release of vLLM-Ascend lacks that speculation needs, and since when."""

import functools
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec

from specfloor.ledger.model import Ledger


def ledger_file() -> Traversable:
    """Return the ledger that comes with specfloor."""
    return resources.files("specfloor.catalog") / "data" / "ledger.json"


@functools.cache
def read_ledger() -> Ledger:
    """Return the ledger; raises msgspec.ValidationError when its file is not of its shape."""
    return msgspec.json.decode(ledger_file().read_bytes(), type=Ledger)
