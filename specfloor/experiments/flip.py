"""At which concurrency does speculation stop paying?"""

from collections.abc import Mapping, Sequence

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import OFF, Cell
from specfloor.experiments import rounds
from specfloor.experiments.base import (
    Bench,
    Curve,
    ExperimentJudgement,
    Point,
    Table,
    arm_launch,
)
from specfloor.judge.cell import Rule
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.flip import At, Flip, Speedup, find_flip, refine
from specfloor.judge.floors import Floor, Floors, Quantity
from specfloor.judge.verdict import Verdict
from specfloor.triage.findings import Finding

ROUNDS = {"small": 2, "full": 3}
"""Pairs of launches. Two give an interval at all; three are what a speed floor takes."""
MOST = {"small": 32, "full": 256}
"""Requests in flight up to which is looked, unless the engine or the user says less."""
REFINED = {"small": 1, "full": 3}
"""Concurrencies added inside the bracket that the first round finds."""
BOUNDARIES = 4
"""Graph-capture sizes of which both sides are measured, those around the bracket first."""
FLAT = 0.05
"""Change of the acceptance rate over concurrency up to which it is called flat: the margin of an
acceptance floor."""


class AcceptanceAt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The acceptance rate of all launches at one concurrency, pooled."""

    concurrency: int
    rate: float


class FlipDetail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the flip experiment found, for the JSON file."""

    flip: Flip
    acceptance: tuple[AcceptanceAt, ...]
    acceptance_flat: bool | None


class FlipPoint:
    """Measures both arms over concurrencies and finds where the speedup crosses 1."""

    name = "flip"
    varies = ("concurrency",)

    def why_not(self, cell: Cell, catalog: Catalog) -> str | None:
        """Every cell has an answer."""
        del cell, catalog
        return None

    def measure(self, bench: Bench, cell: Cell) -> None:
        """Run rounds of both arms, the second and later ones also around the bracket."""
        grid = rounds.powers_of_two(1, bench.most_concurrent(cell, MOST[bench.size]))
        for repeat in range(ROUNDS[bench.size]):
            bench.say(f"flip: round {repeat + 1}, concurrencies {' '.join(map(str, grid))}")
            for arm in (OFF, cell.arm) if repeat % 2 == 0 else (cell.arm, OFF):
                rounds.run_arm(bench, cell, arm_launch(cell, arm, self.name, repeat), grid)
            if repeat == 0:
                speedups = _speedups(bench.index, cell, grid)
                grid = tuple(sorted({*grid, *_further(bench, cell, speedups, grid[-1])}))

    def judge(
        self, index: RecordIndex, cell: Cell, catalog: Catalog, floors: Floors, rule: Rule
    ) -> ExperimentJudgement:
        """Find the flip in the records, and hold it to the cell's floors."""
        concurrencies = index.concurrencies(arm_launch(cell, cell.arm, self.name, 0))
        speedups = _speedups(index, cell, concurrencies)
        blank = ExperimentJudgement(
            cell,
            self.name,
            Verdict.NO_DATA,
            (Finding.NO_DATA,),
            "no concurrency was measured on both arms",
            logs=index.logs(cell, self.name),
        )
        fault = index.first_fault(cell, self.name)
        if not speedups:
            if fault is None:
                return blank
            return msgspec.structs.replace(
                blank, verdict=Verdict.FAIL, findings=(fault.finding,), reason=fault.sentence
            )
        flip = find_flip(speedups, alpha=rule.alpha)
        rates = _rates(index, cell, concurrencies)
        flat = _is_flat(rates)
        verdict, why = _against_floors(cell, catalog, floors, flip)
        lost = f". A launch ended early: {fault.sentence}" if fault else ""
        return msgspec.structs.replace(
            blank,
            verdict=verdict,
            findings=_findings(flip, verdict),
            reason=f"{describe(flip)}{_because(flip, rates, flat=flat)}{why}{lost}",
            detail=FlipDetail(flip, rates, flat),
            tables=(_table(flip, rates),),
            curves=_curves(flip, rates),
        )


def describe(flip: Flip) -> str:
    """Return the answer in a sentence, without a full stop."""
    first, last = flip.points[0], flip.points[-1]
    match flip.answer:
        case "no flip":
            return (
                f"speculation pays at every concurrency up to {last.concurrency} "
                f"({last.speedup:.2f} × there)"
            )
        case "always slower":
            return (
                f"speculation is slower at every concurrency from {first.concurrency} on "
                f"({first.speedup:.2f} × there)"
            )
    interval = f"{_end(flip.low, 'below 1')} to {_end(flip.high, f'over {last.concurrency}')}"
    level = f"{flip.level:.0%} interval {interval}"
    if flip.concurrency is None:
        side = "pays" if last.fitted > 1 else "does not pay"
        return (
            f"speculation {side} at every concurrency measured, up to {last.concurrency}, but the "
            f"scatter of launches does not exclude a flip ({level})"
        )
    between = f"between {flip.between[0]} and {flip.between[1]}" if flip.between else ""
    if flip.cliff:
        return (
            f"speculation stops paying in one step from concurrency {flip.cliff[0]} to "
            f"{flip.cliff[1]}"
        )
    return f"speculation stops paying at concurrency {flip.concurrency:.3g}, {between} ({level})"


def _end(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:.3g}"


def _further(bench: Bench, cell: Cell, speedups: Sequence[Speedup], most: int) -> tuple[int, ...]:
    """Return concurrencies inside the bracket, and both sides of capture sizes around it."""
    inside = refine(speedups, REFINED[bench.size])
    launched = bench.index.launch(arm_launch(cell, cell.arm, "flip", 0))
    sizes = launched.settings.capture_sizes if launched and launched.settings else ()
    between = find_flip(speedups).between if speedups else None
    centre = between[0] if between else most
    # a graph holds tokens, and a verifying request has k + 1 of them
    edges = sorted({size // (cell.k + 1) for size in sizes}, key=lambda n: abs(n - centre))
    boundaries = [n for edge in edges[:BOUNDARIES] for n in (edge, edge + 1) if 1 <= n <= most]
    return (*inside, *boundaries)


def _speedups(index: RecordIndex, cell: Cell, concurrencies: Sequence[int]) -> tuple[Speedup, ...]:
    off, on = (
        rounds.launches_of(index, cell, arm, "flip", concurrencies) for arm in (OFF, cell.arm)
    )
    clock = rounds.clock_of((*off, *on))
    partners = {launch.repeat: launch for launch in off}
    found = []
    for launch in on:
        others = partners[launch.repeat].blocks if launch.repeat in partners else {}
        for concurrency, block in launch.blocks.items():
            other = others.get(concurrency)
            fast, slow = rounds.log_time(block, clock), rounds.log_time(other, clock)
            if fast is not None and slow is not None:
                found.append(Speedup(launch.repeat, concurrency, slow - fast))
    return tuple(found)


def _rates(
    index: RecordIndex, cell: Cell, concurrencies: Sequence[int]
) -> tuple[AcceptanceAt, ...]:
    launches = rounds.launches_of(index, cell, cell.arm, "flip", concurrencies)
    found = []
    for concurrency in concurrencies:
        blocks = [x.blocks[concurrency] for x in launches if concurrency in x.blocks]
        rate = rounds.acceptance_rate(blocks)
        if rate is not None:
            found.append(AcceptanceAt(concurrency, rate))
    return tuple(found)


def _is_flat(rates: Sequence[AcceptanceAt]) -> bool | None:
    """Whether acceptance stays within the margin of its value at the least concurrency."""
    if len(rates) < 2 or not rates[0].rate:
        return None
    return all(abs(at.rate / rates[0].rate - 1) <= FLAT for at in rates)


def _because(flip: Flip, rates: Sequence[AcceptanceAt], *, flat: bool | None) -> str:
    if flat is None:
        return ""
    values = [at.rate for at in rates]
    span = f"{min(values):.3f} to {max(values):.3f}"
    if flat:
        lost = "the cost of a step and not the draft decides" if _loses(flip) else "as it should be"
        return f"; acceptance is flat over concurrency ({span}), {lost}"
    return (
        f"; acceptance is not flat over concurrency ({span}), which a healthy build's is, so look "
        "at the draft before the batch"
    )


def _loses(flip: Flip) -> bool:
    return flip.answer != "no flip"


def _findings(flip: Flip, verdict: Verdict | None) -> tuple[Finding, ...]:
    first = {
        "flip": Finding.BATCH_FLIP,
        "always slower": Finding.SPEED_REGRESSION,
        "no flip": Finding.EXPECTED,
        "undecided": Finding.INCONCLUSIVE,
    }[flip.answer]
    return (Finding.EXPECTED,) if verdict is Verdict.PASS and flip.answer != "flip" else (first,)


_SEVERITY = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL)


def _against_floors(
    cell: Cell, catalog: Catalog, floors: Floors, flip: Flip
) -> tuple[Verdict | None, str]:
    """Return the worst verdict over the floors of the flip and of speedups at a concurrency."""
    family = catalog.family(cell.family)
    said: list[tuple[Verdict, str]] = []
    entry = floors.of(cell, Quantity.FLIP_CONCURRENCY, family)
    if isinstance(entry, Floor):
        said.append((_flip_verdict(flip, entry.value), f"the flip from {entry.value:g} on"))
    for point in flip.points:
        at = msgspec.structs.replace(cell, concurrency=point.concurrency)
        entry = floors.of(at, Quantity.SPEEDUP, family)
        # others are the speed test's, at the concurrency of its cells
        if isinstance(entry, Floor) and entry.concurrency not in (None, cell.concurrency):
            what = f"{entry.value:g} × at concurrency {point.concurrency}"
            said.append((_speed_verdict(point, entry.value), what))
    if not said:
        return None, ""
    worst = max((verdict for verdict, _ in said), key=_SEVERITY.index)
    floors_said = ", ".join(f"{what}: {verdict}" for verdict, what in said)
    return worst, f". Floors: {floors_said}"


def _flip_verdict(flip: Flip, floor: float) -> Verdict:
    low = flip.low if flip.low is not None else flip.points[0].concurrency
    if flip.answer == "no flip" and flip.points[-1].concurrency >= floor:
        return Verdict.PASS
    if flip.low is not None and low >= floor:
        return Verdict.PASS
    if flip.answer == "always slower" or (flip.high is not None and flip.high < floor):
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE


def _speed_verdict(point: At, floor: float) -> Verdict:
    if point.interval.low >= floor:
        return Verdict.PASS
    return Verdict.FAIL if point.interval.high < floor else Verdict.INCONCLUSIVE


def _table(flip: Flip, rates: Sequence[AcceptanceAt]) -> Table:
    by_concurrency: Mapping[int, float] = {at.concurrency: at.rate for at in rates}
    return Table(
        "Speedup over concurrency",
        ("concurrency", "pairs of launches", "speedup", "from", "to", "on the curve", "acceptance"),
        tuple(
            (
                str(at.concurrency),
                str(at.pairs),
                at.speedup,
                at.interval.low,
                at.interval.high,
                at.fitted,
                by_concurrency.get(at.concurrency),
            )
            for at in flip.points
        ),
    )


def _curves(flip: Flip, rates: Sequence[AcceptanceAt]) -> tuple[Curve, ...]:
    speed = tuple(
        Point(at.concurrency, at.speedup, at.interval.low, at.interval.high) for at in flip.points
    )
    accepted = tuple(Point(at.concurrency, at.rate) for at in rates)
    curves = [Curve("speedup", "concurrency", "speedup", speed, log_x=True)]
    if accepted:
        curves.append(Curve("acceptance rate", "concurrency", "accepted", accepted, log_x=True))
    return tuple(curves)
