"""Engines by the way that each release is reached."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from specfloor.catalog import Catalog
from specfloor.engines.routes import Route, UrlRoute, route_of
from specfloor.engines.url import UrlEngines
from specfloor.measure import Engines, Running
from specfloor.plan import Overrides
from specfloor.runs.records import LaunchKey


class RoutedEngines:
    """Hands each launch to the engines that its release is reached by.

    Args:
        catalog: the releases that launches name.
        route: gives the way to a release that was asked for; None for the usual one.
        local: the engines of this host's interpreters and environments.
    """

    def __init__(
        self, catalog: Catalog, route: Callable[[str], Route | None], local: Engines
    ) -> None:
        self._catalog = catalog
        self._asked = route
        self._local = local
        self._urls = UrlEngines(self._url_route)

    def _url_route(self, release: str) -> UrlRoute:
        route = self._route(release)
        assert isinstance(route, UrlRoute)
        return route

    def _route(self, release: str) -> Route:
        return route_of(self._catalog.release(release), self._asked(release))

    def _engines(self, key: LaunchKey) -> Engines:
        return self._urls if isinstance(self._route(key.release), UrlRoute) else self._local

    def prepare(self, key: LaunchKey) -> None:
        """Make ready what a launch needs."""
        self._engines(key).prepare(key)

    def start(
        self, key: LaunchKey, log: Path, overrides: Overrides
    ) -> AbstractContextManager[Running]:
        """Start a server, or find the one that is there."""
        return self._engines(key).start(key, log, overrides)
