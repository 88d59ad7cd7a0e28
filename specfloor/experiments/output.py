"""Is the text still right?"""

import msgspec

from specfloor.catalog import Catalog
from specfloor.cells import OFF, Cell
from specfloor.errors import UsageError
from specfloor.experiments.base import Bench, ExperimentJudgement, Table, arm_launch
from specfloor.experiments.thinking import thinking_apart
from specfloor.i18n import _
from specfloor.judge.cell import Rule
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.floors import Floors
from specfloor.judge.output import CheckResult, OutputVerdict, judge_output
from specfloor.judge.verdict import Verdict
from specfloor.progress import LaunchProgress
from specfloor.runs.records import BlockKey, Purpose
from specfloor.triage.findings import Finding

WORKLOAD = "output"
"""The workload of a set whose prompts say what their answer must be; where a set has none, the
cell's own is sent, and only what needs no right answer is checked."""
CONCURRENCY = {"small": 8, "full": 16}
"""Requests in flight: verification goes wrong in batches that a single request never makes."""


class Output:
    """Compares the answers with speculation with those of two launches without it."""

    name = "output"
    varies = ("workload", "concurrency")

    def why_not(self, cell: Cell, catalog: Catalog) -> str | None:
        """Every cell has an answer."""
        del cell, catalog
        return None

    def measure(self, bench: Bench, cell: Cell) -> None:
        """Launch off, on, and off again: the off arm has to agree with itself."""
        block = BlockKey(
            _workload(bench, cell),
            cell.tier,
            bench.most_concurrent(cell, CONCURRENCY[bench.size]),
            Purpose.NATURAL,
        )
        launches = (OFF, 0, "off"), (cell.arm, 0, cell.arm.label), (OFF, 1, _("off again"))
        overrides = thinking_apart(bench.catalog.family(cell.family))
        progress = LaunchProgress(self.name, len(launches), bench.say)
        for arm, repeat, called in launches:
            progress.begin(called)
            key = arm_launch(cell, arm, self.name, repeat)
            plan = msgspec.structs.replace(bench.block_plan(key, block), keep_prompts=True)
            bench.launch(key, {block: plan}, overrides)

    def judge(
        self, index: RecordIndex, cell: Cell, catalog: Catalog, floors: Floors, rule: Rule
    ) -> ExperimentJudgement:
        """Judge the answers by the prompts that the run holds."""
        del catalog, floors
        arms = (cell.arm, 0), (OFF, 0), (OFF, 1)
        keys = [arm_launch(cell, arm, self.name, repeat) for arm, repeat in arms]
        block = next((sent for key, sent in index.blocks() if key in keys), None)
        on, off, again = (index.block(key, block) if block else None for key in keys)
        fault = index.fault(keys[0].id)
        blank = ExperimentJudgement(
            cell,
            self.name,
            Verdict.FAIL if fault else Verdict.NO_DATA,
            (fault.finding if fault else Finding.NO_DATA,),
            fault.sentence if fault else _("no answer with speculation was recorded"),
            logs=index.logs(cell, self.name),
        )
        prompts = index.prompts(on.sent.fingerprint) if on else None
        if on is None or not on.requests:
            return blank
        if prompts is None:
            reason = _(
                "the run does not hold the prompts, so what their answers must be is not known"
            )
            return msgspec.structs.replace(blank, reason=reason)
        judged = judge_output(on, off, again, {prompt.id: prompt for prompt in prompts}, rule)
        said = msgspec.structs.replace(blank, detail=judged, tables=_tables(judged))
        if fault:
            return msgspec.structs.replace(
                said,
                reason=_("{sentence}. Until then: {reason}").format(
                    sentence=fault.sentence, reason=judged.reason
                ),
            )
        # a launch of the off arm that ended early is why the verdict knows less
        lost = [found.sentence for key in keys[1:] if (found := index.fault(key.id))]
        return msgspec.structs.replace(
            said,
            verdict=judged.verdict,
            findings=judged.findings or (Finding.EXPECTED,),
            reason=_(". With speculation off: ").join((judged.reason, *lost[:1])),
        )


def _workload(bench: Bench, cell: Cell) -> str:
    try:
        bench.workloads.settings(bench.catalog.family(cell.family).workload_set, WORKLOAD)
    except UsageError:
        return cell.workload
    return WORKLOAD


def _tables(judged: OutputVerdict) -> tuple[Table, ...]:
    if not judged.checks:
        return ()
    columns = (
        _("good are"),
        "prompts",
        "on",
        "off",
        _("off again"),
        "p",
        _("loss at most"),
        _("allowed"),
    )
    rows = tuple(map(_row, judged.checks))
    return (Table(_("Answers by what they are checked for"), columns, rows),)


def _row(check: CheckResult) -> tuple[str | float | None, ...]:
    return (
        _(check.check),
        str(check.pairs.prompts),
        str(check.pairs.both + check.pairs.gained),
        str(check.off_good),
        None if check.again_good is None else str(check.again_good),
        check.p_holm,
        check.loss_at_most,
        check.allowed,
    )
