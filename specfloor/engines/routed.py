"""Engines by the way that each release is reached."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.onsite import Site
from specfloor.engines.local import LocalEngines
from specfloor.engines.routes import Route, UrlRoute, asked_route, route_of
from specfloor.engines.server import Progress
from specfloor.engines.url import UrlEngines
from specfloor.measure import Engines, Running, Say
from specfloor.plan import Overrides
from specfloor.runs.records import LaunchKey
from specfloor.settings import Settings


class EngineNeeds(msgspec.Struct, frozen=True):
    """What a host needs to know to reach the engines of a run.

    ``models`` is the folder of embedded models, ``cache`` that of environments and checkpoints;
    ``routes`` are as of :class:`~specfloor.settings.Settings`.
    """

    site: Site
    models: Path
    cache: Path | None
    start_timeout_s: float
    routes: dict[str, Route]

    @classmethod
    def of(cls, settings: Settings, site: Site, models: Path) -> Self:
        """Return what the settings of a run need."""
        return cls(
            site=site,
            models=models,
            cache=settings.cache,
            start_timeout_s=settings.start_timeout_s,
            routes=dict(settings.routes),
        )

    def route(self, release: str) -> Route | None:
        """Return the way to a release's engine that was asked for, if one was."""
        return asked_route(self.routes, release)


def local_engines(needs: EngineNeeds, say: Say, tick: Progress) -> LocalEngines:
    """Return the engines of this host's interpreters and environments."""
    return LocalEngines(
        needs.site.catalog,
        models=needs.models,
        cache=needs.cache,
        start_timeout_s=needs.start_timeout_s,
        route=needs.route,
        say=say,
        tick=tick,
        soc=needs.site.soc,
    )


def engines_of(needs: EngineNeeds, say: Say, tick: Progress) -> "RoutedEngines":
    """Return the engines that can be reached from this host."""
    return RoutedEngines(needs.site.catalog, needs.route, local_engines(needs, say, tick))


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
