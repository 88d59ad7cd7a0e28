"""Stored runs to report on."""

import msgspec

from specfloor.cells import OFF
from specfloor.judge.run import Basis, Wanted, write_basis
from specfloor.load.workload import Message, Prompt, fingerprint
from specfloor.runs.records import BlockRecord, LaunchRecord, Purpose
from specfloor.runs.store import RunWriter
from tests.unit.builders import (
    CELL,
    RULE,
    both_arms,
    floor,
    floors,
    info,
    report_only,
)

FLOORS = (floor(0.6), report_only("speedup"))
DEAD = {"accepted": (0,) * 10}
GOOD = CELL.on_release("cpu-1.0")
SETTINGS = "[code]\nabout = 'a'\nmax_tokens = 9\nforced_tokens = 9\nforced_prompts = 8\n"
SAMPLING = {"temperature": 0.0, "max_tokens": 9}


def write_run(folder, records, *entries, cells=(CELL,), **fields):
    """Write a run into ``folder``, with a log for each launch, and return it."""
    basis = {
        name: fields.pop(name) for name in ("baseline_release", "baseline_run") if name in fields
    }
    wanted = tuple(Wanted(cell, frozenset(Purpose)) for cell in cells)
    with RunWriter(folder, info(run=folder.name, **fields)) as writer:
        write_basis(Basis(wanted, floors(*(entries or FLOORS)), RULE, **basis), folder)
        for record in records:
            writer.append(record)
            if isinstance(record, LaunchRecord):
                log = folder / record.log
                log.parent.mkdir(exist_ok=True)
                log.write_text("INFO configured\n" * 200 + "SpecDecoding metrics: 0.7\n")
        writer.complete()
    return folder


def write_workloads(folder, records):
    """Write the prompts of ``records``; return the records with the fingerprint of the set."""
    prompts = [
        Prompt(f"p{i}", "code", (Message("user", f'say {i} it\'s \\ "so"'),)) for i in range(40)
    ]
    (folder / "glm").mkdir(parents=True)
    lines = [msgspec.json.encode(prompt) for prompt in prompts]
    (folder / "glm" / "code.jsonl").write_bytes(b"\n".join(lines))
    (folder / "glm" / "workloads.toml").write_text(SETTINGS)
    of = fingerprint(prompts)
    return [
        msgspec.structs.replace(r, fingerprint=of, sampling=SAMPLING)
        if isinstance(r, BlockRecord)
        else r
        for r in records
    ]


def two_releases(**on):
    """Return the records of a good release and of one whose draft has gone bad."""
    return [*both_arms(cell=GOOD), *both_arms(on=on or DEAD)]


__all__ = ["CELL", "DEAD", "FLOORS", "GOOD", "OFF", "two_releases", "write_run", "write_workloads"]
