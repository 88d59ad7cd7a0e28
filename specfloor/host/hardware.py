"""Which NPUs a host has."""

from pathlib import Path

import msgspec

from specfloor.catalog.model import Soc
from specfloor.host.npu_smi import read_npu_smi
from specfloor.host.programs import NPU_SMI_S, run_program


class Hardware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The NPUs of a host: their class, None where it is not known, and how many devices.

    Devices are counted as engines count them: an A3 card is two.
    """

    soc: Soc | None
    cards: int


def find_hardware() -> Hardware | None:
    """Return this host's NPUs, None without any.

    Where npu-smi is missing, hangs or cannot be read, the driver's device files are counted and the
    class is not known.
    """
    files = list(Path("/dev").glob("davinci[0-9]*"))
    table = read_npu_smi(run_program(["npu-smi", "info"], timeout_s=NPU_SMI_S).text)
    if table and table.devices:
        return Hardware(table.soc, len(table.devices))
    return Hardware(None, len(files)) if files else None
