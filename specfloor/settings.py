"""Every setting of a run in one frozen record, checked where it is made."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec

from specfloor.catalog import load_catalog
from specfloor.catalog.model import Soc
from specfloor.catalog.onsite import Site, on_site
from specfloor.engines.routes import PythonRoute, Route, asked_route
from specfloor.errors import UsageError
from specfloor.host.hardware import find_hardware
from specfloor.judge.cell import Rule
from specfloor.judge.mixed import Slo
from specfloor.judge.verdict import ALPHA, BETA, MARGIN
from specfloor.plan import Selection

START_TIMEOUT_S = {"cpu": 600.0, "ascend": 2400.0}
"""Seconds a server may take to become healthy: large models on NPUs take 15 minutes and more."""


SOAK_MIN: Mapping[Literal["small", "full"], float] = MappingProxyType({"small": 2.0, "full": 60.0})
"""Minutes that a soak lasts by the size of experiments."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a run was asked to do.

    Times are in seconds. ``launches`` is the number of launches an arm of a cell with a speed
    floor; None takes what the floor's own record says. ``floors_dir`` holds ``*.toml``,
    ``workloads_dir`` one folder a workload set. ``experiments`` is how much experiments measure,
    None for none, with ``most_concurrent`` requests in flight at most; a soak lasts ``soak_min``
    minutes, None for the default of the size, or has ``soak_requests``. ``routes`` maps releases to
    how their engine is reached, :data:`~specfloor.engines.routes.EVERY_RELEASE` to that of those
    without one of their own; ``cluster`` is the address of a Ray cluster whose hosts run them.
    ``workload_files`` are prompts of the user's own by workload, of which ``workload_prompts`` are
    sent at most. ``soc`` and ``cards`` say which NPUs there are instead of the host itself;
    ``models`` and ``drafts`` where checkpoints are, as of
    :func:`~specfloor.catalog.onsite.on_site`.

    Raises:
        UsageError: a value is out of its range.
    """

    selection: Selection = Selection()
    floors_dir: Path
    workloads_dir: Path
    workload_files: Mapping[str, Path] = MappingProxyType({})
    workload_prompts: int | None = None
    seed: int = 20260601
    launches: int | None = None
    alpha: float = ALPHA
    beta: float = BETA
    margin: float = MARGIN
    population: Literal["fixed", "sampled"] = "fixed"
    early_stop: bool = True
    floors: Literal["strict", "new-ok"] = "strict"
    experiments: Literal["small", "full"] | None = None
    start_timeout_s: float = START_TIMEOUT_S["cpu"]
    request_timeout_s: float = 300.0
    silence_timeout_s: float = 60.0
    baseline: Path | None = None
    cache: Path | None = None
    most_concurrent: int | None = None
    utilisations: tuple[float, ...] = ()
    slo: Slo | None = None
    soak_min: float | None = None
    soak_requests: int | None = None
    cluster: str | None = None
    routes: Mapping[str, Route] = MappingProxyType({})
    soc: Soc | None = None
    cards: int | None = None
    models: Mapping[str, str] = MappingProxyType({})
    drafts: Mapping[str, str] = MappingProxyType({})

    def route(self, release: str) -> Route | None:
        """Return the way to a release's engine that was asked for, if one was."""
        return asked_route(self.routes, release)

    def __post_init__(self) -> None:
        self._check_numbers()
        for option, folder in (
            ("--floors-dir", self.floors_dir),
            ("--workloads-dir", self.workloads_dir),
        ):
            if not folder.is_dir():
                raise UsageError(
                    f"{option} {folder} is no folder; name the suite's, for `specfloor plan` and "
                    "`specfloor bisect` with --fixtures"
                )
        for route in self.routes.values():
            if isinstance(route, PythonRoute) and route.path and not shutil.which(route.path):
                raise UsageError(
                    f"--engine-python {route.path} is no program; name the interpreter that has "
                    "the release's vLLM"
                )

    def _check_numbers(self) -> None:
        for option, value in (
            ("--alpha", self.alpha),
            ("--beta", self.beta),
            ("--margin", self.margin),
        ):
            if not 0 < value < 1:
                raise UsageError(f"{option} {value:g} is outside (0, 1)")
        for option, value in (
            ("--start-timeout", self.start_timeout_s),
            ("--request-timeout", self.request_timeout_s),
            ("--silence-timeout", self.silence_timeout_s),
            *(
                (("--slo-ttft", self.slo.ttft_s), ("--slo-tpot", self.slo.tpot_s))
                if self.slo
                else ()
            ),
        ):
            if not value > 0:
                raise UsageError(f"{option} {value:g} is not a positive number of seconds")
        for share in self.utilisations:
            if not 0 < share < 1:
                raise UsageError(
                    f"--utilisation {share:g} is outside (0, 1): a load is a share of the capacity"
                )
        if self.soak_min is not None and not self.soak_min > 0:
            raise UsageError(f"--soak {self.soak_min:g} is not a positive number of minutes")
        if self.soak_min is not None and self.soak_requests is not None:
            raise UsageError("--soak and --soak-requests both say how long a soak is; give one")
        for option, numbers in (
            ("--launches", (self.launches,)),
            ("--cards", (self.cards,)),
            ("--workload-prompts", (self.workload_prompts,)),
            ("--max-concurrency", (self.most_concurrent,)),
            ("--soak-requests", (self.soak_requests,)),
            ("--spec-tokens", self.selection.spec_tokens),
            ("--concurrency", self.selection.concurrencies),
        ):
            for number in numbers:
                if number is not None and number < 1:
                    raise UsageError(f"{option} {number} is less than 1")

    @property
    def rule(self) -> Rule:
        """How floors are judged."""
        return Rule(self.alpha, self.beta, self.margin, self.population == "sampled", self.slo)


def site_of(settings: Settings) -> Site:
    """Return the catalogue on the host at hand, or on the hardware that was named.

    Raises:
        UsageError: the host's NPUs are of no known class, or an option names no family.
    """
    soc, cards = settings.soc, settings.cards
    if (
        settings.selection.platform == "ascend"
        and (soc is None or cards is None)
        and (found := find_hardware())
    ):
        soc, cards = soc or found.soc, cards or found.cards
        if soc is None:
            raise UsageError(
                f"the {found.cards} NPUs of this host are of no class that specfloor knows; "
                "name it with --soc"
            )
    return on_site(
        load_catalog(),
        soc=soc,
        cards=cards or 0,
        models=settings.models,
        drafts=settings.drafts,
        workloads=tuple(settings.workload_files),
    )


def read_pairs(option: str, form: str, given: Iterable[str]) -> dict[str, str]:
    """Return what an option was given as NAME=VALUE.

    Raises:
        UsageError: one is not of that shape; it says the option's ``form``.
    """
    pairs = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {one} is not of the form {form}")
        pairs[name] = value
    return pairs
