"""Workload sets: folders of prompts with their settings, read once."""

import functools
from pathlib import Path

from specfloor.errors import UsageError
from specfloor.load.long_context import long_prompts
from specfloor.load.settings import SETTINGS, WorkloadSettings, read_settings
from specfloor.load.workload import Prompt, load_workload, shuffled


class Workloads:
    """The prompts and settings of workload sets, one folder each, read once."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._seed = seed
        self.prompts = functools.cache(self._prompts)
        self._settings = functools.cache(read_settings)

    def settings(self, workload_set: str, workload: str) -> WorkloadSettings:
        """Return how a workload is sent; UsageError when its set says nothing of it."""
        folder = self._folder / workload_set
        try:
            return self._settings(folder)[workload]
        except KeyError:
            raise UsageError(
                f"{folder / SETTINGS} has no settings for the workload {workload}; add [{workload}]"
            ) from None

    def _prompts(self, workload_set: str, workload: str) -> tuple[Prompt, ...]:
        folder = self._folder / workload_set
        settings = self.settings(workload_set, workload)
        if settings.long_context:
            return shuffled(long_prompts(settings.long_context), self._seed)
        parts = settings.parts or (workload,)
        prompts = [p for part in parts for p in load_workload(folder / f"{part}.jsonl")]
        return shuffled(prompts, self._seed)
