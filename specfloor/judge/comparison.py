"""Stored runs against each other: cells paired, verdicts rolled up to families."""

from collections.abc import Iterable, Sequence

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell, pick
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.i18n import _
from specfloor.judge.baseline import Baseline, baseline_of_release, hardware_class
from specfloor.judge.cell import Rule
from specfloor.judge.estimate import holm
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.run import Basis
from specfloor.judge.upgrade import UpgradeJudgement, judge_cell_upgrade
from specfloor.judge.verdict import Change
from specfloor.runs.records import Purpose
from specfloor.runs.store import Run


class Contender(msgspec.Struct, frozen=True):
    """One release of one stored run: a side of a comparison.

    ``complete`` is whether the run came to its end, ``rule`` how it was judged.
    """

    run: str
    release: str
    complete: bool
    rule: Rule
    measured: Baseline


class SideInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a comparison says of a side."""

    run: str
    release: str
    hardware: str
    complete: bool


class FamilyComparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A family on a new release against an old one; ``reason`` says why the outcome is what it is.

    ``missing`` are cells of the old side that the new one was not asked for. They are in no
    outcome, except that a family without any other cell is INCONCLUSIVE.
    """

    family: str
    outcome: Change
    reason: str
    cells: tuple[UpgradeJudgement, ...]
    missing: tuple[str, ...]


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new release against an old one; ``added`` are cells that only the new side was asked."""

    old: SideInfo
    new: SideInfo
    rule: Rule
    families: tuple[FamilyComparison, ...]
    added: tuple[str, ...]

    @property
    def exit_code(self) -> Exit:
        """FAILS when a family is worse, UNDECIDED when one is unknown, HOLDS otherwise."""
        outcomes = {family.outcome for family in self.families}
        if Change.WORSE in outcomes:
            return Exit.FAILS
        undecided = Change.INCONCLUSIVE in outcomes or not outcomes
        return Exit.UNDECIDED if undecided else Exit.HOLDS


def contenders(run: Run, basis: Basis, release: str | None = None) -> tuple[Contender, ...]:
    """Return the releases of a stored run as sides, in the order of the run.

    Args:
        run: the run.
        basis: what it was asked; a cell that could not even be started is known from here alone.
        release: the one release wanted; all of them without it.

    Raises:
        UsageError: the run has no cell measured for acceptance, or no such release.
    """
    asked = [one.cell for one in basis.wanted if Purpose.NATURAL in one.purposes]
    releases = list(dict.fromkeys(cell.release for cell in asked))
    if not releases:
        raise UsageError(
            f"{run.folder} was asked for no acceptance, so there is nothing to compare"
        )
    if release is not None:
        releases = [pick(release, releases, f"release of {run.folder}")]
    index, hardware = RecordIndex(run.records), hardware_class(run.info.environment)
    return tuple(
        Contender(
            run.info.run,
            name,
            run.info.complete,
            basis.rule,
            baseline_of_release(name, index, asked, hardware),
        )
        for name in releases
    )


def compare_contenders(
    old: Contender, new: Contender, catalog: Catalog, families: Iterable[str] = ()
) -> Comparison:
    """Judge the cells that two sides were asked for, paired by prompt, by the new side's rule.

    Args:
        old: the side compared with.
        new: the side judged.
        catalog: what is known of the families.
        families: the only families wanted, by their names in the catalogue; none is all.
    """
    only = frozenset(families)
    before, after = (
        {
            pair: cell
            for pair, cell in side.measured.cells.items()
            if not only or cell.family in only
        }
        for side in (old, new)
    )
    by_family: dict[str, list[Cell]] = {}
    for cell in before.values():
        by_family.setdefault(cell.family, []).append(cell)
    compared = []
    for family, cells in by_family.items():
        shared = [after[cell.pair_id] for cell in cells if cell.pair_id in after]
        missing = tuple(cell.pair_id for cell in cells if cell.pair_id not in after)
        judged = [_judge(cell, old, new, catalog) for cell in shared]
        compared.append(judge_family(family, judged, missing, new.rule.alpha))
    return Comparison(
        _info(old),
        _info(new),
        new.rule,
        tuple(compared),
        tuple(pair for pair in after if pair not in before),
    )


def judge_family(
    family: str, cells: Sequence[UpgradeJudgement], missing: tuple[str, ...], alpha: float
) -> FamilyComparison:
    """Roll the cells of a family up to one outcome.

    WORSE: a cell is, beyond chance among as many cells as there are (Holm's method at ``alpha``),
    or ended with a fault. Otherwise INCONCLUSIVE when any cell is, or is worse only taken alone.
    Otherwise BETTER when any cell is, and SAME when all are.
    """

    def said(outcome: Change, reason: str) -> FamilyComparison:
        return FamilyComparison(family, outcome, reason, tuple(cells), missing)

    if not cells:
        return said(Change.INCONCLUSIVE, _("the new side was asked for no cell of it"))
    of, every = (
        _("of {cells} cells").format(cells=len(cells)),
        _("all {cells} cells").format(cells=len(cells)),
    )
    if len(cells) == 1:
        of, every = _("of one cell"), _("its one cell")
    worse = [cell for cell in cells if cell.outcome is Change.WORSE]
    if worse:
        sure = _beyond_chance(cells, alpha)
        if sure:
            return said(
                Change.WORSE,
                _("{sure} {of} worse, most {most}").format(sure=len(sure), of=of, most=_most(sure)),
            )
        return said(
            Change.INCONCLUSIVE,
            _(
                "{worse} {of} worse taken alone, and not beyond chance among {cells} "
                "(Holm's method); measure it again"
            ).format(worse=len(worse), of=of, cells=len(cells)),
        )
    unknown = [cell for cell in cells if cell.outcome is Change.INCONCLUSIVE]
    if unknown:
        return said(
            Change.INCONCLUSIVE,
            _("{unknown} {of} unknown, first {pair_id}").format(
                unknown=len(unknown), of=of, pair_id=unknown[0].cell.pair_id
            ),
        )
    better = [cell for cell in cells if cell.outcome is Change.BETTER]
    if better:
        return said(
            Change.BETTER,
            _("{better} {of} better, the others the same").format(better=len(better), of=of),
        )
    return said(Change.SAME, _("{every} the same").format(every=every))


def _beyond_chance(cells: Sequence[UpgradeJudgement], alpha: float) -> list[UpgradeJudgement]:
    """Return the cells that are worse even among this many; a fault is no matter of chance."""
    p_values = {
        cell.cell: result.p_value
        for cell in cells
        if cell.quantities and (result := cell.quantities[0].result) and result.p_value is not None
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return [
        cell
        for cell in cells
        if cell.outcome is Change.WORSE and adjusted.get(cell.cell, 0.0) < alpha
    ]


def _most(worse: Sequence[UpgradeJudgement]) -> str:
    """Return the cell that lost most and what it lost; a fault is more than any number."""
    losses = {
        cell: (result.change or 0.0)
        for cell in worse
        if cell.quantities and (result := cell.quantities[0].result)
    }
    for cell in worse:
        if cell not in losses:
            return f"{cell.cell.pair_id} ({', '.join(cell.findings)})"
    most = min(losses, key=lambda cell: losses[cell])
    return f"{most.cell.pair_id} ({losses[most]:+.1%})"


def _judge(cell: Cell, old: Contender, new: Contender, catalog: Catalog) -> UpgradeJudgement:
    side = new.measured.side(cell)
    assert side is not None
    return judge_cell_upgrade(
        old.measured.side(cell),
        side,
        catalog.family(cell.family),
        new.rule,
        _("{release} of run {run}").format(release=old.release, run=old.run),
    )


def _info(side: Contender) -> SideInfo:
    return SideInfo(side.run, side.release, side.measured.hardware, side.complete)
