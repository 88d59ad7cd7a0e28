"""Damaged metrics: never a traceback, never a rate that cannot be."""

import json
import random

import pytest
from rich.console import Console

from specfloor.watch.endpoint import read_sample
from specfloor.watch.show import as_json, as_line, as_table
from specfloor.watch.state import Watch
from tests.unit.triage.builders import CASES
from tests.unit.triage.test_fuzz import mutated

FILES = sorted((CASES / "metrics").glob("*/*.prom"))
URL = "http://a:1/metrics"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_damaged_text_is_shown_as_far_as_it_goes(path):
    rng = random.Random(str(path.name))
    content = path.read_bytes()
    watch = Watch([URL], 60.0)
    console = Console(quiet=True)
    for number in range(12):
        damaged = mutated(content, rng).decode(errors="replace") if number % 2 else path.read_text()
        view = watch.take(1000.0 + number, {URL: read_sample(damaged)})
        console.print(as_table(view, floor=0.5))
        assert as_line(view)
        for engine in json.loads(as_json(view))["engines"]:
            rate = engine["window"] and engine["window"]["acceptance_rate"]
            assert rate is None or 0 <= rate <= 1.02
    assert watch.summary().readings == 12
