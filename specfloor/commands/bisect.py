"""``specfloor bisect``: which release broke the acceptance of a family."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from specfloor.bisect.asked import Asked, begin, ways_of
from specfloor.bisect.probe import Prober
from specfloor.bisect.report import as_document, as_text, conclude
from specfloor.bisect.run import search, upcoming
from specfloor.bisect.state import State, resume, save
from specfloor.catalog.model import Soc
from specfloor.catalog.onsite import Site
from specfloor.commands._show import Format, as_json, format_option
from specfloor.engines.reach import check_ways
from specfloor.engines.routed import EngineNeeds, RoutedEngines, engines_of
from specfloor.engines.routes import SYNTAX
from specfloor.i18n import _
from specfloor.ledger import read_ledger
from specfloor.measure import Runner, Say
from specfloor.runs.spoken import spoken
from specfloor.session import RunnerNeeds, on_this_host
from specfloor.settings import Settings


@click.command()
@click.option("--good", metavar="RELEASE", help="A release whose acceptance is as it should be.")
@click.option("--bad", metavar="RELEASE", help="A later one whose acceptance is not.")
@click.option(
    "--list",
    "listed",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Search these instead of releases, the good end first: NAME WAY a line.",
)
@click.option(
    "--as",
    "taken_for",
    metavar="RELEASE",
    help="With --list: the release that names which are none are taken for.",
)
@click.option("--family", required=True, help="Model family.")
@click.option("--method", help="Method of drafting (default: the family's first).")
@click.option("--spec-tokens", type=int, help="num_speculative_tokens (default: the method's).")
@click.option("--workload", help="What is sent (default: the family's first).")
@click.option("--tier", help="Reasoning effort tier (default: the family's first).")
@click.option("--both-arms", is_flag=True, help="Launch without speculation too, for its texts.")
@click.option("--alpha", default=0.05, show_default=True, help="Chance that a good one is named.")
@click.option("--beta", default=0.05, show_default=True, help="Chance that the bad one is missed.")
@click.option("--margin", default=0.05, show_default=True, help="Loss that makes a release bad.")
@click.option(
    "--population", type=click.Choice(["fixed", "sampled"]), default="fixed", show_default=True
)
@click.option("--attempts", default=2, show_default=True, help="Launches of one that undecided.")
@click.option("--seed", default=20260601, show_default=True, help="Of prompt order and sampling.")
@click.option(
    "--engine",
    "ways",
    multiple=True,
    metavar="[RELEASE=]WAY",
    help=f"How a release's engine is reached: {SYNTAX}",
)
@click.option("--model", "models", multiple=True, metavar="FAMILY=PATH", help="Checkpoint to use.")
@click.option("--draft", "drafts", multiple=True, metavar="FAMILY[/METHOD]=PATH")
@click.option("--soc", type=click.Choice(get_args(Soc)), help="Class of the NPUs.")
@click.option("--cards", type=int, help="NPU devices to use.")
@click.option("--start-timeout", type=float, metavar="S", help="Seconds to be healthy.")
@click.option(
    "--fixtures",
    type=click.Path(path_type=Path),
    default=Path("fixtures"),
    show_default=True,
    help="Folder with floors/, workloads/ and models/.",
)
@click.option("--cache-dir", type=click.Path(path_type=Path), help="Where engines are kept.")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the search; one that was stopped goes on (default: reports/bisect-…).",
)
@click.option("--plan", "only_plan", is_flag=True, help="Say what would be launched first.")
@format_option
def bisect(
    *,
    into: Path | None,
    only_plan: bool,
    style: Format,
    **options: Any,  # noqa: ANN401 - the fields of what was asked, as options name them
) -> int:
    """Find the first release in which a family's draft is no longer accepted as it was.

    Every launch is one run with the arm that speculates. The next one is chosen so that the fewest
    are needed in the mean, where releases with changes to this family and method in the ledger are
    likelier. Exits with 0 when one release was found, 10 when several are left, 1 when an end is
    not what it was said to be.
    """
    asked = Asked(**options)
    ledger = read_ledger()
    fresh, settings, site = begin(asked, ledger)
    names = [candidate.name for candidate in fresh.question.candidates]
    cell = fresh.question.cell
    folder = into or Path("reports") / f"bisect-{cell.pair_id}-{names[0]}-{names[-1]}"
    state = resume(fresh, folder)
    if only_plan:
        _show_plan(state, names)
        return 0

    if upcoming(state):
        check_ways(ways_of(state, settings, site), site.soc)

    def say(line: str) -> None:
        click.echo(line, err=style == "json")

    def engines(of_run: Settings) -> Callable[[RunnerNeeds], Runner]:
        return on_this_host(_engines(asked, of_run, site, say), say)

    save(state, folder)
    # a search that is terminated ends like an interrupted one: its engine goes with it
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        state = search(
            state,
            Prober(
                state.question,
                settings=settings,
                site=site,
                engines=engines,
                folder=folder,
                say=say,
            ),
            lambda now: save(now, folder),
            say,
        )
    finally:
        signal.signal(signal.SIGTERM, before)
    conclusion = conclude(state, ledger)
    if style == "json":
        click.echo(as_json(as_document(state, conclusion)))
    else:
        click.echo(f"\n{as_text(state, conclusion, folder)}")
    return conclusion.exit_code


def _engines(asked: Asked, settings: Settings, site: Site, say: Say) -> RoutedEngines:
    needs = EngineNeeds.of(settings, site, asked.fixtures / "models")
    return engines_of(needs, say, lambda *_: None)


def _show_plan(state: State, names: list[str]) -> None:
    """Print what a search would do first, without starting it."""
    question = state.question
    click.echo(_(", ").join((question.cell.pair_id, spoken(question.order))))
    total = sum(question.weights)
    shares = ["", *(f"{weight / total:.1%}" for weight in question.weights)]
    answers = state.answers()
    for place, (name, share) in enumerate(zip(names, shares, strict=True)):
        click.echo(f"  {name:14} {share:>6} {answers.get(place, '')}".rstrip())
    for name, why in question.left_out.items():
        click.echo(_("  left out: {name}, {why}").format(name=name, why=spoken(why)))
    click.echo(_("Weights: {prior}.").format(prior=spoken(question.prior)))
    probe = upcoming(state)
    if probe is None:
        click.echo(_("Nothing is left to launch."))
        return
    click.echo(
        _("First {name}; {expected:.1f} launches in the mean, at most {worst}.").format(
            name=names[probe.place], expected=probe.expected, worst=probe.worst
        )
    )
