"""Whether a server did not start because of the host, so that the vendor is not to blame."""

import re

from specfloor.judge.evidence import CellEvidence
from specfloor.runs.records import FindingRecord

_PROGRAM = re.compile(r"^(?:docker|podman|nerdctl): ")
_OF_THE_IMAGE = re.compile(r"exec: |executable file|manifest|pull access denied|not found")
"""What the same program says when it is the image that is at fault, or may be."""
_LACKS = (
    "no NPU was found on this host",
    "no interpreter with vllm and vllm-ascend was found",
    "no program that runs containers was found",
    "containers cannot be run here",
    "this host has no /dev/",
    "the image of ",
    "sourcing ",
    "ASCEND_RT_VISIBLE_DEVICES=",
)
"""How the sentences begin that say what a host lacks; they are recorded in English."""


def host_fault(evidence: CellEvidence) -> str | None:
    """Return what of the host kept every server of a cell from starting.

    None where a server came up, or where what was said does not show whose fault it is: an engine
    that fails may have failed of anything.
    """
    arms = (*evidence.on, *evidence.off)
    faults = [arm.fault for arm in arms if arm.fault]
    if not faults or any(arm.launch for arm in arms) or not all(map(_of_the_host, faults)):
        return None
    return faults[0].sentence


def _of_the_host(fault: FindingRecord) -> bool:
    if fault.cause is None:
        return fault.message.startswith(_LACKS)
    return bool(_PROGRAM.match(fault.cause)) and not _OF_THE_IMAGE.search(fault.cause)
