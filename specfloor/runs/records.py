"""The records of a run, one JSON object a line of ``records.jsonl``."""

from enum import StrEnum
from typing import Any, Literal, Self

import msgspec

from specfloor.cells import Arm, Cell, slug
from specfloor.host.npu_smi import Clock, Device, Process
from specfloor.i18n import _
from specfloor.load.workload import Prompt
from specfloor.runs.spoken import spoken
from specfloor.signals.counts import DraftCounts
from specfloor.triage.findings import Finding


class Purpose(StrEnum):
    """Why a block of requests was sent."""

    NATURAL = "natural"
    """Natural stops, for acceptance and for the text."""
    FORCED = "forced"
    """End of sequence ignored, so that both arms generate the same length, for speed."""


class LaunchKey(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One server start; ``repeat`` counts the launches of the same arm and variant from 0.

    ``variant`` sets the launch of an experiment apart from the plain one of its arm, and from that
    of another cell; it is part of file names. See :func:`variant_of`.
    """

    release: str
    family: str
    arm: Arm
    repeat: int = 0
    variant: str = ""

    @property
    def id(self) -> str:
        """A name for folders and log lines, such as ``cpu-0.32.0-glm_moe_tiny-mtp3-0``."""
        arm = f"{self.arm.label}-{self.variant}" if self.variant else self.arm.label
        return f"{self.release}-{slug(self.family)}-{arm}-{self.repeat}"


def variant_of(cell: Cell, experiment: str) -> str:
    """Return the variant of an experiment's launches for a cell, such as ``flip-code-off-c1``.

    A launch key has release, family and arm, so this has the rest of the cell: cells that differ
    in workload or tier only are measured one after the other on servers of their own.
    """
    return f"{experiment}-{slug(cell.workload)}-{slug(cell.tier)}-c{cell.concurrency}"


class BlockKey(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One block of requests sent to one launch.

    ``label`` sets it apart from others of the same launch that have the rest in common, such as
    the rate of an open loop.
    """

    workload: str
    tier: str
    concurrency: int
    purpose: Purpose
    label: str = ""


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


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as the server's parser gave it; ``arguments`` are its text, JSON if all is well."""

    name: str
    arguments: str


class RequestRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="request", tag_field="record"
):
    """One request as the client saw it.

    ``started_s`` is in seconds on the run's own clock; ``first_token_s``, ``finished_s`` and
    ``chunk_s`` are seconds after it. ``chunk_tokens`` are the tokens of each chunk that carried
    any, in the order of ``chunk_s``. ``index`` is the place in the seeded order of the block.
    ``error`` is a sentence when the request failed, and then the other fields hold what had come.
    ``tool_calls`` are in their order and no part of ``text``, and neither is ``reasoning``, which
    came in the first ``reasoning_chunks`` of the chunks; the last of these may hold both.
    ``due_s`` is when an open loop was to send it, on the run's own clock; what a user waits counts
    from then, and the request itself may have started later.
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
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning_chunks: int = 0
    due_s: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the answer came to its end."""
        return self.error is None

    @property
    def late_s(self) -> float:
        """Seconds that the client sent it after it was due; 0 in a closed loop."""
        return 0.0 if self.due_s is None else max(0.0, self.started_s - self.due_s)


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
    chat template that select the tier. With ``duration_s`` the prompts were sent over and over for
    so many seconds; with ``rate_per_s`` each when it was due, in an open loop of this mean rate.
    """

    launch: str
    block: BlockKey
    prompts: int
    fingerprint: str
    seed: int
    sampling: dict[str, Any]
    template: dict[str, Any]
    duration_s: float | None = None
    rate_per_s: float | None = None


class PromptsRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="prompts", tag_field="record"
):
    """The prompts of a block whose answers are judged, so that a run can be judged without its set.

    Written once for each ``fingerprint``, with the ``launch`` that was sent them first.
    """

    launch: str
    fingerprint: str
    prompts: tuple[Prompt, ...]


NoticeKind = Literal["graphs_lost", "draft_eager", "schedule_lost", "other"]


class Notice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line by which an engine says that it does something else than it was asked for.

    ``graphs_lost``: it goes from graphs to eager mode; ``draft_eager``: the draft does;
    ``schedule_lost``: it gives up a schedule of k.
    """

    kind: NoticeKind
    text: str


class EngineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an engine resolved its settings to, in its own words; None where it does not say.

    ``graph_mode`` is the mode of graph capture (NONE is eager), ``capture_sizes`` the numbers of
    tokens that graphs are captured for. ``reasoning_parser`` is empty when
    there is none.
    """

    enforce_eager: bool | None = None
    graph_mode: str | None = None
    reasoning_parser: str | None = None
    prefix_caching: bool | None = None
    capture_sizes: tuple[int, ...] = ()


class LaunchRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="launch", tag_field="record"
):
    """A server that became healthy, and what it says is in effect.

    ``argv`` and ``env`` are what it was started with; ``version`` what ``/version`` answers;
    ``speculative_config`` the configuration its log resolves to, as text, if it has one, with
    ``resolved_method`` and ``resolved_k`` read from it;
    ``speculation_series`` the names of its metrics about drafts, None when it gave no metrics.

    ``settings`` are what its log, its metrics or ``/server_info`` resolve others to; ``notices``
    the lines of its log that say it does something else than it was asked for. ``variables`` are
    all that it saw and that engines read, secrets blotted out; ``packages`` what its interpreter
    has. ``rendered`` maps a tier to a hash of the tokens that one and the same message becomes.
    ``host`` is the host of a cluster that it ran on; None on the one that the run was started on.
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
    settings: EngineSettings | None = None
    notices: tuple[Notice, ...] = ()
    variables: dict[str, str] = {}
    packages: dict[str, str] = {}
    rendered: dict[str, str] = {}
    host: str | None = None


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
        message = spoken(self.message)
        if not self.cause:
            return message
        return _("{message}. The log says: {cause}").format(message=message, cause=self.cause)


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


class ProcessorSample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The processor at one moment: shares in percent of all its cores, memory in bytes.

    ``busy_pct`` and ``own_pct`` are means since the sample before; ``own_pct`` is the part of the
    processes this run started, None where it could not be taken. ``load`` is the run queue of the
    last minute; ``temp_c`` the hottest sensor, None without sensors. ``held_back_s`` are the
    seconds since the sample before in which a quota of the control group kept processes from
    running, summed over them; None without one.
    """

    busy_pct: float
    own_pct: float | None
    load: float
    memory_used_bytes: int
    memory_total_bytes: int
    temp_c: float | None = None
    held_back_s: float | None = None


class HostSampleRecord(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="host", tag_field="record"
):
    """The machine at one moment of a launch, taken while it was measured.

    ``t_s`` is in seconds on the run's own clock, ``took_s`` what taking the sample lasted.
    ``devices`` and ``processes`` are those of npu-smi, empty on a host without NPUs; ``own_pids``
    are the processes that this run started, as this system numbers them, which in a container may
    differ from npu-smi's numbers. ``clocks`` are those of the hottest NPU that works. ``problem``
    says why the devices could not be read.
    """

    launch: str
    t_s: float
    took_s: float
    processor: ProcessorSample | None = None
    devices: tuple[Device, ...] = ()
    processes: tuple[Process, ...] = ()
    own_pids: tuple[int, ...] = ()
    clocks: tuple[Clock, ...] = ()
    problem: str | None = None


Record = (
    RequestRecord
    | CountersRecord
    | BlockRecord
    | PromptsRecord
    | LaunchRecord
    | FindingRecord
    | SplitRecord
    | HostSampleRecord
)


FlagKind = Literal[
    "variable_unknown",
    "variable_not_read",
    "driver_as_cann",
    "cann_unknown",
    "cann_mismatch",
    "version_pair",
    "npu_missing",
    "npu_smi",
    "device_unwell",
    "memory_full",
]
"""What can be wrong with an environment, for programs; the words are in the message."""


class HostFlag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something about an environment that its user should know: ``message`` is a sentence."""

    kind: FlagKind
    message: str


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a run was made; ``packages`` are the harness's own.

    ``accelerators`` are the NPU devices by name, in their order; empty without any. ``cann`` is the
    version of the toolkit installed in ``cann_home``, ``driver`` and ``firmware`` those of the NPU
    driver's packages, ``npu_smi`` the version of that tool. ``engines`` maps an interpreter to the
    packages an engine stands on (vllm, vllm-ascend, torch, …) as installed for it. ``variables``
    are those set that engines read, secrets blotted out. None is unknown.
    """

    python: str
    platform: str
    cpu: str
    cores: int
    memory_bytes: int
    packages: dict[str, str]
    accelerators: tuple[str, ...] = ()
    cann: str | None = None
    cann_home: str | None = None
    driver: str | None = None
    firmware: str | None = None
    npu_smi: str | None = None
    container: bool | None = None
    engines: dict[str, dict[str, str]] = {}
    variables: dict[str, str] = {}
    flags: tuple[HostFlag, ...] = ()


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
