"""The experiments there are, by name."""

from specfloor.experiments.adaptive import AdaptiveVerification
from specfloor.experiments.base import Experiment
from specfloor.experiments.drift import AcceptanceDrift
from specfloor.experiments.effort import Effort
from specfloor.experiments.flip import FlipPoint
from specfloor.experiments.output import Output
from specfloor.experiments.schedule import KSchedule

_ALL: tuple[Experiment, ...] = (
    FlipPoint(),
    KSchedule(),
    # after the sweep, whose schedule it takes
    AdaptiveVerification(),
    Effort(),
    AcceptanceDrift(),
    Output(),
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
"""Every experiment, in the order they are run in."""
