"""Where counters are read: one ``/metrics`` an engine, or a Prometheus server that has them."""

import asyncio
import json
import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

import aiohttp
import msgspec

from specfloor.signals.counters import EngineCounters, Problem, Scrape, read_counters
from specfloor.signals.places import short_names

_SCRAPE_S = 10.0
_PROMETHEUS_PATH = "/api/v1/query"
_SERIES = '__name__=~".*spec_decode_num_.*|process_start_time_seconds"'
_WINDOW = "10m"
"""How far back Prometheus looks for the last sample of a series; scrapes are minutes apart at
most."""
_FRESH_S = 150.0
"""Seconds to wait for Prometheus to have scraped again: its default interval is one minute."""
_POLL_S = 1.0


class NoMetricsError(Exception):
    """A place that gave no metrics; the message says why."""


async def read_scrape(
    session: aiohttp.ClientSession, urls: Sequence[str], *, since: float
) -> Scrape:
    """Read the counters of one server from every place that has some of them.

    Engines of several places are told apart by an ``endpoint`` label. A place without the series of
    speculation (a prefill node, say) is left out as long as another has them.

    Args:
        session: to ask with.
        urls: ``/metrics`` addresses; one whose path is Prometheus's ``/api/v1/query`` is asked with
            PromQL, its ``query`` parameter being a selector such as ``{job="vllm"}``.
        since: Unix time; samples of a Prometheus server must be of then or later.
    """
    scrapes = []
    for url in urls:
        try:
            text = await _text(session, url, since)
        except (aiohttp.ClientError, OSError, NoMetricsError) as broken:
            reason = str(broken) or type(broken).__name__
            return Scrape(
                problem=Problem.NO_ANSWER, sentence=f"{_place(url)} does not answer ({reason})"
            )
        scrapes.append(read_counters(text))
    return scrapes[0] if len(scrapes) == 1 else merge(dict(zip(urls, scrapes, strict=True)))


def merge(scrapes: dict[str, Scrape]) -> Scrape:
    """Put the engines of several places side by side; the first real problem is that of all."""
    engines: list[EngineCounters] = []
    names = short_names(scrapes)
    for url, scrape in scrapes.items():
        if scrape.problem not in (None, Problem.NO_SPECULATION):
            return msgspec.structs.replace(
                scrape, engines=(), sentence=f"{scrape.sentence} ({_place(url)})"
            )
        label = ("endpoint", names[url])
        engines += [
            msgspec.structs.replace(one, labels=tuple(sorted((*one.labels, label))))
            for one in scrape.engines
        ]
    if not engines:
        return next(iter(scrapes.values()))
    return Scrape(tuple(engines))


async def _text(session: aiohttp.ClientSession, url: str, since: float) -> str:
    if urlsplit(url).path.rstrip("/").endswith(_PROMETHEUS_PATH):
        return await _fresh(session, url, since)
    return await _get(session, url)


async def _get(
    session: aiohttp.ClientSession, url: str, parameters: dict[str, str] | None = None
) -> str:
    timeout = aiohttp.ClientTimeout(total=_SCRAPE_S)
    async with session.get(url, params=parameters, timeout=timeout) as response:
        text = await response.text(errors="replace")
        if response.status != HTTPStatus.OK:
            raise NoMetricsError(f"HTTP {response.status}")
        return text


async def _fresh(session: aiohttp.ClientSession, url: str, since: float) -> str:
    """Ask Prometheus until every series was scraped at ``since`` or later."""
    parts = urlsplit(url)
    selector = parse_qs(parts.query).get("query", ["{}"])[0].strip()
    address = urlunsplit(parts._replace(query=""))
    query = f"{_within(selector)}[{_WINDOW}]"
    deadline = time.monotonic() + _FRESH_S
    while True:
        series = _series(await _get(session, address, {"query": query}))
        if all(float(one["values"][-1][0]) >= since for one in series):
            return _exposition(series)
        if time.monotonic() > deadline:
            raise NoMetricsError(
                f"no sample since the requests within {_FRESH_S:.0f} s; is its scrape interval "
                "longer?"
            )
        await asyncio.sleep(_POLL_S)


def _within(selector: str) -> str:
    """Return a selector of the series of speculation among those that ``selector`` names."""
    inner = selector.removeprefix("{").removesuffix("}").strip().strip(",")
    return "{" + ",".join(filter(None, (_SERIES, inner))) + "}"


def _series(text: str) -> list[dict[str, Any]]:
    try:
        answer = json.loads(text)
        if answer["status"] != "success":
            raise NoMetricsError(f"Prometheus says: {answer.get('error', 'no success')}")
        found: list[dict[str, Any]] = answer["data"]["result"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoMetricsError(f"the answer is not Prometheus's: {error}") from None
    return [one for one in found if one.get("values")]


def _exposition(series: Sequence[dict[str, Any]]) -> str:
    """Return the last samples as the text that an engine itself would give."""
    lines = []
    for one in series:
        labels = dict(one["metric"])
        name = labels.pop("__name__")
        inner = ",".join(f"{label}={json.dumps(value)}" for label, value in sorted(labels.items()))
        lines.append(f"{name}{{{inner}}} {one['values'][-1][1]}\n")
    return "".join(lines)


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path}"
