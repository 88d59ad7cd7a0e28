"""What the records of a run hold about one cell."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from specfloor.cells import OFF, Arm, Cell
from specfloor.load.workload import Prompt
from specfloor.runs.records import (
    BlockKey,
    BlockRecord,
    CountersRecord,
    FindingRecord,
    LaunchKey,
    LaunchRecord,
    PromptsRecord,
    Purpose,
    Record,
    RequestRecord,
    variant_of,
)


class Block(msgspec.Struct, frozen=True):
    """One block as it was sent: its description, its requests in the seeded order, its counters."""

    sent: BlockRecord
    requests: tuple[RequestRecord, ...]
    counters: tuple[CountersRecord, ...]


class ArmEvidence(msgspec.Struct, frozen=True):
    """One launch of one arm, for one cell; None where a launch or block did not come about.

    ``lost`` are the cell's blocks that the fault kept from their end. A block that had come to it
    before, or that the launch was not to send, has lost nothing.
    """

    key: LaunchKey
    launch: LaunchRecord | None
    natural: Block | None
    forced: Block | None
    fault: FindingRecord | None
    lost: frozenset[Purpose] = frozenset()

    def broken_off(self, purpose: Purpose) -> FindingRecord | None:
        """Return the fault that kept the block of ``purpose`` from its end, if one did."""
        return self.fault if purpose in self.lost else None


class CellEvidence(msgspec.Struct, frozen=True):
    """Both arms of a cell, one entry a round of launches, in the order of the rounds."""

    cell: Cell
    on: tuple[ArmEvidence, ...]
    off: tuple[ArmEvidence, ...]


class RecordIndex:
    """Records by launch and block, so that a cell's evidence is found without a search."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._launches: dict[str, LaunchRecord] = {}
        self._faults: dict[str, FindingRecord] = {}
        self._sent: dict[tuple[str, BlockKey], BlockRecord] = {}
        self._prompts: dict[str, tuple[Prompt, ...]] = {}
        self._requests: dict[tuple[str, BlockKey], list[RequestRecord]] = defaultdict(list)
        self._counters: dict[tuple[str, BlockKey], list[CountersRecord]] = defaultdict(list)
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Take one more record."""
        match record:
            case RequestRecord():
                self._requests[record.launch, record.block].append(record)
            case CountersRecord():
                self._counters[record.launch, record.block].append(record)
            case BlockRecord():
                self._sent[record.launch, record.block] = record
            case PromptsRecord():
                self._prompts[record.fingerprint] = record.prompts
            case LaunchRecord():
                self._launches[record.key.id] = record
            case FindingRecord():
                # the first fault is the cause of those that follow it
                self._faults.setdefault(record.launch, record)
            case _:
                pass

    def blocks(self) -> Iterator[tuple[LaunchKey, BlockKey]]:
        """Yield the launch and the key of every block that was sent, in the order of the run."""
        for launch, block in self._sent:
            if launch in self._launches:
                yield self._launches[launch].key, block

    def prompts(self, fingerprint: str) -> tuple[Prompt, ...] | None:
        """Return the prompts of a set; None where a run does not hold them."""
        return self._prompts.get(fingerprint)

    def fault(self, launch: str) -> FindingRecord | None:
        """Return the first fault of a launch."""
        return self._faults.get(launch)

    def evidence(self, cell: Cell) -> CellEvidence:
        """Return what there is about ``cell``."""
        return CellEvidence(cell, self._arm(cell, cell.arm), self._arm(cell, OFF))

    def _arm(self, cell: Cell, arm: Arm) -> tuple[ArmEvidence, ...]:
        found: list[ArmEvidence] = []
        for repeat in range(self.repeats(LaunchKey(cell.release, cell.family, arm))):
            key = LaunchKey(cell.release, cell.family, arm, repeat)
            launch, fault = self._launches.get(key.id), self._faults.get(key.id)
            natural, forced = (self._block(key.id, _block_of(cell, purpose)) for purpose in Purpose)
            lost = [p for p in Purpose if fault and _block_of(cell, p) in fault.lost]
            found.append(ArmEvidence(key, launch, natural, forced, fault, frozenset(lost)))
        return tuple(found)

    def launch(self, key: LaunchKey) -> LaunchRecord | None:
        """Return what a launch said of itself; None when it did not become healthy."""
        return self._launches.get(key.id)

    def repeats(self, first: LaunchKey) -> int:
        """Return how many launches like ``first`` there were, those that failed among them."""
        for count in itertools.count():
            key = msgspec.structs.replace(first, repeat=count)
            if key.id not in self._launches and key.id not in self._faults:
                return count
        raise AssertionError("unreachable")

    def concurrencies(self, first: LaunchKey) -> tuple[int, ...]:
        """Return at which concurrencies launches like ``first`` were sent something, ascending."""
        ids = {
            msgspec.structs.replace(first, repeat=repeat).id
            for repeat in range(self.repeats(first))
        }
        return tuple(sorted({block.concurrency for launch, block in self._sent if launch in ids}))

    def arms(self, cell: Cell, experiment: str) -> tuple[Arm, ...]:
        """Return the arms of a cell's method that an experiment launched, by ascending k."""
        wanted = cell.release, cell.family, variant_of(cell, experiment), cell.method
        found = {
            key.arm
            for key in (launch.key for launch in self._launches.values())
            if (key.release, key.family, key.variant, key.arm.method) == wanted
        }
        return tuple(sorted(found))

    def experiment_launches(self, cell: Cell, experiment: str) -> Iterator[LaunchKey]:
        """Yield the launches of an experiment for a cell, by arm."""
        variant = variant_of(cell, experiment)
        for arm in (OFF, cell.arm):
            first = LaunchKey(cell.release, cell.family, arm, variant=variant)
            for repeat in range(self.repeats(first)):
                yield msgspec.structs.replace(first, repeat=repeat)

    def first_fault(self, cell: Cell, experiment: str) -> FindingRecord | None:
        """Return the first fault of an experiment's launches."""
        keys = self.experiment_launches(cell, experiment)
        return next((fault for key in keys if (fault := self._faults.get(key.id))), None)

    def logs(self, cell: Cell, experiment: str) -> tuple[str, ...]:
        """Return the logs of an experiment's launches, relative to the run's folder."""
        found = (
            launch.log if (launch := self._launches.get(key.id)) else None
            for key in self.experiment_launches(cell, experiment)
        )
        return tuple(dict.fromkeys(log for log in found if log))

    def block(self, launch: LaunchKey, block: BlockKey) -> Block | None:
        """Return a block of a launch; None when it was not sent."""
        return self._block(launch.id, block)

    def _block(self, launch: str, block: BlockKey) -> Block | None:
        key = launch, block
        if (sent := self._sent.get(key)) is None:
            return None
        requests = sorted(self._requests[key], key=lambda request: request.index)
        return Block(sent, tuple(requests), tuple(self._counters[key]))


def _block_of(cell: Cell, purpose: Purpose) -> BlockKey:
    return BlockKey(cell.workload, cell.tier, cell.concurrency, purpose)
