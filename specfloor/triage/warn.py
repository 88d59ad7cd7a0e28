"""What the reader of a verdict must know of its evidence, beside the verdict itself."""

from collections.abc import Iterator

from specfloor.i18n import _
from specfloor.signals.counters import Problem
from specfloor.triage.evidence import Warned
from specfloor.triage.judge_bench import Arm
from specfloor.triage.log import LogReading
from specfloor.triage.metrics import MetricsReading
from specfloor.triage.response import ResponseReading


def warn_of_log(reading: LogReading) -> Iterator[Warned]:
    """Yield what is cut, damaged or idle in a log, and how often its servers started."""
    name = reading.name
    if reading.incomplete:
        yield Warned(
            "truncated_line",
            _("{name}: {incomplete} acceptance lines are cut").format(
                name=name, incomplete=reading.incomplete
            ),
        )
    elif reading.cut_at_end:
        yield Warned("truncated_line", _("{name}: the last line is cut").format(name=name))
    if reading.contradictory:
        told = _("{contradictory} lines do not fit together ({contradiction})").format(
            contradictory=reading.contradictory, contradiction=reading.contradiction
        )
        yield Warned("contradictory_line", _("{what}: {why}").format(what=name, why=told))
    for runs in reading.servers.values():
        if len([run for run in runs if run.served]) > 1:
            yield Warned(
                "restart",
                _("{name}: the server was started {runs} times").format(name=name, runs=len(runs)),
            )
        drafting = any(run.tally for run in runs)
        names = sorted({n for run in runs for n, tally in run.engines.items() if tally is None})
        active = {n for run in runs for n, tally in run.engines.items() if tally is not None}
        if drafting and (idle := [n for n in names if n not in active]):
            yield Warned(
                "idle_engine",
                _("{name}: engines without drafts: {idle}").format(
                    name=name, idle=_(", ").join(idle)
                ),
            )


def warn_of_metrics(reading: MetricsReading) -> Iterator[Warned]:
    """Yield counters that cannot be used whole, and engines without drafts."""
    if reading.problem is not None and reading.problem.value in ("not_metrics", "counter_reset"):
        yield Warned(reading.problem.value, reading.sentence)
    if reading.lost is not None:
        code = "not_metrics" if reading.lost.problem is Problem.NOT_METRICS else "damaged_file"
        yield Warned(
            code, _("a scrape was passed over: {sentence}").format(sentence=reading.lost.sentence)
        )
    if reading.contradiction:
        yield Warned("contradictory_counters", reading.contradiction)
    if reading.unknown_positions:
        told = _(", ").join(str(place + 1) for place in reading.unknown_positions)
        yield Warned("position_missing", _("positions without a series: {told}").format(told=told))
    if reading.idle:
        yield Warned(
            "idle_engine",
            _("engines without drafts: {idle}").format(idle=_(", ").join(reading.idle)),
        )
    if reading.single and reading.problem is None:
        yield Warned(
            "since_start", _("one scrape only: its counts are since the start of the server")
        )
    if reading.gauges and reading.counted is None:
        yield Warned("v0_gauges", _("V0's metrics give rates since the start and no usable counts"))


def warn_of_responses(reading: ResponseReading) -> Iterator[Warned]:
    """Yield chunks that hold several steps, and answers that cannot be used."""
    if reading.merged:
        yield Warned("merged_chunks", _("a chunk holds more tokens than one step can give"))
    for sentence in reading.unusable[:3]:
        yield Warned("unusable_answer", sentence)


def warn_of_bench(arm: Arm) -> Iterator[Warned]:
    """Yield requests that failed, estimates, and figures that are in doubt."""
    run = arm.run
    if run.failed:
        sent = (run.completed or 0) + run.failed
        yield Warned(
            "failed_requests",
            _("{file}: {failed} of {sent} requests failed").format(
                file=arm.file, failed=run.failed, sent=sent
            ),
        )
    if run.spec is None and run.length_estimate is not None:
        message = _("ITL over TPOT is {length_estimate:.2f}, an estimate of the length").format(
            length_estimate=run.length_estimate
        )
        yield Warned("estimate_only", _("{what}: {why}").format(what=arm.file, why=message))
    if run.doubt:
        yield Warned("damaged_report", _("{what}: {why}").format(what=arm.file, why=run.doubt))
