"""The package indexes that install steps name, and how a user points them elsewhere."""

import os
import re
import tomllib
from collections.abc import Mapping
from importlib import resources

from specfloor.errors import UsageError


def index_variable(name: str) -> str:
    """Return the environment variable that overrides an index: SPECFLOOR_INDEX_TORCH_CPU."""
    return "SPECFLOOR_INDEX_" + re.sub(r"\W", "_", name).upper()


def load_indexes(
    overrides: Mapping[str, str] | None = None, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return index names and their URLs, from the catalogue's ``indexes.toml``.

    The environment wins over the file, and ``overrides`` over both. Only ``overrides`` may bring
    names the file does not have.

    Raises:
        UsageError: an override is empty.
    """
    text = (resources.files("specfloor.catalog") / "indexes.toml").read_text(encoding="utf-8")
    indexes: dict[str, str] = {
        name: environ.get(index_variable(name), url) for name, url in tomllib.loads(text).items()
    }
    indexes |= overrides or {}
    for name, url in indexes.items():
        if not url.strip():
            raise UsageError(
                f"the package index {name!r} is set to nothing: "
                f"unset {index_variable(name)} or give it a URL"
            )
    return indexes
