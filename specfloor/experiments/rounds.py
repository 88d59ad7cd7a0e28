"""Rounds of launches over several concurrencies, as the flip point and the sweep measure them."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from specfloor.cells import Arm, Cell
from specfloor.experiments.base import Bench, arm_launch, cell_block
from specfloor.judge.evidence import Block, RecordIndex
from specfloor.judge.times import Clock, clock_for, time_per_token
from specfloor.measure import BlockPlan
from specfloor.plan import Overrides
from specfloor.runs.records import LaunchKey, Purpose, RequestRecord
from specfloor.signals.counts import pooled

REQUESTS_PER_SLOT = 3
"""Requests sent for each that is kept in flight: the last of them end while the load falls off and
are not timed."""
LEAST_REQUESTS = 6
"""Requests at a low concurrency: fewer would leave the mean of a block to two or three prompts."""


def forced_plan(bench: Bench, launch: LaunchKey, cell: Cell, concurrency: int) -> BlockPlan:
    """Return a block of forced length that keeps ``concurrency`` requests in flight.

    Its prompts are those of the speed block, over again as often as needed: with a forced length
    every request of a prompt does the same work.
    """
    block = cell_block(cell, Purpose.FORCED, concurrency)
    plan = bench.block_plan(launch, block)
    wanted = max(LEAST_REQUESTS, REQUESTS_PER_SLOT * concurrency)
    prompts = tuple(itertools.islice(itertools.cycle(plan.prompts), wanted))
    return msgspec.structs.replace(plan, prompts=prompts)


def run_arm(
    bench: Bench,
    cell: Cell,
    key: LaunchKey,
    concurrencies: Iterable[int],
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
) -> None:
    """Start the launch ``key`` and measure it at each concurrency, the least first."""
    plans = {
        cell_block(cell, Purpose.FORCED, n): forced_plan(bench, key, cell, n)
        for n in sorted(concurrencies)
    }
    bench.launch(key, plans, overrides)


class ArmBlocks(NamedTuple):
    """One launch of one arm: its number, and its blocks by concurrency."""

    repeat: int
    blocks: Mapping[int, Block]


def launches_of(
    index: RecordIndex, cell: Cell, arm: Arm, variant: str, concurrencies: Sequence[int]
) -> list[ArmBlocks]:
    """Return every launch of an arm that measured something."""
    found = []
    for repeat in range(index.repeats(arm_launch(cell, arm, variant, 0))):
        key = arm_launch(cell, arm, variant, repeat)
        blocks = {
            n: block
            for n in concurrencies
            if (block := index.block(key, cell_block(cell, Purpose.FORCED, n))) and block.requests
        }
        if blocks:
            found.append(ArmBlocks(repeat, blocks))
    return found


def steady(block: Block) -> list[RequestRecord]:
    """Return the requests of a block that ran while it kept its concurrency.

    The last ones, as many as are in flight, start or go on while no new one comes.
    """
    concurrency = block.sent.block.concurrency
    whole = len(block.requests) > 2 * concurrency
    kept = block.requests[: len(block.requests) - concurrency] if whole else block.requests
    return [request for request in kept if request.ok]


def clock_of(launches: Iterable[ArmBlocks]) -> Clock:
    """Return how all of them are to be timed, the same way."""
    return clock_for(
        request
        for launch in launches
        for block in launch.blocks.values()
        for request in block.requests
    )


def log_time(block: Block | None, clock: Clock) -> float | None:
    """Return the mean over prompts of the log time per output token; None without any.

    A prompt that was sent several times counts once, with its mean.
    """
    by_prompt: dict[str, list[float]] = {}
    for request in steady(block) if block else ():
        if seconds := time_per_token(request, clock):
            by_prompt.setdefault(request.prompt_id, []).append(float(np.log(seconds)))
    if not by_prompt:
        return None
    return float(np.mean([np.mean(logs) for logs in by_prompt.values()]))


def mean_time(logs: Sequence[float]) -> float:
    """Return the geometric mean of times given as logarithms."""
    return math.exp(sum(logs) / len(logs))


def acceptance_rate(blocks: Iterable[Block]) -> float | None:
    """Return accepted over drafted tokens of blocks by their counters; None without drafts."""
    return pooled(
        counts
        for block in blocks
        for record in block.counters
        if record.index is None
        for counts in record.by_engine.values()
    ).rate


def powers_of_two(least: int, most: int) -> tuple[int, ...]:
    """Return 1, 2, 4 … within the bounds, and the upper bound itself."""
    grid = [2**i for i in range(most.bit_length()) if least <= 2**i <= most]
    return tuple(dict.fromkeys([least, *grid, most]))
