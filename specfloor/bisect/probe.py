"""Measuring one candidate: a run of its own, with the arm that speculates alone."""

import datetime
import math
from collections.abc import Callable
from pathlib import Path

import msgspec

from specfloor.bisect.run import Measured
from specfloor.bisect.search import Answer
from specfloor.bisect.state import Candidate, Question
from specfloor.catalog.onsite import Site
from specfloor.i18n import ENGLISH, speaking
from specfloor.judge.baseline import hardware_class
from specfloor.judge.cell import AcceptanceJudgement
from specfloor.judge.floors import Floor, Floors, Quantity
from specfloor.judge.run import Wanted
from specfloor.judge.verdict import Verdict
from specfloor.measure import Runner, Say
from specfloor.runs.records import BlockKey, LaunchKey, Purpose
from specfloor.session import RunnerNeeds, Session
from specfloor.settings import Settings
from specfloor.triage.findings import Finding

Engines = Callable[[Settings], Callable[[RunnerNeeds], Runner]]
"""Gives what runs the launches of a run with these settings."""

BROKEN = frozenset({Finding.ACCEPT_ZERO, Finding.ACCEPT_REGRESSION})
"""What makes a release bad: its draft is not accepted as it was."""
DID_NOT_RUN = frozenset({Finding.START_FAIL, Finding.CRASH, Finding.HANG})
"""What says nothing of the draft, and would be the same in another launch."""
PLACES = 3
"""Decimals of a floor from the good end, rounded down."""


def answer_of(judgement: AcceptanceJudgement) -> Answer:
    """Return what a judgement against a floor says of a release.

    An engine that does not start or dies says nothing of the draft. Neither does acceptance that is
    too good, which is another fault, or a measurement that does not decide.
    """
    findings = set(judgement.findings)
    if findings & DID_NOT_RUN or not judgement.sent:
        return Answer.SKIP
    if judgement.verdict is Verdict.PASS:
        return Answer.GOOD
    if judgement.verdict is Verdict.FAIL and findings & BROKEN:
        return Answer.BAD
    return Answer.UNKNOWN


def floor_from(
    judgement: AcceptanceJudgement, *, margin: float, run: str, date: datetime.date, hardware: str
) -> Floor | None:
    """Return the floor that the good end gives: what it reached, less the margin.

    None unless every prompt was measured and nothing is wrong with its acceptance.
    """
    whole = not judgement.failed and judgement.sent == judgement.prompts > 0
    if judgement.summary is None or judgement.verdict is not None or not whole:
        return None
    cell, mean = judgement.cell, judgement.summary.rate_mean
    value = math.floor(mean.value * (1 - margin) * 10**PLACES) / 10**PLACES
    if not 0 < value < 1:
        return None
    return Floor(
        family=cell.family,
        method=cell.method,
        quantity=Quantity.ACCEPTANCE_RATE,
        k=cell.k,
        workload=cell.workload,
        tier=cell.tier,
        value=value,
        source=f"run {run}",
        date=date,
        hardware=hardware,
        reason="what the good end of a search reached, less the margin",
        n=mean.n,
    )


class Prober:
    """Measures candidates, each in a run folder of its own.

    Args:
        question: what the search is about.
        settings: of every run.
        site: what can run here.
        engines: where servers come from.
        folder: the search's; runs go below it.
        say: takes a line for the user.
    """

    def __init__(
        self,
        question: Question,
        *,
        settings: Settings,
        site: Site,
        engines: Engines,
        folder: Path,
        say: Say,
    ) -> None:
        self._question = question
        self._settings = settings
        self._site = site
        self._engines = engines
        self._folder = folder
        self._say = say

    @speaking(ENGLISH)  # what it finds goes on record
    def __call__(self, candidate: Candidate, floor: Floor | None, share: float) -> Measured:
        """Measure a candidate; see :class:`~specfloor.bisect.run.Measure`."""
        settings = self._settings_for(candidate, share, whole=floor is None)
        cell = self._question.cell.on_release(candidate.release)
        floors = Floors(() if floor is None else (self._floor_of(floor),), ())
        wanted = Wanted(cell, frozenset({Purpose.NATURAL}))
        session = Session(settings, self._site.catalog, floors, [wanted])
        session.check()
        folder = self._new_folder(candidate.name)
        now = datetime.datetime.now(datetime.UTC)
        started = now.isoformat(timespec="seconds")
        session.open(folder, started, self._engines(settings), self._say)
        complete = False
        try:
            if self._question.both_arms:
                session.measure(cell, Purpose.NATURAL)
            else:
                key = LaunchKey(cell.release, cell.family, cell.arm)
                block = BlockKey(cell.workload, cell.tier, cell.concurrency, Purpose.NATURAL)
                session.launch(key, {block: session.block_plan(key, block)})
            complete = True
        finally:
            session.close(complete=complete)
        judgement = session.book.acceptance(cell)
        measured = Measured(
            answer=answer_of(judgement),
            reason=judgement.reason,
            rate=judgement.summary.rate_mean.value if judgement.summary else None,
            launches=2 if self._question.both_arms else 1,
            run=str(folder.relative_to(self._folder)),
        )
        if floor is not None:
            return measured
        fresh = floor_from(
            judgement,
            margin=settings.margin,
            run=measured.run,
            date=now.date(),
            hardware=hardware_class(session.info.environment),
        )
        good = Answer.GOOD if fresh else measured.answer
        return msgspec.structs.replace(measured, answer=good, floor=fresh)

    def _settings_for(self, candidate: Candidate, share: float, *, whole: bool) -> Settings:
        question = self._question
        routes = dict(self._settings.routes)
        if candidate.route is not None:
            routes[candidate.release] = candidate.route
        return msgspec.structs.replace(
            self._settings,
            alpha=question.alpha * share,
            beta=question.beta * share,
            early_stop=not whole,
            routes=routes,
        )

    def _floor_of(self, floor: Floor) -> Floor:
        """Return the floor for the family whose floors apply to the one at hand."""
        family = self._site.catalog.family(self._question.cell.family)
        return msgspec.structs.replace(floor, family=family.floors_of or family.name)

    def _new_folder(self, name: str) -> Path:
        """Return a folder that does not exist; a probe that was killed leaves its own behind."""
        number = 1
        while (folder := self._folder / "probes" / f"{name}-{number}").exists():
            number += 1
        return folder
