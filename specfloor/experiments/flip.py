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
from specfloor.i18n import _
from specfloor.judge.cell import Rule
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.flip import At, Flip, Speedup, find_flip, refine
from specfloor.judge.floors import Floor, Floors, Quantity
from specfloor.judge.verdict import Verdict
from specfloor.plan import in_turn
from specfloor.triage.findings import Finding

ROUNDS = 3
"""Pairs of launches: with two the interval is twice as wide (docs/benchmarks.md)."""
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
        for repeat in range(ROUNDS):
            bench.say(f"flip: round {repeat + 1}, concurrencies {' '.join(map(str, grid))}")
            for arm in in_turn((OFF, cell.arm), repeat):
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
            _("no concurrency was measured on both arms"),
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
        lost = (
            _(". A launch ended early: {sentence}").format(sentence=fault.sentence) if fault else ""
        )
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
            return _(
                "speculation pays at every concurrency up to {concurrency} ({speedup:.2f} × there)"
            ).format(concurrency=last.concurrency, speedup=last.speedup)
        case "always slower":
            return _(
                "speculation is slower at every concurrency from {concurrency} "
                "on ({speedup:.2f} × there)"
            ).format(concurrency=first.concurrency, speedup=first.speedup)
    interval = _("{low} to {high}").format(
        low=_end(flip.low, _("below 1")),
        high=_end(flip.high, _("over {n}").format(n=last.concurrency)),
    )
    level = _("{level:.0%} interval {interval}").format(level=flip.level, interval=interval)
    if flip.concurrency is None:
        side = _("pays") if last.fitted > 1 else _("does not pay")
        return _(
            "speculation {side} at every concurrency measured, up to "
            "{concurrency}, but the scatter of launches does not exclude a flip "
            "({level})"
        ).format(side=side, concurrency=last.concurrency, level=level)
    between = (
        _("between {low} and {high}").format(low=flip.between[0], high=flip.between[1])
        if flip.between
        else ""
    )
    if flip.cliff:
        return _("speculation stops paying in one step from concurrency {low} to {high}").format(
            low=flip.cliff[0], high=flip.cliff[1]
        )
    return _(
        "speculation stops paying at concurrency {concurrency:.3g}, {between} ({level})"
    ).format(concurrency=flip.concurrency, between=between, level=level)


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
    span = _("{low:.3f} to {high:.3f}").format(low=min(values), high=max(values))
    if flat:
        lost = (
            _("the cost of a step and not the draft decides")
            if _loses(flip)
            else _("as it should be")
        )
        return _("; acceptance is flat over concurrency ({span}), {lost}").format(
            span=span, lost=lost
        )
    return _(
        "; acceptance is not flat over concurrency ({span}), which a healthy "
        "build's is, so look at the draft before the batch"
    ).format(span=span)


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
        said.append(
            (
                _flip_verdict(flip, entry.value),
                _("the flip from {floor:g} on").format(floor=entry.value),
            )
        )
    for point in flip.points:
        at = msgspec.structs.replace(cell, concurrency=point.concurrency)
        entry = floors.of(at, Quantity.SPEEDUP, family)
        # others are the speed test's, at the concurrency of its cells
        if isinstance(entry, Floor) and entry.concurrency not in (None, cell.concurrency):
            what = _("{floor:g} × at concurrency {concurrency}").format(
                floor=entry.value, concurrency=point.concurrency
            )
            said.append((_speed_verdict(point, entry.value), what))
    if not said:
        return None, ""
    worst = max((verdict for verdict, _ in said), key=_SEVERITY.index)
    floors_said = _(", ").join(
        _("{what}: {found}").format(what=what, found=verdict) for verdict, what in said
    )
    return worst, _(". Floors: {floors_said}").format(floors_said=floors_said)


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
        _("Speedup over concurrency"),
        (
            _("concurrency"),
            _("pairs of launches"),
            _("speedup"),
            _("from"),
            _("to"),
            _("on the curve"),
            _("acceptance"),
        ),
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
    curves = [Curve(_("speedup"), _("concurrency"), _("speedup"), speed, log_x=True)]
    if accepted:
        curves.append(
            Curve(_("acceptance rate"), _("concurrency"), _("accepted"), accepted, log_x=True)
        )
    return tuple(curves)
