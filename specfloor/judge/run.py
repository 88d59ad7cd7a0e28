"""The judgement of a whole run, live or stored: the same records, the same words."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import Cell
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.experiments.base import ExperimentJudgement
from specfloor.judge.baseline import (
    Baseline,
    baseline_of_release,
    hardware_class,
    read_baseline,
)
from specfloor.judge.book import JudgementBook
from specfloor.judge.cell import AcceptanceJudgement, Rule, SpeedJudgement
from specfloor.judge.configuration import ConfigurationJudgement
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.floors import Floors
from specfloor.judge.known import KnownFaultsJudgement
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import Verdict
from specfloor.runs.records import Purpose
from specfloor.runs.store import Run

Judgement = (
    AcceptanceJudgement
    | SpeedJudgement
    | ConfigurationJudgement
    | UpgradeJudgement
    | KnownFaultsJudgement
    | ExperimentJudgement
)


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cell, what it is measured for, and the experiments that it is asked."""

    cell: Cell
    purposes: frozenset[Purpose]
    experiments: tuple[str, ...] = ()


class Basis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``basis.json`` of a run: what was to be judged, against which floors, by which rule.

    ``baseline_release`` names a release of the run, ``baseline_run`` the folder of another, that
    the rest is compared with.
    """

    wanted: tuple[Wanted, ...]
    floors: Floors
    rule: Rule
    baseline_release: str | None = None
    baseline_run: str | None = None


class CellResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything said of one cell; None for what the run did not ask.

    ``known`` is None where the fix ledger does not cover the release, too.
    """

    cell: Cell
    configuration: ConfigurationJudgement | None
    acceptance: AcceptanceJudgement | None
    speed: SpeedJudgement | None
    upgrade: UpgradeJudgement | None = None
    experiments: tuple[ExperimentJudgement, ...] = ()
    known: KnownFaultsJudgement | None = None

    @property
    def judgements(self) -> Sequence[Judgement]:
        """What was said, in the order that saves days: configuration, acceptance, speed, more."""
        said = (
            self.configuration,
            self.acceptance,
            self.speed,
            self.upgrade,
            self.known,
            *self.experiments,
        )
        return [judgement for judgement in said if judgement]

    @property
    def verdict(self) -> Verdict | None:
        """The worst verdict; None when everything is only reported.

        A configuration that is in effect says nothing of acceptance or speed, and a fault that is
        not there nothing of others, so the PASS of either is none of the cell's.
        """
        aside = (self.configuration, self.known)
        said = [
            j.verdict
            for j in self.judgements
            if j.verdict and not (j.verdict is Verdict.PASS and any(j is one for one in aside))
        ]
        return max(said, key=_SEVERITY.index, default=None)


_SEVERITY = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.NO_DATA, Verdict.FAIL)


class RunResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every judgement of a run."""

    cells: tuple[CellResult, ...]

    @property
    def judgements(self) -> Sequence[Judgement]:
        """All judgements, cell by cell."""
        return [judgement for cell in self.cells for judgement in cell.judgements]

    @property
    def broken(self) -> Sequence[Judgement]:
        """The judgements that do not hold."""
        return [j for j in self.judgements if j.verdict not in (None, Verdict.PASS)]

    @property
    def exit_code(self) -> Exit:
        """FAILS with a FAIL, UNDECIDED when something else does not hold, HOLDS otherwise."""
        verdicts = {judgement.verdict for judgement in self.broken}
        if Verdict.FAIL in verdicts:
            return Exit.FAILS
        return Exit.UNDECIDED if verdicts else Exit.HOLDS


def judge_run(wanted: Iterable[Wanted], book: JudgementBook) -> RunResult:
    """Return the judgements of cells, each for what it was measured for."""
    return RunResult(tuple(_judge(one, book) for one in wanted))


def is_upgrade(cell: Cell, baseline: Baseline | None) -> bool:
    """Whether ``cell`` is to be compared: there is a baseline, and it is another's."""
    return baseline is not None and baseline.compares(cell)


def _judge(one: Wanted, book: JudgementBook) -> CellResult:
    natural, forced = Purpose.NATURAL in one.purposes, Purpose.FORCED in one.purposes
    return CellResult(
        cell=one.cell,
        configuration=book.configuration(one.cell) if natural else None,
        acceptance=book.acceptance(one.cell) if natural else None,
        speed=book.speed(one.cell) if forced else None,
        upgrade=book.upgrade(one.cell) if natural and is_upgrade(one.cell, book.baseline) else None,
        experiments=tuple(book.experiment(name, one.cell) for name in one.experiments),
        known=book.known(one.cell) if natural else None,
    )


_BASIS = "basis.json"


def write_basis(basis: Basis, folder: Path) -> None:
    """Write ``basis.json`` into a run's folder."""
    text = msgspec.json.format(msgspec.json.encode(basis, order="deterministic"), indent=1)
    (folder / _BASIS).write_bytes(text + b"\n")


def read_basis(folder: Path) -> Basis:
    """Read ``basis.json`` of a run's folder, or raise UsageError."""
    path = folder / _BASIS
    try:
        return msgspec.json.decode(path.read_bytes(), type=Basis)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}); without it a run cannot be judged again"
        ) from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{path} is not a basis.json of this version: {error}") from None


def judge_stored(run: Run, catalog: Catalog) -> RunResult:
    """Judge a run from its folder alone; UsageError when its basis cannot be read."""
    basis = read_basis(run.folder)
    return judge_run(basis.wanted, book_of(run, basis, catalog))


def book_of(run: Run, basis: Basis, catalog: Catalog) -> JudgementBook:
    """Return the judgements of a stored run; UsageError when its baseline cannot be read."""
    index = RecordIndex(run.records)
    cells = [one.cell for one in basis.wanted]
    hardware = hardware_class(run.info.environment)
    baseline = None
    if basis.baseline_run:
        baseline = read_baseline(Path(basis.baseline_run), cells)
    elif basis.baseline_release:
        baseline = baseline_of_release(basis.baseline_release, index, cells, hardware)
    return JudgementBook(
        index, catalog, basis.floors, basis.rule, hardware=hardware, baseline=baseline
    )
