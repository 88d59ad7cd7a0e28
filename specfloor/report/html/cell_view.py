"""Everything shown of one cell: what was said, the panels, how to see it again."""

import shlex

from specfloor.i18n import _
from specfloor.judge.configuration import ConfigurationJudgement
from specfloor.judge.evidence import CellEvidence
from specfloor.judge.run import CellResult, Judgement
from specfloor.judge.verdict import Verdict
from specfloor.report.html import words
from specfloor.report.html.context import Context
from specfloor.report.html.model import CellView, Command, Link, Said
from specfloor.report.html.panels import panels_of
from specfloor.report.html.standing import BROKEN, anchor_of, sentence, standing_of, what_of
from specfloor.runs.store import RECORDS
from specfloor.triage.diagnosis import Diagnosis


def view(
    context: Context, run: str, *, alone: bool, diagnosis: Diagnosis | None = None
) -> CellView:
    """Return the view of a cell.

    Args:
        context: the cell.
        run: the name of the run.
        alone: whether it is the only one, and so worth opening.
        diagnosis: from its findings to causes, if there is one.
    """
    result, cell = context.result, context.cell
    values = (
        cell.release,
        cell.family,
        cell.method,
        str(cell.k),
        cell.workload,
        cell.tier,
        str(cell.concurrency),
    )
    return CellView(
        anchor=anchor_of(result),
        name=cell.id,
        release=cell.release,
        family=cell.family,
        conditions=tuple(zip(map(_, words.CONDITIONS), values, strict=True)),
        standing=standing_of(result),
        said=tuple(_said(judgement) for judgement in result.judgements),
        panels=panels_of(context),
        commands=_commands(context, run),
        evidence=_evidence(result, context.evidence),
        open=alone or standing_of(result) in BROKEN,
        diagnosis=diagnosis,
    )


def _said(judgement: Judgement) -> Said:
    # what is in effect as it should be is in the table of checks, line by line
    listed = isinstance(judgement, ConfigurationJudgement) and judgement.verdict is Verdict.PASS
    return Said(
        what_of(judgement),
        standing_of(judgement),
        tuple(str(finding) for finding in judgement.findings),
        "" if listed else sentence(judgement.reason),
    )


def _commands(context: Context, run: str) -> tuple[Command, ...]:
    """Return what to type to see a cell again: the suite, the judgement, the servers."""
    cell = context.cell
    again = (
        *("tox", "-e", context.catalog.release(cell.release).platform, "--"),
        *("--release", cell.release, "--family", cell.family),
        *("--method", cell.method, "--spec-tokens", str(cell.k)),
        *("--workload", cell.workload, "--tier", cell.tier),
        *("--concurrency", str(cell.concurrency)),
    )
    commands = [
        Command(_(words.MEASURE_AGAIN), shlex.join(again)),
        Command(_(words.JUDGE_AGAIN), shlex.join(("specfloor", "report", f"reports/{run}"))),
    ]
    for label, arms in (
        (_(words.SERVE_OFF), context.evidence.off),
        (_(words.SERVE_ON), context.evidence.on),
    ):
        launch = next((arm.launch for arm in arms if arm.launch), None)
        if launch:
            variables = [f"{name}={shlex.quote(value)}" for name, value in launch.env.items()]
            commands.append(Command(label, " ".join((*variables, shlex.join(launch.argv)))))
    return tuple(commands)


def _evidence(result: CellResult, evidence: CellEvidence) -> tuple[Link, ...]:
    logs = {arm.launch.log: arm.key.id for arm in (*evidence.on, *evidence.off) if arm.launch}
    logs |= {log: log for j in result.judgements for log in j.logs if log not in logs}
    return (
        Link(RECORDS, _(words.RECORDS)),
        *(Link(log, _(words.LOG).format(launch=name)) for log, name in logs.items()),
    )
