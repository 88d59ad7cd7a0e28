"""The judgement of benchmark reports: acceptance first, then speed, by concurrency. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from specfloor.i18n import _
from specfloor.ledger.model import Signature
from specfloor.triage.bench import BenchRun
from specfloor.triage.conclusions import ACCEPTANCE_FAULTS, Conclusion, doubted
from specfloor.triage.evidence import Group, Run
from specfloor.triage.findings import Finding
from specfloor.triage.given import Given
from specfloor.triage.judge_acceptance import acceptance_of, expected_of
from specfloor.triage.judge_speed import (
    AS_MANY,
    SPEED_LOSS,
    THROUGHPUT_LOSS,
    TTFT_LOSS,
    Drafts,
    drafts_of,
    slower,
)
from specfloor.triage.roles import COMPARED_WITH, NEW, OFF, OLD, REFERENCE
from specfloor.triage.standing import TOLERANCE, UNSEEN, Expected, Standing, standing_of
from specfloor.triage.tally import total

FAILED_SHARE = 0.05
"""Failed requests from which a report says more about failures than about speed."""
CLEAR_GAIN = 0.06
"""Gain of speed that drafts which are not kept cannot give."""
_ALIKE = 0.2
"""Relative difference of tokens per request up to which two reports had the same workload."""
METRICS = {"tpot": SPEED_LOSS, "ttft": TTFT_LOSS, "output_tok_s": THROUGHPUT_LOSS}
"""What is compared, in this order, and the loss that counts."""
ACCURACY_LOSS = 0.01
"""Loss of accuracy, as a fraction, from which answers count as worse."""
RANDOM_DATASETS = ("random", "random-mm", "random-rerank", "random_tokens")
"""Data sets of random tokens, on which a draft's acceptance means nothing: 12 % in one report where
prose gave 52 %, and over 80 % once a forced answer repeats itself."""


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A benchmark report, the arm it belongs to, and its file."""

    arm: str
    file: str
    run: BenchRun


def judge_bench(arms: Sequence[Arm], given: Given) -> list[Conclusion]:
    """Judge benchmark reports: one alone, or arms against each other by concurrency."""
    failed = [arm for arm in arms if arm.run.failed_share > FAILED_SHARE or arm.run.completed == 0]
    if failed:
        worst = max(failed, key=lambda arm: arm.run.failed_share)
        sent = (worst.run.completed or 0) + (worst.run.failed or 0)
        reason = _("{failed} of {sent} requests failed in {file}").format(
            failed=worst.run.failed, sent=sent, file=worst.file
        )
        return [Conclusion(Finding.BASELINE_INVALID, reason, {"file": worst.file})]
    base = [arm for arm in arms if arm.arm in COMPARED_WITH]
    tried = [arm for arm in arms if arm.arm not in COMPARED_WITH]
    with_spec = [arm for arm in arms if arm.run.spec]
    if _random(arms, given) and (with_spec or (base and tried)):
        return [_workload_invalid(arms, given)]
    found: list[Conclusion] = []
    if bad := [arm for arm in base if arm.arm == OFF and arm.run.spec]:
        reason = _("{file} is the arm without speculation and reports drafts").format(
            file=bad[0].file
        )
        return [Conclusion(Finding.BASELINE_INVALID, reason, {"file": bad[0].file})]
    adaptive = given.adaptive
    for arm in tried:
        if arm.run.spec and not adaptive:
            group = Group("", (Run(tally=arm.run.spec),), doubt=arm.run.doubt)
            found += acceptance_of(group, expected_of({}, given), given)
    pairs = pairs_of(base, tried)
    if pairs:
        found += _compare_arms(pairs, found, given)
    elif base and tried:
        reason = _("no two reports of the arms are of the same concurrency")
        found.append(Conclusion(Finding.BASELINE_INVALID, reason))
    elif not with_spec:
        found.append(_bench_without_acceptance(arms))
    doubts = [arm.run.doubt for arm in arms if arm.run.doubt]
    doubts += [why for off, on in pairs if (why := _lacking(off, on))]
    return doubted(found, doubts[0] if doubts else None)


def pairs_of(base: Sequence[Arm], tried: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    """Return what belongs together: the same concurrency, or the same place where none is told."""
    pairs = []
    left = list(base)
    for arm in tried:
        same = [other for other in left if other.run.concurrency == arm.run.concurrency]
        if same:
            pairs.append((same[0], arm))
            left.remove(same[0])
    if not pairs and len(base) == len(tried) == 1:
        pairs = [(base[0], tried[0])]
    return pairs


def _lacking(off: Arm, on: Arm) -> str | None:
    """Return what one of two reports of the same program lacks; it may be what matters."""
    if off.run.tool != on.run.tool:
        return None
    for metric in METRICS:
        known = [cost_ratio(metric, arm.run, arm.run) is not None for arm in (off, on)]
        if known[0] != known[1]:
            return _("{file} has no {metric} and the other report has").format(
                file=(off, on)[known[0]].file, metric=metric
            )
    return None


def _compare_arms(
    pairs: Sequence[tuple[Arm, Arm]], found: Sequence[Conclusion], given: Given
) -> list[Conclusion]:
    unlike = next((why for off, on in pairs if (why := _unlike(off.run, on.run))), None)
    if unlike:
        return [Conclusion(Finding.BASELINE_INVALID, unlike)]
    healthy = all(on.run.spec for _, on in pairs)
    healthy = healthy and not any(c.finding in ACCEPTANCE_FAULTS for c in found)
    told: list[Conclusion] = []
    if pairs[0][0].arm in (OLD, REFERENCE, "baseline") and not given.adaptive:
        told += _old_and_new(pairs, given)
    told += _under_load(pairs)
    told += _accuracy(given)
    for metric, loss in METRICS.items():
        costs = [
            (on, ratio)
            for off, on in pairs
            if (ratio := cost_ratio(metric, off.run, on.run)) is not None
        ]
        if any(ratio > 1 + loss for _, ratio in costs):
            drafts = _drafts(metric, pairs, costs, [*found, *told], given)
            return [*told, _loss(metric, costs, pairs[0][0].arm, drafts)]
    gain = [cost_ratio("tpot", off.run, on.run) for off, on in pairs]
    if all(ratio is None for ratio in gain):
        return [*told, Conclusion(Finding.NO_DATA, _("the reports have no times in common"))]
    clear = all(ratio is not None and ratio < 1 - CLEAR_GAIN for ratio in gain)
    if not healthy and (not clear or given.baseline is not None):
        reason = _("not slower, and no acceptance in the reports to say more")
        return [*told, Conclusion(Finding.NO_DATA, reason, beside=True)]
    ratios_told = _(", ").join(f"{ratio:.2f}" for ratio in gain if ratio is not None)
    reason = _("time per output token is {ratios_told} of that of {arm}").format(
        ratios_told=ratios_told, arm=pairs[0][0].arm
    )
    if given.adaptive:
        reason = _("speed and accuracy decide where drafts are adaptive: {reason}").format(
            reason=reason
        )
    return [*told, Conclusion(Finding.EXPECTED, reason)]


def cost_ratio(metric: str, base: BenchRun, tried: BenchRun) -> float | None:
    """Return what a token, or a first token, costs in one report over another; above 1 is worse."""
    if metric == "output_tok_s":
        old, new = tried.output_tok_s, base.output_tok_s
    else:
        old, new = base.mean(f"{metric}_ms"), tried.mean(f"{metric}_ms")
    return new / old if old and new is not None else None


def flip_of(ratios: Mapping[int, float]) -> tuple[int, int] | None:
    """Return the last concurrency that wins and the first that loses, both measured; None without.

    ``ratios`` are times per output token, with speculation over without.
    """
    wins = [c for c, ratio in ratios.items() if ratio < 1]
    losses = [c for c, ratio in ratios.items() if ratio > 1 + SPEED_LOSS]
    if not wins or not losses or max(wins) > min(losses):
        return None
    return max(wins), min(losses)


def _drafts(
    metric: str,
    pairs: Sequence[tuple[Arm, Arm]],
    costs: Sequence[tuple[Arm, float]],
    found: Sequence[Conclusion],
    given: Given,
) -> Drafts:
    """Return what is known of the drafts of the arm that lost most of a metric."""
    worst, ratio = max(costs, key=lambda one: one[1])
    tally = worst.run.spec if all(on.run.spec for _, on in pairs) else None
    per_token = [cost_ratio("tpot", off.run, on.run) for off, on in pairs]
    kept = all(ratio is not None and ratio <= 1 + SPEED_LOSS for ratio in per_token)
    return drafts_of(
        tally,
        found,
        k=given.k,
        speed=1 / ratio if metric == "tpot" and pairs[0][0].arm == OFF else None,
        apart=_("acceptance acts on the time per output token alone, which is not lost")
        if kept
        else None,
    )


def _loss(metric: str, costs: Sequence[tuple[Arm, float]], base: str, drafts: Drafts) -> Conclusion:
    """Return the finding of a loss; ``costs`` are ratios by arm."""
    by_concurrency = {
        arm.run.concurrency: ratio for arm, ratio in costs if arm.run.concurrency is not None
    }
    flip = flip_of(by_concurrency) if metric == "tpot" and base == OFF else None
    if flip:
        return Conclusion(
            Finding.BATCH_FLIP,
            _("faster up to {low} requests at once and slower from {high} on").format(
                low=flip[0], high=flip[1]
            ),
            {"last_win": flip[0], "first_loss": flip[1]},
            next=(
                _(
                    "let k depend on the batch "
                    "(num_speculative_tokens_per_batch_size), or serve fewer than "
                    "{flip} requests an engine"
                ).format(flip=flip[1]),
            ),
        )
    scope: dict[str, Any] = {"metric": metric}
    lost = [c for c, ratio in by_concurrency.items() if ratio > 1 + METRICS[metric]]
    if len(lost) < len(by_concurrency):
        scope["concurrency"] = sorted(lost)
    worst = max(ratio for _, ratio in costs)
    told = _("{metric} costs {worst:.2f} times that of {base}").format(
        metric=metric, worst=worst, base=base
    )
    return slower(told, drafts, scope)


def _old_and_new(pairs: Sequence[tuple[Arm, Arm]], given: Given) -> list[Conclusion]:
    old = total(off.run.spec for off, _ in pairs)
    new = total(on.run.spec for _, on in pairs)
    if old is None or new is None:
        return []
    groups = {OLD: Group(OLD, (Run(tally=old),))}
    bare = msgspec.structs.replace(given, baseline=None)
    return acceptance_of(Group(NEW, (Run(tally=new),)), expected_of(groups, bare), bare)


def _under_load(pairs: Sequence[tuple[Arm, Arm]]) -> list[Conclusion]:
    """Return a finding when acceptance itself falls as more requests run at once."""
    arms = sorted(
        (on for _, on in pairs if on.run.spec and on.run.concurrency),
        key=lambda arm: arm.run.concurrency or 0,
    )
    if len(arms) < 2:
        return []
    least, most = arms[0].run.spec, arms[-1].run.spec
    assert least is not None
    assert most is not None
    was = Expected(_("the lowest concurrency"), least.rate or 0.0, TOLERANCE + UNSEEN)
    if standing_of(most, was) is not Standing.BELOW:
        return []
    reason = _(
        "{rate:.1%} accepted at {few} requests at once, {rate_under_load:.1%} at {many}"
    ).format(
        rate=least.rate,
        few=arms[0].run.concurrency,
        rate_under_load=most.rate,
        many=arms[-1].run.concurrency,
    )
    scope = {"concurrency": arms[-1].run.concurrency}
    return [Conclusion(Finding.ACCEPT_REGRESSION, reason, scope, signature=Signature.DECAYS)]


def _unlike(base: BenchRun, tried: BenchRun) -> str | None:
    """Return why two reports cannot be compared; None when they can."""
    for what, one, other, most in (
        (_("input tokens a request"), base.input_each, tried.input_each, _ALIKE),
        (_("output tokens a request"), base.output_each, tried.output_each, _ALIKE),
        ("requests", base.completed, tried.completed, AS_MANY),
        (_("requests at once"), base.concurrency, tried.concurrency, AS_MANY),
    ):
        if one and other is not None and abs(other / one - 1) > most:
            return _("the arms differ: {one:g} and {other:g} {what}").format(
                one=one, other=other, what=what
            )
    return None


def _accuracy(given: Given) -> list[Conclusion]:
    values = given.config.get("accuracy")
    if not isinstance(values, dict):
        return []
    known = {n: v for n, v in values.items() if isinstance(v, int | float)}
    base = [known[name] for name in COMPARED_WITH if name in known]
    tried = [value for name, value in known.items() if name not in COMPARED_WITH]
    if not base or not tried or base[0] - min(tried) <= ACCURACY_LOSS:
        return []
    reason = _("accuracy falls from {base:g} to {tried:g}").format(base=base[0], tried=min(tried))
    return [Conclusion(Finding.OUTPUT_BROKEN, reason)]


def _bench_without_acceptance(arms: Sequence[Arm]) -> Conclusion:
    doubts = ((arm.file, arm.run.doubt) for arm in arms if arm.run.doubt)
    doubt = next((_("{what}: {why}").format(what=file, why=why) for file, why in doubts), None)
    if doubt or not arms:
        reason = doubt or _("no report could be read: the file is cut or damaged")
    elif any(arm.run.length_estimate for arm in arms):
        reason = _(
            "no acceptance counters in the report; time between chunks gives only an estimate"
        )
    elif arms and arms[0].run.tool == "vllm":
        reason = _(
            "no Speculative Decoding block in the report: speculation is off, or too old a vLLM"
        )
    else:
        reason = _("no acceptance in this report")
    return Conclusion(
        Finding.NO_DATA,
        reason,
        next=(_("capture /metrics before and after the benchmark"),),
        beside=True,
    )


def _random(arms: Sequence[Arm], given: Given) -> bool:
    names = [arm.run.dataset for arm in arms] + [given.setting("dataset", "dataset_name")]
    return any(name in RANDOM_DATASETS for name in names)


def _workload_invalid(arms: Sequence[Arm], given: Given) -> Conclusion:
    forced = any(arm.run.ignore_eos for arm in arms) or given.setting("ignore_eos") is True
    reason = _("random tokens") + (_(", ignore_eos") if forced else "")
    return Conclusion(
        Finding.WORKLOAD_INVALID,
        _("{reason}: such a workload says nothing about acceptance").format(reason=reason),
        next=(_("benchmark with prompts of the domain, natural stops, and temperature as in use"),),
    )
