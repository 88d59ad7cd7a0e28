"""Every setting of a run in one frozen record, checked where it is made."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec

from specfloor.errors import UsageError
from specfloor.judge.cell import Rule
from specfloor.plan import Selection

EVERY_RELEASE = ""
"""The key of the interpreter for releases that have none of their own."""
START_TIMEOUT_S = {"cpu": 600.0, "ascend": 2400.0}
"""Seconds a server may take to become healthy: large models on NPUs take 15 minutes and more."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a run was asked to do.

    Times are in seconds. ``launches`` is the number of launches an arm of a cell with a speed
    floor; None takes what the floor's own record says. ``floors_dir`` holds ``*.toml``,
    ``workloads_dir`` one folder a workload set. ``experiments`` is how much experiments measure,
    None for none. ``engine_pythons`` maps releases to the interpreter that has their vLLM,
    :data:`EVERY_RELEASE` to that of those without one of their own.

    Raises:
        UsageError: a value is out of its range.
    """

    selection: Selection = Selection()
    floors_dir: Path
    workloads_dir: Path
    seed: int = 20260601
    launches: int | None = None
    alpha: float = 0.05
    beta: float = 0.05
    margin: float = 0.05
    population: Literal["fixed", "sampled"] = "fixed"
    early_stop: bool = True
    floors: Literal["strict", "new-ok"] = "strict"
    experiments: Literal["small", "full"] | None = None
    start_timeout_s: float = START_TIMEOUT_S["cpu"]
    request_timeout_s: float = 300.0
    silence_timeout_s: float = 60.0
    baseline: Path | None = None
    cache: Path | None = None
    engine_pythons: Mapping[str, Path] = MappingProxyType({})

    def engine_python(self, release: str) -> Path | None:
        """Return the interpreter that was named for a release, if one was."""
        return self.engine_pythons.get(release) or self.engine_pythons.get(EVERY_RELEASE)

    def __post_init__(self) -> None:
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
        ):
            if not value > 0:
                raise UsageError(f"{option} {value:g} is not a positive number of seconds")
        if self.launches is not None and self.launches < 1:
            raise UsageError(f"--launches {self.launches} is less than 1")
        for option, values in (
            ("--spec-tokens", self.selection.spec_tokens),
            ("--concurrency", self.selection.concurrencies),
        ):
            for number in values:
                if number < 1:
                    raise UsageError(f"{option} {number} is less than 1")
        for option, folder in (
            ("--floors-dir", self.floors_dir),
            ("--workloads-dir", self.workloads_dir),
        ):
            if not folder.is_dir():
                raise UsageError(f"{option} {folder} is no folder")
        for python in self.engine_pythons.values():
            if not shutil.which(python):
                raise UsageError(
                    f"--engine-python {python} is no program; name the interpreter that has the "
                    "release's vLLM"
                )

    @property
    def rule(self) -> Rule:
        """How floors are judged."""
        return Rule(self.alpha, self.beta, self.margin, self.population == "sampled")
