"""Panels about acceptance: against floor and references, by position, over time, by request."""

from collections.abc import Iterator

from specfloor.catalog.references import Reference, describe, fitting, origin
from specfloor.i18n import _
from specfloor.judge.cell import AcceptanceJudgement
from specfloor.judge.floors import Quantity
from specfloor.judge.verdict import AcceptanceSummary, Estimate
from specfloor.report.html import words
from specfloor.report.html.context import Context
from specfloor.report.html.model import Dot, Dots, Level, Lines, Panel, Role, Series, Table
from specfloor.report.html.series import WINDOW, Rated, rated, running_mean, thinned

_LOWEST = 5
_EXCERPT = 120
"""Characters of an answer: enough to recognise it, and a page has a size to keep."""


def against_floor(context: Context) -> Iterator[Panel]:
    """Yield the rate with its interval between floor and references, and the length likewise."""
    judgement = context.result.acceptance
    if judgement is None or judgement.summary is None:
        return
    summary = judgement.summary
    references = fitting(context.cell)
    in_lengths = judgement.floor and judgement.floor.quantity is Quantity.ACCEPTANCE_LENGTH
    mean = judgement.mean("rate") or summary.rate_mean
    rows = [_dot(_(words.MEAN), mean), _dot(_(words.POOLED), summary.rate_pooled)]
    if len(summary.per_domain) > 1:
        rows += [_dot(domain.domain, domain.mean) for domain in summary.per_domain]
    rows += _published(references, "acceptance_rate")
    interval = mean.interval
    yield Panel(
        _(words.RATE_TITLE),
        _(words.RATE_PROSE).format(
            mean=f"{mean.value:.1%}",
            n=mean.n,
            interval=_(words.RATE_INTERVAL).format(
                level=interval.level, low=f"{interval.low:.1%}", high=f"{interval.high:.1%}"
            )
            if interval
            else "",
        ),
        charts=(
            Dots(_(words.RATE_CHART), tuple(rows), () if in_lengths else _floor_level(judgement)),
        ),
        notes=_notes(judgement, references),
    )
    published = _published(references, "acceptance_length")
    if published or in_lengths:
        yield _lengths(judgement, summary, published)


def _lengths(
    judgement: AcceptanceJudgement, summary: AcceptanceSummary, published: list[Dot]
) -> Panel:
    in_lengths = judgement.floor and judgement.floor.quantity is Quantity.ACCEPTANCE_LENGTH
    rows = [
        _dot(_(words.MEAN), judgement.mean("length") or summary.length_mean),
        _dot(_(words.POOLED), summary.length_pooled),
        *published,
    ]
    prose = _(words.LENGTH_PROSE).format(
        length=f"{summary.length_pooled.value:.2f}", n=summary.length_pooled.n
    )
    levels = _floor_level(judgement) if in_lengths else ()
    return Panel(_(words.LENGTH_TITLE), prose, (Dots(_(words.LENGTH_CHART), tuple(rows), levels),))


def _dot(label: str, estimate: Estimate) -> Dot:
    interval = estimate.interval
    text = f"{estimate.value:.3f}"
    if interval is None:
        return Dot(label, estimate.value, text)
    text = f"{text} [{interval.low:.3f}, {interval.high:.3f}]"
    return Dot(label, estimate.value, text, interval.low, interval.high)


def _published(references: tuple[Reference, ...], quantity: str) -> list[Dot]:
    dots = []
    for reference in references:
        if reference.quantity == quantity:
            low, high = min(reference.value), max(reference.value)
            text = (
                f"{low:.4g}"
                if low == high
                else _(words.SPAN).format(low=f"{low:.4g}", high=f"{high:.4g}")
            )
            label = origin(reference)
            dots.append(Dot(label, (low + high) / 2, text, low, high, Role.REFERENCE))
    return dots


def _floor_level(judgement: AcceptanceJudgement) -> tuple[Level, ...]:
    if judgement.floor is None:
        return ()
    value = judgement.floor.value
    return (Level(_(words.FLOOR_VALUE).format(value=f"{value:g}"), value),)


def _notes(judgement: AcceptanceJudgement, references: tuple[Reference, ...]) -> tuple[str, ...]:
    notes = []
    if floor := judgement.floor:
        notes.append(
            _(words.FLOOR_NOTE).format(
                value=floor.value, date=floor.date, reason=_(floor.reason), source=floor.source
            )
        )
    elif judgement.report_only:
        notes.append(_(words.NO_FLOOR_NOTE).format(reason=judgement.report_only))
    if judgement.rung:
        notes.append(
            _(words.RUNG_NOTE).format(
                rung=judgement.rung,
                sent=judgement.sent,
                prompts=judgement.prompts,
                failed=judgement.failed,
                agreement=judgement.reconciliation,
            )
        )
    if outputs := judgement.outputs:
        notes.append(_(words.OUTPUTS_NOTE).format(same=outputs.same, compared=outputs.compared))
    notes += [_(words.REFERENCE_NOTE).format(text=describe(one)) for one in references]
    if not references:
        notes.append(_(words.NO_REFERENCE))
    return tuple(notes)


def by_position(context: Context) -> Iterator[Panel]:
    """Yield the share of steps that accept each position, with published profiles."""
    judgement = context.result.acceptance
    profile = judgement.summary.per_position if judgement and judgement.summary else ()
    if not profile:
        return
    banded = all(one.interval for one in profile)
    series = [
        Series(
            _(words.MEASURED),
            tuple(float(i + 1) for i in range(len(profile))),
            tuple(one.value for one in profile),
            style="both",
            low=tuple(one.interval.low for one in profile if one.interval) if banded else (),
            high=tuple(one.interval.high for one in profile if one.interval) if banded else (),
        )
    ]
    series += [
        Series(
            origin(reference),
            tuple(float(i + 1) for i in range(len(reference.value))),
            reference.value,
            Role.REFERENCE,
            "both",
        )
        for reference in fitting(context.cell)
        if reference.quantity == "per_position"
    ]
    first, last = f"{profile[0].value:.1%}", f"{profile[-1].value:.1%}"
    prose = _(words.PROFILE_PROSE) if len(profile) > 1 else _(words.PROFILE_ONE)
    longest = max(len(one.x) for one in series)
    yield Panel(
        _(words.PROFILE_TITLE),
        prose.format(first=first, last=last),
        charts=(
            Lines(
                _(words.PROFILE_CHART),
                _(words.POSITION),
                tuple(series),
                ticks=tuple(float(i + 1) for i in range(longest)),
                limits=(0.0, 1.0),
                span=(0.7, longest + 0.3),
            ),
        ),
    )


def over_time(context: Context) -> Iterator[Panel]:
    """Yield the rate of each request when it was sent, with a running mean."""
    found = _rated(context)
    if len(found) < 2:
        return
    times = [one.request.started_s for one in found]
    rates = [one.rate for one in found]
    judgement = context.result.acceptance
    in_rates = (
        judgement and judgement.floor and judgement.floor.quantity is Quantity.ACCEPTANCE_RATE
    )
    yield Panel(
        _(words.TIME_TITLE),
        _(words.TIME_PROSE).format(window=WINDOW),
        charts=(
            Lines(
                _(words.TIME_CHART),
                _(words.SECONDS),
                (
                    Series(_(words.REQUEST), *thinned(times, rates), Role.QUIET, "points"),
                    Series(
                        _(words.RUNNING_MEAN).format(window=WINDOW),
                        *thinned(times, running_mean(rates)),
                    ),
                ),
                _floor_level(judgement) if judgement and in_rates else (),
                limits=(0.0, 1.0),
                span=(times[0], times[-1]),
            ),
        ),
    )


def lowest(context: Context) -> Iterator[Panel]:
    """Yield the requests that accepted least, with the beginning of their answers."""
    found = sorted(_rated(context), key=lambda one: (one.rate, one.request.index))[:_LOWEST]
    if not found:
        return
    rows = tuple(
        (
            one.request.prompt_id,
            one.request.domain,
            str(one.counts.counts.accepted),
            str(one.counts.counts.drafted),
            f"{one.rate:.3f}",
            _excerpt(one.request.reasoning + one.request.text),
        )
        for one in found
    )
    table = Table(tuple(map(_, words.LOWEST_HEADERS)), rows, frozenset({2, 3, 4}))
    yield Panel(_(words.LOWEST_TITLE), _(words.LOWEST_PROSE), table=table, wide=True)


def _rated(context: Context) -> list[Rated]:
    block = context.evidence.on[0].natural if context.evidence.on else None
    if block is None:
        return []
    return rated(block, k=context.cell.k, drafts_k=context.drafts_k)


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT].rstrip()} …"
