"""Engines on this host: the interpreter of a release, its checkpoint, its command, its server."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import platformdirs

from specfloor.catalog import Catalog
from specfloor.catalog.model import Checkpoint, Family, Release, Soc
from specfloor.cells import Arm
from specfloor.engines import checkpoints, environment
from specfloor.engines.ascend import (
    IMPORT_CHECK,
    ascend_steps,
    check_cann,
    set_env_scripts,
    sourced,
    visible_devices,
)
from specfloor.engines.command import Command, method_of, server_command
from specfloor.engines.container import (
    PYTHON,
    container_program,
    devices_of,
    image_of,
    in_container,
)
from specfloor.engines.effect import complete
from specfloor.engines.indexes import load_indexes
from specfloor.engines.logs import parse_speculative_config, resolved_speculative_config
from specfloor.engines.probe import server_version, speculation_series
from specfloor.engines.routes import ImageRoute, PythonRoute, Route, route_of
from specfloor.engines.server import Progress, Server, StartFailure
from specfloor.errors import UsageError
from specfloor.host.ascend import find_software
from specfloor.host.npu import find_ascend_python
from specfloor.load.client import Endpoint
from specfloor.measure import Fault, Running, Say
from specfloor.plan import Overrides
from specfloor.runs.records import LaunchKey, LaunchRecord
from specfloor.triage.findings import Finding

_TARGET = "target"
"""In a method's ``draft``: the target itself drafts."""


def default_cache() -> Path:
    """Return the folder where environments and checkpoints are kept between runs."""
    return platformdirs.user_cache_path("specfloor")


class Ready(msgspec.Struct, frozen=True):
    """What a launch stands on."""

    python: Path
    model: str
    draft: str | None


class LocalEngines:
    """Starts engines of this host, one at a time.

    Args:
        catalog: the releases and families that launches name.
        models: the folder of embedded models.
        cache: where environments and converted checkpoints are kept.
        start_timeout_s: seconds a server may take to become healthy.
        route: gives the way to a release that was asked for, by its name; None for the usual one.
        say: takes one line of progress.
        tick: takes the seconds since a server was started and its last log line.
        soc: the class of the NPUs, where it is known.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        models: Path,
        cache: Path | None,
        start_timeout_s: float,
        route: Callable[[str], Route | None],
        say: Say,
        tick: Progress,
        soc: Soc | None = None,
    ) -> None:
        self._catalog = catalog
        self._models = models
        self._cache = cache or default_cache()
        self._start_timeout_s = start_timeout_s
        self._route = route
        self._say = say
        self._tick = tick
        self._soc = soc
        self._ready: dict[tuple[str, str, Arm], Ready] = {}
        self._unbuilt: dict[tuple[str, tuple[str, ...]], UsageError] = {}

    def prepare(self, key: LaunchKey) -> None:
        """Build the environment and fetch or derive the checkpoints of a launch, once.

        Raises:
            Fault: START_FAIL when either cannot be made; the other cells of a run go on.
        """
        self._prepared(key)

    def ready(self, key: LaunchKey) -> Ready:
        """Return what a launch stands on, made first if need be; raises Fault if it cannot be."""
        return self._prepared(key)

    def _prepared(self, key: LaunchKey) -> Ready:
        place = key.release, key.family, key.arm
        if place not in self._ready:
            release = self._catalog.release(key.release)
            family = self._catalog.family(key.family)
            try:
                self._ready[place] = self._make_ready(release, family, key.arm)
            except (UsageError, OSError) as error:
                raise Fault(Finding.START_FAIL, str(error)) from None
        return self._ready[place]

    def _make_ready(self, release: Release, family: Family, arm: Arm) -> Ready:
        method = method_of(family, arm) if arm.speculates else None
        python = self._interpreter(release, method.requires if method else ())
        if python == PYTHON and family.checkpoint.kind == "gguf_package":
            raise UsageError(
                f"the checkpoint of {family.name} is converted by an engine's interpreter, which a "
                "container keeps to itself; pick another family or another way than image"
            )
        model = self._checkpoint(family.checkpoint, python)
        draft = None
        if method and method.draft:
            draft = model if method.draft == _TARGET else method.draft
        return Ready(python, model, draft)

    def _interpreter(self, release: Release, extra: tuple[str, ...]) -> Path:
        route = route_of(release, self._route(release.name))
        if isinstance(route, ImageRoute):
            return PYTHON
        if isinstance(route, PythonRoute):
            if release.kind == "host":
                return find_ascend_python(route.path)
            if route.path:
                return route.path
        elif release.kind == "host":
            release = to_build(release)
        place = release.name, extra
        # building takes minutes: what failed for one arm is not tried again for the next
        if failed := self._unbuilt.get(place):
            raise failed
        try:
            return self._build(release, extra)
        except UsageError as error:
            self._unbuilt[place] = error
            raise

    def _build(self, release: Release, extra: tuple[str, ...]) -> Path:
        return environment.build(release, extra, self._cache, load_indexes(), self._say)

    def _container(
        self, release: Release, family: Family, ready: Ready
    ) -> Callable[[Command], Command] | None:
        """Return what puts a server into the release's container; None where it has none."""
        route = route_of(release, self._route(release.name))
        if not isinstance(route, ImageRoute):
            return None
        cards = family.cards if release.platform == "ascend" else 0
        try:
            return functools.partial(
                in_container,
                program=container_program(),
                image=image_of(release, route.image, self._soc),
                devices=devices_of(cards, self._soc),
                models=tuple(filter(None, (ready.model, ready.draft))),
            )
        except UsageError as error:
            raise Fault(Finding.START_FAIL, str(error)) from None

    def _on_npus(self, family: Family, overrides: Overrides) -> Overrides:
        """Add CANN's environment and the devices that the family takes; Fault when they lack."""
        try:
            added = sourced(set_env_scripts(os.environ), os.environ)
            added |= visible_devices(family.cards, os.environ | added)
        except UsageError as error:
            raise Fault(Finding.START_FAIL, str(error)) from None
        return msgspec.structs.replace(overrides, env=added | overrides.env)

    def _checkpoint(self, checkpoint: Checkpoint, python: Path) -> str:
        return checkpoints.prepare(
            checkpoint, python=python, models=self._models, cache=self._cache, progress=self._say
        )

    @contextmanager
    def start(
        self,
        key: LaunchKey,
        log: Path,
        overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    ) -> Iterator[Running]:
        """Start the server of a launch; raises Fault when it does not become healthy."""
        ready = self._prepared(key)
        release, family = self._catalog.release(key.release), self._catalog.family(key.family)

        def command_on(port: int) -> Command:
            command = server_command(
                ready.python,
                release=release,
                family=family,
                arm=key.arm,
                model=ready.model,
                draft=ready.draft,
                port=port,
                overrides=overrides,
            )
            return wrap(command) if wrap else command

        wrap = self._container(release, family, ready)
        if release.platform == "ascend" and not wrap:
            overrides = self._on_npus(family, overrides)
        try:
            server = Server.start(
                command_on, log=log, deadline_s=self._start_timeout_s, progress=self._tick
            )
        except StartFailure as failed:
            raise Fault(
                failed.failure.finding, failed.failure.message, failed.failure.cause
            ) from None
        with server:
            yield _LocalServer(server, family, self._catalog)


def to_build(release: Release) -> Release:
    """Return a release of the host's as one whose environment is built.

    Raises:
        UsageError: the host's CANN is of another line, or the package index has no such release.
    """
    check_cann(release, find_software(os.environ))
    return msgspec.structs.replace(
        release, kind="venv", steps=ascend_steps(release), import_check=IMPORT_CHECK
    )


class _LocalServer:
    def __init__(self, server: Server, family: Family, catalog: Catalog) -> None:
        self._server = server
        self._family = family
        self._catalog = catalog

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self._server.url, self._family.name)

    def describe(self, key: LaunchKey, log: str, started_s: float) -> LaunchRecord:
        command = self._server.command
        lines = self._server.log_lines()
        config = resolved_speculative_config(lines)
        resolved = parse_speculative_config(config) if config else None
        record = LaunchRecord(
            key=key,
            argv=command.argv,
            env=command.env,
            log=log,
            started_s=round(started_s, 3),
            startup_s=round(self._server.startup_s, 3),
            version=server_version(self._server.url),
            speculative_config=config,
            resolved_method=resolved.method if resolved else None,
            resolved_k=resolved.num_spec_tokens if resolved else None,
            speculation_series=speculation_series(self._server.url),
        )
        return complete(record, lines, self._server.url, self._catalog, self._family.tiers)

    def diagnose(self, patience_s: float) -> Fault | None:
        failure = self._server.diagnose(patience_s)
        return Fault(failure.finding, failure.message, failure.cause) if failure else None
