"""What the user says of the files beside what the files say themselves."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import PurePosixPath
from typing import Any

from specfloor.catalog import Catalog
from specfloor.catalog.pairs import pair_fault, releases_for
from specfloor.catalog.versions import FieldVersion, read_version
from specfloor.cells import slug
from specfloor.errors import UsageError
from specfloor.host.collect_env import EnvironmentText
from specfloor.i18n import _
from specfloor.ledger.names import FAMILIES, ledger_family, ledger_method
from specfloor.triage.evidence import Run, Warned
from specfloor.triage.given import Given


def release_of(environments: Iterable[EnvironmentText], given: Given) -> str | None:
    """Return the release that environment texts say, or else the tag of the image.

    None where nothing says one, and of a development build, whatever its image is tagged.
    """
    found = [text.vllm_ascend for text in environments if text.vllm_ascend]
    if not found and given.tagged:
        found = [given.tagged]
    return next((one.version for one in found if not one.development_build), None)


def place_of(release: str | None, runs: Iterable[Run], catalog: Catalog) -> tuple[str, str | None]:
    """Return the platform the files are of and the release as the suite's commands name it.

    It is ``cpu`` where release or log say so, else ``ascend``: a build of vLLM for the CPU says it
    in its version (``0.28.0+cpu``), and a release may be one that the catalogue has for the CPU
    only.
    """
    said = _version(release) if release else None
    on_cpu = f"cpu-{said.version}" if said else None
    known = on_cpu in catalog.releases
    versions = [release, *(run.version for run in runs)]
    if any(version and version.endswith("+cpu") for version in versions) or (
        known and release not in catalog.releases
    ):
        return "cpu", on_cpu if known else release
    return "ascend", release


def is_known(method: str) -> bool:
    """Whether the ledger knows a method that a log names; others rule nothing out."""
    try:
        ledger_method(method)
    except UsageError:
        return False
    return True


def drafting_of(family: str | None, method: str | None, catalog: Catalog) -> dict[str, Any]:
    """Return what every speculative configuration of the catalogue for a family and method has.

    ``family`` is a name of the ledger, which may cover several of the catalogue's. Empty where
    there is none, or where the method is not known.
    """
    if family is None or method is None or not is_known(method):
        return {}
    configs = [
        one.config
        for name in FAMILIES.get(family, (family,))
        if name in catalog.families
        for one in catalog.families[name].methods
        if ledger_method(one.name) == ledger_method(method)
    ]
    first, *others = configs or [{}]
    return {name: v for name, v in first.items() if all(o.get(name) == v for o in others)}


def only_method(family: str | None, catalog: Catalog) -> str | None:
    """Return the one method that the catalogue has for a family of the ledger; None for several."""
    methods = {
        ledger_method(one.name)
        for name in (FAMILIES.get(family, (family,)) if family else ())
        if name in catalog.families
        for one in catalog.families[name].methods
    }
    return methods.pop() if len(methods) == 1 else None


def family_of_model(model: str, catalog: Catalog) -> str | None:
    """Return the ledger's family of a model that a log names; None where its name tells none.

    It is the family of which a name, an alias or a checkpoint is the longest beginning of it.
    """
    asked = f"{slug(PurePosixPath(model).name)}_"
    names = {slug(name): name for name in FAMILIES}
    for family in catalog.families.values():
        if family.platform == "ascend":
            sources = (family.checkpoint.source, *family.checkpoints)
            files = (PurePosixPath(source).name for source in sources)
            names |= {
                slug(name): ledger_family(family.name)
                for name in (family.name, *family.aliases, *files)
            }
    found = max((name for name in names if asked.startswith(f"{name}_")), key=len, default=None)
    return None if found is None else names[found]


def warn_of_release(
    asked: str | None, environments: Iterable[EnvironmentText], given: Given
) -> Iterator[Warned]:
    """Yield where an environment text or the tag of the image is of another release than asked."""
    if asked is None or (said := _version(asked)) is None:
        return
    for text in environments:
        ours = text.vllm_ascend
        if ours and not ours.development_build and ours.version != said.version:
            message = _("the environment text is of vllm-ascend {raw}, and {release} was given")
            yield Warned("release_differs", message.format(raw=ours.raw, release=asked))
    if given.tagged and given.tagged.version != said.version:
        message = _("the image is tagged {raw}, and {release} was given")
        yield Warned("release_differs", message.format(raw=given.tagged.raw, release=asked))


def warn_of_logs(
    release: str | None, family: str | None, runs: Sequence[Run], catalog: Catalog
) -> Iterator[Warned]:
    """Yield where no server run is of the vLLM of a release, or none of the family."""
    versions = [run.version for run in runs if run.version]
    ours = _version(release) if release else None
    faults = [
        pair_fault(catalog, vllm, ours) if ours and vllm else None
        for vllm in map(_version, versions)
    ]
    if faults and all(faults):
        made = releases_for(catalog, versions[0].partition("+")[0])
        hint = _(" (made for that: {releases})").format(releases=_(", ").join(made)) if made else ""
        message = _("{fault}, which the log names{hint}").format(fault=faults[0], hint=hint)
        yield Warned("release_differs", message)
    models = {run.model: family_of_model(run.model, catalog) for run in runs if run.model}
    others = {model: one for model, one in models.items() if one}
    # a name such as Qwen3-30B says the line only, of which qwen3-moe is a part
    if family and others and not any(f"{family}-".startswith(f"{o}-") for o in others.values()):
        model, other = next(iter(others.items()))
        message = _("the files name the model {model}, of {other}, and {family} was given")
        yield Warned("model_differs", message.format(model=model, other=other, family=family))


def warn_of_k(ks: Mapping[str, Collection[int]]) -> Iterator[Warned]:
    """Yield where two of those who say k have none in common; ``ks`` are its values by name."""
    if any(set(one).isdisjoint(other) for one, other in combinations(filter(None, ks.values()), 2)):
        told = _(", ").join(
            f"{name} k = {'/'.join(map(str, sorted(found)))}" for name, found in ks.items() if found
        )
        yield Warned("k_differs", _("what is given is not of one k: {told}").format(told=told))


def _version(text: str) -> FieldVersion | None:
    try:
        return read_version(text)
    except UsageError:
        return None
