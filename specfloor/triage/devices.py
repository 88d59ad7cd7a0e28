"""The chips of ``npu-smi info`` for people: one line a chip."""

from collections.abc import Iterator
from typing import Any

from tabulate import tabulate

from specfloor.i18n import _

_SHOWN = 16
"""Chips up to which a table has all: the largest host."""
_SHOWN_PIDS = 3


def device_tables(extract: dict[str, Any], style: str) -> Iterator[str]:
    """Yield a table for each text of npu-smi in the numbers of a report.

    ``style`` is a format of tabulate's. What a text does not say is a question mark.
    """
    inner = [value for name, value in extract.items() if name.startswith("npu_smi")]
    for one in (extract, *inner):
        devices = one.get("devices") or []
        if not devices:
            continue
        heads = (_("NPU"), _("chip"), _("health"), _("memory, MB"), _("AICore, %"), _("°C"))
        rows = [
            (
                *_known(device["npu"], device["chip"], device["health"], _memory(device)),
                *_known(device["aicore_pct"], device["temp_c"]),
                _pids(one.get("processes") or [], device),
            )
            for device in devices[:_SHOWN]
        ]
        yield tabulate(rows, (*heads, _("processes")), tablefmt=style, disable_numparse=True)
        if len(devices) > _SHOWN:
            yield _("and {chips} more chips (--format json has them)").format(
                chips=len(devices) - _SHOWN
            )


def _known(*values: object) -> tuple[str, ...]:
    return tuple("?" if value in (None, "") else str(value) for value in values)


def _memory(device: dict[str, Any]) -> str | None:
    """Return what is used of HBM, or of the other memory of a chip that has no HBM."""
    for kind in ("hbm", "memory"):
        used, total = device[f"{kind}_used_mb"], device[f"{kind}_total_mb"]
        if used is not None and total:
            return f"{used:,} / {total:,}"
    return None


def _pids(processes: list[dict[str, Any]], device: dict[str, Any]) -> str:
    place = (device["npu"], device["chip"])
    pids = [str(one["pid"]) for one in processes if (one["npu"], one["chip"]) == place]
    shown = _(", ").join(pids[:_SHOWN_PIDS])
    return f"{shown} +{len(pids) - _SHOWN_PIDS}" if len(pids) > _SHOWN_PIDS else shown or "-"
