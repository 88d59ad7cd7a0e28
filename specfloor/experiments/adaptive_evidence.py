"""What the records of a run hold about arms under a mixed load."""

from collections.abc import Iterator, Mapping

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.experiments import mechanisms
from specfloor.experiments.adaptive_arms import arms_of, capacity_key, compared_with
from specfloor.experiments.adaptive_report import ArmCounts, Compared, Load, Said
from specfloor.judge import mixed
from specfloor.judge.cell import Rule
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.times import Clock, clock_for
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import BlockKey, LaunchKey
from specfloor.signals.counts import pooled
from specfloor.triage.findings import Finding


class MixedEvidence:
    """Reads the loads, the counters and the faults of a cell's arms."""

    def __init__(self, index: RecordIndex, cell: Cell, catalog: Catalog) -> None:
        self._index = index
        self._cell = cell
        self._offered = mechanisms.offered(cell, catalog)
        arms = arms_of(cell, catalog, ())
        self._launches: dict[str, list[LaunchKey]] = {
            arm.name: [arm.key(cell, n) for n in range(index.repeats(arm.key(cell, 0)))]
            for arm in arms
        }
        """The launches of each arm, in the order of the rounds."""

    @property
    def capacity(self) -> float | None:
        """The requests a second that the fixed arm got through."""
        key = capacity_key(self._cell)
        sent = (self._index.block(*one) for one in self._blocks([key]))
        return next((mixed.capacity(block.requests) for block in sent if block), None)

    @property
    def logs(self) -> tuple[str, ...]:
        """The logs of all launches, relative to the run's folder."""
        keys = [capacity_key(self._cell), *(k for keys in self._launches.values() for k in keys)]
        launched = (self._index.launch(key) for key in keys)
        return tuple(dict.fromkeys(launch.log for launch in launched if launch))

    def loads(self, rule: Rule) -> Iterator[Load]:
        """Yield each load, in the order in which they were first sent."""
        keys = [key for keys in self._launches.values() for key in keys]
        for block in dict.fromkeys(block for _, block in self._blocks(keys)):
            yield self._load(block, rule)

    def lost(self) -> Iterator[Said]:
        """Yield what ended a launch, and that an engine gave its schedule up."""
        capacity = {"the arm that the capacity is measured with": [capacity_key(self._cell)]}
        for name, keys in (capacity | self._launches).items():
            for key in keys:
                if fault := self._index.fault(key.id):
                    why = f"{name} ended early: {fault.sentence}"
                    yield Said(Verdict.FAIL, fault.finding, why)
                launched = self._index.launch(key)
                for notice in launched.notices if launched else ():
                    if notice.kind == "schedule_lost":
                        why = f"{name} is not in effect: {notice.text}"
                        yield Said(Verdict.FAIL, Finding.CONFIG_NOT_IN_EFFECT, why)

    def counts(self) -> Iterator[ArmCounts]:
        """Yield what the counters of each arm that drafts say over all loads."""
        counting = {mechanism.name: mechanism.counting for mechanism in self._offered}
        for name, keys in self._launches.items():
            sent = (self._index.block(*one) for one in self._blocks(keys))
            total = pooled(
                counts
                for block in sent
                if block
                for record in block.counters
                for counts in record.by_engine.values()
            )
            if total.steps:
                a_step = total.drafted / total.steps
                yield ArmCounts(name, total.rate, total.length, a_step, counting.get(name, ""))

    def _blocks(self, keys: list[LaunchKey]) -> list[tuple[LaunchKey, BlockKey]]:
        return [
            (launch, block)
            for launch, block in self._index.blocks()
            if launch in keys and block.tier == self._cell.tier
        ]

    def _load(self, block: BlockKey, rule: Rule) -> Load:
        sent = {
            name: {
                key.repeat: found
                for key in keys
                if (found := self._index.block(key, block)) and found.requests
            }
            for name, keys in self._launches.items()
        }
        there = [one for blocks in sent.values() for one in blocks.values()]
        clock = clock_for(request for one in there for request in one.requests)
        rate = next((one.sent.rate_per_s for one in there if one.sent.rate_per_s), 0.0)
        arms: dict[str, mixed.Rounds] = {
            name: {
                repeat: [mixed.served(request, clock) for request in one.requests]
                for repeat, one in blocks.items()
            }
            for name, blocks in sent.items()
            if blocks
        }
        limits, source = _limits(arms, rule)
        share = float(block.label)
        return Load(
            utilisation=share,
            rate_per_s=rate,
            limits=limits,
            limits_from=source,
            whole_requests=clock is Clock.WHOLE,
            arms=tuple(
                mixed.describe(name, rounds, limits, rate, rule.alpha)
                for name, rounds in arms.items()
            ),
            compared=tuple(self._compared(arms, limits, share, rule)),
        )

    def _compared(
        self,
        arms: Mapping[str, mixed.Rounds],
        limits: tuple[mixed.Limit, ...],
        load: float,
        rule: Rule,
    ) -> Iterator[Compared]:
        """Yield each fixed arm against its off arm, and each adaptive one against its fixed."""
        fixed_first = dict.fromkeys(
            pair
            for mechanism in self._offered
            for off, fixed in (compared_with(mechanism),)
            for pair in ((fixed, off, False), (mechanism.name, fixed, True))
        )
        for arm, against, adaptive in fixed_first:
            if arm in arms and against in arms:
                margin = mixed.MARGIN if adaptive else mixed.BROKEN
                found = mixed.compare(
                    arms[arm], arms[against], limits, load=load, alpha=rule.alpha, margin=margin
                )
                yield Compared(arm, against, adaptive, found)


def _limits(arms: Mapping[str, mixed.Rounds], rule: Rule) -> tuple[tuple[mixed.Limit, ...], str]:
    if rule.slo:
        every = mixed.kinds(*arms.values())
        limits = tuple(mixed.Limit(kind, rule.slo.ttft_s, rule.slo.tpot_s) for kind in every)
        return limits, "given"
    off = next((arms[name] for name in arms if name.startswith("off")), None)
    return (mixed.derived_limits(off) if off else ()), "that 95 % of the off arm keep"
