"""``specfloor releases``: what a release pairs with and offers."""

import click
from packaging.version import InvalidVersion, Version

from specfloor.catalog import Catalog, load_catalog
from specfloor.catalog.model import Release
from specfloor.catalog.variables import differences
from specfloor.commands._show import Format, as_json, facts, format_option, known, table
from specfloor.i18n import N_, _

_HEADERS = (
    N_("release"),
    N_("date"),
    "vLLM",
    "Python",
    "torch_npu",
    "CANN",
    N_("index"),
    N_("log line"),
    N_("per request"),
    N_("token ids"),
    N_("schedule"),
    N_("adaptive"),
)


_STATES = (N_("absent"), N_("accepted"), N_("supported"))
"""What the catalogue says of a knob, named for the translations."""


@click.command()
@click.argument("version", required=False)
@click.option("--platform", type=click.Choice(["cpu", "ascend"]), help="only those of a platform")
@format_option
def releases(version: str | None, platform: str | None, style: Format) -> None:
    """Show the releases known here, or one of them whole.

    VERSION is a name of the list or a version as the field writes it, such as v0.18.0 or
    0.23.0+empty.
    """
    catalog = load_catalog()
    if version is not None:
        release = catalog.release(version)
        click.echo(as_json(release) if style == "json" else _one(catalog, release))
        return
    listed = [r for r in catalog.releases.values() if platform in (None, r.platform)]
    if style == "json":
        click.echo(as_json(listed))
    else:
        click.echo(table(map(_row, listed), [_(h) for h in _HEADERS]))


def _row(release: Release) -> tuple[str, ...]:
    return (
        release.name + (_(" (default)") if release.default else ""),
        known(release.date),
        release.vllm,
        known(release.python),
        *_npu(release, release.torch_npu, release.cann, release.pypi),
        known(release.signals.log_line),
        known(release.signals.per_request),
        known(release.signals.token_ids),
        _state(release.knobs.schedule),
        _state(_adaptive(release)),
    )


def _state(said: str | None) -> str:
    return known(said and _(said))


def _npu(release: Release, *values: object) -> list[str]:
    # what a release for the CPU has not got is not unknown
    return [known(v) if release.platform == "ascend" or v is not None else "-" for v in values]


def _adaptive(release: Release) -> str | None:
    knobs = {
        "vLLM": release.knobs.adaptive_verification,
        "Ascend": release.knobs.dynamic_spec_config,
    }
    if None in knobs.values():
        return None
    return ", ".join(who for who, support in knobs.items() if support == "supported") or "absent"


def _one(catalog: Catalog, release: Release) -> str:
    signals, knobs = release.signals, release.knobs
    pairs = [
        (_("release"), release.name),
        (_("date"), known(release.date)),
        ("vLLM", release.vllm),
        ("Python", known(release.python)),
        ("torch", known(release.torch)),
    ]
    names = (
        "torch_npu",
        "triton-ascend",
        "CANN",
        "transformers",
        "commit",
        _("on the package index"),
    )
    values = _npu(
        release,
        release.torch_npu,
        release.triton_ascend,
        release.cann,
        release.transformers,
        release.commit,
        release.pypi,
    )
    pairs += list(zip(names, values, strict=True))
    pairs += [
        (_("images for {soc}").format(soc=soc), ", ".join(tags))
        for soc, tags in release.images.items()
    ]
    pairs += [
        (_("acceptance per request"), known(signals.per_request)),
        (_("streamed token ids"), known(signals.token_ids)),
        (_("acceptance counters"), known(signals.counters)),
        (_("gauges of V0"), known(signals.v0_gauges)),
        (_("log line"), known(signals.log_line)),
        (_("its length counts the bonus token"), known(signals.length_counts_bonus)),
        (_("acceptance in bench serve"), known(signals.bench_fields)),
        (_("schedule of k by batch size"), _state(knobs.schedule)),
        ("enable_adaptive_verification", _state(knobs.adaptive_verification)),
        ("dynamic_spec_config", _state(knobs.dynamic_spec_config)),
        (_("synthetic acceptance"), _state(knobs.synthetic)),
        ("rejection_sampler_config", _state(knobs.verify_rules)),
    ]
    pairs += [(name, _(what)) for name, what in release.switches.items()]
    parts = [facts(pairs)]
    if (former := _former_final(catalog, release)) and (moved := _moved(catalog, former, release)):
        parts.append(
            _("environment variables, against {former}:\n{moved}").format(
                former=former.name, moved=moved
            )
        )
    if release.notes:
        parts.append("\n".join(f"- {note}" for note in release.notes))
    parts.append(
        "\n".join(_("source: {source}").format(source=source) for source in release.sources)
    )
    return "\n\n".join(parts)


def _former_final(catalog: Catalog, release: Release) -> Release | None:
    """Return the newest final release of the same platform that is lower in number."""
    finals = [
        other
        for other in catalog.releases.values()
        if other.platform == release.platform
        and (version := _version(other.name))
        and not version.is_prerelease
        and (own := _version(release.name))
        and version < own
    ]
    return max(finals, key=lambda other: Version(other.name), default=None)


def _version(name: str) -> Version | None:
    try:
        return Version(name)
    except InvalidVersion:
        return None


def _moved(catalog: Catalog, old: Release, new: Release) -> str:
    if old.variables is None or new.variables is None:
        return ""
    # as if every variable of either were set: one that only one release reads then shows
    everything = dict.fromkeys(old.variables.keys() ^ new.variables.keys(), "set")
    rows = [
        (
            d.name,
            _("not read")
            if d.old is None
            else _("read")
            if d.old == "set"
            else _("default {old}").format(old=d.old),
            _("not read")
            if d.new is None
            else _("read")
            if d.new == "set"
            else _("default {new}").format(new=d.new),
            d.replaced_by or "-",
        )
        for d in differences(catalog, old, new, everything)
    ]
    return table(rows, (_("variable"), old.name, new.name, _("now set by"))) if rows else ""
