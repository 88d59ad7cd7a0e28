"""``specfloor families``: model lines, their methods, tiers and launch flags."""

import click
import msgspec

from specfloor.catalog import load_catalog
from specfloor.catalog.model import Family, Method
from specfloor.commands._show import Format, as_json, facts, format_option, table
from specfloor.i18n import N_, _

_HEADERS = (
    N_("family"),
    N_("methods"),
    N_("tiers"),
    N_("devices"),
    N_("least hardware"),
    N_("guides from"),
    N_("aliases"),
)


@click.command()
@click.argument("slug", required=False)
@click.option("--platform", type=click.Choice(["cpu", "ascend"]), help="only those of a platform")
@format_option
def families(slug: str | None, platform: str | None, style: Format) -> None:
    """Show the model families known here, or one of them whole.

    SLUG is a family of the list or an alias, in either spelling: glm-4.7 or glm_4_7.
    """
    catalog = load_catalog()
    if slug is not None:
        family = catalog.family(slug)
        click.echo(as_json(family) if style == "json" else _one(family))
        return
    listed = [f for f in catalog.families.values() if platform in (None, f.platform)]
    if style == "json":
        click.echo(as_json(listed))
    else:
        click.echo(
            table(map(_row, listed), [_(h) for h in _HEADERS], (None, 34, None, None, 30, None, 26))
        )


def _row(family: Family) -> tuple[str, ...]:
    return (
        family.name,
        _(", ").join(_method(method) for method in family.methods),
        _(", ").join(family.tiers),
        str(family.cards or "-"),
        family.hardware or "-",
        family.documented_in or "-",
        _(", ").join(family.aliases) or "-",
    )


def _method(method: Method) -> str:
    return method.name + " " + "/".join(map(str, method.k))


def _one(family: Family) -> str:
    pairs = [
        (_("family"), family.name),
        (_("is"), family.display),
        (_("aliases"), _(", ").join(family.aliases) or "-"),
        (_("checkpoint"), family.checkpoint.source),
        (_("further checkpoints"), _(", ").join(family.checkpoints) or "-"),
        (_("least hardware"), family.hardware or "-"),
        (_("guides from"), family.documented_in or "-"),
    ]
    pairs += [
        (_("tier {tier}").format(tier=tier), _arguments(given))
        for tier, given in family.tiers.items()
    ]
    methods = table(
        (
            (
                method.name,
                "/".join(map(str, method.k)),
                method.draft or "-",
                method.first_release or "-",
                _arguments(method.config),
                method.note or (_("vLLM's material only") if method.upstream else "-"),
            )
            for method in family.methods
        ),
        (_("method"), "k", _("draft"), _("first release"), _("further configuration"), _("note")),
        (None, None, None, None, 30, 44),
    )
    parts = [facts(pairs), methods, _("flags: {flags}").format(flags=_flags(family.serve))]
    parts += [
        _("on {soc}, {cards} devices on {nodes} host(s){of}: {flags}").format(
            soc=p.soc, cards=p.cards, nodes=p.nodes, of=_of(p.checkpoint), flags=_flags(p.serve)
        )
        + "".join(f"\n  {name}={value}" for name, value in p.env.items())
        for p in family.placements
    ]
    if family.notes:
        parts.append("\n".join(f"- {note}" for note in family.notes))
    parts.append(
        "\n".join(_("source: {source}").format(source=source) for source in family.sources)
    )
    return "\n\n".join(parts)


def _of(checkpoint: str | None) -> str:
    return _(", ") + checkpoint if checkpoint else ""


def _arguments(given: dict[str, object]) -> str:
    texts = {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in given.items()
    }
    return _(", ").join(f"{name}={text}" for name, text in texts.items()) or "-"


def _flags(serve: dict[str, str]) -> str:
    quoted = {flag: f"'{value}'" if "{" in value else value for flag, value in serve.items()}
    return " ".join(f"{flag} {value}".rstrip() for flag, value in quoted.items())
