"""A bench whose servers answer by a law: time per token and acceptance by arm and concurrency."""

import itertools
from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from specfloor.cells import Arm, Cell
from specfloor.experiments.base import Experiment
from specfloor.judge.evidence import RecordIndex
from specfloor.load.client import Counting
from specfloor.load.settings import WorkloadSettings
from specfloor.load.workload import Message, Prompt
from specfloor.measure import BlockPlan
from specfloor.plan import Overrides
from specfloor.runs.records import (
    BlockKey,
    BlockRecord,
    CountersRecord,
    FindingRecord,
    LaunchKey,
    RequestRecord,
)
from specfloor.signals.counts import DraftCounts
from specfloor.triage.findings import Finding
from tests.unit.builders import RULE, catalog, floors, launch

TOKENS = 40
PROMPTS = tuple(Prompt(f"p{i}", "code", (Message("user", f"do {i}"),)) for i in range(6))
SETTINGS = WorkloadSettings("x", max_tokens=60, forced_tokens=TOKENS, forced_prompts=4)

Seconds = Callable[[LaunchKey, Overrides, int], float]
"""Seconds per output token of a launch at a concurrency."""


class LawBench:
    """Records what servers would have answered.

    Args:
        seconds: the law of time per output token.
        accepted: the acceptance rate of a launch at a concurrency.
        size: of the experiment.
        most: requests that may be in flight.
        scatter: of the log time of one launch.
        faults: ids of launches that do not become healthy.
        said: further fields of launch records, by experiment.
    """

    def __init__(
        self,
        seconds: Seconds,
        *,
        accepted: Callable[[LaunchKey, int], float] = lambda *_: 0.7,
        size: str = "small",
        most: int = 1 << 10,
        scatter: float = 0.0,
        seed: int = 1,
        faults: tuple[str, ...] = (),
        said: Mapping[str, dict[str, object]] | None = None,
    ) -> None:
        self.catalog = catalog()
        self.index = RecordIndex()
        self.size = size
        self.seed = seed
        self.utilisations = ()
        self.lines: list[str] = []
        self.say = self.lines.append
        self.launches: list[tuple[LaunchKey, tuple[BlockKey, ...], Overrides]] = []
        self._seconds = seconds
        self._accepted = accepted
        self._most = most
        self._scatter = scatter
        self._random = np.random.default_rng(seed)
        self._faults = faults
        self._said = said or {}

    def most_concurrent(self, cell: Cell, at_most: int) -> int:
        return min(self._most, at_most)

    def block_plan(self, launch: LaunchKey, block: BlockKey) -> BlockPlan:
        prompts = PROMPTS[: SETTINGS.forced_prompts]
        return BlockPlan(prompts, SETTINGS, {}, Counting.PER_BLOCK)

    def launch(
        self, key: LaunchKey, plans: Mapping[BlockKey, BlockPlan], overrides: Overrides
    ) -> None:
        self.launches.append((key, tuple(plans), overrides))
        if key.id in self._faults:
            lost = tuple(plans)
            self.index.add(FindingRecord(key.id, Finding.START_FAIL, "it ended", lost=lost))
            return
        said = self._said.get(experiment_of(key), {})
        self.index.add(msgspec.structs.replace(launch(key.arm, key.repeat, **said), key=key))
        luck = float(np.exp(self._random.normal(0, self._scatter)))
        for block, plan in plans.items():
            seconds = self._seconds(key, overrides, block.concurrency) * luck
            self._add_block(key, block, plan, seconds)

    def _add_block(self, key: LaunchKey, block: BlockKey, plan: BlockPlan, seconds: float) -> None:
        sent = BlockRecord(key.id, block, len(plan.prompts), "fp", self.seed, {}, plan.template)
        self.index.add(sent)
        chunks = tuple(0.1 + seconds * i for i in range(TOKENS))
        for index, prompt in enumerate(plan.prompts):
            self.index.add(
                RequestRecord(
                    launch=key.id,
                    block=block,
                    index=index,
                    prompt_id=prompt.id,
                    domain=prompt.domain,
                    started_s=float(index),
                    first_token_s=chunks[0],
                    finished_s=chunks[-1],
                    chunk_s=chunks,
                    chunk_tokens=(1,) * TOKENS,
                    prompt_tokens=5,
                    completion_tokens=TOKENS,
                    finish_reason="length",
                    text_sha256="0",
                    text="",
                )
            )
        if key.arm.speculates:
            drafted = 1000 * key.arm.k
            accepted = round(drafted * self._accepted(key, block.concurrency))
            counts = DraftCounts(1000, drafted, accepted)
            self.index.add(CountersRecord(key.id, block, {"0": counts}))


def asked(experiment: Experiment, cell: Cell, bench: LawBench, *entries: object):
    """Measure and judge; return the judgement."""
    experiment.measure(bench, cell)
    found = floors(*entries)
    return experiment.judge(bench.index, cell, bench.catalog, found, RULE)


def experiment_of(key: LaunchKey) -> str:
    """Return what a launch is part of, without what names the cell."""
    return key.variant.rsplit("-", 3)[0]


def arms_in_order(bench: LawBench, experiment: str) -> list[Arm]:
    """Return the arms that were started, repeats side by side as one."""
    arms = [key.arm for key, _, _ in bench.launches if experiment_of(key) == experiment]
    return [arm for arm, _ in itertools.groupby(arms)]
