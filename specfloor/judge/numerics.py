"""Whether an engine's SwiGLU kernels compute what they should at and around their limit. Pure.

A draft of a MoE model and its target agree token by token only while both round alike. A kernel
that forgets its limit, or that corrupts the scale of the one or two rows of a draft, leaves texts
readable and acceptance low.
"""

from collections.abc import Sequence

import msgspec

from specfloor.i18n import _
from specfloor.judge.verdict import Verdict
from specfloor.triage.findings import Finding

UNIT_ROUNDOFF = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}
"""The relative error of rounding to nearest in each type: half the gap between neighbours."""
SLACK = {"bfloat16": 2.0, "float16": 2.0, "float32": 16.0}
"""How many unit roundoffs of its magnitude (see the script) a result may be away. Rounding every
intermediate result to nearest gives 1 at most; measured on vLLM 0.28 and 0.32 for the CPU are 0.25
to 0.98. Twice that leaves room for one more rounding, and in float32, where exponentials are
approximated to some units in the last place, 16 does."""
_STEP = 0.5
"""Steps of its row by which rounding to eight bits may move a quantised result."""
_LEVELS = 127
"""Steps from zero to the largest result of a row."""


class KernelCase(msgspec.Struct, frozen=True):
    """One kernel on one shape, as the script answers it.

    ``worst`` is the largest error in units of magnitude (in steps when ``quantised``), None where
    it is infinite; ``gate`` and ``up`` gave ``got`` there instead of ``want``. With a ``problem``
    nothing was computed. ``must_run``: a model cannot do without it.
    """

    path: str
    dtype: str
    limit: float | None
    rows: int
    width: int
    quantised: bool = False
    must_run: bool = False
    finite: bool = True
    worst: float | None = None
    row: int = 0
    column: int = 0
    gate: float | None = None
    up: float | None = None
    got: float | None = None
    want: float | None = None
    problem: str | None = None

    @property
    def tolerance(self) -> float:
        """The largest error that rounding explains, in the unit of ``worst``."""
        rounding = SLACK[self.dtype] * UNIT_ROUNDOFF[self.dtype]
        # the largest result of a row is itself rounded, and its error is that many steps
        return _STEP + 4 * _LEVELS * rounding if self.quantised else rounding

    @property
    def name(self) -> str:
        """The kernel with its limit, type and shape, for people."""
        limit = "" if self.limit is None else _(" limit {limit:g}").format(limit=self.limit)
        return f"{self.path}{limit} {self.dtype} [{self.rows}, {self.width}]"

    @property
    def wrong(self) -> bool:
        """Whether it gave a result that rounding does not explain."""
        if self.problem is not None:
            return False
        return not self.finite or self.worst is None or self.worst > self.tolerance


class KernelAnswer(msgspec.Struct, frozen=True):
    """All cases of one engine."""

    vllm: str
    device: str
    cases: tuple[KernelCase, ...]


class NumericsVerdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on an engine's kernels; ``not_run`` are present and raised instead."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    reason: str
    paths: tuple[str, ...]
    wrong: tuple[KernelCase, ...]
    not_run: tuple[str, ...]


def judge_numerics(answer: KernelAnswer) -> NumericsVerdict:
    """Judge every case; what a model cannot do without must have run."""
    ran = [case for case in answer.cases if case.problem is None]
    paths = tuple(dict.fromkeys(case.path for case in ran))
    wrong = sorted((c for c in ran if c.wrong), key=_excess, reverse=True)
    lost = [case for case in answer.cases if case.problem is not None]
    broken = [case for case in lost if case.must_run]
    not_run = tuple(dict.fromkeys(f"{case.path} ({case.problem})" for case in lost))
    reason = _("{paths} kernels on {device} round as their types do ({names})").format(
        paths=len(paths), device=answer.device, names=_(", ").join(paths)
    )
    verdict, findings = Verdict.PASS, (Finding.EXPECTED,)
    if wrong:
        verdict, findings = Verdict.FAIL, (Finding.OUTPUT_BROKEN,)
        reason = _of_wrong(wrong, ran)
    elif broken:
        verdict, findings = Verdict.FAIL, (Finding.OUTPUT_BROKEN,)
        reason = _("{broken} raised {problem}").format(
            broken=broken[0].name, problem=broken[0].problem
        )
    elif not ran:
        verdict, findings = Verdict.NO_DATA, (Finding.NO_DATA,)
        reason = _("no kernel of the engine could be run")
    if not_run and not broken:
        reason += _("; not run: {not_run}").format(not_run=_("; ").join(not_run))
    return NumericsVerdict(verdict, findings, reason, paths, tuple(wrong), not_run)


def _excess(case: KernelCase) -> float:
    return float("inf") if case.worst is None else case.worst / case.tolerance


def _of_wrong(wrong: Sequence[KernelCase], ran: Sequence[KernelCase]) -> str:
    worst = wrong[0]
    found = _("no number") if not worst.finite or worst.got is None else f"{worst.got:.6g}"
    times = _excess(worst)
    by = (
        ""
        if times == float("inf")
        else _(", {times:.0f} times what rounding explains").format(times=times)
    )
    where = (
        _("at gate {gate:g} and up {up:g} ").format(gate=worst.gate, up=worst.up)
        if worst.gate is not None
        else ""
    )
    told = (
        _("{worst} gives {found} {where}and should give {want:.6g}{by}").format(
            worst=worst.name, found=found, where=where, want=worst.want, by=by
        )
        if worst.want is not None
        else _("{worst} gives {found}").format(worst=worst.name, found=found)
    )
    of = [case for case in ran if case.path == worst.path and case.dtype == worst.dtype]
    rows = sorted({case.rows for case in wrong if case.path == worst.path})
    only = _(", ").join(map(str, rows))
    if len(rows) < len({case.rows for case in of}):
        only_with = _("; only with 1 row") if rows == [1] else _("; only with {only} rows")
        told += only_with.format(only=only)
    others = sorted({case.path for case in wrong} - {worst.path})
    return told + (
        _("; also wrong: {others}").format(others=_(", ").join(others)) if others else ""
    )
