"""Ten regressions of acceptance that the ledger has figures of: each found by its own row.

A run is constructed as the suite would record it on an affected release, judged, and triaged; the
row has to come first. On a release without the fault it must not be offered. Chances are those of
each draft position after the one before it, from the figures of the row where it has a profile.
"""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from specfloor.catalog import load_catalog
from specfloor.cells import OFF, Cell
from specfloor.judge.baseline import baseline_of_release
from specfloor.judge.book import JudgementBook
from specfloor.judge.evidence import RecordIndex
from specfloor.judge.run import RunResult, Wanted, judge_run
from specfloor.ledger import read_ledger
from specfloor.ledger.model import Signature
from specfloor.runs.records import BlockRecord, Purpose, Record, RequestRecord
from specfloor.triage.diagnosis import Confidence, Diagnosis
from specfloor.triage.live import diagnose_run
from tests.unit.builders import RULE, floor, floors, info, launch, natural
from tests.unit.signals import builders as signals

HEALTHY = 0.8
"""Chance of every position of a draft that works."""
STEPS, PROMPTS = 40, 40


Chances = Callable[[int, float], tuple[float, ...]]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A fault as a run shows it.

    ``chances(number, share)`` are the chances by position of request ``number``, at ``share`` of
    the range of input lengths; ``serve`` are flags of the server and ``temperature`` what is sent.
    With ``before`` the run is an upgrade from the release ``old``, which has those chances.
    """

    row: str
    family: str
    method: str
    k: int
    affected: str
    free: str
    signature: Signature
    chances: Chances
    serve: tuple[str, ...] = ()
    temperature: float = 0.0
    longest: int = 200
    before: Chances | None = None
    old: str = ""


def flat(*chances: float) -> Chances:
    return lambda _number, _share: chances


def conditional(*positions: float) -> tuple[float, ...]:
    """Return the chances after the position before, of shares of the drafts by position."""
    return tuple(here / before for before, here in zip((1.0, *positions), positions, strict=False))


CASES = [
    Case(
        row="12262",  # 1.18 %, length 1.02
        family="glm-5.2",
        method="dspark",
        k=7,
        affected="0.24.0rc1",
        free="0.25.1rc1",
        signature=Signature.ZERO,
        chances=flat(0.02, 0.3, *(0.3,) * 5),
    ),
    Case(
        row="10878",  # later positions share the last step's lengths
        family="glm-5",
        method="mtp",
        k=3,
        affected="0.18.0",
        free="0.23.0",
        signature=Signature.LATER_POSITIONS,
        chances=flat(0.87, 0.35, 0.2),
    ),
    Case(
        row="13047",  # length 4.3 to 2.5 under load
        family="deepseek-v4-flash",
        method="mtp",
        k=5,
        affected="0.24.0rc1",
        free="0.25.1rc1",
        signature=Signature.DECAYS,
        chances=lambda number, _share: (0.88,) * 5 if number < 13 else (0.65,) * 5,
        serve=("--async-scheduling",),
    ),
    Case(
        row="9795",  # about 1 %
        family="qwen3-dense",
        method="dflash",
        k=8,
        affected="0.20.2rc1",
        free="0.22.1rc1",
        signature=Signature.ZERO,
        chances=flat(0.03, *(0.3,) * 7),
    ),
    Case(
        row="13470",  # acceptance rate 1.0
        family="qwen3-dense",
        method="dflash",
        k=8,
        affected="0.25.1rc1",
        free="0.28.0rc1",
        signature=Signature.TOO_GOOD,
        chances=flat(*(1.0,) * 8),
        temperature=1.0,
    ),
    Case(
        row="15346",  # 0.0 % of more than 1,000 drafted tokens
        family="glm-5.3",
        method="mtp",
        k=3,
        affected="0.26.0rc1",
        free="0.28.0rc1",
        signature=Signature.ZERO,
        chances=flat(0.0, 0.0, 0.0),
        serve=("--quantization", "ascend"),
    ),
    Case(
        row="15422",  # 0.836 0.654 0.484 ... for 0.904 0.784 0.664 ...
        family="deepseek-v4-flash-0731",
        method="dspark",
        k=7,
        affected="0.25.1rc1",
        free="0.26.0rc1",
        signature=Signature.ALL_POSITIONS,
        chances=flat(*conditional(0.836, 0.654, 0.484, 0.338, 0.207, 0.105, 0.045)),
        before=flat(*conditional(0.904, 0.784, 0.664, 0.552, 0.444, 0.339, 0.229)),
        old="0.24.0rc1",
        serve=("--additional-config", '{"enable_dsa_cp": true}', "-tp", "4"),
    ),
    Case(
        row="13045",  # 0 of 40 drafted
        family="gemma4",
        method="mtp",
        k=1,
        affected="0.23.0rc1",
        free="0.28.0rc1",
        signature=Signature.ZERO,
        chances=flat(0.0),
    ),
    Case(
        row="13530",  # falls with the length of the input
        family="glm-5.2",
        method="dspark",
        k=7,
        affected="0.25.1rc1",
        free="0.26.0rc1",
        signature=Signature.LONG_INPUT,
        chances=lambda _number, share: (0.85 - 0.5 * share,) * 7,
        longest=16_000,
    ),
    Case(
        row="12775",  # 0 with W8A8 and rotation
        family="qwen3.5-moe",
        method="dflash",
        k=7,
        affected="0.23.0",
        free="0.26.0rc1",
        signature=Signature.ZERO,
        chances=flat(*(0.0,) * 7),
        serve=("--quantization", "ascend"),
    ),
]
IDS = [case.row for case in CASES]


def recorded(case: Case, cell: Cell, chances: Chances) -> list[Record]:
    """Return a run of one cell: both arms with natural stops."""
    rng = np.random.default_rng(7)
    records: list[Record] = [launch(OFF, cell=cell, version=vllm(cell)), *natural(cell=cell)]
    argv = ("python", *case.serve)
    records.append(launch(cell.arm, cell=cell, version=vllm(cell), argv=argv))
    # the order is seeded: long and short inputs come mixed
    shares = rng.permutation(PROMPTS) / (PROMPTS - 1)
    for record in natural(cell.arm, cell=cell, counted=False):
        if isinstance(record, BlockRecord):
            sampling = {"temperature": case.temperature}
            records.append(msgspec.structs.replace(record, sampling=sampling))
        elif isinstance(record, RequestRecord):
            share = float(shares[record.index])
            # tokens of one request are alike
            own = np.asarray(chances(record.index, share)) ** (1 + rng.normal(0, 0.1))
            kept = np.cumprod(rng.random((STEPS, cell.k)) < own, axis=1).sum(axis=1)
            steps = [int(n) for n in kept]
            records.append(
                msgspec.structs.replace(
                    record,
                    chunk_tokens=(1, *(n + 1 for n in steps)),
                    speculation=signals.told(*steps, k=cell.k),
                    prompt_tokens=round(200 + share * (case.longest - 200)),
                )
            )
    return records


def vllm(cell: Cell) -> str:
    return load_catalog().release(cell.release).vllm


def measured(case: Case, release: str) -> RunResult:
    """Return the judgements of a case's run on a release."""
    cell = Cell(release, case.family, case.method, case.k, "code", "off", 1)
    rate = sum(HEALTHY**i for i in range(1, case.k + 1)) / case.k
    entry = floor(round(0.95 * rate, 3), family=case.family, method=case.method)
    records, baseline = recorded(case, cell, case.chances), None
    if case.before is not None:
        old = cell.on_release(case.old)
        records += recorded(case, old, case.before)
        index = RecordIndex(records)
        baseline = baseline_of_release(case.old, index, [old, cell], "here")
    book = JudgementBook(
        RecordIndex(records),
        load_catalog(),
        floors(entry),
        RULE,
        hardware="here",
        baseline=baseline,
    )
    return judge_run([Wanted(cell, frozenset({Purpose.NATURAL}))], book)


def diagnosed(case: Case, release: str) -> Diagnosis:
    result = measured(case, release)
    found = diagnose_run(result, info().environment, load_catalog(), read_ledger())
    return found[result.cells[0].cell]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_its_row_comes_first_on_an_affected_release(case):
    diagnosis = diagnosed(case, case.affected)
    assert diagnosis.links[0].signature is case.signature
    assert diagnosis.known_fixes[0].change == case.row
    first = diagnosis.causes[0]
    assert (first.fix.change, first.confidence) == (case.row, Confidence.LIKELY)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_it_is_not_offered_for_a_release_without_the_fault(case):
    diagnosis = diagnosed(case, case.free)
    assert diagnosis.links[0].signature is case.signature
    assert case.row not in [fix.change for fix in diagnosis.known_fixes]


def test_each_has_figures_in_the_ledger_or_a_profile():
    rows = {row.id: row for row in read_ledger().rows}
    for case in CASES:
        row = rows[case.row]
        assert row.signature is case.signature
        assert case.affected in row.affected
        assert case.free not in row.affected
