"""Workload sets: folders of prompts with their settings, read once."""

import functools
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from specfloor.errors import UsageError
from specfloor.load.formats import DEFAULT_SETTINGS, load_any
from specfloor.load.long_context import long_prompts
from specfloor.load.settings import SETTINGS, WorkloadSettings, read_settings
from specfloor.load.workload import Prompt, load_workload, shuffled


class Workloads:
    """The prompts and settings of workload sets, one folder each, read once.

    Args:
        folder: of the sets.
        seed: of the order that prompts are sent in.
        files: workload → a file of the user, which every set then has.
        most: prompts of such a file that are sent, the first of the seeded order; None sends all.
    """

    def __init__(
        self,
        folder: Path,
        seed: int,
        *,
        files: Mapping[str, Path] = MappingProxyType({}),
        most: int | None = None,
    ) -> None:
        self._folder = folder
        self._seed = seed
        self._files = files
        self._most = most
        self.prompts = functools.cache(self._prompts)
        self._settings = functools.cache(read_settings)

    def settings(self, workload_set: str, workload: str) -> WorkloadSettings:
        """Return how a workload is sent; UsageError when its set says nothing of it."""
        if workload in self._files:
            return DEFAULT_SETTINGS
        folder = self._folder / workload_set
        try:
            return self._settings(folder)[workload]
        except KeyError:
            raise UsageError(
                f"{folder / SETTINGS} has no settings for the workload {workload}; add [{workload}]"
            ) from None

    def _prompts(self, workload_set: str, workload: str) -> tuple[Prompt, ...]:
        if workload in self._files:
            return shuffled(load_any(self._files[workload]), self._seed)[: self._most]
        folder = self._folder / workload_set
        settings = self.settings(workload_set, workload)
        if settings.long_context:
            return shuffled(long_prompts(settings.long_context), self._seed)
        parts = settings.parts or (workload,)
        prompts = [p for part in parts for p in load_workload(folder / f"{part}.jsonl")]
        return shuffled(prompts, self._seed)
