"""``specfloor workloads``: the prompt sets that are here, and a check of a file of one's own."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from specfloor.commands._show import Format, as_json, facts, format_option, table
from specfloor.errors import UsageError
from specfloor.i18n import _
from specfloor.load.formats import DEFAULT_SETTINGS, read_file
from specfloor.load.sets import Workloads
from specfloor.load.settings import SETTINGS, WorkloadSettings, read_settings
from specfloor.load.workload import Prompt, fingerprint


class Listed(msgspec.Struct, frozen=True):
    """One workload: its prompts by domain, how many have tools or an answer that can be checked."""

    workload: str
    prompts: int
    domains: dict[str, int]
    checkable: int
    with_tools: int
    characters: int
    fingerprint: str
    settings: WorkloadSettings


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--workloads-dir",
    type=click.Path(path_type=Path),
    default=Path("fixtures/workloads"),
    show_default=True,
    help="Workload sets, one folder each.",
)
@format_option
def workloads(path: Path | None, workloads_dir: Path, style: Format) -> None:
    """List the workload sets, or check a prompt file.

    PATH is a file in the format of Spec-Bench, SPEED-Bench, MT-Bench, GSM8K or ShareGPT, or plain
    JSON records with a `prompt` or `messages`. Bad files end with the line and the field.
    """
    if path is not None:
        _check(path, style)
        return
    sets = Workloads(workloads_dir, seed=0)  # the fingerprint does not depend on the order
    listed = [
        _listed(f"{name}/{workload}", sets.prompts(name, workload), settings)
        for name in _sets(workloads_dir)
        for workload, settings in read_settings(workloads_dir / name).items()
    ]
    if style == "json":
        click.echo(as_json(listed))
        return
    headers = (
        _("workload"),
        _("prompts"),
        _("domains"),
        _("checkable"),
        _("max_tokens"),
        _("fingerprint"),
        _("what"),
    )
    rows = [
        (
            one.workload,
            str(one.prompts),
            _domains(one.domains),
            str(one.checkable) if one.checkable else "-",
            str(one.settings.max_tokens),
            one.fingerprint[:12],
            one.settings.about,
        )
        for one in listed
    ]
    click.echo(table(rows, headers, (None, None, 34, None, None, None, 40)))


def _check(path: Path, style: Format) -> None:
    loaded = read_file(path)
    one = _listed(path.name, loaded.prompts, DEFAULT_SETTINGS)
    if style == "json":
        click.echo(as_json(one))
        return
    pairs = [
        (_("file"), str(path)),
        (_("format"), loaded.format),
        (_("prompts"), str(one.prompts)),
        (_("records without a question"), str(loaded.skipped)),
        (_("domains"), _domains(one.domains)),
        (_("with an answer that can be checked"), str(one.checkable)),
        (_("with tools"), str(one.with_tools)),
        (_("characters, in all"), str(one.characters)),
        (_("fingerprint"), one.fingerprint),
    ]
    click.echo(facts(pairs))


def _sets(folder: Path) -> list[str]:
    found = sorted(path.parent.name for path in folder.glob(f"*/{SETTINGS}"))
    if not found:
        raise UsageError(
            f"--workloads-dir {folder} has no workload set; name the folder that has them"
        )
    return found


def _listed(name: str, prompts: Iterable[Prompt], settings: WorkloadSettings) -> Listed:
    held = list(prompts)
    return Listed(
        workload=name,
        prompts=len(held),
        domains=dict(sorted(Counter(prompt.domain for prompt in held).items())),
        checkable=sum(prompt.expect is not None for prompt in held),
        with_tools=sum(bool(prompt.tools) for prompt in held),
        characters=sum(len(m.content) for prompt in held for m in prompt.messages),
        fingerprint=fingerprint(held),
        settings=settings,
    )


def _domains(domains: dict[str, int]) -> str:
    return ", ".join(f"{domain} {count}" for domain, count in domains.items())
