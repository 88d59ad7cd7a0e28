"""``specfloor host``: what of this machine an engine will find, and what is wrong with it."""

from pathlib import Path

import click
import msgspec

from specfloor.catalog import Catalog, load_catalog
from specfloor.catalog.model import Release
from specfloor.catalog.versions import read_version
from specfloor.commands._show import Format, as_json, facts, format_option, known
from specfloor.errors import UsageError
from specfloor.host.environment import absence_flags, describe_environment, release_flags
from specfloor.host.npu import find_ascend_python
from specfloor.host.packages import check_interpreter
from specfloor.i18n import _
from specfloor.runs.records import Environment
from specfloor.runs.spoken import spoken


@click.command()
@click.option(
    "--engine-python",
    "pythons",
    multiple=True,
    type=click.Path(path_type=Path),
    help="an interpreter that has an engine; the one with vllm-ascend is found when none is named",
)
@click.option(
    "--release", "names", multiple=True, help="say what of this machine does not suit a release"
)
@format_option
def host(pythons: tuple[Path, ...], names: tuple[str, ...], style: Format) -> None:
    """Show devices, CANN, driver, packages and variables of this machine.

    What is misspelled, no longer read or does not fit together is flagged below. Without --release
    the one that is installed is meant. Needs neither root nor an NPU. Exits with 0 whatever is
    flagged, and with 4 where a release is unknown or an interpreter is none.
    """
    catalog = load_catalog()
    releases = [catalog.release(name) for name in names]
    for python in pythons:
        check_interpreter(python)
    interpreters = list(pythons) or _found()
    found = describe_environment(interpreters=interpreters, releases=releases)
    for release in () if releases else _installed(catalog, found):
        flags = (*found.flags, *release_flags(release, found.cann, found.variables))
        found = msgspec.structs.replace(found, flags=flags)
    if not releases or any(release.platform == "ascend" for release in releases):
        flags = (*found.flags, *absence_flags(found))
        found = msgspec.structs.replace(found, flags=flags)
    click.echo(as_json(found) if style == "json" else _text(found))


def _found() -> list[Path]:
    try:
        return [find_ascend_python()]
    except UsageError:
        return []


def _installed(catalog: Catalog, found: Environment) -> list[Release]:
    """Return the releases that the interpreters have; of a development build nothing is known."""
    releases = []
    for packages in found.engines.values():
        try:
            version = read_version(packages.get("vllm-ascend", "")).version
        except UsageError:
            continue
        if release := catalog.releases.get(version):
            releases.append(release)
    return releases


def _text(found: Environment) -> str:
    pairs = [
        (_("platform"), found.platform),
        (_("processor"), _("{cpu}, {cores} cores").format(cpu=found.cpu, cores=found.cores)),
        (_("memory"), f"{found.memory_bytes / 2**30:.1f} GiB"),
        (_("container"), known(found.container)),
        (_("devices"), ", ".join(found.accelerators) or _("none")),
        ("npu-smi", known(found.npu_smi)),
        (_("driver"), known(found.driver)),
        (_("firmware"), known(found.firmware)),
        (
            "CANN",
            _("{cann} in {cann_home}").format(cann=found.cann, cann_home=found.cann_home)
            if found.cann
            else known(None),
        ),
        (_("harness"), " ".join(f"{name} {v}" for name, v in found.packages.items())),
    ]
    for python, packages in found.engines.items():
        told = " ".join(f"{name} {v}" for name, v in packages.items())
        pairs.append((python, told or _("did not answer")))
    parts = [facts(pairs)]
    if found.variables:
        parts.append(facts(found.variables.items()))
    parts.append(
        "\n".join(f"! {spoken(flag.message)}" for flag in found.flags) or _("nothing to flag")
    )
    return "\n\n".join(parts)
