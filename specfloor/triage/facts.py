"""What the chain goes by: conclusions, figures, configuration, speed, devices, whoever says it."""

from typing import Any

import msgspec

from specfloor.cells import Cell
from specfloor.ledger.model import Facet
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.findings import Finding
from specfloor.triage.signatures import Contrast, Seen
from specfloor.triage.steps import Place

ACCEPTANCE = frozenset(
    {
        Finding.ACCEPT_ZERO,
        Finding.ACCEPT_REGRESSION,
        Finding.ACCEPT_DRIFT,
        Finding.SUSPICIOUS_ACCEPTANCE,
        Finding.TOPOLOGY,
        Finding.OUTPUT_BROKEN,
    }
)
"""The findings about drafts that are not accepted as they should be, or too well."""
SPEED = frozenset(
    {Finding.SPEED_REGRESSION, Finding.SPEED_REGRESSION_ACCEPT_OK, Finding.BATCH_FLIP}
)
ENDS = frozenset({Finding.CRASH, Finding.START_FAIL, Finding.HANG})
INVALID = frozenset({Finding.BASELINE_INVALID, Finding.WORKLOAD_INVALID})


class Speed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the speed; ratios, None where not known.

    ``speedup`` is off over on, ``length`` the acceptance length, ``step_cost`` the time of a step
    with drafts over one without. ``flip`` says where speculation stops paying as requests are
    added, with its figures.
    """

    speedup: float | None = None
    length: float | None = None
    step_cost: float | None = None
    flip: str | None = None


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that the chain goes by.

    ``conclusions`` are what the judges said, of which only what is wrong matters; ``healthy`` why
    acceptance is known to be as it should be, None where it is not known. ``seen`` are the
    signatures that the figures bear, ``contrasts`` where the fault is and where it is not.
    ``release`` is None where the ledger cannot be asked, for the reason ``unasked``. ``setting``
    are the facets known to hold or not, and ``drafting`` the fields of the catalogue's speculative
    configuration; ``in_effect`` says that the configuration asked for is, and
    from what. ``off_failure`` is how the arm without drafts ended, if badly, and ``off_served``
    whether it is known to have served. ``same_texts`` says that the answers are those of the arm
    without drafts. ``environment`` are faults of the set-up that may keep a setting from being in
    effect. ``devices`` are what samples of npu-smi show, and ``sampled`` whether there were any;
    ``devices_clear`` is whether they leave nothing open: no memory that is full, no process that
    may be another's. ``measured`` is acceptance that nothing was there to judge by, in words, and
    ``published`` what others publish, to stand beside it.
    """

    conclusions: tuple[Conclusion, ...]
    cell: Cell | None = None
    place: Place = Place()
    release: str | None = None
    unasked: str | None = None
    family: str | None = None
    method: str | None = None
    healthy: str | None = None
    seen: tuple[Seen, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    setting: dict[Facet, bool] = {}
    drafting: dict[str, Any] = {}
    in_effect: str | None = None
    off_failure: Conclusion | None = None
    off_served: bool = False
    same_texts: str | None = None
    speed: Speed = Speed()
    environment: tuple[str, ...] = ()
    devices: tuple[Conclusion, ...] = ()
    sampled: bool = False
    devices_clear: bool = True
    measured: str | None = None
    published: tuple[str, ...] = ()

    def said(self, findings: frozenset[Finding]) -> tuple[Conclusion, ...]:
        """Return the conclusions with one of some findings."""
        return tuple(c for c in self.conclusions if c.finding in findings)
