"""The experiments there are, by name."""

from specfloor.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {}
"""Every experiment, in the order they are run in."""
