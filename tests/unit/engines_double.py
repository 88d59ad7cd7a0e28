"""Engines that start nothing, and a client that sends nothing."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from specfloor.load.client import Block, BlockOutcome, Ending, Endpoint
from specfloor.measure import Fault, Running
from specfloor.plan import Overrides
from specfloor.runs.records import LaunchKey, LaunchRecord, Record, RequestRecord
from tests.unit.builders import launch


class Doubles:
    """Engines and client of a measurement, and the order in which they were used.

    ``on_prepare``, ``on_start`` and ``on_diagnose`` map the id of a launch to what is raised there
    (or told, for a diagnosis); ``on_send`` maps ``<launch> <workload> <purpose>`` to what is raised
    or to how the block ends. ``requests`` gives the records of a block.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.blocks: list[Block] = []
        self.overrides: dict[str, Overrides] = {}
        self.on_prepare: dict[str, BaseException] = {}
        self.on_start: dict[str, BaseException] = {}
        self.on_send: dict[str, BaseException | Ending] = {}
        self.on_diagnose: dict[str, Fault] = {}
        self.running: str | None = None
        self.patience_s: float | None = None
        self.requests: Callable[[Block], list[Record]] = lambda _: []

    def prepare(self, key: LaunchKey) -> None:
        self.calls.append(f"prepare {key.id}")
        _raise(self.on_prepare.get(key.id))

    @contextlib.contextmanager
    def start(self, key: LaunchKey, log: Path, overrides: Overrides) -> Iterator[Running]:
        self.calls.append(f"start {key.id}")
        self.overrides[key.id] = overrides
        assert self.running is None, "one server at a time"
        log.write_text("a log\n")
        _raise(self.on_start.get(key.id))
        self.running = key.id
        try:
            yield _Server(self, key)
        finally:
            self.calls.append(f"stop {key.id}")
            self.running = None

    async def run_block(
        self,
        endpoint: Endpoint,
        block: Block,
        on_record: Callable[[RequestRecord], bool | None],
        on_counters: Callable[[Record], None],
        *,
        clock_zero: float,
    ) -> BlockOutcome:
        """Stand in for the client."""
        assert block.launch == self.running
        assert endpoint.model == "served"
        self.calls.append(f"send {block.key.workload} {block.key.purpose}")
        self.blocks.append(block)
        sent = failed = 0
        stopped = False
        for record in self.requests(block):
            if not isinstance(record, RequestRecord):
                on_counters(record)
                continue
            sent, failed = sent + 1, failed + (not record.ok)
            if on_record(record):
                stopped = True
                break
        what = self.on_send.get(f"{block.launch} {block.key.workload} {block.key.purpose}")
        if not isinstance(what, Ending):
            _raise(what)
            what = Ending.STOPPED if stopped else Ending.COMPLETE
        return BlockOutcome(
            what, f"it {what}", sent, failed, generation_s=2.0, warmup_s=0.5, counting_s=0.1
        )


class _Server:
    def __init__(self, doubles: Doubles, key: LaunchKey) -> None:
        self._doubles = doubles
        self._key = key

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("http://nowhere", "served")

    def describe(self, key: LaunchKey, log: str, started_s: float) -> LaunchRecord:
        return msgspec.structs.replace(
            launch(key.arm, key.repeat), key=key, log=log, started_s=started_s
        )

    def diagnose(self, patience_s: float) -> Fault | None:
        self._doubles.patience_s = patience_s
        return self._doubles.on_diagnose.get(self._key.id)


def _raise(what: BaseException | None) -> None:
    if what is not None:
        raise what
