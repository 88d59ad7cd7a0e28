"""The judgement of the devices: who else is on them, and are they well. Pure."""

from collections.abc import Sequence

from specfloor.host.npu_smi import NpuTable
from specfloor.i18n import _
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.findings import Finding


def judge_npu(table: NpuTable, server_pids: Sequence[int]) -> list[Conclusion]:
    """Judge a table of devices: who else is on them, and are they well."""
    if table.error:
        return [
            Conclusion(
                Finding.NO_DATA, _("npu-smi error: {error}").format(error=table.error), beside=True
            )
        ]
    found = []
    foreign = foreign_pids(table, server_pids)
    if foreign:
        pids = _(", ").join(map(str, foreign))
        reason = _(
            "other processes use the chips (pids {pids}); a measurement here is not valid"
        ).format(pids=pids)
        scope = {"pids": list(foreign)}
        found = [
            Conclusion(Finding.BASELINE_INVALID, reason, scope),
            Conclusion(Finding.HARDWARE, _("the chips are shared"), scope),
        ]
    bad = [device for device in table.devices if device.fails]
    if bad:
        names = _(", ").join(
            _("NPU {npu} chip {chip} ({health})").format(npu=d.npu, chip=d.chip, health=d.health)
            for d in bad
        )
        scope = {"npus": sorted({d.npu for d in bad})}
        found += [
            Conclusion(
                Finding.BASELINE_INVALID,
                _("devices are unwell: {names}").format(names=names),
                scope,
            ),
            Conclusion(
                Finding.HARDWARE, _("devices are unwell: {names}").format(names=names), scope
            ),
        ]
    return found


def is_clear(table: NpuTable, server_pids: Sequence[int]) -> bool:
    """Whether a table leaves nothing open: devices that are well, with memory left, and no other's.

    Whose a process is, the table does not say: each has to be one of the server's that are known.
    """
    own = all(process.pid in server_pids for process in table.processes)
    return bool(table.devices) and own and not table.unwell and not table.full


def foreign_pids(table: NpuTable, server_pids: Sequence[int]) -> tuple[int, ...]:
    """Return the processes on the chips that are not the server's; none if those are not known."""
    if not server_pids:
        return ()
    return tuple(dict.fromkeys(p.pid for p in table.processes if p.pid not in server_pids))
