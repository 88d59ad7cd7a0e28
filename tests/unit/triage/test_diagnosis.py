"""The shape of a diagnosis: what its readers take from it."""

import msgspec

from specfloor.ledger.model import Kind
from specfloor.triage.causes import KnownFix
from specfloor.triage.diagnosis import Confidence, Diagnosis, Link, Stage, Step
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL

FIX = KnownFix(
    release="0.18.0",
    change="10878",
    kind=Kind.ACCEPTANCE,
    evidence="affected",
    fits=True,
    symptom="steps share a buffer",
    feels_like="later positions fall",
    conditions=("K>1",),
    avoided_by=("num_speculative_tokens 1",),
    first="0.23.0rc1",
    first_final="0.23.0",
)
STEP = Step("serve with --enforce-eager", "zero there too rules the graph out")
LOSS = Link(Stage.ACCEPTANCE, Finding.ACCEPT_REGRESSION, Confidence.SHOWN, "it fell", next=(STEP,))
HOST = Link(Stage.HOST, Finding.HARDWARE, Confidence.POSSIBLE, "a chip is hot", next=(STEP,))
KNOWN = Link(Stage.KNOWN_FIX, Finding.KNOWN_FIX, Confidence.LIKELY, "it is known", fix=FIX)
WHOLE = Diagnosis(CELL, (LOSS, KNOWN, HOST), ("the target",), "up to 2026-10-13")


def test_causes_leave_the_symptom_out_and_come_surest_first():
    swapped = Diagnosis(None, (LOSS, HOST, KNOWN))
    assert swapped.causes == (KNOWN, HOST)
    assert WHOLE.known_fixes == (FIX,)


def test_a_step_is_told_once():
    assert WHOLE.next == (STEP,)
    assert str(STEP) == "serve with --enforce-eager: zero there too rules the graph out"


def test_what_can_be_typed_is_in_backticks():
    step = Step("vllm serve MODEL … --enforce-eager", "zero there too rules the graph out")
    assert str(step) == "`vllm serve MODEL … --enforce-eager`: zero there too rules the graph out"


def test_it_survives_json():
    text = msgspec.json.encode(WHOLE)
    assert msgspec.json.decode(text, type=Diagnosis) == WHOLE
