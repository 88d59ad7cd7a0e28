"""A bench whose servers answer by a law: what each request accepts, thinks and says."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from specfloor.errors import UsageError
from specfloor.judge.evidence import RecordIndex
from specfloor.load.client import Counting
from specfloor.load.expect import ExpectText
from specfloor.load.settings import WorkloadSettings
from specfloor.load.workload import Message, Prompt, fingerprint
from specfloor.measure import BlockPlan
from specfloor.plan import Overrides
from specfloor.runs.records import (
    BlockKey,
    BlockRecord,
    CountersRecord,
    FindingRecord,
    LaunchKey,
    PerRequestSpeculation,
    PromptsRecord,
    Record,
    RequestRecord,
)
from specfloor.signals.counts import counts_of_steps
from specfloor.triage.findings import Finding
from tests.unit.builders import catalog, launch

SETTINGS = WorkloadSettings("x", max_tokens=60, forced_tokens=40, forced_prompts=4)
PROMPTS = tuple(
    Prompt(f"p{i:02d}", "code", (Message("user", f"do {i}"),), expect=ExpectText(f"done {i}"))
    for i in range(40)
)


class Answer(msgspec.Struct, frozen=True):
    """What a server answers: accepted tokens a step, and the first of them that write reasoning."""

    accepted: tuple[int, ...]
    thinking: int = 0
    text: str = ""
    finish_reason: str = "stop"
    prompt_tokens: int = 7


Law = Callable[[LaunchKey, BlockKey, int, Prompt], Answer]
"""Takes the launch, the block, the number of the request in the launch, and its prompt."""


class _Workloads:
    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def settings(self, workload_set: str, workload: str) -> WorkloadSettings:
        if workload not in self._names:
            raise UsageError("no such workload")
        return SETTINGS


class AnswersBench:
    """Records what servers would have answered.

    Args:
        law: what they answer.
        size: of the experiment.
        soak_s: seconds a soak lasts; each request takes one.
        soak_requests: how many it has instead.
        workloads: that the set has.
        said: further fields of launch records.
        hangs_at: the request of a launch with which it stops answering.
        faults: ids of launches that do not become healthy.
        engines: labels of the engines that share the requests.
    """

    def __init__(
        self,
        law: Law,
        *,
        size: str = "small",
        soak_s: float = 600.0,
        soak_requests: int | None = None,
        workloads: tuple[str, ...] = (),
        said: dict[str, Any] | None = None,
        hangs_at: int | None = None,
        faults: tuple[str, ...] = (),
        engines: tuple[str, ...] = ("0",),
    ) -> None:
        self.catalog = catalog()
        self.workloads = _Workloads(workloads)
        self.index = RecordIndex()
        self.size = size
        self.soak_s = soak_s
        self.soak_requests = soak_requests
        self.seed = 1
        self.lines: list[str] = []
        self.say = self.lines.append
        self.launches: list[tuple[LaunchKey, Mapping[BlockKey, BlockPlan], Overrides]] = []
        self.records: list[Record] = []
        self._law = law
        self._said = said or {}
        self._hangs_at = hangs_at
        self._faults = faults
        self._engines = engines

    def most_concurrent(self, cell: object, at_most: int) -> int:
        return at_most

    def block_plan(self, launch: LaunchKey, block: BlockKey) -> BlockPlan:
        template = self.catalog.family(launch.family).tiers[block.tier]
        return BlockPlan(PROMPTS, SETTINGS, template, Counting.PER_BLOCK)

    def launch(
        self, key: LaunchKey, plans: Mapping[BlockKey, BlockPlan], overrides: Overrides
    ) -> None:
        self.launches.append((key, plans, overrides))
        if key.id in self._faults:
            self._add(FindingRecord(key.id, Finding.START_FAIL, "it ended", lost=tuple(plans)))
            return
        self._add(msgspec.structs.replace(launch(key.arm, key.repeat, **self._said), key=key))
        number = 0
        for place, (block, plan) in enumerate(plans.items()):
            number = self._send(key, block, plan, number)
            if self._hangs_at is not None and number >= self._hangs_at:
                lost = tuple(plans)[place:]
                self._add(FindingRecord(key.id, Finding.HANG, "it lives and is silent", lost=lost))
                return

    def _send(self, key: LaunchKey, block: BlockKey, plan: BlockPlan, number: int) -> int:
        prints = fingerprint(plan.prompts)
        if plan.keep_prompts and self.index.prompts(prints) is None:
            self._add(PromptsRecord(key.id, prints, plan.prompts))
        sampling = {"temperature": 0.0}
        self._add(
            BlockRecord(
                *(key.id, block, len(plan.prompts), prints, 1, sampling, plan.template),
                duration_s=plan.duration_s,
            )
        )
        requests = len(plan.prompts) if plan.duration_s is None else int(plan.duration_s)
        total = counts_of_steps((), ())
        for index in range(requests):
            if number == self._hangs_at:
                return number
            prompt = plan.prompts[index % len(plan.prompts)]
            answer = self._law(key, block, number, prompt)
            self._add(_request(key, block, index, prompt, answer=answer, at=float(number)))
            number += 1
            total = total + counts_of_steps(answer.accepted, (key.arm.k,) * len(answer.accepted))
        if key.arm.speculates:
            by_engine = dict.fromkeys(self._engines, total)
            self._add(CountersRecord(key.id, block, by_engine))
        return number

    def _add(self, record: Record) -> None:
        self.records.append(record)
        self.index.add(record)


def _request(
    key: LaunchKey, block: BlockKey, index: int, prompt: Prompt, *, answer: Answer, at: float
) -> RequestRecord:
    k, steps = key.arm.k, answer.accepted
    tokens = (1, *(kept + 1 for kept in steps)) if k else (1,) * 30
    told = PerRequestSpeculation(
        num_spec_steps=len(steps),
        num_draft_tokens=k * len(steps),
        num_accepted_draft_tokens=sum(steps),
        num_spec_tokens=k,
        acceptance_histogram=tuple(steps.count(j) for j in range(k + 1)),
        per_step_accepted=steps,
        per_step_drafted=(k,) * len(steps),
    )
    return RequestRecord(
        launch=key.id,
        block=block,
        index=index,
        prompt_id=prompt.id,
        domain=prompt.domain,
        started_s=at,
        first_token_s=0.1,
        finished_s=0.9,
        chunk_s=tuple(0.1 + 0.01 * i for i in range(len(tokens))),
        chunk_tokens=tokens,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=sum(tokens),
        finish_reason=answer.finish_reason,
        text_sha256=answer.text,
        text=answer.text,
        reasoning="let me see" if answer.thinking else "",
        reasoning_chunks=1 + answer.thinking if answer.thinking else 0,
        token_ids=tuple(range(sum(tokens))),
        speculation=told if k else None,
    )
