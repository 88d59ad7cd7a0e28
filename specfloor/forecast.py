"""What a plan will cost, roughly, before anything is started."""

from collections.abc import Iterable

import msgspec

from specfloor.catalog import Catalog
from specfloor.load.sets import Workloads
from specfloor.plan import Launch
from specfloor.runs.records import BlockKey, Purpose

START_S = {"cpu": 45.0, "ascend": 900.0}
"""Seconds until a server is healthy, and until it is gone: measured with the embedded models; for
NPUs what large models take with graph capture, as vendors' guides and issues report it."""
TOKEN_S = 0.03
"""Seconds a generated token takes one request: measured with the embedded models, and what
published figures of large models on NPUs lie around. Speculation shortens it."""


class Forecast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one launch takes: ``seconds`` at most, roughly, of ``cards`` devices."""

    launch: Launch
    cards: int
    seconds: float

    @property
    def npu_hours(self) -> float:
        """Hours of one device."""
        return self.cards * self.seconds / 3600


def forecast(
    launches: Iterable[Launch], catalog: Catalog, workloads: Workloads
) -> tuple[Forecast, ...]:
    """Return what each launch takes when every answer is as long as it may be."""
    found = []
    for launch in launches:
        family = catalog.family(launch.key.family)
        seconds = START_S[family.platform] + sum(
            _block_s(block, family.workload_set, workloads) for block in launch.blocks
        )
        cards = family.cards if family.platform == "ascend" else 0
        found.append(Forecast(launch, cards, seconds))
    return tuple(found)


def _block_s(block: BlockKey, workload_set: str, workloads: Workloads) -> float:
    settings = workloads.settings(workload_set, block.workload)
    prompts = len(workloads.prompts(workload_set, block.workload))
    tokens = settings.max_tokens
    if block.purpose is Purpose.FORCED:
        prompts, tokens = min(prompts, settings.forced_prompts), settings.forced_tokens
    return prompts * tokens * TOKEN_S / min(block.concurrency, prompts)
