"""Where a run was made, with what settings, and which servers it started."""

from collections.abc import Iterable, Mapping
from typing import Any

from specfloor.i18n import _
from specfloor.report.html import words
from specfloor.report.html.model import Table
from specfloor.runs.records import Environment, FindingRecord, LaunchRecord, Record, RunInfo

Facts = tuple[tuple[str, str], ...]


def environment(where: Environment) -> Facts:
    """Return names and values of what is known of a machine; what is unknown is left out."""
    known: list[tuple[str, object]] = [
        (words.PYTHON, where.python),
        (_(words.PLATFORM), where.platform),
        (_(words.PROCESSOR), f"{where.cpu}, {where.cores}"),
        (_(words.MEMORY), f"{where.memory_bytes / 2**30:.1f} GiB"),
        (_(words.ACCELERATORS), ", ".join(where.accelerators) or _(words.NO_ACCELERATORS)),
        (words.CANN, where.cann),
        (_(words.CANN_HOME), where.cann_home),
        (_(words.DRIVER), where.driver),
        (_(words.FIRMWARE), where.firmware),
        (words.NPU_SMI, where.npu_smi),
        (_(words.CONTAINER), None if where.container is None else _(words.YES_NO[where.container])),
        (_(words.PACKAGES), _pairs(where.packages, " ")),
        *((_(words.ENGINE).format(python=p), _pairs(of, " ")) for p, of in where.engines.items()),
        (_(words.VARIABLES), _pairs(where.variables, "=")),
    ]
    return tuple((name, str(value)) for name, value in known if value not in (None, ""))


def settings(info: RunInfo) -> Facts:
    """Return what was asked for, nested settings under dotted names."""
    return tuple(_flat(info.settings))


def _flat(values: Mapping[str, Any], above: str = "") -> Iterable[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        elif isinstance(value, list | tuple):
            yield f"{above}{name}", ", ".join(map(str, value)) or words.NOTHING
        else:
            yield f"{above}{name}", words.NOTHING if value is None else str(value)


def launches_table(records: Iterable[Record]) -> Table:
    """Return one row a server start, in the order of the run, and one for each that failed."""
    rows = []
    for record in records:
        if isinstance(record, LaunchRecord):
            rows.append(
                (
                    record.key.id,
                    record.version or words.NOTHING,
                    f"{record.startup_s:.0f} s",
                    record.speculative_config or words.NOTHING,
                )
            )
        elif isinstance(record, FindingRecord):
            said = _("{what}: {why}").format(what=record.finding, why=record.sentence)
            rows.append((record.launch, words.NOTHING, words.NOTHING, said))
    return Table(tuple(map(_, words.LAUNCH_HEADERS)), tuple(rows), frozenset({2}))


def _pairs(values: Mapping[str, str], joint: str) -> str:
    return ", ".join(f"{name}{joint}{value}" for name, value in sorted(values.items()))
