"""How a watch is shown: a table for a terminal, a line for a log, JSON for programs."""

import datetime
from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specfloor.i18n import N_, _
from specfloor.signals.counts import DraftCounts
from specfloor.signals.places import short_names
from specfloor.watch.state import HISTORY, Engine, State, Summary, View, shares

SCHEMA = 1
"""The version of the JSON; it changes when a key changes its meaning or goes, not for new ones."""
NOTHING = "-"
BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "_.-=+*#@"
_COLUMNS = (
    N_("engine"),
    N_("rate"),
    N_("length"),
    N_("by position"),
    "draft/s",
    "acc/s",
    "run/wait",
    N_("start"),
    N_("over time"),
)
_WIDE = 80
"""Columns that the table needs without the line over time, at k = 3 with a host's name."""
_LEAST_READINGS = 8
_STATES = {
    State.NO_DRAFTS: N_("no drafts"),
    State.GENERATING_WITHOUT_DRAFTS: N_("generates without drafts"),
    State.FIRST_READING: N_("first reading"),
    State.V0_GAUGE: N_("V0: only since its start"),
}
_CELLS = _STATES | {State.GENERATING_WITHOUT_DRAFTS: N_("no drafts"), State.V0_GAUGE: "V0"}
"""The same in a cell; a note says more."""
_STYLES = {State.GENERATING_WITHOUT_DRAFTS: "bold yellow", State.NO_DRAFTS: "dim"}


def sparkline(rates: Sequence[float | None], bars: str = BARS) -> str:
    """Return a line of bars for rates from 0 to 1; a space is a reading without drafts."""
    last = len(bars) - 1
    return "".join(
        " " if rate is None else bars[min(max(round(rate * last), 0), last)] for rate in rates
    )


def as_table(
    view: View, *, floor: float | None = None, bars: str = BARS, width: int = 120
) -> RenderableType:
    """Return a view as what rich draws ``width`` columns wide; what is below ``floor`` is red."""
    title = _("acceptance at {clock}").format(clock=_clock(view.at))
    table = Table(box=None, title=title, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0))
    for name in _COLUMNS:
        left = name in ("engine", "by position", "over time")
        table.add_column(_(name), justify="left" if left else "right", no_wrap=True)
    readings = min(max(width - _WIDE, _LEAST_READINGS), HISTORY)
    for engine in _shown(view):
        style = _STYLES.get(engine.state, "")
        rate = engine.recent.counts.rate
        if floor is not None and rate is not None and rate < floor:
            style = "bold red"
        line = _(_CELLS.get(engine.state, "")) or sparkline(engine.history[-readings:], bars)
        table.add_row(_who(engine, view), *_cells(engine), line, style=style)
    notes = [
        Text(
            _("{url} {sentence}, since {clock}; retried").format(
                url=e.url, sentence=e.sentence, clock=_clock(e.since)
            ),
            style="bold red",
        )
        for e in view.endpoints
        if e.problem is not None
    ]
    notes += [
        Text(
            _("{engine} generates tokens without drafts").format(engine=describe(one, view)),
            style="bold yellow",
        )
        for one in view.engines
        if one.state is State.GENERATING_WITHOUT_DRAFTS
    ]
    return Group(table, *notes, *(Text(event, style="yellow") for event in _news(view)))


def _cells(engine: Engine) -> tuple[str, ...]:
    counts = engine.recent.counts
    v0 = engine.state is State.V0_GAUGE
    return (
        _percent(counts.rate),
        _number(counts.length, ".2f"),
        _positions(counts) or NOTHING,
        _number(engine.drafted_per_s, ".1f"),
        _number(engine.accepted_per_s, ".1f"),
        f"{_number(engine.load.running, 'd')}/{_number(engine.load.waiting, 'd')}",
        _percent(engine.gauge if v0 else engine.since_start.rate),
    )


def as_line(view: View) -> str:
    """Return a view as one line: all engines together, then each where there are several."""
    parts = [_clock(view.at)]
    lone = view.engines[0] if len(view.engines) == 1 else view.total
    if lone is not None:
        parts.append(_sentence(lone))
    if len(view.engines) > 1:
        told = (f"{_who(engine, view)} {_brief(engine)}" for engine in view.engines)
        parts.append("engines: " + ", ".join(told))
    parts += [
        _("{url} {sentence}, retried").format(url=e.url, sentence=e.sentence)
        for e in view.endpoints
        if e.problem is not None
    ]
    return " | ".join((*parts, *_news(view)))


def _sentence(engine: Engine) -> str:
    counts, load = engine.recent.counts, engine.load
    start = engine.since_start
    parts = [_(_STATES.get(engine.state, ""))]
    if engine.state is State.V0_GAUGE:
        parts = [
            _("rate {percent} since its start (V0 says no other)").format(
                percent=_percent(engine.gauge)
            )
        ]
    elif counts.drafted:
        parts = [
            _("drafted {drafted_per_s:.1f}/s").format(drafted_per_s=engine.drafted_per_s or 0),
            _("accepted {accepted_per_s:.1f}/s").format(accepted_per_s=engine.accepted_per_s or 0),
            _("rate {percent} over {seconds:.0f} s").format(
                percent=_percent(counts.rate), seconds=engine.recent.seconds
            ),
            _("length {number}").format(number=_number(counts.length, ".2f")),
            _("by position {positions}").format(positions=_positions(counts) or "?"),
        ]
    if load.running is not None:
        parts.append(
            _("{running} running {waiting} waiting").format(
                running=load.running, waiting=load.waiting or 0
            )
        )
    if start.drafted:
        parts.append(_("since start {percent}").format(percent=_percent(start.rate)))
    return ", ".join(parts)


def as_json(view: View) -> str:
    """Return a view as a line of JSON (docs/watch.md)."""
    return _line(
        {
            "schema": SCHEMA,
            "at": _utc(view.at),
            "endpoints": [
                {
                    "url": e.url,
                    "problem": e.problem,
                    "sentence": e.sentence,
                    "since": None if e.since is None else _utc(e.since),
                }
                for e in view.endpoints
            ],
            "engines": [_plain(engine) for engine in view.engines],
            "total": None if view.total is None else _plain(view.total),
            "events": list(view.events),
        }
    )


def _plain(engine: Engine) -> dict[str, Any]:
    recent = engine.recent
    generated = recent.generated
    return {
        "endpoint": engine.endpoint or None,
        "model": engine.model,
        "engine": engine.name,
        "state": engine.state,
        "seconds": round(recent.seconds, 3),
        "window": _counts(recent.counts) if recent.seconds else None,
        "drafted_per_s": engine.drafted_per_s,
        "accepted_per_s": engine.accepted_per_s,
        "generated_per_s": None if generated is None else generated / recent.seconds,
        "running": engine.load.running,
        "waiting": engine.load.waiting,
        "since_start": None if engine.state is State.V0_GAUGE else _counts(engine.since_start),
        "gauge": engine.gauge,
    }


def _counts(counts: DraftCounts) -> dict[str, Any]:
    return {
        "drafts": counts.steps,
        "draft_tokens": counts.drafted,
        "accepted_tokens": counts.accepted,
        "acceptance_rate": counts.rate,
        "acceptance_length": counts.length,
        "per_position": list(shares(counts)) or None,
    }


def summary_text(summary: Summary) -> str:
    """Return the whole watch for people."""
    lines = [
        _(
            "watched {seconds:.0f} s: {readings} readings, {unanswered} unanswered, "
            "{resets} restarts"
        ).format(
            seconds=summary.seconds,
            readings=summary.readings,
            unanswered=summary.unanswered,
            resets=summary.resets,
        )
    ]
    places = short_names(dict.fromkeys(url for url, _, _ in summary.whole))
    names = {
        name: f"{places[name[0]]} {name[2]}" if len(places) > 1 else name[2]
        for name in summary.whole
    }
    for name, gain in summary.whole.items():
        lowest = summary.lowest.get(name)
        least = (
            "" if lowest is None else _(", least in a window {lowest:.1%}").format(lowest=lowest)
        )
        lines.append(
            _("  engine {name}: {whole}{least}").format(
                name=names[name], whole=_whole(gain.counts), least=least
            )
        )
    if len(names) > 1:
        lines.append(_("  together: {whole}").format(whole=_whole(summary.total)))
    return "\n".join(lines)


def summary_json(summary: Summary, reason: str | None) -> str:
    """Return the whole watch as the last line of JSON; ``reason`` is why it ended by itself."""
    return _line(
        {
            "schema": SCHEMA,
            "summary": {
                "seconds": round(summary.seconds, 3),
                "readings": summary.readings,
                "unanswered": summary.unanswered,
                "restarts": summary.resets,
                "below_floor": reason,
                "total": _counts(summary.total),
                "engines": [
                    {
                        "endpoint": name[0],
                        "model": name[1],
                        "engine": name[2],
                        **_counts(gain.counts),
                        "lowest_rate": summary.lowest.get(name),
                    }
                    for name, gain in summary.whole.items()
                ],
            },
        }
    )


def describe(engine: Engine, view: View) -> str:
    """Return whom an engine's figures are about."""
    if engine is view.total:
        return _("all engines together")
    return _("engine {who}").format(who=_who(engine, view))


def _who(engine: Engine, view: View) -> str:
    several = len(view.endpoints) > 1 and engine is not view.total
    models = {one.model for one in view.engines}
    parts = (
        short_names(one.url for one in view.endpoints)[engine.endpoint] if several else "",
        engine.model or "" if len(models) > 1 else "",
        engine.name,
    )
    return " ".join(filter(None, parts))


def _news(view: View) -> list[str]:
    """Return the events that the problems of the endpoints do not say already."""
    said = {f"{e.url} {e.sentence}" for e in view.endpoints if e.problem is not None}
    return [event for event in view.events if event not in said]


def _shown(view: View) -> tuple[Engine, ...]:
    if view.total is None or len(view.engines) == 1:
        return view.engines
    return (*view.engines, view.total)


def _whole(counts: DraftCounts) -> str:
    if not counts.drafted:
        return _("no drafts")
    positions = _positions(counts)
    return _(
        "{accepted:,} of {drafted:,} tokens accepted, rate {percent}, length {number}{more}"
    ).format(
        accepted=counts.accepted,
        drafted=counts.drafted,
        percent=_percent(counts.rate),
        number=_number(counts.length, ".2f"),
        more=_(", by position {positions}").format(positions=positions) if positions else "",
    )


def _brief(engine: Engine) -> str:
    if engine.state is State.V0_GAUGE:
        return _("{percent} since its start").format(percent=_percent(engine.gauge))
    return _(_STATES.get(engine.state, "")) or _percent(engine.recent.counts.rate)


def _positions(counts: DraftCounts) -> str:
    return " ".join(f"{share:.2f}" for share in shares(counts))


def _percent(rate: float | None) -> str:
    return NOTHING if rate is None else f"{rate:.1%}"


def _number(value: float | None, spelled: str) -> str:
    return NOTHING if value is None else format(value, spelled)


def _clock(at: float | None) -> str:
    moment = datetime.datetime.fromtimestamp(at or 0.0, datetime.UTC).astimezone()
    return f"{moment:%H:%M:%S}"


def _utc(at: float) -> str:
    moment = datetime.datetime.fromtimestamp(at, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _line(value: dict[str, Any]) -> str:
    return msgspec.json.encode(value).decode()
