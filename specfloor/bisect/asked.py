"""From what was asked to a search that can begin."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from specfloor.bisect.line import Line, cut, line_of, read_list
from specfloor.bisect.prior import weights
from specfloor.bisect.search import Answer
from specfloor.bisect.state import Candidate, Done, Question, State
from specfloor.catalog import Catalog, load_catalog
from specfloor.catalog.model import Soc
from specfloor.catalog.onsite import Site
from specfloor.cells import slug
from specfloor.engines.reach import Way
from specfloor.engines.routes import named_routes, route_of
from specfloor.errors import UsageError
from specfloor.judge.floors import Floor, read_floors_in
from specfloor.judge.verdict import ALPHA, BETA, MARGIN
from specfloor.ledger.model import Ledger
from specfloor.plan import Selection, select_cells
from specfloor.settings import START_TIMEOUT_S, Settings, read_pairs, site_of


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The options of a search, as ``specfloor bisect --help`` has them."""

    good: str | None = None
    bad: str | None = None
    listed: Path | None = None
    taken_for: str | None = None
    family: str
    method: str | None = None
    spec_tokens: int | None = None
    workload: str | None = None
    tier: str | None = None
    both_arms: bool = False
    alpha: float = ALPHA
    beta: float = BETA
    margin: float = MARGIN
    population: Literal["fixed", "sampled"] = "fixed"
    attempts: int = 2
    seed: int = 20260601
    ways: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    soc: Soc | None = None
    cards: int | None = None
    start_timeout: float | None = None
    fixtures: Path = Path("fixtures")
    cache_dir: Path | None = None


def candidates_of(
    asked: Asked, catalog: Catalog, ledger: Ledger
) -> tuple[tuple[Candidate, ...], Line]:
    """Return what is searched, the good end first, and the line it stands in.

    Raises:
        UsageError: the ends are missing or have no line between them, or the list is not as it
            should be.
    """
    if asked.listed is None:
        if not asked.good or not asked.bad:
            raise UsageError("name a release with --good and a later one with --bad, or a --list")
        if asked.taken_for:
            raise UsageError("--as says what the names of a --list are, and none was given")
        line = line_of(catalog, ledger, asked.good, asked.bad)
        return tuple(Candidate(name, name) for name in line.names), line
    entries = cut(read_list(asked.listed), asked.good, asked.bad)
    found = tuple(
        Candidate(entry.name, _release_of(entry.name, asked.taken_for, catalog), entry.route)
        for entry in entries
    )
    return found, Line(tuple(one.name for one in found), f"as in {asked.listed.name}")


def _release_of(name: str, taken_for: str | None, catalog: Catalog) -> str:
    try:
        return catalog.release(name).name
    except UsageError:
        if taken_for is None:
            raise UsageError(
                f"{name} is no release; say with --as which release it is to be launched like"
            ) from None
        return catalog.release(taken_for).name


def settings_of(asked: Asked, platform: Literal["cpu", "ascend"]) -> Settings:
    """Return the settings that every run of a search has; UsageError when they cannot be."""
    default = START_TIMEOUT_S[platform]
    return Settings(
        selection=Selection(platform=platform),
        floors_dir=asked.fixtures / "floors",
        workloads_dir=asked.fixtures / "workloads",
        seed=asked.seed,
        alpha=asked.alpha,
        beta=asked.beta,
        margin=asked.margin,
        population=asked.population,
        start_timeout_s=default if asked.start_timeout is None else asked.start_timeout,
        cache=asked.cache_dir,
        routes=named_routes(asked.ways, load_catalog()),
        soc=asked.soc,
        cards=asked.cards,
        models=read_pairs("--model", "NAME=VALUE", asked.models),
        drafts=read_pairs("--draft", "NAME=VALUE", asked.drafts),
    )


def begin(asked: Asked, ledger: Ledger) -> tuple[State, Settings, Site]:
    """Return a search at its beginning, the settings of its runs, and what can run here.

    What is known not to run here, or not to have the method, is skipped before anything starts.

    Raises:
        UsageError: an option cannot be.
    """
    if asked.attempts < 1:
        raise UsageError(f"--attempts {asked.attempts} is less than 1")
    catalog = load_catalog()
    candidates, line = candidates_of(asked, catalog, ledger)
    settings = settings_of(asked, catalog.release(candidates[0].release).platform)
    site = site_of(settings)
    state = start(
        asked, candidates=candidates, line=line, settings=settings, site=site, ledger=ledger
    )
    return state, settings, site


def ways_of(state: State, settings: Settings, site: Site) -> list[Way]:
    """Return how the engines of the releases that have no answer yet would be reached."""
    question, answers = state.question, state.answers()
    cards = site.catalog.family(question.cell.family).cards
    ways = []
    for place, candidate in enumerate(question.candidates):
        if place not in answers:
            release = site.catalog.release(candidate.release)
            asked = candidate.route or settings.route(release.name)
            ways.append(Way(release, route_of(release, asked), cards))
    return ways


def start(
    asked: Asked,
    *,
    candidates: Sequence[Candidate],
    line: Line,
    settings: Settings,
    site: Site,
    ledger: Ledger,
) -> State:
    """Return a search at its beginning, over candidates of a site; raises as :func:`begin`."""
    cell, *_ = select_cells(
        site.catalog,
        Selection(
            platform=settings.selection.platform,
            releases=(candidates[0].release,),
            families=(asked.family,),
            methods=_one(asked.method),
            spec_tokens=() if asked.spec_tokens is None else (asked.spec_tokens,),
            workloads=_one(asked.workload),
            tiers=_one(asked.tier),
        ),
    )
    priors, why = weights(line.names, ledger, family=cell.family, method=cell.method)
    question = Question(
        cell=cell,
        candidates=tuple(candidates),
        order=line.order,
        left_out=line.left_out,
        weights=priors,
        prior=why,
        alpha=asked.alpha,
        beta=asked.beta,
        margin=asked.margin,
        population=asked.population,
        seed=asked.seed,
        both_arms=asked.both_arms,
        attempts=asked.attempts,
    )
    floors = read_floors_in(settings.floors_dir)
    entry = floors.of_acceptance(cell, site.catalog.family(cell.family))
    skipped = [
        Done(place=place, answer=Answer.SKIP, reason=reason)
        for place, candidate in enumerate(candidates)
        if (reason := site.why_not(cell.on_release(candidate.release)))
    ]
    return State(
        question=question,
        floor=entry if isinstance(entry, Floor) else None,
        done=tuple(skipped),
    )


def _one(name: str | None) -> tuple[str, ...]:
    return () if name is None else (slug(name),)
