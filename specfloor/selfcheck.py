"""Whether this instrument can be trusted on an engine, and what it can see, before any verdict.

Three experiments. A drafter of known acceptance: are the estimates where they must be, and do the
rungs agree? A/A on disjoint prompts: do two halves of one workload differ by more than chance? The
off arm launched several times: how far do launches scatter, and how many tell which speedup?
"""

import asyncio
import json
import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from scipy import stats

from specfloor.catalog import Catalog
from specfloor.catalog.model import Family, Method
from specfloor.cells import OFF, Arm
from specfloor.judge.calibration import expected_rate
from specfloor.judge.estimate import mean_estimate
from specfloor.judge.speed import launches_needed
from specfloor.judge.times import clock_for, time_per_token
from specfloor.judge.verdict import Estimate
from specfloor.load.client import Block, Counting, Ending, run_block
from specfloor.load.sampling import Sampling
from specfloor.load.workload import Prompt
from specfloor.measure import Engines, Fault, Running, Say
from specfloor.plan import Overrides
from specfloor.runs.records import BlockKey, CountersRecord, LaunchKey, Purpose, RequestRecord
from specfloor.signals.choose import BlockSignals, choose
from specfloor.triage.findings import Finding

K = 3
"""Tokens that the drafter of known acceptance drafts a step."""
DRAFTER = Method(
    name="custom_class",
    k=(K,),
    config={"model": "calibrated_drafter.CalibratedDrafter"},
)
"""The method that loads the drafter of known acceptance."""

MEANS = (0.6, 0.75, 0.9)
"""Per-token probabilities that span what healthy drafts reach."""
SD = 0.1
"""Between requests; what mixed domains show."""
LEVEL = 0.995
"""Of the intervals that must hold the truth: three of them all do in 98.5 % of checks."""
SPEEDUPS = ((1.9, 1.3), (1.1, 1.0))
"""Pairs of a speedup and a floor below it, for which the launches needed are printed."""

_T = TypeVar("_T")
_SCRIPTS = Path(__file__).parent / "engines" / "scripts"


class KnownRate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stated acceptance and what was measured; ``rungs_agree`` is None with one rung only."""

    stated: float
    measured: Estimate
    rungs_agree: bool | None
    sentence: str

    @property
    def holds(self) -> bool:
        """Whether the interval holds the truth and no rung contradicts another."""
        interval = self.measured.interval
        inside = interval is not None and interval.low <= self.stated <= interval.high
        return inside and self.rungs_agree is not False


class Halves(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two disjoint halves of a workload on one engine: nothing differs but the prompts.

    ``p_value`` is that of Welch's t test on the requests' rates; ``visible`` the relative
    difference that this many prompts show with power 95 % at level 5 %.
    """

    first: float
    second: float
    requests: int
    p_value: float
    visible: float

    @property
    def holds(self) -> bool:
        """Whether the halves differ by no more than chance, at level 0.5 %."""
        return self.p_value > 1 - LEVEL


class Scatter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Launches of the off arm: median seconds per token of each, and their scatter (SD of logs)."""

    seconds_per_token: tuple[float, ...]
    scatter: float

    def launches_for(self, speedup: float, floor: float) -> int | None:
        """Return the launches an arm that tell ``speedup`` from ``floor`` here; None: too many."""
        return launches_needed(math.log(speedup / floor), self.scatter)


class SelfCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the three experiments showed."""

    known: tuple[KnownRate, ...]
    halves: Halves
    scatter: Scatter

    @property
    def holds(self) -> bool:
        """Whether acceptance verdicts can be trusted here."""
        return self.halves.holds and all(known.holds for known in self.known)


def with_calibrated_drafter(catalog: Catalog, family: Family, settings: Path) -> Catalog:
    """Return the catalogue with the drafter of known acceptance among a family's methods.

    ``settings`` is the file that the drafter reads, see :func:`set_drafter`.
    """
    environment = {"PYTHONPATH": str(_SCRIPTS), "SPECFLOOR_DRAFTER": str(settings)}
    able = msgspec.structs.replace(
        family, methods=(*family.methods, DRAFTER), env={**family.env, **environment}
    )
    return msgspec.structs.replace(catalog, families={**catalog.families, family.name: able})


class Decay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the drafter gets worse: see ``specfloor/engines/scripts/calibrated_drafter.py``.

    From the request numbered ``after`` on, the probability that a token is kept falls to ``to``
    times what it was, over as many requests as ``over``, at once with 0.
    """

    after: int
    over: int
    to: float


def set_drafter(
    settings: Path,
    *,
    mean: float,
    sd: float,
    seed: int,
    noise: int = 0,
    decay: Decay | None = None,
) -> None:
    """Set the drafter's acceptance, from the next step on; its count of requests begins anew.

    Args:
        settings: the file it reads.
        mean: of the probability that a drafted token is kept, over requests.
        sd: of that probability, over requests.
        seed: of the probability of each prompt.
        noise: of which tokens are spoilt.
        decay: how it gets worse, if it does.
    """
    fresh = settings.with_suffix(".new")
    values: dict[str, Any] = {"mean": mean, "sd": sd, "seed": seed, "noise": noise}
    if decay is not None:
        values["decay"] = msgspec.structs.asdict(decay)
    fresh.write_text(json.dumps(values), encoding="utf-8")
    # at once, so that the engine never reads half of it
    fresh.replace(settings)


class Check:
    """Runs the experiments on one family of one release.

    Args:
        engines: where servers come from; its catalogue has the drafter.
        release: the release's name.
        family: the family.
        prompts: in the order they are sent.
        template: arguments of the chat template that select the tier.
        folder: logs go there.
        settings: the file that the drafter reads.
        tokens: length of every answer.
        seed: of the drafter.
        say: takes one line of progress.
    """

    def __init__(
        self,
        engines: Engines,
        *,
        release: str,
        family: Family,
        prompts: Sequence[Prompt],
        template: dict[str, Any],
        folder: Path,
        settings: Path,
        tokens: int,
        seed: int,
        say: Say,
    ) -> None:
        self._engines = engines
        self._release = release
        self._family = family
        self._prompts = tuple(prompts)
        self._template = template
        self._folder = folder
        self._settings = settings
        self._tokens = tokens
        self._seed = seed
        self._say = say

    def run(self, launches: int) -> SelfCheck:
        """Run all three; raises Fault when an engine does not start or fails."""
        known, halves = self._with_engine(Arm(DRAFTER.name, K), 0, self._known_and_halves)
        times = [
            self._with_engine(OFF, repeat, self._seconds_per_token) for repeat in range(launches)
        ]
        scatter = statistics.stdev(map(math.log, times)) if launches > 1 else math.nan
        return SelfCheck(known, halves, Scatter(tuple(times), scatter))

    def _with_engine(self, arm: Arm, repeat: int, use: Callable[[Running], _T]) -> _T:
        key = LaunchKey(self._release, self._family.name, arm, repeat)
        self._engines.prepare(key)
        self._say(f"{key.id}: starting")
        with self._engines.start(key, self._folder / f"{key.id}.log", Overrides()) as engine:
            return use(engine)

    def _known_and_halves(self, engine: Running) -> tuple[tuple[KnownRate, ...], Halves]:
        self._say("the drafter learns")
        # longer than what follows, so that every later draft has k tokens
        set_drafter(self._settings, mean=MEANS[0], sd=SD, seed=self._seed)
        self.send(engine, tokens=self._tokens + K + 1)
        known = []
        for mean in MEANS:
            set_drafter(self._settings, mean=mean, sd=SD, seed=self._seed)
            signals = self.send(engine)
            known.append(known_rate(signals, expected_rate(mean, SD, K)))
            self._say(f"stated {known[-1].stated:.3f}, measured {known[-1].measured.value:.3f}")
        return tuple(known), halves_of(signals)

    def _seconds_per_token(self, engine: Running) -> float:
        records, _ = self._exchange(engine, self._tokens, Counting.NEVER)
        clock = clock_for(records)
        times = [s for record in records if (s := time_per_token(record, clock))]
        return statistics.median(times)

    def send(self, engine: Running, tokens: int | None = None) -> BlockSignals:
        """Send every prompt once at concurrency 1 and return what was drafted and accepted."""
        records, counters = self._exchange(engine, tokens or self._tokens, Counting.PER_REQUEST)
        return choose(records, counters, k=K, drafts_k=DRAFTER.drafts_k)

    def _exchange(
        self, engine: Running, tokens: int, counting: Counting
    ) -> tuple[list[RequestRecord], list[CountersRecord]]:
        records: list[RequestRecord] = []
        counters: list[CountersRecord] = []
        block = Block(
            launch="selfcheck",
            key=BlockKey("selfcheck", "selfcheck", 1, Purpose.FORCED),
            prompts=self._prompts,
            sampling=Sampling(max_tokens=tokens, ignore_eos=True, seed=self._seed),
            template=self._template,
            counting=counting,
        )
        outcome = asyncio.run(run_block(engine.endpoint, block, records.append, counters.append))
        if outcome.ending is not Ending.COMPLETE or outcome.failed:
            raise Fault(
                Finding.HANG if outcome.ending is Ending.HUNG else Finding.CRASH,
                outcome.sentence or f"{outcome.failed} of {outcome.sent} requests failed",
            )
        return records, counters


def known_rate(signals: BlockSignals, stated: float) -> KnownRate:
    """Return what the signals of a block say of a stated acceptance rate."""
    rates = [rate for r in signals.requests if (rate := r.counts.rate) is not None]
    return KnownRate(
        stated=stated,
        measured=mean_estimate(rates, low=0, high=1, level=LEVEL),
        rungs_agree=signals.reconciliation.consistent,
        sentence=signals.reconciliation.sentence,
    )


def halves_of(signals: BlockSignals) -> Halves:
    """Return the two halves of a block, alternating in its order."""
    rates = [rate for r in signals.requests if (rate := r.counts.rate) is not None]
    first, second = np.array(rates[::2]), np.array(rates[1::2])
    result = stats.ttest_ind(first, second, equal_var=False)
    error = math.hypot(stats.sem(first), stats.sem(second))
    freedom = len(rates) - 2
    visible = (stats.t.ppf(0.975, freedom) + stats.t.ppf(0.95, freedom)) * error
    return Halves(
        first=float(first.mean()),
        second=float(second.mean()),
        requests=len(rates),
        p_value=float(result.pvalue),
        visible=float(visible / np.mean(rates)),
    )
