"""Engines that somebody else has started: production servers, P/D groups, gateways."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from specfloor.engines.probe import served_models, server_version, speculation_series
from specfloor.engines.routes import UrlRoute
from specfloor.load.client import Endpoint
from specfloor.measure import Fault, NoEngine, Running
from specfloor.plan import Overrides
from specfloor.runs.records import LaunchKey, LaunchRecord
from specfloor.triage.findings import Finding

_POLL_S = 0.5


class UrlEngines:
    """Reaches engines behind URLs; starts and stops nothing.

    Args:
        route: gives the addresses of a release, by its name.
    """

    def __init__(self, route: Callable[[str], UrlRoute]) -> None:
        self._route = route

    def prepare(self, key: LaunchKey) -> None:
        """Check that there is a server for this arm; NoEngine when none was named."""
        self._address(key)

    def _address(self, key: LaunchKey) -> str:
        route = self._route(key.release)
        url = route.on if key.arm.speculates else route.off
        if url is None:
            side = "on" if key.arm.speculates else "off"
            raise NoEngine(f"no server was named for the {side} arm; add {side}=URL to measure it")
        return url.rstrip("/").removesuffix("/v1")

    @contextmanager
    def start(self, key: LaunchKey, log: Path, overrides: Overrides) -> Iterator[Running]:
        """Find the model behind the arm's URL; raises Fault when it does not answer."""
        del log
        url = self._address(key)
        if overrides != Overrides():
            raise NoEngine("a server that others have started cannot be given other settings")
        route = self._route(key.release)
        metrics = route.metrics_on if key.arm.speculates else route.metrics_off
        models = (route.model,) if route.model else served_models(url)
        if not models:
            raise Fault(
                Finding.START_FAIL,
                f"{url}/v1/models does not answer or lists no model; name the model with "
                "model=NAME if the server has no such list",
            )
        yield _UrlServer(Endpoint(url, models[0], metrics))


class _UrlServer:
    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    def describe(self, key: LaunchKey, log: str, started_s: float) -> LaunchRecord:
        del log
        places = [u for u in self.endpoint.metrics_urls if u.endswith("/metrics")]
        known = [one for url in places if (one := speculation_series(url)) is not None]
        return LaunchRecord(
            key=key,
            argv=(),
            env={},
            log="",
            started_s=round(started_s, 3),
            startup_s=0.0,
            version=server_version(self.endpoint.base_url),
            speculation_series=tuple(sorted({n for one in known for n in one})) if known else None,
        )

    def diagnose(self, patience_s: float) -> Fault | None:
        """Return why the server is of no more use; None when it lists its model within patience."""
        until = time.monotonic() + patience_s
        while not served_models(self.endpoint.base_url):
            if time.monotonic() > until:
                return Fault(Finding.CRASH, f"{self.endpoint.base_url} lists no model any more")
            time.sleep(_POLL_S)
        return None
