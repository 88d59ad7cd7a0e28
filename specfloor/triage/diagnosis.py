"""What the chain from a number to a cause concludes, in the shape that every report shows."""

from enum import StrEnum

import msgspec

from specfloor.cells import Cell
from specfloor.i18n import N_, _
from specfloor.ledger.model import Signature
from specfloor.triage.causes import KnownFix
from specfloor.triage.findings import Finding


class Stage(StrEnum):
    """The links of the chain, in the order that saves days; the hardware is looked at last."""

    RUN = N_("run")
    """Whether there is something to explain at all: starts, crashes, the arm without drafts."""
    ACCEPTANCE = N_("acceptance")
    CONFIGURATION = N_("configuration")
    """Whether what was asked for is in effect."""
    KNOWN_FIX = N_("known fix")
    """What the release is known to lack."""
    STEP_COST = N_("step cost")
    """What a step with drafts costs: batch, graph, copies from and to the host."""
    ADAPTIVE = N_("adaptive")
    """Whether the number of drafted or verified tokens follows the load."""
    HOST = N_("host")
    """The devices, by samples of npu-smi."""
    UNKNOWN = N_("unknown")
    """Nothing above explains it."""


class Confidence(StrEnum):
    """How sure a link is, the surest first."""

    SHOWN = N_("shown")
    """Measured, with an error rate or an interval that excludes the contrary."""
    LIKELY = N_("likely")
    """The figures bear its signature, and nothing known speaks against it."""
    POSSIBLE = N_("possible")
    """Nothing known rules it out."""


_PROGRAMS = ("tox", "vllm", "specfloor", "npu-smi")


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment: ``command`` is what to run or to change, ``tells`` what its outcome says."""

    command: str
    tells: str

    def __str__(self) -> str:
        """Return both in one line, what can be typed in backticks."""
        typed = self.command.partition(" ")[0] in _PROGRAMS
        command = f"`{self.command}`" if typed else self.command
        return _("{what}: {why}").format(what=command, why=self.tells)


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One finding of the chain.

    ``finding`` is from the closed vocabulary; at stage ``unknown`` it is INCONCLUSIVE. ``sentence``
    says what is the matter, ``evidence`` what shows it, one line each, with counts or an interval.
    ``signature`` is the shape of the figures it rests on, ``fix`` the ledger's row at stage
    ``known fix``: the releases with the change and the settings that avoid the fault are in it.
    ``next`` tells this link from the others, cheapest first.
    """

    stage: Stage
    finding: Finding
    confidence: Confidence
    sentence: str
    evidence: tuple[str, ...] = ()
    signature: Signature | None = None
    fix: KnownFix | None = None
    next: tuple[Step, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From a number to a cause, for one cell of a run or for some files.

    ``links`` are in the order of the chain, within a stage the surest first. ``exonerated`` says
    what is not the cause and why, one sentence each. ``ledger`` says what the fix ledger was asked
    and up to when it knows, or why it has no answer; ``ledger_unknown`` is whether it was asked
    about a release it has not read. ``cell`` is None for files.

    Where acceptance was measured and nothing was there to judge it by, ``measured`` says it,
    ``published`` what others publish of the family and method, which decides nothing, and
    ``lacking`` which faults the ledger knows that the release has or may have.
    """

    cell: Cell | None
    links: tuple[Link, ...]
    exonerated: tuple[str, ...] = ()
    ledger: str | None = None
    ledger_unknown: bool = False
    measured: str | None = None
    published: tuple[str, ...] = ()
    lacking: tuple[KnownFix, ...] = ()

    @property
    def known_fixes(self) -> tuple[KnownFix, ...]:
        """The ledger's rows that may be the cause, likeliest first."""
        return tuple(link.fix for link in self.links if link.fix is not None)

    @property
    def causes(self) -> tuple[Link, ...]:
        """The links that say why, surest first: all but the run's own and acceptance's symptom."""
        why = [link for link in self.links if link.stage not in (Stage.RUN, Stage.ACCEPTANCE)]
        return tuple(sorted(why, key=lambda link: _SURENESS[link.confidence]))

    @property
    def next(self) -> tuple[Step, ...]:
        """The experiments that would tell the causes apart, each once, in the chain's order."""
        return tuple(dict.fromkeys(step for link in self.links for step in link.next))


_SURENESS = {confidence: rank for rank, confidence in enumerate(Confidence)}
