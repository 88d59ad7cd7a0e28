"""Kernels that round, and kernels that compute something else."""

import random

import msgspec
import pytest

from specfloor.judge.numerics import (
    SLACK,
    UNIT_ROUNDOFF,
    KernelAnswer,
    KernelCase,
    judge_numerics,
)
from specfloor.judge.verdict import Verdict
from specfloor.triage.findings import Finding


def case(path="SiluAndMul", dtype="bfloat16", worst=0.5, **fields):
    """Return a case whose error is ``worst`` unit roundoffs, or steps of a quantised one."""
    quantised = fields.get("quantised", False)
    unit = 1.0 if quantised else UNIT_ROUNDOFF[dtype]
    own = {
        "limit": None,
        "rows": 1,
        "width": 96,
        "worst": None if worst is None else worst * unit,
        "gate": 7.0,
        "up": -3.0,
        "got": -20.0,
        "want": -20.98,
    }
    return KernelCase(path=path, dtype=dtype, **own | fields)


def judge(*cases):
    return judge_numerics(KernelAnswer("0.32.0", "cpu", cases))


def test_kernels_that_round_pass():
    judged = judge(case(), case("Other", "float32", 0.9), case("Int8", worst=0.6, quantised=True))
    assert judged.verdict is Verdict.PASS
    assert judged.findings == (Finding.EXPECTED,)
    assert judged.reason == "3 kernels on cpu round as their types do (SiluAndMul, Other, Int8)"


@pytest.mark.parametrize("dtype", UNIT_ROUNDOFF)
def test_the_tolerance_is_that_of_the_type(dtype):
    assert judge(case(dtype=dtype, worst=0.99 * SLACK[dtype])).verdict is Verdict.PASS
    assert judge(case(dtype=dtype, worst=1.01 * SLACK[dtype])).verdict is Verdict.FAIL


def test_a_kernel_without_its_limit_fails_with_both_values():
    wrong = case(
        "SiluAndMulWithClamp", worst=100.0, limit=7.0, gate=14.0, up=-28.0, got=-392.0, want=-48.96
    )
    judged = judge(case(), wrong, case("Less", worst=4.0))
    assert judged.verdict is Verdict.FAIL
    assert judged.findings == (Finding.OUTPUT_BROKEN,)
    assert judged.reason == (
        "SiluAndMulWithClamp limit 7 bfloat16 [1, 96] gives -392 at gate 14 and up -28 and should "
        "give -48.96, 50 times what rounding explains; also wrong: Less"
    )
    assert judged.wrong[0] == wrong


def test_a_scale_that_is_lost_with_few_rows_is_said_so():
    good = [case("Int8", worst=0.5, quantised=True, rows=rows) for rows in (4, 37)]
    bad = [case("Int8", worst=60.0, quantised=True, rows=rows) for rows in (1, 2)]
    assert judge(*good, *bad).reason.endswith("; only with 1, 2 rows")
    assert judge(*good, bad[0]).reason.endswith("; only with 1 row")
    assert "only with" not in judge(*bad).reason


@pytest.mark.parametrize(
    "fields", [{"finite": False}, {"worst": None}, {"finite": False, "worst": None, "got": None}]
)
def test_what_is_no_number_is_wrong(fields):
    judged = judge(case(**fields))
    assert judged.verdict is Verdict.FAIL
    assert "SiluAndMul bfloat16 [1, 96] gives" in judged.reason


def test_a_kernel_that_raises_is_left_out_unless_a_model_needs_it():
    raised = case("Fused", problem="RuntimeError: no such operator")
    judged = judge(case(), raised)
    assert judged.verdict is Verdict.PASS
    assert judged.reason.endswith("; not run: Fused (RuntimeError: no such operator)")
    judged = judge(case(), msgspec.structs.replace(raised, must_run=True))
    assert judged.verdict is Verdict.FAIL
    assert judged.reason == "Fused bfloat16 [1, 96] raised RuntimeError: no such operator"


def test_without_any_kernel_there_is_nothing_to_judge():
    assert judge().verdict is Verdict.NO_DATA
    assert judge(case("Fused", problem="gone")).verdict is Verdict.NO_DATA


def test_rounding_alone_never_fails_and_a_lost_limit_always_does():
    """SwiGLU in float64, every operation rounded to 8 or 11 bits, on random values."""
    draw = random.Random(20260601)
    for dtype, bits in (("bfloat16", 8), ("float16", 11)):
        alarms = misses = 0
        for _ in range(2000):
            gate, up = draw.uniform(-20, 20), draw.uniform(-20, 20)
            good = case(dtype=dtype, worst=error_of(gate, up, bits) / UNIT_ROUNDOFF[dtype])
            alarms += judge(good).verdict is Verdict.FAIL
            beyond = draw.uniform(8, 40)
            lost = error_of(beyond, up or 1.0, bits, limit=None) / UNIT_ROUNDOFF[dtype]
            misses += judge(case(dtype=dtype, worst=lost)).verdict is Verdict.PASS
        assert (alarms, misses) == (0, 0)


def error_of(gate, up, bits, limit=7.0):
    """Return the error of a kernel with ``limit`` against one with a limit of 7, over magnitude."""
    import math

    def rounded(x):
        mantissa, exponent = math.frexp(x)
        return math.ldexp(round(mantissa * 2**bits), exponent - bits)

    def product(limit, keep):
        g = gate if limit is None else min(gate, limit)
        u = up if limit is None else max(-limit, min(up, limit))
        sigmoid = keep(1 / (1 + math.exp(-keep(g))))
        return g, u, sigmoid, keep(keep(g * sigmoid) * u)

    gate, up = rounded(gate), rounded(up)
    g, u, sigmoid, want = product(7.0, float)
    got = product(limit, rounded)[3]
    magnitude = 4 * abs(g * sigmoid * u) + abs(want) * abs(g) * (1 - sigmoid)
    return abs(got - want) / magnitude
