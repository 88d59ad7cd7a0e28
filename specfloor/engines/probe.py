"""What a running server says of itself."""

import http.client
import json
import urllib.request
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

_TIMEOUT_S = 10.0
# a server of this host is never behind the proxy that the environment may name
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


def server_version(url: str) -> str | None:
    """Return the version a server reports, or None when it has no ``/version``."""
    try:
        answer: Any = json.loads(_get(f"{url}/version"))
    except ValueError:
        return None
    version = answer.get("version") if isinstance(answer, dict) else None
    return version if isinstance(version, str) else None


def speculation_series(url: str) -> tuple[str, ...] | None:
    """Return the names of a server's metrics about drafts, sorted; None when it gives no metrics.

    An empty tuple says that it has metrics and none of them is about drafts.
    """
    try:
        families = list(text_string_to_metric_families(_get(f"{url}/metrics")))
    except ValueError:
        return None
    if not families:
        return None
    return tuple(sorted(family.name for family in families if "spec_decode" in family.name))


def _get(address: str) -> str:
    """Return the body of a page, or nothing when the server does not give it."""
    try:
        # the address is a server this program started, always http
        with _open(address, timeout=_TIMEOUT_S) as answer:
            body: bytes = answer.read()
    except (OSError, http.client.HTTPException):
        return ""
    return body.decode("utf-8", "replace")
