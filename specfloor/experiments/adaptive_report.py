"""What is said of arms under a mixed load: the records of it, the sentence and the tables."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from specfloor.experiments.base import Table
from specfloor.i18n import _
from specfloor.judge.mixed import METRICS, ArmLoad, Limit, Outcome, Versus
from specfloor.judge.quantiles import Quantile
from specfloor.judge.verdict import Verdict
from specfloor.triage.findings import Finding

_LATE_SHARE = 0.1
"""Share of the least median TTFT from which it is said that the client was late."""


class Said(NamedTuple):
    """One thing that is said, and what it makes of the whole."""

    verdict: Verdict
    finding: Finding
    sentence: str


class Compared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One arm against another; ``adaptive`` is whether it is an adaptive one against a fixed."""

    arm: str
    against: str
    adaptive: bool
    found: tuple[Versus, ...]


class ArmCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an arm's counters say over all loads; ``counting`` is how its mechanism moves them.

    ``drafted_per_step`` is over steps that drafted.
    """

    arm: str
    rate: float | None
    length: float | None
    drafted_per_step: float
    counting: str


class Load(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One load: ``rate_per_s`` requests a second, a share of the fixed arm's capacity.

    ``whole_requests`` is whether the stream came in bursts, so that TPOT is over whole requests.
    """

    utilisation: float
    rate_per_s: float
    limits: tuple[Limit, ...]
    limits_from: str
    whole_requests: bool
    arms: tuple[ArmLoad, ...]
    compared: tuple[Compared, ...]

    @property
    def said(self) -> list[Said]:
        """What the comparisons come to."""
        at = _("at {utilisation:.0%} of capacity ({rate_per_s:.3g} requests/s)").format(
            utilisation=self.utilisation, rate_per_s=self.rate_per_s
        )
        return [
            one
            for compared in self.compared
            if (one := (_adaptive(at, compared) if compared.adaptive else _fixed(at, compared)))
        ]


class AdaptiveDetail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the experiment found, for the JSON file; ``refused`` says why, by setting."""

    capacity_per_s: float | None
    loads: tuple[Load, ...]
    counts: tuple[ArmCounts, ...]
    refused: dict[str, str]


def answer(said: Sequence[Said]) -> tuple[Verdict, tuple[Finding, ...], str]:
    """Return the worst verdict, its findings, and everything that was said, worst first."""
    ordered = sorted(said, key=lambda one: _SEVERITY.index(one.verdict))
    worst = ordered[0].verdict
    findings = dict.fromkeys(one.finding for one in ordered if one.verdict is worst)
    return worst, tuple(findings), _("; ").join(one.sentence for one in ordered)


_SEVERITY = (Verdict.FAIL, Verdict.NO_DATA, Verdict.INCONCLUSIVE, Verdict.PASS)


def _adaptive(at: str, compared: Compared) -> Said:
    who = _("{arm} against {against} {at}").format(
        arm=compared.arm, against=compared.against, at=at
    )
    deciding = [v for v in compared.found if not v.quantity.startswith("P50")]
    goodput = next((v for v in deciding if v.quantity == "goodput"), None)
    if worse := [v for v in compared.found if v.outcome is Outcome.WORSE]:
        return Said(
            Verdict.FAIL,
            Finding.SPEED_REGRESSION,
            _("{who}: {listed} is worse").format(who=who, listed=_listed(worse)),
        )
    if goodput is None:
        why = _(
            "{who}: there are no limits to be in time by; give --slo-ttft and --slo-tpot"
        ).format(who=who)
        return Said(Verdict.NO_DATA, Finding.NO_DATA, why)
    undecided = [v for v in deciding if v.outcome is Outcome.UNDECIDED]
    few = [v for v in deciding if v.outcome is Outcome.TOO_FEW]
    if undecided or few:
        parts = [_("goodput {ratio}").format(ratio=_ratio(goodput))]
        if undecided:
            parts.append(
                _("{listed} may be worse{needed}").format(
                    listed=_listed(undecided), needed=_needed(undecided)
                )
            )
        if few:
            missing = max(v.requests_missing or 0 for v in few)
            parts.append(_("P99 takes {missing} more requests of a kind").format(missing=missing))
        return Said(
            Verdict.INCONCLUSIVE,
            Finding.INCONCLUSIVE,
            _("{what}: {why}").format(what=who, why=_(", ").join(parts)),
        )
    better = [v for v in deciding if v.outcome is Outcome.BETTER and v is not goodput]
    gain = _(", better: {listed}").format(listed=_listed(better)) if better else ""
    return Said(
        Verdict.PASS,
        Finding.EXPECTED,
        _("{who}: goodput {ratio}, and no P99 is {loss:.0%} worse{gain}").format(
            who=who, ratio=_ratio(goodput), loss=goodput.loss, gain=gain
        ),
    )


def _fixed(at: str, compared: Compared) -> Said | None:
    """Return that a fixed arm is broken; what it costs otherwise is only in the tables."""
    worse = [v for v in compared.found if v.outcome is Outcome.WORSE and v.quantity != "goodput"]
    if not worse:
        return None
    fine = [metric for metric in METRICS if _is_fine(compared.found, metric)]
    but = _(" while {fine} is not").format(fine=_(" and ").join(fine)) if fine else ""
    return Said(
        Verdict.FAIL,
        Finding.SPEED_REGRESSION,
        _("{arm} against {against} {at}: {listed} is more than twice as long{but}").format(
            arm=compared.arm, against=compared.against, at=at, listed=_listed(worse), but=but
        ),
    )


def _is_fine(found: Iterable[Versus], metric: str) -> bool:
    """Whether it is excluded, as far as there are enough requests, that a metric is worse."""
    outcomes = {v.outcome for v in found if v.quantity.endswith(f" {metric}")} - {Outcome.TOO_FEW}
    return bool(outcomes) and outcomes <= {Outcome.HOLDS, Outcome.BETTER}


def _listed(found: Iterable[Versus]) -> str:
    return _(", ").join(
        f"{v.quantity}{f' of {v.kind} requests' if v.kind else ''} {_ratio(v)}" for v in found
    )


def _ratio(versus: Versus) -> str:
    if versus.ratio is None:
        return _("(none in time on the other arm)")
    if versus.low is None or versus.high is None:
        return f"× {versus.ratio:.3g}"
    return f"× {versus.ratio:.3g} [{versus.low:.3g}, {versus.high:.3g}]"


def _needed(undecided: Iterable[Versus]) -> str:
    needed = [v.launches_needed for v in undecided]
    if None in needed:
        return _(", too near to the margin to tell")
    return _(", which {needed} launches an arm would tell").format(
        needed=max(n for n in needed if n)
    )


def tables(loads: Sequence[Load], counts: Sequence[ArmCounts]) -> tuple[Table, ...]:
    """Return the tables of every load, and that of acceptance."""
    found = []
    for load in loads:
        at = _("{utilisation:.0%} of capacity, {rate_per_s:.3g} requests/s").format(
            utilisation=load.utilisation, rate_per_s=load.rate_per_s
        )
        found += [_in_time(load, at), _latencies(load, at), _ratios(load, at)]
    if counts:
        found.append(_acceptance(counts))
    return tuple(found)


def _in_time(load: Load, at: str) -> Table:
    limits = _(", ").join(
        _("{kind} TTFT {ttft_s:.3g} ms and TPOT {tpot_s:.3g} ms").format(
            kind=one.kind, ttft_s=1000 * one.ttft_s, tpot_s=1000 * one.tpot_s
        )
        for one in load.limits
    )
    rows = tuple(
        (
            arm.arm,
            str(arm.requests),
            str(arm.failed),
            None if arm.in_time is None else str(arm.in_time),
            arm.goodput_per_s,
            1000 * arm.late_s,
        )
        for arm in load.arms
    )
    columns = (
        _("arm"),
        "requests",
        _("failed"),
        _("in time"),
        _("goodput a second"),
        _("sent late, P99 ms"),
    )
    late = _("; the client sent late by a part of what is measured") if _was_late(load) else ""
    title = _("In time at {at}; limits {limits_from}: {limits}{late}").format(
        at=at, limits_from=load.limits_from, limits=limits or "none", late=late
    )
    return Table(title, columns, rows)


def _was_late(load: Load) -> bool:
    medians = [one.p50.value for arm in load.arms for one in arm.latencies if one.metric == "TTFT"]
    late = max((arm.late_s for arm in load.arms), default=0.0)
    return bool(medians) and late > _LATE_SHARE * min(medians)


def _latencies(load: Load, at: str) -> Table:
    rows = tuple(
        (
            arm.arm,
            one.kind,
            one.metric,
            str(one.p50.n),
            1000 * one.p50.value,
            1000 * one.p99.value,
            *_bounds(one.p99),
        )
        for arm in load.arms
        for one in arm.latencies
    )
    whole = (
        _("; TPOT over whole requests, the stream came in bursts") if load.whole_requests else ""
    )
    columns = ("arm", "requests", _("latency"), "n", "P50", "P99", "from", "to")
    return Table(_("Milliseconds at {at}{whole}").format(at=at, whole=whole), columns, rows)


def _bounds(found: Quantile) -> tuple[float | None, float | None]:
    if found.low is None or found.high is None:
        return None, None
    return 1000 * found.low, 1000 * found.high


def _ratios(load: Load, at: str) -> Table:
    rows = tuple(
        (
            compared.arm,
            compared.against,
            v.quantity,
            v.kind or _("all"),
            v.ratio,
            v.low,
            v.high,
            _(v.outcome),
        )
        for compared in load.compared
        for v in compared.found
    )
    columns = ("arm", _("over"), "quantity", "requests", _("ratio"), "from", "to", _("so it"))
    return Table(_("Ratios at {at}").format(at=at), columns, rows)


def _acceptance(counts: Sequence[ArmCounts]) -> Table:
    title = _(
        "Acceptance, which decides nothing here: how many tokens were verified "
        "is not exported, and what is reported moves with the mechanism"
    )
    rows = tuple(
        (one.arm, one.rate, one.length, one.drafted_per_step, _(one.counting) or None)
        for one in counts
    )
    return Table(
        title, ("arm", "rate", "length", _("drafted a step"), _("how it is counted")), rows
    )
