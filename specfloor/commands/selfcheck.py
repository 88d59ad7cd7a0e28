"""``specfloor selfcheck``: whether this instrument can be trusted on this engine."""

import datetime
from pathlib import Path

import click

from specfloor.catalog import load_catalog
from specfloor.engines.local import LocalEngines
from specfloor.engines.routes import PythonRoute
from specfloor.errors import UsageError
from specfloor.exits import Exit
from specfloor.i18n import _
from specfloor.load.sets import Workloads
from specfloor.load.workload import shuffled
from specfloor.measure import Fault
from specfloor.selfcheck import SPEEDUPS, Check, Scatter, SelfCheck, with_calibrated_drafter

_DEFAULTS = {"release": "cpu-0.32.0", "family": "glm_moe_tiny", "seed": 7, "tokens": 96}


@click.command()
@click.option("--release", default=_DEFAULTS["release"], show_default=True)
@click.option("--family", default=_DEFAULTS["family"], show_default=True)
@click.option("--launches", default=3, show_default=True, help="Launches of the off arm.")
@click.option("--tokens", default=_DEFAULTS["tokens"], show_default=True, help="Of every answer.")
@click.option("--seed", default=_DEFAULTS["seed"], show_default=True)
@click.option(
    "--fixtures",
    type=click.Path(path_type=Path),
    default=Path("fixtures"),
    show_default=True,
    help="Folder with workloads/ and models/.",
)
@click.option("--cache-dir", type=click.Path(path_type=Path), help="Where engines are kept.")
@click.option("--engine-python", type=click.Path(path_type=Path), help="Interpreter with vLLM.")
@click.option("--start-timeout", default=600.0, show_default=True, help="Seconds to be healthy.")
def selfcheck(
    *,
    release: str,
    family: str,
    launches: int,
    tokens: int,
    seed: int,
    fixtures: Path,
    cache_dir: Path | None,
    engine_python: Path | None,
    start_timeout: float,
) -> int:
    """Check the instrument itself on an engine, before anyone reads a verdict.

    Measures a drafter of known acceptance, two disjoint halves of the prompts, and how far launches
    scatter. Exits with 1 when acceptance verdicts cannot be trusted here.
    """
    if launches < 1:
        raise UsageError(f"--launches {launches} is less than 1")
    catalog = load_catalog()
    model = catalog.family(family)
    folder = Path("reports") / f"selfcheck-{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S}"
    folder.mkdir(parents=True)
    settings = (folder / "drafter.json").resolve()
    able = with_calibrated_drafter(catalog, model, settings)
    workloads = Workloads(fixtures / "workloads", seed)
    sets = [workloads.prompts(model.workload_set, name) for name in model.workloads]
    prompts = {prompt.id: prompt for prompts in sets for prompt in prompts}
    check = Check(
        LocalEngines(
            able,
            models=fixtures / "models",
            cache=cache_dir,
            start_timeout_s=start_timeout,
            route=lambda _: PythonRoute(engine_python) if engine_python else None,
            say=click.echo,
            tick=lambda *_: None,
        ),
        release=catalog.release(release).name,
        family=able.families[model.name],
        prompts=shuffled(prompts.values(), seed),
        template=next(iter(model.tiers.values())),
        folder=folder,
        settings=settings,
        tokens=tokens,
        seed=seed,
        say=click.echo,
    )
    try:
        result = check.run(launches)
    except Fault as fault:
        why = fault.cause or _("see {folder}").format(folder=folder)
        raise UsageError(f"no check: {fault.finding}: {fault.message} ({why})") from None
    for line in describe(result):
        click.echo(line)
    return Exit.HOLDS if result.holds else Exit.FAILS


def describe(result: SelfCheck) -> list[str]:
    """Return what a check showed, line by line."""
    lines = [""]
    for known in result.known:
        interval = known.measured.interval
        assert interval is not None
        lines.append(
            _(
                "known acceptance {stated:.3f}: measured {measured:.3f} [{low:.3f}, "
                "{high:.3f}] at {level:.1%}, {verdict}. {sentence}"
            ).format(
                stated=known.stated,
                measured=known.measured.value,
                low=interval.low,
                high=interval.high,
                level=interval.level,
                verdict=_("holds") if known.holds else _("DOES NOT HOLD"),
                sentence=known.sentence,
            )
        )
    halves = result.halves
    lines.append(
        _(
            "A/A on {requests} disjoint prompts: {first:.3f} and {second:.3f}, p = "
            "{p_value:.2f}, {verdict}; a difference of {visible:.1%} would be seen"
        ).format(
            requests=halves.requests,
            first=halves.first,
            second=halves.second,
            p_value=halves.p_value,
            verdict=_("holds") if halves.holds else _("DOES NOT HOLD"),
            visible=halves.visible,
        )
    )
    lines += _scatter(result.scatter)
    lines.append(
        _("acceptance verdicts can be trusted here")
        if result.holds
        else _("acceptance verdicts can NOT be trusted here")
    )
    return lines


def _scatter(scatter: Scatter) -> list[str]:
    times = ", ".join(f"{1000 * s:.2f}" for s in scatter.seconds_per_token)
    lines = [
        _("off arm, {launches} launches: {times} ms a token").format(
            launches=len(scatter.seconds_per_token), times=times
        )
    ]
    if len(scatter.seconds_per_token) < 2:
        return [*lines, _("  one launch shows no scatter; ask for more with --launches")]
    lines[0] += _(", scatter {scatter:.1%}").format(scatter=scatter.scatter)
    for speedup, floor in SPEEDUPS:
        needed = scatter.launches_for(speedup, floor)
        count = needed or _("too many")
        lines.append(
            _("  {count} launches an arm tell {speedup:g} × from a floor of {floor:g} ×").format(
                count=count, speedup=speedup, floor=floor
            )
        )
    return lines
