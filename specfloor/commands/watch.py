"""``specfloor watch``: acceptance of running servers as it is now."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from time import sleep

import click
from rich.console import Console
from rich.live import Live

from specfloor.commands._show import Share
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.i18n import _
from specfloor.watch.endpoint import Rename, metrics_url
from specfloor.watch.loop import Ended, Settings, over_http, run, steady_clock
from specfloor.watch.show import (
    BARS,
    PLAIN_BARS,
    as_json,
    as_line,
    as_table,
    summary_json,
    summary_text,
)
from specfloor.watch.state import View

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_LEAST_PERIOD_S = 0.1


def seconds(text: str) -> float:
    """Read a time such as 2, 2s, 1.5m or 1h; raises UsageError."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(s|m|h|)", text.strip())
    if match is None:
        raise UsageError(f"{text} is no time; write 60s, 2m or 1h")
    return float(match[1]) * _UNITS[match[2]]


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option(
    "--period", default="2s", show_default=True, metavar="TIME", help="between two readings"
)
@click.option(
    "--over", default="60s", show_default=True, metavar="TIME", help="length of the window"
)
@click.option("--once", is_flag=True, help="read twice, a period apart, and stop")
@click.option("--json", "as_lines", is_flag=True, help="a line of JSON for every reading")
@click.option(
    "--floor",
    type=Share(whole=True),
    metavar="RATE",
    help="stop with exit code 1 when the acceptance rate over the window falls below this fraction",
)
@click.option(
    "--rename",
    "renames",
    multiple=True,
    metavar="OLD=NEW",
    help="read metric names that begin with OLD as if they began with NEW; may be repeated",
)
def watch(
    *,
    urls: tuple[str, ...],
    period: str,
    over: str,
    once: bool,
    as_lines: bool,
    floor: float | None,
    renames: tuple[str, ...],
) -> int:
    """Show the acceptance of running servers as it is now, from their /metrics.

    URL is a server (http://HOST:PORT) or the address of its metrics. Every figure is of the last
    --over of time, so that it moves with the traffic. Ctrl-C ends with a summary of the whole
    watch. Exit code 1: below the floor; 10: nothing was drafted, or nothing could be judged.
    """
    period_s, over_s = seconds(period), seconds(over)
    if period_s < _LEAST_PERIOD_S:
        raise UsageError(f"--period {period} is too short; take {_LEAST_PERIOD_S:g}s or more")
    if not once and over_s < period_s:
        raise UsageError(f"--over {over} is shorter than --period {period}; lengthen it")
    settings = Settings(
        urls=tuple(dict.fromkeys(map(metrics_url, urls))),
        period_s=period_s,
        over_s=period_s if once else over_s,
        floor=floor,
        readings=2 if once else None,
    )
    try:
        return _watch(settings, tuple(map(Rename.parse, renames)), as_lines=as_lines)
    except BrokenPipeError:  # what the output is piped to has ended, as ``head`` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.UNDECIDED


def _watch(settings: Settings, renames: Sequence[Rename], *, as_lines: bool) -> Exit:
    with over_http(settings.urls, renames) as read, _screen(settings, as_lines=as_lines) as show:
        ended = run(settings, read, show, clock=steady_clock(), sleep=sleep)
    if as_lines:
        click.echo(summary_json(ended.summary, ended.below))
    else:
        click.echo(summary_text(ended.summary))
        if settings.floor is not None:
            click.echo(_verdict(ended, settings.floor))
    shown = ended.judged if settings.floor is not None else ended.summary.total.drafted
    if ended.below is not None:
        return Exit.FAILS
    return Exit.HOLDS if shown and ended.answering else Exit.UNDECIDED


@contextlib.contextmanager
def _screen(settings: Settings, *, as_lines: bool) -> Iterator[Callable[[View], None]]:
    """Give what shows a view: JSON, a table on a terminal, lines elsewhere."""
    console = Console()
    if as_lines:
        yield lambda view: click.echo(as_json(view))
    elif settings.readings is None and console.is_terminal:
        bars = BARS if console.encoding.startswith("utf") else PLAIN_BARS
        with Live(console=console, auto_refresh=False) as live:
            yield lambda view: live.update(
                as_table(view, floor=settings.floor, bars=bars, width=console.width), refresh=True
            )
    else:
        yield lambda view: click.echo(as_line(view))


def _verdict(ended: Ended, floor: float) -> str:
    if ended.below is not None:
        return f"FAIL: {ended.below}"
    if not ended.judged:
        return _(
            "NO_DATA: no window of the full length drafted enough to be held against {floor:.1%}"
        ).format(floor=floor)
    lost = "" if ended.answering else _("; at the end an endpoint gave no counters")
    return _("the floor of {floor:.1%} held in {judged} windows{lost}").format(
        floor=floor, judged=ended.judged, lost=lost
    )
