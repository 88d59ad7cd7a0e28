"""What the readers find and the judge judges, whatever kind of file it came from."""

import msgspec

from specfloor.triage.roles import NEW, ON
from specfloor.triage.tally import Tally, total


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One stretch of time: a window of a log, an interval between scrapes, or some joined.

    ``at`` is when it ended, in seconds (of some year where the log has none); ``seconds`` how long
    it was; ``windows`` how many windows are in it.
    """

    tally: Tally
    at: float | None = None
    seconds: float | None = None
    windows: int = 1


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a server run ended that did not end well; ``cause`` is the line that says why."""

    hung: bool
    cause: str


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One server, from start to end or as far as the evidence goes.

    ``tally`` is None without drafts. ``engines`` has every engine that is mentioned, None for one
    without drafts, and is empty where the evidence names none; ``engine_parts`` are their stretches
    of time. ``generating`` are engines without drafts that generated nevertheless. ``served`` is
    whether the server is seen to have worked at all.
    """

    tally: Tally | None
    engines: dict[str, Tally | None] = {}
    parts: tuple[Part, ...] = ()
    engine_parts: dict[str, tuple[Part, ...]] = {}
    generating: tuple[str, ...] = ()
    version: str | None = None
    model: str | None = None
    method: str | None = None
    k: int | None = None
    speculates: bool | None = None
    served: bool = True
    failure: Failure | None = None


class Speed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Generation speed while a server worked, in tokens a second over all its engines.

    ``typical`` is the sum over engines of the median of their lines, ``mean`` of the mean;
    ``running`` the mean number of requests that ran.
    """

    mean: float
    typical: float
    running: float


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The evidence about one role: what one server, or one arm, did.

    ``what`` is what ``role`` names: a role, a model, a server. ``nothing`` says why there is no
    acceptance in it, when there is none; ``doubt`` what is damaged or missing in it, so that it
    cannot carry a pass. ``bare_rate`` is an acceptance rate without counts, as V0's gauge gives it.
    """

    role: str
    runs: tuple[Run, ...]
    what: str = "role"
    nothing: str | None = None
    doubt: str | None = None
    speed: Speed | None = None
    bare_rate: float | None = None

    @property
    def tally(self) -> Tally | None:
        """The sum over the runs; None without drafts."""
        return total(run.tally for run in self.runs)

    @property
    def version(self) -> str | None:
        """The version that the last run says it is."""
        return next((run.version for run in reversed(self.runs) if run.version), None)

    @property
    def k(self) -> int | None:
        """The number of draft tokens of a step, where the evidence shows it."""
        shown = [len(run.tally.positions) for run in self.runs if run.tally]
        told = [run.k for run in self.runs if run.k]
        return max(filter(None, shown), default=None) or max(told, default=None)

    @property
    def scope(self) -> dict[str, str]:
        """What a conclusion about it names it by; empty where it goes without saying."""
        return {self.what: self.role} if self.role not in ("", ON, NEW) else {}


class Warned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that the reader of a verdict must know; ``code`` is from a closed list."""

    code: str
    message: str
