"""Entries, and runs that leave them."""

import msgspec

from specfloor.history.entries import AcceptancePoint, Entry, SpeedPoint
from specfloor.judge.run import Basis, Wanted, write_basis
from specfloor.runs.records import Purpose
from specfloor.runs.store import RunWriter
from tests.unit.builders import CELL, RULE, floors, info

CONDITIONS = {"hardware": "two cores", "prompt set": "f", "sampling temperature": "0.0"}


def entry(day=1, rate=0.8, *, cell=CELL, speedup=None, conditions=CONDITIONS, **fields):
    """Return an entry of a run on a day of May."""
    acceptance = AcceptancePoint(rate, rate - 0.05, rate + 0.05, 3.1, 40, "A", conditions)
    speed = speedup and SpeedPoint(speedup, None, None, 1, 0.02, 0.01, conditions)
    said = {
        "run": f"run{day}",
        "started": f"2026-05-{day:02}T10:00:00+00:00",
        "cell": cell,
        "verdict": "PASS",
        "findings": ("EXPECTED",),
        "acceptance": acceptance,
        "speed": speed,
    }
    return Entry(**said | fields)


def elsewhere(**changed):
    """Return the conditions with some of them changed."""
    return CONDITIONS | changed


def store(folder, records, *, cells=(CELL,), complete=True, run=None, **fields):
    """Store a run of cells and return its folder."""
    wanted = tuple(Wanted(cell, frozenset(Purpose)) for cell in cells)
    about = info(run=run or folder.name, **fields)
    with RunWriter(folder, about) as writer:
        write_basis(Basis(wanted, floors(), RULE), writer.folder)
        for record in records:
            writer.append(record)
        if complete:
            writer.complete()
    return folder


def encode(one):
    """Return an entry as a line of the index."""
    return msgspec.json.encode(one) + b"\n"
