"""What a running server says of itself."""

import hashlib
import http.client
import json
import urllib.request
from collections.abc import Mapping
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


def served_models(url: str) -> tuple[str, ...]:
    """Return the names that a server lists under ``/v1/models``, empty when it lists none."""
    try:
        answer: Any = json.loads(_get(f"{url}/v1/models"))
        return tuple(str(model["id"]) for model in answer["data"])
    except (ValueError, KeyError, TypeError):
        return ()


def speculation_series(url: str) -> tuple[str, ...] | None:
    """Return the names of a server's metrics about drafts, sorted; None when it gives no metrics.

    ``url`` is the server's, or that of its metrics. An empty tuple says that it has metrics and
    that none of them is about drafts.
    """
    try:
        address = url if url.endswith("/metrics") else f"{url}/metrics"
        families = list(text_string_to_metric_families(_get(address)))
    except ValueError:
        return None
    if not families:
        return None
    return tuple(sorted(family.name for family in families if "spec_decode" in family.name))


def metric_labels(url: str, family: str) -> dict[str, str]:
    """Return the labels of the first sample of a metric, empty when there is none.

    vLLM shows settings as labels of an information metric, such as ``vllm:cache_config_info``.
    """
    try:
        families = list(text_string_to_metric_families(_get(f"{url}/metrics")))
    except ValueError:
        return {}
    samples = (sample for one in families if one.name == family for sample in one.samples)
    first = next(samples, None)
    return dict(first.labels) if first else {}


def server_info(url: str) -> str | None:
    """Return the configuration that ``/server_info`` shows; only servers in developer mode do."""
    try:
        answer: Any = json.loads(_get(f"{url}/server_info"))
    except ValueError:
        return None
    config = answer.get("vllm_config") if isinstance(answer, dict) else None
    return config if isinstance(config, str) else None


def rendered_prompts(
    url: str, model: str, tiers: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Return for each tier a hash of the tokens that one message becomes under its template.

    ``tiers`` maps each to its arguments of the chat template. A tier for which the server renders
    nothing (no ``/tokenize``, a gateway, an argument it refuses) is left out.
    """
    found = {}
    for tier, arguments in tiers.items():
        body = {
            "model": model,
            "messages": [{"role": "user", "content": _MESSAGE}],
            "chat_template_kwargs": dict(arguments),
            "add_generation_prompt": True,
        }
        try:
            answer: Any = json.loads(_get(f"{url}/tokenize", json.dumps(body).encode()))
        except ValueError:
            continue
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if isinstance(tokens, list) and tokens:
            found[tier] = hashlib.sha256(json.dumps(tokens).encode()).hexdigest()[:16]
    return found


_MESSAGE = "Which of two numbers is larger, and why?"


def _get(address: str, body: bytes | None = None) -> str:
    """Return what the server answers, to ``body`` if given; nothing when it does not."""
    request = urllib.request.Request(  # noqa: S310 - a server's, which routes take as http(s) alone
        address, body, {"Content-Type": "application/json"} if body else {}
    )
    try:
        with _open(request, timeout=_TIMEOUT_S) as answer:
            page: bytes = answer.read()
    except (OSError, http.client.HTTPException):
        return ""
    return page.decode("utf-8", "replace")
