"""Soaks of real vLLM with a drafter of known acceptance: one that stays as it is, one that decays.

    python -m benchmarks.soak --minutes 10

Prints what the experiment `drift` says of each beside the truth, and exits with 1 when it calls the
first one drifting, or misses the onset of the second by more than a tenth.
"""

import argparse
import datetime
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from specfloor.catalog import load_catalog
from specfloor.cells import Cell
from specfloor.engines.local import LocalEngines
from specfloor.experiments.base import ExperimentJudgement
from specfloor.judge.floors import Floors
from specfloor.judge.run import Wanted
from specfloor.judge.verdict import Verdict
from specfloor.report.experiments import experiment_sections
from specfloor.selfcheck import DRAFTER, Decay, K, set_drafter, with_calibrated_drafter
from specfloor.session import Session, on_this_host
from specfloor.settings import Settings

ROOT = Path(__file__).parents[1]
FAMILY = "glm_moe_tiny"
CELL = Cell("cpu-0.32.0", FAMILY, DRAFTER.name, K, "code", "off", 1)
HEALTHY = {"mean": 0.8, "sd": 0.1, "seed": 7}
LEFT = 0.3
"""Share of each chance that the decay leaves."""
TOLERANCE = 0.1


class Soaked(msgspec.Struct, frozen=True):
    """What was said of a soak, and the number of the first request of the decay (None: none)."""

    said: ExperimentJudgement
    truth: int | None

    @property
    def error(self) -> float | None:
        """The error of the onset as a share of the truth; None without a decay that was found."""
        onset = self.said.detail.onset
        return onset.number / self.truth - 1 if onset and self.truth else None

    @property
    def right(self) -> bool:
        """Whether a soak without decay does not fail, and one with decay does, at its onset."""
        if self.truth is None:
            return self.said.verdict is Verdict.PASS
        found = self.said.verdict is Verdict.FAIL and self.error is not None
        return found and abs(self.error or 0.0) <= TOLERANCE


class _Decaying:
    """Lets the drafter decay after half of the soak, whatever the speed of the machine.

    It hears the line that ends each block, between the blocks.
    """

    def __init__(self, settings: Path, parts: int, say: Callable[[str], None]) -> None:
        self._settings, self._parts, self._say = settings, parts, say
        self._blocks = -1  # the warm-up is none of the soak
        self._requests = 0
        self.truth: int | None = None

    def __call__(self, line: str) -> None:
        self._say(line)
        ended = re.search(r"(\d+) requests in ", line)
        if ended is None:
            return
        self._blocks += 1
        if self._blocks > 0:
            self._requests += int(ended[1])
        if self._blocks == self._parts // 2:
            each = self._requests // self._blocks
            later = each // 4
            # the next block begins with a request that warms up and is not measured
            decay = Decay(after=later + 2, over=2 * each, to=LEFT)
            set_drafter(self._settings, **HEALTHY, decay=decay)
            self.truth = self._requests + later + 1


def soak(
    folder: Path, *, minutes: float, decays: bool, say: Callable[[str], None] = print
) -> Soaked:
    """Soak one server with the drafter; its run goes below ``folder``."""
    settings = (folder / "drafter.json").resolve()
    set_drafter(settings, **HEALTHY)
    known = load_catalog()
    catalog = with_calibrated_drafter(known, known.family(FAMILY), settings)
    asked = Settings(
        floors_dir=ROOT / "fixtures" / "floors",
        workloads_dir=ROOT / "fixtures" / "workloads",
        experiments="small",
        soak_min=minutes,
    )
    session = Session(asked, catalog, Floors((), ()), [Wanted(CELL, frozenset(), ("drift",))])
    decaying = _Decaying(settings, 8, say)
    told = decaying if decays else say
    engines = LocalEngines(
        catalog,
        models=ROOT / "fixtures" / "models",
        cache=None,
        start_timeout_s=600,
        route=asked.route,
        say=told,
        tick=lambda *_: None,
    )
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    session.open(folder / "run", started, on_this_host(engines, told), told)
    said = session.experiment("drift", CELL)
    session.close(complete=True)
    return Soaked(said, decaying.truth)


def main() -> int:
    """Soak twice and print what was said."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    minutes = parser.parse_args().minutes
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for decays in (False, True):
            own = Path(folder) / ("decays" if decays else "holds")
            own.mkdir()
            found.append(soak(own, minutes=minutes, decays=decays, say=_progress))
    for one in found:
        truth = f"decays from request {one.truth} on" if one.truth else "does not decay"
        print(f"## The drafter {truth}\n")
        for heading, text in experiment_sections([one.said], "github"):
            print(f"{heading}\n\n{text}\n")
        if one.error is not None:
            print(f"Error of the onset: {one.error:+.1%}\n")
    return 0 if all(one.right for one in found) else 1


def _progress(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
