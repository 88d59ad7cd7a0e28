"""Pages of small runs."""

from pathlib import Path

import msgspec

from specfloor.cells import OFF
from specfloor.report.html.page import build_page
from specfloor.runs.records import Purpose
from specfloor.runs.store import Run
from specfloor.triage.diagnosis import Confidence, Diagnosis, Link, Stage, Step
from specfloor.triage.findings import Finding
from tests.unit.builders import (
    CELL,
    both_arms,
    catalog,
    floor,
    forced,
    info,
    judged,
    launch,
    natural,
    report_only,
)

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'&"
OLD = CELL.on_release("cpu-1.0")
LONG = f"specfloor triage FILE {' '.join(f'--option-{i} value' for i in range(20))}"
DEAD = {"accepted": (0,) * 10}
HOLDS = (floor(0.6), report_only("speedup"))


def page_of(
    records,
    *entries,
    cells=(CELL,),
    truncated=False,
    purposes=tuple(Purpose),
    diagnoses=None,
    **said,
):
    """Return the page's model of records judged by floors; ``said`` is what run.json says."""
    result = judged(records, *(entries or HOLDS), cells=cells, purposes=purposes)
    run = Run(Path("r1"), info(**{"complete": True} | said), tuple(records), truncated)
    return build_page(result, run, catalog(), diagnoses or {})


def two_releases():
    """Return the page of a run whose newer release lost its draft."""
    records = [*both_arms(cell=OLD), *both_arms(on=DEAD)]
    return page_of(records, cells=(OLD, CELL))


def diagnosis():
    """Return a diagnosis of ``CELL`` with markup in it and a long command."""
    return Diagnosis(
        CELL,
        (
            Link(
                Stage.ACCEPTANCE,
                Finding.ACCEPT_ZERO,
                Confidence.SHOWN,
                f"nothing is accepted {EVIL}",
                evidence=("0 of 1200 tokens",),
                next=(
                    Step(
                        LONG,
                        "whether the log says the same",
                    ),
                ),
            ),
            Link(Stage.CONFIGURATION, Finding.EXPECTED, Confidence.LIKELY, "the graph is off"),
        ),
        exonerated=("the devices: idle and well",),
        ledger="asked for cpu-2.0, known up to 2026-05-01",
    )


def at_concurrency(concurrency):
    return msgspec.structs.replace(CELL, concurrency=concurrency)


def of_concurrencies(steps):
    """Return the page of a cell at several concurrencies.

    ``steps`` maps each to the seconds of a step with drafts; one without takes 0.02 s.
    """
    records = [launch(arm) for arm in (OFF, CELL.arm)]
    for concurrency, step_s in steps.items():
        cell = at_concurrency(concurrency)
        for arm in (OFF, CELL.arm):
            records += natural(arm, cell=cell)
            records += forced(arm, step_s=step_s if arm.speculates else 0.02, cell=cell)
    return page_of(records, cells=tuple(map(at_concurrency, steps)))


def panel(page, title, cell=0):
    """Return the one panel of a cell with a title."""
    (found,) = [one for one in page.cells[cell].panels if one.title == title]
    return found


def titles(page, cell=0):
    return [one.title for one in page.cells[cell].panels]
