"""Golden figures as references: what stands beside a measurement and decides nothing."""

from collections.abc import Iterator

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.references import Reference, thinks
from specfloor.errors import UsageError
from specfloor.golden.model import Bounds, Golden, GoldenFile


def references_of(file: GoldenFile, catalog: Catalog, *, name: str) -> tuple[Reference, ...]:
    """Return the references that a golden file amounts to: rate, length and profile of each entry.

    Args:
        file: what was read.
        catalog: gives families their own names; one that it does not know keeps that of the file.
        name: what the file is called, the source of references of a file that names none.
    """
    return tuple(
        reference
        for golden in file.golden
        for reference in _references(golden, file.owner, file.source or name, catalog)
    )


def _references(golden: Golden, owner: str, source: str, catalog: Catalog) -> Iterator[Reference]:
    at = golden.conditions
    rate = Reference(
        family=_family(golden.family, catalog),
        method=golden.method,
        quantity="acceptance_rate",
        value=(golden.rate.value,),
        kind="golden",
        owner=owner,
        source=source,
        k=golden.k,
        checkpoint=at.checkpoint,
        draft=at.draft,
        thinking=thinks(golden.tier),
        workload=golden.workload,
        prompts=at.prompts,
        drafts=golden.steps,
        temperature=_number(at.sampling.get("temperature")),
        top_p=_number(at.sampling.get("top_p")),
        max_tokens=_whole(at.sampling.get("max_tokens")),
        concurrency=golden.concurrency,
        hardware=at.hardware,
        since=at.release,
        until=at.release,
        date=golden.date.isoformat(),
        interval=_interval(golden.rate.interval),
        note=f"prompt set {at.fingerprint[:12]}",
    )
    yield rate
    yield msgspec.structs.replace(
        rate,
        quantity="acceptance_length",
        value=(golden.length.value,),
        interval=_interval(golden.length.interval),
    )
    if golden.per_position:
        profile = tuple(share.value for share in golden.per_position)
        yield msgspec.structs.replace(rate, quantity="per_position", value=profile, interval=None)


def _interval(bounds: Bounds | None) -> tuple[float, float, float] | None:
    return (bounds.low, bounds.high, bounds.level) if bounds else None


def _family(name: str, catalog: Catalog) -> str:
    try:
        return catalog.family(name).name
    except UsageError:
        return name


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
