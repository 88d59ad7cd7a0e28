"""The records of a run, one JSON object a line of ``records.jsonl``."""

from enum import StrEnum
from typing import Any, Self

import msgspec

from specfloor.cells import Arm, Cell, slug
from specfloor.signals.counts import DraftCounts
from specfloor.triage.findings import Finding


class Purpose(StrEnum):
    """Why a block of requests was sent."""

    NATURAL = "natural"
    """Natural stops, for acceptance and for the text."""
    FORCED = "forced"
    """End of sequence ignored, so that both arms generate the same length, for speed."""


class LaunchKey(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One server start; ``repeat`` counts the launches of the same arm from 0."""

    release: str
    family: str
    arm: Arm
    repeat: int = 0

    @property
    def id(self) -> str:
        """A name for folders and log lines, such as ``cpu-0.32.0-glm_moe_tiny-mtp3-0``."""
        return f"{self.release}-{slug(self.family)}-{self.arm.label}-{self.repeat}"


class BlockKey(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One block of requests sent to one launch."""

    workload: str
    tier: str
    concurrency: int
    purpose: Purpose


def cell_of(launch: LaunchKey, block: BlockKey) -> Cell:
    """Return the cell that a block of a launch with speculation on measures."""
    return Cell(
        launch.release,
        launch.family,
        launch.arm.method,
        launch.arm.k,
        block.workload,
        block.tier,
        block.concurrency,
    )


class PerRequestSpeculation(msgspec.Struct, frozen=True):
    """Rung A as the server sent it (``metrics.speculative_decoding`` of a response).

    ``acceptance_histogram[j]`` is the number of steps that accepted exactly j tokens. Fields that
    later versions add are ignored.
    """

    num_spec_steps: int
    num_draft_tokens: int
    num_accepted_draft_tokens: int
    num_spec_tokens: int
    acceptance_histogram: tuple[int, ...]
    per_step_accepted: tuple[int, ...] | None = None
    per_step_drafted: tuple[int, ...] | None = None


class RequestRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="request", tag_field="record"
):
    """One request as the client saw it.

    ``started_s`` is in seconds on the run's own clock; ``first_token_s``, ``finished_s`` and
    ``chunk_s`` are seconds after it. ``chunk_tokens`` are the tokens of each chunk that carried
    any, in the order of ``chunk_s``. ``index`` is the place in the seeded order of the block.
    ``error`` is a sentence when the request failed, and then the other fields hold what had come.
    """

    launch: str
    block: BlockKey
    index: int
    prompt_id: str
    domain: str
    started_s: float
    first_token_s: float | None
    finished_s: float
    chunk_s: tuple[float, ...]
    chunk_tokens: tuple[int, ...]
    prompt_tokens: int | None
    completion_tokens: int | None
    finish_reason: str | None
    text_sha256: str
    text: str
    reasoning: str = ""
    token_ids: tuple[int, ...] = ()
    speculation: PerRequestSpeculation | None = None
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the answer came to its end."""
        return self.error is None


class CountersRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="counters", tag_field="record"
):
    """Rung C over one block, or over one request of it when ``index`` is set.

    ``by_engine`` maps the engine label to after minus before; it is empty when the endpoint has no
    speculation series. ``problem`` says why a difference could not be taken (a reset, no answer).
    """

    launch: str
    block: BlockKey
    by_engine: dict[str, DraftCounts]
    index: int | None = None
    problem: str | None = None


class BlockRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="block", tag_field="record"
):
    """A block about to be sent: what is needed to judge it and to compare it with another run's.

    ``prompts`` is the number of prompts in the order, ``fingerprint`` that of the prompt set,
    ``seed`` that of the order, ``sampling`` every parameter sent, ``template`` the arguments of the
    chat template that select the tier.
    """

    launch: str
    block: BlockKey
    prompts: int
    fingerprint: str
    seed: int
    sampling: dict[str, Any]
    template: dict[str, Any]


class LaunchRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="launch", tag_field="record"
):
    """A server that became healthy, and what it says is in effect.

    ``argv`` and ``env`` are what it was started with; ``version`` what ``/version`` answers;
    ``speculative_config`` the configuration its log resolves to, as text, if it has one, with
    ``resolved_method`` and ``resolved_k`` read from it;
    ``speculation_series`` the names of its metrics about drafts, None when it gave no metrics.
    """

    key: LaunchKey
    argv: tuple[str, ...]
    env: dict[str, str]
    log: str
    started_s: float
    startup_s: float
    version: str | None = None
    speculative_config: str | None = None
    resolved_method: str | None = None
    resolved_k: int | None = None
    speculation_series: tuple[str, ...] | None = None


class FindingRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="finding", tag_field="record"
):
    """A finding made while measuring: an engine that would not start, died or stopped answering.

    ``launch`` is the id of the launch it ended; ``cause`` the line of the log that says why;
    ``evidence`` the path of the log, relative to the run's folder; ``lost`` the blocks of the
    launch that did not come to their end, the one that was being sent first.
    """

    launch: str
    finding: Finding
    message: str
    cause: str | None = None
    evidence: str | None = None
    lost: tuple[BlockKey, ...] = ()

    @property
    def sentence(self) -> str:
        """What happened and what the log says of it, without a full stop at the end."""
        return f"{self.message}. The log says: {self.cause}" if self.cause else self.message


class Phase(StrEnum):
    """Where wall time goes that is not the harness's own."""

    INSTALL = "install"
    """Building an engine's environment and preparing checkpoints."""
    START = "start"
    """From starting a server until it is healthy, and stopping it."""
    GENERATION = "generation"
    """Requests in flight."""


class SplitRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="split", tag_field="record"
):
    """Wall time of one phase of one launch, in seconds."""

    launch: str
    phase: Phase
    seconds: float


Record = RequestRecord | CountersRecord | BlockRecord | LaunchRecord | FindingRecord | SplitRecord


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a run was made; ``packages`` are the harness's own, engines say theirs per launch.

    ``accelerators`` are the NPU devices by name, in their order; empty without any.
    """

    python: str
    platform: str
    cpu: str
    cores: int
    memory_bytes: int
    packages: dict[str, str]
    accelerators: tuple[str, ...] = ()


class RunInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``run.json``: what was asked for, where, and with what."""

    schema: int
    run: str
    started: str
    settings: dict[str, Any]
    environment: Environment
    complete: bool = False

    def completed(self) -> Self:
        """Return the same run marked as having come to its end."""
        return msgspec.structs.replace(self, complete=True)
