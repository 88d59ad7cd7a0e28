"""A small catalogue, and the records of runs on it."""

import datetime
import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.model import Checkpoint, Family, Method, Release, Signals
from specfloor.cells import OFF, Arm, Cell
from specfloor.judge.book import JudgementBook
from specfloor.judge.cell import Rule
from specfloor.judge.evidence import CellEvidence, RecordIndex
from specfloor.judge.floors import Floor, Floors, Quantity, ReportOnly
from specfloor.judge.run import RunResult, Wanted, judge_run
from specfloor.runs.records import (
    BlockKey,
    BlockRecord,
    CountersRecord,
    Environment,
    FindingRecord,
    LaunchKey,
    LaunchRecord,
    Purpose,
    Record,
    RequestRecord,
    RunInfo,
)
from specfloor.runs.store import SCHEMA
from specfloor.settings import Settings
from specfloor.signals.counts import counts_of_steps
from specfloor.triage.findings import Finding
from tests.unit.signals import builders as signals

FIXTURES = Path(__file__).parents[2] / "fixtures"

GLM = Family(
    name="glm-9.1-tiny",
    display="A family with two methods and two tiers",
    platform="cpu",
    core=True,
    aliases=("glm-tiny",),
    checkpoint=Checkpoint("hub", "somewhere/glm"),
    methods=(
        Method("mtp", k=(3, 1), core=True),
        Method("draft_model", k=(2,), draft="target"),
    ),
    workload_set="glm",
    workloads=("code", "structured-output"),
    tiers={"off": {"enable_thinking": False}, "on": {"enable_thinking": True}},
)
SMALL = Family(
    name="small",
    display="A family whose method drafts up to k tokens",
    platform="cpu",
    core=True,
    checkpoint=Checkpoint("hub", "somewhere/small"),
    methods=(Method("ngram", k=(4,), core=True, drafts_k=False),),
    workload_set="small",
    workloads=("rewrite",),
    tiers={"none": {}},
)
DRIFTED = msgspec.structs.replace(
    GLM, name="glm-drifted", core=False, aliases=(), floors_of="glm-9.1-tiny"
)
BIG = msgspec.structs.replace(GLM, name="big", platform="ascend", aliases=())


def catalog(*families: Family) -> Catalog:
    """Return a catalogue of two CPU releases and an Ascend one."""
    signals_ = Signals(per_request=True, token_ids=True, counters=True)
    releases = (
        Release("cpu-2.0", "cpu", "venv", "2.0", default=True, signals=signals_),
        Release("cpu-1.0", "cpu", "venv", "1.0", signals=Signals(token_ids=True)),
        Release("0.5.0", "ascend", "host", "0.5.0", default=True),
    )
    return Catalog(
        {release.name: release for release in releases},
        {family.name: family for family in families or (GLM, SMALL, DRIFTED, BIG)},
    )


CELL = Cell("cpu-2.0", "glm-9.1-tiny", "mtp", 3, "code", "off", 1)
RULE = Rule()


def floor(value: float = 0.5, quantity: str = "acceptance_rate", **fields) -> Floor:
    """Return a floor of ``CELL``'s method."""
    return Floor(
        **{
            "family": GLM.name,
            "method": "mtp",
            "quantity": Quantity(quantity),
            "value": value,
            "source": "a run",
            "date": datetime.date(2026, 5, 1),
            "hardware": "two cores",
            "reason": "it was reached",
            "n": 40,
        }
        | fields
    )


def report_only(quantity: str = "acceptance_rate", **fields) -> ReportOnly:
    """Return an entry without a floor for ``CELL``'s method."""
    own = {"family": GLM.name, "method": "mtp", "reason": "nothing to go by yet"}
    return ReportOnly(**own | {"quantity": Quantity(quantity)} | fields)


def floors(*entries: Floor | ReportOnly) -> Floors:
    """Return entries in force; without any, both quantities of ``CELL`` are only reported."""
    entries = entries or (report_only(), report_only("speedup"))
    return Floors(
        tuple(e for e in entries if isinstance(e, Floor)),
        tuple(e for e in entries if isinstance(e, ReportOnly)),
    )


def key(arm: Arm = OFF, repeat: int = 0, cell: Cell = CELL) -> LaunchKey:
    """Return the key of a launch of a cell's release and family."""
    return LaunchKey(cell.release, cell.family, arm, repeat)


def block_key(purpose: Purpose = Purpose.NATURAL, cell: Cell = CELL) -> BlockKey:
    """Return the key of a cell's block."""
    return BlockKey(cell.workload, cell.tier, cell.concurrency, purpose)


def launch(arm: Arm = OFF, repeat: int = 0, cell: Cell = CELL, **fields) -> LaunchRecord:
    """Return a launch that became healthy and says that what was asked for is in effect."""
    started = key(arm, repeat, cell)
    said = {
        "argv": ("python",),
        "env": {},
        "log": f"engines/{started.id}.log",
        "started_s": 0.0,
        "startup_s": 1.5,
        "version": cell.release.removeprefix("cpu-"),
        "speculative_config": "None",
        "speculation_series": (),
    }
    if arm.speculates:
        said |= {
            "speculative_config": f"SpeculativeConfig(method={arm.method!r})",
            "resolved_method": arm.method,
            "resolved_k": arm.k,
            "speculation_series": ("vllm:spec_decode_num_drafts",),
        }
    return LaunchRecord(key=started, **said | fields)


def fault(
    finding: Finding,
    arm: Arm = OFF,
    repeat: int = 0,
    cell: Cell = CELL,
    *,
    since: Purpose = Purpose.NATURAL,
    **fields,
) -> FindingRecord:
    """Return a fault of a launch that cost a cell its block for ``since`` and the one after it."""
    lost = [Purpose.NATURAL, Purpose.FORCED] if since is Purpose.NATURAL else [since]
    own = {"lost": tuple(block_key(purpose, cell) for purpose in lost)}
    said = f"it was a {finding}"
    return FindingRecord(key(arm, repeat, cell).id, finding, said, **own | fields)


ACCEPTED = (3, 2, 3, 0, 1, 3, 2, 3, 3, 1)
"""Accepted tokens of the ten steps of a good request at k = 3: 0.7 of what was drafted."""


def natural(
    arm: Arm = OFF,
    *,
    accepted: Sequence[int] = ACCEPTED,
    vary: bool = True,
    prompts: int = 40,
    answered: int | None = None,
    failed: Sequence[int] = (),
    text: str = "text of {}",
    domains: Sequence[str] = ("code",),
    cell: Cell = CELL,
    per_request: bool = True,
    counted: bool = True,
) -> list[Record]:
    """Return a block with natural stops, sent to the first launch of an arm.

    Args:
        arm: whose launch.
        accepted: by step.
        vary: whether every second request accepts one token less in its first step.
        prompts: in the block.
        answered: requests that were sent before the block broke off; all without it.
        failed: indexes of requests that failed.
        text: of the answers.
        domains: given to the prompts in turn.
        cell: whose block.
        per_request: whether the server sends the per-request object.
        counted: whether the counters were read.
    """
    at = {"launch": key(arm, cell=cell).id, "block": block_key(cell=cell)}
    records: list[Record] = [_sent(at, prompts)]
    tells = arm.speculates and per_request
    for index in range(prompts if answered is None else answered):
        own = (max(0, accepted[0] - index % 2), *accepted[1:]) if vary else tuple(accepted)
        steps = own if arm.speculates else (0,) * 10
        bad = "HTTP 400 instead of an answer: no" if index in failed else None
        answer = text.format(index)
        made = signals.request(
            index,
            (1, *(a + 1 for a in steps)),
            told=signals.told(*steps, k=arm.k) if tells and not bad else None,
            error=bad,
            domain=domains[index % len(domains)],
        )
        sha = hashlib.sha256(answer.encode()).hexdigest()
        records.append(msgspec.structs.replace(made, **at, text=answer, text_sha256=sha))
    if arm.speculates and counted:
        drafted = (arm.k,) * len(accepted)
        total = counts_of_steps((), ())
        for record in records:
            if isinstance(record, RequestRecord) and record.ok:
                total = total + counts_of_steps(
                    tuple(tokens - 1 for tokens in record.chunk_tokens[1:]), drafted
                )
        records.append(CountersRecord(**at, by_engine={"0": total}))
    return records


def forced(
    arm: Arm = OFF,
    repeat: int = 0,
    *,
    step_s: float = 0.02,
    accepted: Sequence[int] = ACCEPTED,
    prompts: int = 8,
    answered: int | None = None,
    cell: Cell = CELL,
) -> list[Record]:
    """Return a block of forced length; a step of prompt i takes ``step_s`` · (1 + i/100) s."""
    at = {
        "launch": key(arm, repeat, cell).id,
        "block": block_key(Purpose.FORCED, cell),
    }
    records: list[Record] = [_sent(at, prompts)]
    for index in range(prompts if answered is None else answered):
        tokens = (1, *(a + 1 for a in accepted)) if arm.speculates else (1,) * 31
        made = signals.request(index, tokens)
        times = tuple(step_s * (1 + index / 100) * i for i in range(len(tokens)))
        records.append(msgspec.structs.replace(made, **at, chunk_s=times))
    return records


def _sent(at: dict[str, object], prompts: int) -> BlockRecord:
    return BlockRecord(
        **at, prompts=prompts, fingerprint="f", seed=1, sampling={"temperature": 0.0}, template={}
    )


def both_arms(*, on: dict | None = None, launches: int = 1, cell: Cell = CELL) -> list[Record]:
    """Return a healthy run of one cell; ``on`` changes the block with natural stops."""
    records: list[Record] = []
    for repeat in range(launches):
        for arm in (OFF, cell.arm):
            records.append(launch(arm, repeat, cell))
            if repeat == 0:
                changed = (on or {}) if arm.speculates else {}
                records += natural(arm, cell=cell, **changed)
            # launches scatter a little
            records += forced(arm, repeat, step_s=0.02 + 0.0002 * repeat, cell=cell)
    return records


def evidence(*records: Record, cell: Cell = CELL) -> CellEvidence:
    """Return what records say of a cell."""
    return RecordIndex(records).evidence(cell)


def judged(
    records: Sequence[Record],
    *entries: Floor | ReportOnly,
    purposes: Sequence[Purpose] = tuple(Purpose),
    cells: Sequence[Cell] = (CELL,),
) -> RunResult:
    """Return the judgement of a run of cells."""
    book = JudgementBook(RecordIndex(records), catalog(), floors(*entries), RULE, hardware="here")
    return judge_run([Wanted(cell, frozenset(purposes)) for cell in cells], book)


def info(**fields) -> RunInfo:
    """Return what run.json says."""
    machine = Environment("3.11.7", "Linux", "a processor", 2, 2**33, {"specfloor": "0"})
    own = {"schema": SCHEMA, "run": "r1", "started": "2026-05-01T10:00:00+00:00"}
    return RunInfo(**own | {"settings": {}, "environment": machine} | fields)


def settings(**fields) -> Settings:
    """Return settings whose folders are those of the repository."""
    folders = {"floors_dir": FIXTURES / "floors", "workloads_dir": FIXTURES / "workloads"}
    return Settings(**folders | fields)
