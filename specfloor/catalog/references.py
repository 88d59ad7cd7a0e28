"""Figures that others publish about speculation, each with the conditions it was found under.

A reference stands beside a measurement and decides nothing: it is of another checkpoint, another
workload or other hardware, and often of a handful of prompts. What decides is a floor.
"""

import functools
import os
from collections.abc import Callable, Collection
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec
import platformdirs

from specfloor.catalog import Catalog, load_catalog
from specfloor.cells import Cell, slug
from specfloor.errors import UsageError
from specfloor.i18n import N_, _
from specfloor.ledger.names import FAMILIES, find_family, ledger_method
from specfloor.whole import write_whole

Quantity = Literal["acceptance_rate", "acceptance_length", "per_position", "speedup"]
"""What a figure is of: accepted over drafted tokens; accepted tokens a step, bonus included; the
share of steps that keep each draft position; speed with speculation over speed without."""

Kind = Literal["golden", "minimum", "measured", "advice", "synthetic"]
"""What a figure is to its owner: the value a test compares with; the least a test takes; a result
told in passing; a rule of thumb; a length that benchmarks are made to have."""

OWNERS = ("vllm-ascend", "vLLM", "InferenceX", "TensorRT-LLM")
"""Whose figures come with specfloor; golden files that are imported name their own."""

FOLDER = "SPECFLOOR_REFERENCES"
"""The environment variable that names the folder of imported references."""

FEW_PROMPTS = 10
"""Below this many prompts a figure ranks behind others. One draft more or less then moves it by
more than the owners' tolerances: 4 to 16 drafts are all there is in vllm-ascend's smallest tests.
"""


class Lowering(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A time the owner put the figure down; ``when`` is a date, a release or the two around it.

    ``subject`` is that of the change, where one is known.
    """

    before: tuple[float, ...]
    after: tuple[float, ...]
    when: str
    subject: str | None = None


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published figure; None is unknown throughout.

    ``value`` has one number, two for a range, or for ``per_position`` those of the first positions
    in order, not always of all. A rate is in [0, 1], a length counts the bonus token.

    ``family`` and ``method`` are the catalogue's; ``checkpoint`` and ``draft`` what the owner ran.
    ``prompts`` is the size of the sample, ``drafts`` the steps in it where somebody counted them.
    ``setting`` is what else was on that the plain method has not. ``since`` and ``until`` are the
    first and the last of the owner's releases seen to carry the figure (for TensorRT-LLM and
    InferenceX unknown); ``date`` is when it was last changed. ``minimum`` is the least value that
    passes the owner's own test, ``tolerance`` its rule in words. ``source`` is a file or page of
    the owner's repository. ``interval`` is low, high and confidence level where the owner gives
    one.
    """

    family: str
    method: str
    quantity: Quantity
    value: tuple[float, ...]
    kind: Kind
    owner: str
    source: str
    k: int | None = None
    minimum: float | None = None
    checkpoint: str | None = None
    draft: str | None = None
    thinking: bool | None = None
    workload: str | None = None
    prompts: int | None = None
    drafts: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    concurrency: int | None = None
    hardware: str | None = None
    setting: str | None = None
    since: str | None = None
    until: str | None = None
    date: str | None = None
    interval: tuple[float, float, float] | None = None
    tolerance: str | None = None
    lowered: tuple[Lowering, ...] = ()
    note: str | None = None


class _DataFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    references: tuple[Reference, ...]


@functools.cache
def load_references() -> tuple[Reference, ...]:
    """Return every reference that comes with specfloor.

    Raises msgspec.ValidationError when the file is not of its shape.
    """
    data = resources.files("specfloor.catalog") / "data" / "references.json"
    return msgspec.json.decode(data.read_bytes(), type=_DataFile).references


def imported_folder() -> Path:
    """Return where imported references are kept, one file an import."""
    if folder := os.environ.get(FOLDER):
        return Path(folder)
    return platformdirs.user_data_path("specfloor") / "references"


def keep_references(references: tuple[Reference, ...], name: str) -> Path:
    """Keep references under a name from now on, in the place of those of that name; return where.

    Raises:
        UsageError: the folder cannot be written.
    """
    path = imported_folder() / f"{name}.json"
    data = msgspec.json.format(msgspec.json.encode(_DataFile(references)), indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data + b"\n")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}); name a folder that can with {FOLDER}"
        ) from None
    _imported.cache_clear()
    return path


@functools.cache
def _imported(folder: Path) -> tuple[Reference, ...]:
    found: list[Reference] = []
    for path in sorted(folder.glob("*.json")):
        try:
            found += msgspec.json.decode(path.read_bytes(), type=_DataFile).references
        except (OSError, msgspec.DecodeError) as error:
            raise UsageError(
                f"{path}, imported references, cannot be read ({error}); remove it or import again"
            ) from None
    return tuple(found)


def references_for(
    family: str | None = None,
    method: str | None = None,
    k: int | None = None,
    tier: str | None = None,
    quantity: Quantity | None = None,
) -> tuple[Reference, ...]:
    """Return what is published, by family, method and k, nearest conditions first.

    Near is, the weightier first: with a draft the catalogue knows, not thinking the other way than
    the tier, measured rather than assumed, without further settings, from more than a few prompts,
    known to think as the tier does, on an NPU. A reference that is none of these comes last.

    Args:
        family: a family of the catalogue, an alias, or a name of the ledger, which can cover
            several families; None is every one.
        method: a method as vLLM or the ledger names it; None is every one.
        k: ``num_speculative_tokens``; references that do not tell theirs follow. None is every one.
        tier: an effort tier, which only orders.
        quantity: the quantity wanted; None is every one.

    Raises:
        UsageError: neither catalogue nor ledger has the family, or the ledger not the method.
    """
    catalog = load_catalog()
    families = _families(family, catalog) if family else None
    name = ledger_method(method) if method else None
    return _select(catalog, families, name, k=k, tier=tier, quantity=quantity)


def fitting(cell: Cell, limit: int = 4) -> tuple[Reference, ...]:
    """Return the references to set beside a cell: at most ``limit``, nearest first.

    Those known to be of something else are left out: another draft model, thinking the other way,
    for a speedup another concurrency. What is unknown of a reference leaves it in.
    """
    catalog = load_catalog()
    found = _select(catalog, {cell.family}, slug(cell.method), k=cell.k, tier=cell.tier)
    return tuple([r for r in found if not _of_something_else(r, cell, catalog)][:limit])


def beside(cell: Cell, limit: int = 4) -> tuple[str, ...]:
    """Return what :func:`fitting` returns as one line of text each, for a report."""
    return tuple(describe(reference) for reference in fitting(cell, limit))


def describe(reference: Reference) -> str:
    """Return a reference as one line: ``acceptance length 2.99 (InferenceX, golden; …)``."""
    return f"{figure(reference)} ({_('; ').join((origin(reference), *conditions(reference)))})"


def origin(reference: Reference) -> str:
    """Return whose a reference is and what it is to them, as ``InferenceX, golden``."""
    return _(", ").join((reference.owner, _(_KINDS[reference.kind])))


def figure(reference: Reference) -> str:
    """Return what a reference says, as ``acceptance length 2.99``."""
    joint = " " if reference.quantity == "per_position" else _(" to ")
    return f"{_(_QUANTITIES[reference.quantity])} {_numbers(reference.value, joint)}"


def conditions(reference: Reference) -> tuple[str, ...]:
    """Return what is known of a reference's conditions, one text each, and that k is unknown."""
    r = reference
    known = (
        r.checkpoint,
        r.draft and _("draft {draft}").format(draft=r.draft),
        _("k unknown") if r.k is None else None,
        None if r.thinking is None else _("thinking on") if r.thinking else _("thinking off"),
        r.workload,
        _sample(r),
        None
        if r.temperature is None
        else _("temperature {temperature:g}").format(temperature=r.temperature),
        None if r.top_p is None else _("top_p {top_p:g}").format(top_p=r.top_p),
        r.max_tokens and _("up to {max_tokens} tokens").format(max_tokens=r.max_tokens),
        r.concurrency and _("{concurrency} at a time").format(concurrency=r.concurrency),
        r.setting,
        r.hardware,
        _releases(r),
        r.interval and _interval(*r.interval),
        r.tolerance and _("tolerance {tolerance}").format(tolerance=r.tolerance),
        r.minimum and _("passes from {minimum:.4g}").format(minimum=r.minimum),
        *(
            _("lowered {when} from {numbers}").format(
                when=low.when, numbers=_numbers(low.before, " ")
            )
            for low in r.lowered
        ),
        r.note,
    )
    return tuple(str(text) for text in known if text)


_QUANTITIES: dict[Quantity, str] = {
    "acceptance_rate": N_("acceptance rate"),
    "acceptance_length": N_("acceptance length"),
    "per_position": N_("accepted by position"),
    "speedup": N_("speedup"),
}
_KINDS: dict[Kind, str] = {
    "golden": N_("golden"),
    "minimum": N_("minimum"),
    "measured": N_("measured"),
    "advice": N_("advice"),
    "synthetic": N_("assumed in benchmarks"),
}
_THINKING = {"off": False, "none": None, "adaptive": None}
"""Whether a tier thinks; one that is not named here does. ``none`` is a model without a switch."""


def thinks(tier: str) -> bool | None:
    """Return whether a tier thinks; None where that is not the tier's to say."""
    return _THINKING.get(tier, True)


def _families(asked: str, catalog: Catalog) -> Collection[str]:
    try:
        return {catalog.family(asked).name}
    except UsageError:
        return FAMILIES[find_family(asked, catalog)]


def _select(
    catalog: Catalog,
    families: Collection[str] | None,
    method: str | None,
    *,
    k: int | None,
    tier: str | None,
    quantity: Quantity | None = None,
) -> tuple[Reference, ...]:
    found = (
        r
        for r in (*load_references(), *_imported(imported_folder()))
        if (families is None or r.family in families)
        and method in (None, r.method)
        and (k is None or r.k in (None, k))
        and quantity in (None, r.quantity)
    )
    return tuple(sorted(found, key=_nearness(catalog, tier)))


def _nearness(catalog: Catalog, tier: str | None) -> Callable[[Reference], tuple[object, ...]]:
    place = {name: number for number, name in enumerate(catalog.families)}

    def key(r: Reference) -> tuple[object, ...]:
        return (
            # an imported one may be of a family that the catalogue does not have
            place.get(r.family, len(place)),
            r.method,
            r.k is None,
            r.k or 0,
            _other_draft(r, catalog),
            _other_thinking(r, tier),
            r.kind in ("advice", "synthetic"),
            r.setting is not None,
            r.prompts is not None and r.prompts < FEW_PROMPTS,
            tier is not None and r.thinking is None,
            r.owner != "vllm-ascend",
            -(r.prompts or 0),
        )

    return key


def _other_draft(reference: Reference, catalog: Catalog) -> bool:
    family = catalog.families.get(reference.family)
    methods = family.methods if family else ()
    known = {
        draft
        for method in methods
        if method.name == reference.method and method.draft
        for draft in (method.draft, *method.other_drafts)
    }
    return bool(known) and reference.draft is not None and reference.draft not in known


def _other_thinking(reference: Reference, tier: str | None) -> bool:
    asked = thinks(tier) if tier else None
    return asked is not None and reference.thinking is (not asked)


def _of_something_else(reference: Reference, cell: Cell, catalog: Catalog) -> bool:
    return (
        _other_draft(reference, catalog)
        or _other_thinking(reference, cell.tier)
        or (
            reference.quantity == "speedup"
            and reference.concurrency not in (None, cell.concurrency)
        )
    )


def _numbers(values: tuple[float, ...], joint: str) -> str:
    return joint.join(f"{value:.4g}" for value in values)


def _interval(low: float, high: float, level: float) -> str:
    return _("{level:.0%} interval {low:.4g} to {high:.4g}").format(level=level, low=low, high=high)


def _sample(reference: Reference) -> str | None:
    prompts, drafts = reference.prompts, reference.drafts
    parts = []
    if prompts == 1:
        parts.append(_("1 prompt: a figure from one generation is of the order of sampling noise"))
    elif prompts:
        parts.append(_("{prompts} prompts").format(prompts=prompts))
    if drafts:
        parts.append(_("{drafts} drafts in all").format(drafts=drafts))
    return _(", ").join(parts) or None


def _releases(reference: Reference) -> str | None:
    since, until = reference.since, reference.until
    if since == until or until is None:
        return since and f"{reference.owner} {since}"
    return _("{owner} {since} to {until}").format(owner=reference.owner, since=since, until=until)
