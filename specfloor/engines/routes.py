"""How a release's engine is reached: an interpreter, a built environment, an image, a URL."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.model import Release
from specfloor.errors import UsageError


class PythonRoute(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="python"):
    """The interpreter that has the release; None looks for one on this host."""

    path: Path | None = None


class VenvRoute(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="venv"):
    """An environment built from the release's install steps."""


class ImageRoute(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="image"):
    """A container image; None is the vendor's for this release and hardware."""

    image: str | None = None


class UrlRoute(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="url"):
    """Servers that somebody else has started, by arm; None where an arm has none.

    ``metrics_off`` and ``metrics_on`` are where the arms' engines give their metrics, one URL an
    engine, or a Prometheus server's query (:func:`~specfloor.load.metrics.read_scrape`); empty asks
    the server itself. ``model`` is the served name; None asks the server.
    """

    off: str | None = None
    on: str | None = None
    metrics_off: tuple[str, ...] = ()
    metrics_on: tuple[str, ...] = ()
    model: str | None = None


Route = PythonRoute | VenvRoute | ImageRoute | UrlRoute


def route_of(release: Release, asked: Route | None) -> Route:
    """Return how a release is reached: as asked, else as it is usually found."""
    if asked is not None:
        return asked
    return PythonRoute() if release.kind == "host" else VenvRoute()


SYNTAX = (
    "python:PATH, venv, image, image:NAME, or "
    "url:on=URL,off=URL[,metrics-on=URL+URL][,metrics-off=URL][,model=NAME]"
)


def parse_route(text: str) -> Route:
    """Read a route as an option gives it; UsageError when it is none."""
    kind, colon, rest = text.partition(":")
    match kind, bool(colon), rest:
        case "python", True, path if path:
            return PythonRoute(Path(path))
        case "venv", False, _:
            return VenvRoute()
        case "image", False, _:
            return ImageRoute()
        case "image", True, image if image:
            return ImageRoute(image)
        case "url", True, fields if fields:
            return _url_route(fields)
    raise UsageError(f"{text!r} is no way to reach an engine; give {SYNTAX}")


def _url_route(text: str) -> UrlRoute:
    fields: dict[str, str] = {}
    # a selector of Prometheus may hold commas of its own
    for part in re.split(r",(?=(?:on|off|metrics-on|metrics-off|model)=)", text):
        name, equals, value = part.partition("=")
        if not equals or not value or name in fields or name not in _FIELDS:
            raise UsageError(
                f"url: {part!r} is not one of {', '.join(f'{name}=…' for name in _FIELDS)}, "
                "each given once"
            )
        if name != "model":
            for url in _several(value):
                _check_url(url)
        fields[name] = value
    route = UrlRoute(
        off=fields.get("off"),
        on=fields.get("on"),
        metrics_off=_several(fields.get("metrics-off")),
        metrics_on=_several(fields.get("metrics-on")),
        model=fields.get("model"),
    )
    if route.on is None and route.off is None:
        raise UsageError("url: names no server; give on=URL, off=URL, or both")
    return route


_FIELDS = ("on", "off", "metrics-on", "metrics-off", "model")


def _several(text: str | None) -> tuple[str, ...]:
    return tuple(re.split(r"\+(?=https?://)", text)) if text else ()


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    try:
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is no number, as where an option was misspelled after a comma
        whole = False
    if not whole:
        raise UsageError(f"url: {url!r} is no http address, such as http://127.0.0.1:8000")


EVERY_RELEASE = ""
"""The key of the route for releases that have none of their own."""


def split_release(given: str) -> tuple[str, str]:
    """Split ``[RELEASE=]WAY`` into the release, :data:`EVERY_RELEASE` without one, and the way."""
    head, equals, way = given.partition("=")
    # an address or a path may hold an equals sign of its own; a release has neither : nor /
    if equals and not set(head) & {":", "/"}:
        return head, way
    return EVERY_RELEASE, given


def named_routes(given: Iterable[str], catalog: Catalog) -> dict[str, Route]:
    """Return the way that each ``[RELEASE=]WAY`` names to a release, or to every one.

    Raises:
        UsageError: the catalogue has no such release, or there is no such way.
    """
    routes: dict[str, Route] = {}
    for one in given:
        release, way = split_release(one)
        routes[catalog.release(release).name if release else EVERY_RELEASE] = parse_route(way)
    return routes


def asked_route(routes: Mapping[str, Route], release: str) -> Route | None:
    """Return the way to a release's engine that was asked for, if one was."""
    return routes.get(release) or routes.get(EVERY_RELEASE)
