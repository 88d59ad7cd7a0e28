"""The catalogue on one site: families on its hardware, checkpoints where the user has them."""

from collections.abc import Iterable, Mapping

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.model import Checkpoint, Family, Release, Soc
from specfloor.catalog.placement import place
from specfloor.cells import Cell, slug
from specfloor.errors import UsageError
from specfloor.i18n import _


class Site(msgspec.Struct, frozen=True):
    """What can run on one host.

    ``soc`` and ``cards`` are its NPUs, None and 0 where nothing is known of them: then nothing is
    refused for want of them. ``unplaced`` says, by family, why it does not fit.
    """

    catalog: Catalog
    soc: Soc | None = None
    cards: int = 0
    unplaced: Mapping[str, str] = {}

    def why_not(self, cell: Cell) -> str | None:
        """Return why a cell cannot run here or on its release, in a few words; None when it can."""
        release, family = self.catalog.release(cell.release), self.catalog.family(cell.family)
        return (
            self.unplaced.get(family.name)
            or _wrong_hardware(release, self.soc)
            or _method(release, family, cell.method)
            or _flags(release, family)
            or _parallelism(family)
        )


def part_cells(cells: Iterable[Cell], site: Site) -> tuple[tuple[Cell, ...], dict[Cell, str]]:
    """Return the cells that can run on a site, and why each of the others cannot."""
    runnable, refused = [], {}
    for cell in cells:
        if reason := site.why_not(cell):
            refused[cell] = reason
        else:
            runnable.append(cell)
    return tuple(runnable), refused


def split_cells(cells: Iterable[Cell], site: Site) -> tuple[tuple[Cell, ...], dict[Cell, str]]:
    """Return what :func:`part_cells` does, of which some can run.

    Raises:
        UsageError: none can; it says why the first cannot.
    """
    runnable, refused = part_cells(cells, site)
    if not runnable:
        first, reason = next(iter(refused.items()))
        raise UsageError(
            _(
                "none of the {cells} cells can run here; {first}: {reason}; `specfloor plan` lists "
                "every reason"
            ).format(cells=len(refused), first=first.id, reason=reason)
        )
    return runnable, refused


def on_site(
    catalog: Catalog,
    *,
    soc: Soc | None = None,
    cards: int = 0,
    models: Mapping[str, str] | None = None,
    drafts: Mapping[str, str] | None = None,
    workloads: tuple[str, ...] = (),
) -> Site:
    """Return the catalogue with families as they are served on this site.

    Args:
        catalog: as it comes.
        soc: the class of the NPUs; None leaves families as they are.
        cards: the number of devices as engines count them.
        models: family → the checkpoint to serve instead of the catalogue's, a path or a hub name.
        workloads: names of workloads that every family has besides its own.
        drafts: ``family/method`` → the draft's; the family alone where one method has a draft.

    Raises:
        UsageError: a family of ``models`` or ``drafts`` is unknown, or has no draft to exchange.
    """
    models = {catalog.family(name).name: path for name, path in (models or {}).items()}
    families, unplaced = dict(catalog.families), {}
    for name, family in catalog.families.items():
        if family.platform == "ascend" and soc is not None:
            try:
                families[name] = place(family, soc, cards)
            except UsageError as error:
                unplaced[name] = str(error).partition(";")[0]
    for name, path in models.items():
        families[name] = msgspec.structs.replace(families[name], checkpoint=Checkpoint("hub", path))
    for name, path in (drafts or {}).items():
        family = families[catalog.family(name.partition("/")[0]).name]
        families[family.name] = _with_draft(family, name.partition("/")[2], path)
    if workloads:
        families = {name: _with_workloads(one, workloads) for name, one in families.items()}
    known = Catalog(catalog.releases, families, catalog.variables)
    return Site(known, soc, cards, unplaced)


def _with_workloads(family: Family, names: tuple[str, ...]) -> Family:
    taken = {slug(name) for name in (*family.workloads, *family.more_workloads)}
    if clash := next((name for name in names if slug(name) in taken), None):
        raise UsageError(
            f"--workload-file {clash}=…: {family.name} has a workload of that name; give another"
        )
    return msgspec.structs.replace(family, more_workloads=(*family.more_workloads, *names))


_OWN_DRAFT = frozenset({"eagle", "eagle3", "dflash", "dspark", "draft_model", "medusa"})
"""The methods whose draft can be a checkpoint of its own, as vLLM's configuration has it."""


def _with_draft(family: Family, method: str, path: str) -> Family:
    own = [one.name for one in family.methods if one.name in _OWN_DRAFT or one.draft]
    chosen = [name for name in own if slug(name) == slug(method)] if method else own
    if len(chosen) != 1:
        names = _(", ").join(f"{family.name}/{name}" for name in own) or _("none here")
        raise UsageError(
            f"--draft {family.name}{f'/{method}' if method else ''}={path} does not say which "
            f"method's draft it is; those with one: {names}"
        )
    methods = tuple(
        msgspec.structs.replace(one, draft=path) if one.name == chosen[0] else one
        for one in family.methods
    )
    return msgspec.structs.replace(family, methods=methods)


def _wrong_hardware(release: Release, soc: Soc | None) -> str | None:
    if soc is None or not release.images or soc in release.images:
        return None
    return _("{release} is not built for {soc} (only {images})").format(
        release=release.name, soc=soc, images=_(", ").join(release.images)
    )


def _method(release: Release, family: Family, method: str) -> str | None:
    (found,) = (one for one in family.methods if one.name == method)
    if found.releases is not None and release.name not in found.releases:
        since = (
            _(" (first in {first_release})").format(first_release=found.first_release)
            if found.first_release
            else ""
        )
        return _("{release} does not have {method} for {family}{since}").format(
            release=release.name, method=method, family=family.name, since=since
        )
    if found.bring_draft and not found.draft:
        return _("no draft is published; bring one with --draft {family}/{method}=PATH").format(
            family=family.name, method=method
        )
    return None


def _flags(release: Release, family: Family) -> str | None:
    if refused := family.not_taken_by.get(release.name):
        return _("{release} is older than the guide for {family}: it does not take {flags}").format(
            release=release.name, family=family.name, flags=_(", ").join(refused)
        )
    return None


def _parallelism(family: Family) -> str | None:
    """vLLM refuses pipeline parallelism together with prefill context parallelism."""
    sizes = [
        int(family.serve.get(flag) or 1)
        for flag in ("--pipeline-parallel-size", "--prefill-context-parallel-size")
    ]
    return (
        _("pipeline with prefill context parallelism is not supported") if min(sizes) > 1 else None
    )
