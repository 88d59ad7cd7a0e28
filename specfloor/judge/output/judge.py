"""The verdict on the answers: what speculation broke, and whether the off arm can tell."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
from scipy import stats

from specfloor.i18n import _
from specfloor.judge.cell import FAILED_ALLOWED, Rule
from specfloor.judge.evidence import Block
from specfloor.judge.output.agreement import EARLY_ALLOWED, Agreement, agreement, partings
from specfloor.judge.output.checks import compare_outcomes, late, outcomes_of
from specfloor.judge.output.garbage import garbage
from specfloor.judge.output.verdict import Check, CheckResult, OutputVerdict
from specfloor.judge.verdict import Verdict
from specfloor.load.workload import Prompt, fingerprint
from specfloor.runs.records import RequestRecord
from specfloor.triage.findings import Finding

LEAST_PAIRS = 20
"""Prompts of a check below which nothing passes."""
GARBAGE_ALLOWED = 0.05
"""Share of answers of the off arm that may be garbage before it is no baseline."""
LOOPS_ALLOWED = 0.1
"""Share of prompts on which both arms may loop before the workload says nothing."""


def judge_output(
    on: Block,
    off: Block | None,
    off_again: Block | None,
    prompts: Mapping[str, Prompt],
    rule: Rule,
) -> OutputVerdict:
    """Judge the answers of an arm with speculation against those without it.

    Every check says of every answer whether it is good, and McNemar's exact test says whether
    one arm is worse on the prompts that both answered. The p-values of all checks, and those of
    the off arm's two launches against each other, are adjusted together by Holm's method, so that
    the chance of any false alarm is at most ``rule.alpha``. That the texts are the same is never
    asked: near ties part greedy texts without any speculation.

    Args:
        on: the natural block of the arm with speculation.
        off: the same block of the off arm.
        off_again: the same block of another launch of the off arm: with it, what differs between
            two launches of the off arm is not blamed on the draft. It is left out when it answered
            fewer than ``LEAST_PAIRS`` of the prompts that both arms did.
        prompts: the prompts of the block, by id, as they were sent.
        rule: the chance of a false FAIL (``alpha``) and of a false PASS (``beta``).
    """
    if trouble := _not_comparable(on, off, off_again, prompts):
        return trouble
    assert off is not None
    mine, theirs, again = _answered(on), _answered(off), _answered(off_again)
    both = mine.keys() & theirs.keys()
    mine, theirs = _only(mine, both), _only(theirs, both)
    left_out = len(again.keys() & both) < LEAST_PAIRS
    blocks = [on, off, *([] if off_again is None or left_out else [off_again])]
    between, within = partings(mine, theirs), partings(again, theirs)
    greedy = on.sent.sampling.get("temperature") == 0
    outcomes = [
        outcomes_of(answers, prompts) | {Check.ANSWERED: {r.prompt_id: r.ok for r in b.requests}}
        for b, answers in zip(blocks, (mine, theirs, again), strict=False)
    ]
    if greedy and len(blocks) == 3:
        # how many texts of each of the other two part early from the first launch of the off arm
        outcomes[0][Check.PARTING], outcomes[2][Check.PARTING] = late(between), late(within)
    checks, unlike = compare_outcomes(outcomes, between, alpha=rule.alpha, beta=rule.beta)
    if not both and not any(check.worse for check in checks):
        return _no_data(
            _("no prompt was answered by both arms{first_error}").format(
                first_error=_first_error(on, off)
            )
        )
    verdict = OutputVerdict(
        verdict=Verdict.PASS,
        findings=(),
        reason="",
        compared=len(both),
        failed=sum(not request.ok for request in on.requests),
        checks=checks,
        agreement=agreement(between),
        self_agreement=agreement(within),
        unlike=unlike,
    )
    return _concluded(
        verdict,
        sent=len(on.requests),
        error=_first_error(on),
        spoilt=_spoilt(theirs, prompts, rule),
        unexplained=greedy and len(blocks) < 3 and _too_early(agreement(between), rule),
    )


def _not_comparable(
    on: Block, off: Block | None, off_again: Block | None, prompts: Mapping[str, Prompt]
) -> OutputVerdict | None:
    """Return the verdict when the blocks cannot be compared at all."""
    if off is None:
        found = outcomes_of(_answered(on), prompts)[Check.TEXT]
        bad = sum(not good for good in found.values())
        seen = (
            _("; {bad} of its own {found} answers hold garbage").format(bad=bad, found=len(found))
            if bad
            else ""
        )
        return _no_data(_("there is no off arm to compare with{seen}").format(seen=seen))
    if fingerprint(prompts.values()) != on.sent.fingerprint:
        return _invalid(
            _(
                "the prompts here are not those that were sent (their fingerprints "
                "differ), so what their answers must be is not known"
            )
        )
    for other in filter(None, (off, off_again)):
        for field in ("fingerprint", "sampling", "template"):
            if getattr(on.sent, field) != getattr(other.sent, field):
                return _invalid(
                    _("the arms were not sent the same: their {field} differs").format(field=field)
                )
    return None


def _invalid(reason: str) -> OutputVerdict:
    return OutputVerdict(Verdict.INCONCLUSIVE, (Finding.WORKLOAD_INVALID,), reason)


def _no_data(reason: str) -> OutputVerdict:
    return OutputVerdict(Verdict.NO_DATA, (Finding.NO_DATA,), reason)


def _first_error(*blocks: Block) -> str:
    errors = (request.error for block in blocks for request in block.requests if request.error)
    first = next(errors, None)
    return _("; the first error is: {first}").format(first=first) if first else ""


def _answered(block: Block | None) -> dict[str, RequestRecord]:
    return {r.prompt_id: r for r in (block.requests if block else ()) if r.ok}


def _only(
    answers: Mapping[str, RequestRecord], prompts: Collection[str]
) -> dict[str, RequestRecord]:
    return {prompt: answer for prompt, answer in answers.items() if prompt in prompts}


def _spoilt(
    theirs: Mapping[str, RequestRecord], prompts: Mapping[str, Prompt], rule: Rule
) -> str | None:
    """Return what is wrong with the off arm in itself, whatever the on arm does."""
    found = [kind for p, answer in theirs.items() if (kind := garbage(answer, prompts[p]))]
    if not found:
        return None
    test = stats.binomtest(len(found), len(theirs), GARBAGE_ALLOWED, alternative="greater")
    if test.pvalue < rule.alpha:
        return _("{n} of its {answers} answers hold garbage, {prompt} first").format(
            n=len(found), answers=len(theirs), prompt=found[0]
        )
    return None


def _too_early(found: Agreement | None, rule: Rule) -> bool:
    if found is None:
        return False
    test = stats.binomtest(found.early, found.compared, EARLY_ALLOWED, alternative="greater")
    return bool(test.pvalue < rule.alpha)


def _concluded(
    judged: OutputVerdict, *, sent: int, error: str, spoilt: str | None, unexplained: bool
) -> OutputVerdict:
    """Give the verdict its word: breakage first, then whether anything here can tell."""

    def say(verdict: Verdict, findings: Sequence[Finding], reason: str) -> OutputVerdict:
        said = _("; ").join([reason, *_agreement(judged)])
        return msgspec.structs.replace(
            judged, verdict=verdict, findings=tuple(findings), reason=said
        )

    lost = [c for c in judged.checks if c.worse == "on" or (c.worse and c.check is Check.ENDING)]
    won = [c for c in judged.checks if c.worse == "off" and c.check is not Check.ENDING]
    off_broken = _off_broken(judged, won, spoilt)
    if lost and not (won and all(c.check is Check.ENDING for c in lost)):
        findings = [Finding.OUTPUT_BROKEN, *([Finding.BASELINE_INVALID] if off_broken else [])]
        broken = any(c.worse == "on" for c in lost)
        does = _("breaks answers") if broken else _("changes where answers end")
        reason = _("speculation {does}: {listed}").format(does=does, listed=_listed(lost))
        if any(c.check is Check.ANSWERED for c in lost):
            reason += error
        if off_broken:
            reason = _("; ").join((reason, off_broken))
        return say(Verdict.FAIL, findings, reason)
    if off_broken:
        return say(Verdict.INCONCLUSIVE, [Finding.BASELINE_INVALID], off_broken)
    if blind := _blind(judged):
        return say(Verdict.INCONCLUSIVE, [Finding.WORKLOAD_INVALID], blind)
    for why in _gaps(judged, sent, unexplained=unexplained):
        return say(Verdict.INCONCLUSIVE, [Finding.INCONCLUSIVE], why)
    return say(
        Verdict.PASS,
        [],
        _("speculation breaks nothing: {listed}").format(listed=_listed(judged.checks)),
    )


def _off_broken(
    judged: OutputVerdict, won: Sequence[CheckResult], spoilt: str | None
) -> str | None:
    if spoilt:
        return _("the off arm is broken by itself, and not by a draft: {spoilt}").format(
            spoilt=spoilt
        )
    if won:
        return _(
            "the broken arm is the one without speculation, not that with it: {listed}"
        ).format(listed=_listed(won))
    if judged.unlike:
        names = _(", ").join(judged.unlike)
        return _(
            "two launches of the off arm differ from each other ({names}): no baseline"
        ).format(names=names)
    return None


def _blind(judged: OutputVerdict) -> str | None:
    """Return why this workload cannot show a loss with this model."""
    for check in judged.checks:
        pairs = check.pairs
        if check.check.of_task and pairs.neither == pairs.prompts >= LEAST_PAIRS:
            return _("neither arm gets any of {prompts} prompts right ({check})").format(
                prompts=pairs.prompts, check=_(check.check)
            )
        if check.check is Check.LOOPS and pairs.neither > LOOPS_ALLOWED * pairs.prompts:
            return _("both arms fall into a loop on {neither} of {prompts} prompts").format(
                neither=pairs.neither, prompts=pairs.prompts
            )
    return None


def _gaps(judged: OutputVerdict, sent: int, *, unexplained: bool) -> Iterable[str]:
    """Yield what keeps a verdict from passing."""
    if judged.failed > FAILED_ALLOWED * sent:
        yield _("{failed} of {sent} requests failed, too many for the rest to pass").format(
            failed=judged.failed, sent=sent
        )
    if judged.compared < LEAST_PAIRS:
        yield _("{compared} prompts were answered by both arms; {least} are needed").format(
            compared=judged.compared, least=LEAST_PAIRS
        )
    open_ = [c for c in judged.checks if not c.excluded or c.pairs.prompts < LEAST_PAIRS]
    if open_:
        limits = _(", ").join(map(_limit, open_))
        yield _(
            "a loss is neither shown nor excluded: {limits}; send more prompts of that kind"
        ).format(limits=limits)
    if unexplained:
        assert judged.agreement is not None
        yield (
            _(
                "{early} of {compared} texts part from the off arm in their first "
                "words; start the off arm a second time to see whether it parts from "
                "itself"
            ).format(early=judged.agreement.early, compared=judged.agreement.compared)
        )


def _limit(check: CheckResult) -> str:
    if check.loss_at_most is None or check.allowed is None:
        return _counts(check)
    limits = _("a loss of up to {loss_at_most:.0%}, allowed {allowed:.0%}").format(
        loss_at_most=check.loss_at_most, allowed=check.allowed
    )
    return f"{_counts(check)} ({limits})"


def _listed(checks: Iterable[CheckResult]) -> str:
    return _(", ").join(map(_one, checks))


def _one(check: CheckResult) -> str:
    if check.worse is None:
        return _counts(check)
    named = check.lost if check.worse == "on" else check.gained
    prompts = _("; {prompts}").format(prompts=_(", ").join(named)) if named else ""
    return f"{_counts(check)} (p = {check.p_holm:.2g}{prompts})"


def _counts(check: CheckResult) -> str:
    on_good = check.pairs.both + check.pairs.gained
    other = "without" if check.check is not Check.PARTING else _("between launches without")
    return _("{check} {on_good} of {prompts} with it and {off_good} {other}").format(
        check=_(check.check),
        on_good=on_good,
        prompts=check.pairs.prompts,
        off_good=check.off_good,
        other=other,
    )


def _agreement(judged: OutputVerdict) -> Iterable[str]:
    if judged.agreement is not None:
        yield _("the same text as the off arm: {agreement}").format(agreement=judged.agreement)
    if judged.self_agreement is not None:
        yield _("the off arm's two launches with each other: {self_agreement}").format(
            self_agreement=judged.self_agreement
        )
