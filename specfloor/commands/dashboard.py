"""``specfloor dashboard``: files for Grafana and Prometheus."""

import re
from pathlib import Path

import click
import msgspec
import yaml

from specfloor.catalog import load_catalog
from specfloor.commands._show import Share
from specfloor.dashboard.bounds import Bound, bounds_of
from specfloor.dashboard.grafana import dashboard as grafana_dashboard
from specfloor.dashboard.names import Names, names_of
from specfloor.dashboard.rules import rules
from specfloor.errors import UsageError
from specfloor.judge.floors import Quantity, read_floors
from specfloor.whole import write_whole

DASHBOARD = "specfloor-dashboard.json"
RULES = "specfloor-rules.yaml"

_FOLDER = click.Path(path_type=Path)
_MATCHER = r'\s*[a-zA-Z_]\w*\s*(?:=|!=|=~|!~)\s*"(?:[^"\\\n]|\\.)*"\s*'


@click.command()
@click.option("-o", "--output", "folder", type=_FOLDER, required=True, help="where files go")
@click.option("--release", metavar="VERSION", help="the vLLM-Ascend release that is watched")
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="NAME[=MODEL]",
    help="hold the floors of this family, of the model served as MODEL; may be repeated",
)
@click.option(
    "--floors",
    "floors_dir",
    type=_FOLDER,
    default=Path("fixtures/floors"),
    show_default=True,
    help="the folder with the floors that --family asks for",
)
@click.option(
    "--floor",
    type=Share(whole=False),
    metavar="RATE",
    help="hold every model to this acceptance rate, a fraction",
)
@click.option(
    "--prefix", default="vllm:", show_default=True, help="what the names of the metrics begin with"
)
@click.option(
    "--match",
    default="",
    metavar="MATCHERS",
    help="""further matchers for every series, such as 'namespace="prod"'""",
)
def dashboard(
    *,
    folder: Path,
    release: str | None,
    families: tuple[str, ...],
    floors_dir: Path,
    floor: float | None,
    prefix: str,
    match: str,
) -> None:
    """Write a Grafana dashboard and Prometheus rules about acceptance.

    The rules record acceptance by engine and model, and alert when it collapses, falls below a
    floor, differs between engines, falls at position 0, or when nothing is drafted.
    """
    catalog = load_catalog()
    known = catalog.release(release) if release is not None else None
    if not re.fullmatch(r"[a-zA-Z_:][\w:]*", prefix):
        raise UsageError(f"--prefix {prefix!r} cannot begin the name of a metric; give vllm_")
    if match and not re.fullmatch(rf"{_MATCHER}(?:,{_MATCHER})*", match):
        raise UsageError(f"""--match {match} is no list of matchers; write 'namespace="prod"'""")
    names = names_of(known, prefix, match)
    bounds = _bounds(families, floors_dir, floor)
    of = f" ({known.name})" if known is not None else ""
    content = {
        DASHBOARD: _json(grafana_dashboard(names, f"Speculative decoding{of}", bounds)),
        RULES: yaml.safe_dump(rules(names, bounds), sort_keys=False, width=100),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in content.items():
            write_whole(folder / name, text.encode())
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to ({error.strerror})") from None
    click.echo("\n".join(_told(folder, names, bounds)))


def _bounds(families: tuple[str, ...], folder: Path, floor: float | None) -> tuple[Bound, ...]:
    bounds: list[Bound] = []
    if floor is not None:
        bounds.append(Bound(Quantity.ACCEPTANCE_RATE, floor, "given as --floor"))
    if families:
        paths = sorted(folder.glob("*.toml"))
        if not paths:
            raise UsageError(f"there are no floors in {folder}; name their folder with --floors")
        floors = read_floors(paths)
        for text in dict.fromkeys(families):
            family, _, model = text.partition("=")
            if not model and len(families) > 1:
                raise UsageError(
                    f"--family {family} is one of several; say what it is served as, "
                    f"--family {family}=MODEL"
                )
            bounds += bounds_of(floors, load_catalog().family(family), model)
    return tuple(bounds)


def _told(folder: Path, names: Names, bounds: tuple[Bound, ...]) -> list[str]:
    lines = [f"wrote {folder / DASHBOARD}", f"wrote {folder / RULES}"]
    if not names.counters:
        lines.append("this release exports V0's rate since the start only, so little can be told")
    lines += [
        f"floor: {bound.quantity} {bound.value:g} of {bound.model or 'every model'} "
        f"({bound.source})"
        for bound in bounds
    ]
    if not bounds:
        lines.append("no alert about a floor: give --family or --floor")
    return lines


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
