"""The checks of two arms: what is good about each answer, and whether one arm is worse."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from scipy import stats

from specfloor.judge.estimate import holm
from specfloor.judge.looping import answer_loops
from specfloor.judge.output.agreement import EARLY_ALLOWED, Parting
from specfloor.judge.output.answers import are_right, is_right
from specfloor.judge.output.garbage import garbage
from specfloor.judge.output.paired import Pairs, pair
from specfloor.judge.output.verdict import Check, CheckResult
from specfloor.load.expect import ExpectJson, ExpectToolCalls
from specfloor.load.workload import Prompt
from specfloor.runs.records import RequestRecord

LOSS_ALLOWED = 0.15
"""Share of what the off arm is good at whose loss a PASS excludes. Twenty prompts without a single
loss exclude 14 % at 95 %; what this verdict is after, a broken verification or parser, loses more,
and finer questions of quality need the benchmarks made for them."""
_SHOWN = 5  # prompts named per check

Outcomes = Mapping[Check, Mapping[str, bool]]
"""For every check that applies, the prompts and whether the answer is good."""


def outcomes_of(
    answers: Mapping[str, RequestRecord], prompts: Mapping[str, Prompt]
) -> dict[Check, dict[str, bool]]:
    """Return for every check the prompts it applies to and whether the answer is good."""
    outcomes: dict[Check, dict[str, bool]] = {check: {} for check in Check}
    for prompt_id, answer in answers.items():
        prompt = prompts[prompt_id]
        expect = prompt.expect
        if prompt.tools:
            outcomes[Check.TOOL_CALLS][prompt_id] = are_right(answer, prompt)
        if expect is not None and not isinstance(expect, ExpectToolCalls):
            check = Check.JSON if isinstance(expect, ExpectJson) else Check.ANSWER
            outcomes[check][prompt_id] = is_right(answer, expect)
        outcomes[Check.TEXT][prompt_id] = garbage(answer, prompt) is None
        outcomes[Check.LOOPS][prompt_id] = not answer_loops(answer)
        outcomes[Check.ENDING][prompt_id] = answer.finish_reason in {"stop", "tool_calls"}
    return outcomes


def late(found: Iterable[Parting]) -> dict[str, bool]:
    """Return the outcomes of PARTING: good are texts that do not part in their first words."""
    return {parting.prompt_id: not parting.early for parting in found}


class _Comparison(msgspec.Struct, frozen=True):
    """One check of the on arm against each launch of the off arm, and of these with each other."""

    check: Check
    pairs: Pairs
    first: tuple[Mapping[str, bool], Mapping[str, bool]]
    again: Mapping[str, bool] | None
    p_on_worse: float
    p_off_worse: float
    p_unlike: float | None

    @property
    def p_value(self) -> float:
        """Two-sided: whichever arm is worse."""
        return min(1.0, 2 * min(self.p_on_worse, self.p_off_worse))


def compare_outcomes(
    outcomes: Sequence[Outcomes], between: Sequence[Parting], *, alpha: float, beta: float
) -> tuple[tuple[CheckResult, ...], tuple[Check, ...]]:
    """Return the result of every check that applies, and those in which the off arm is at odds.

    All tests are adjusted together: the chance of any false alarm is at most ``alpha``.

    Args:
        outcomes: of the on arm, of the off arm and, if there is one, of its second launch.
        between: where the on arm parts from the off arm, for the check PARTING, whose outcomes
            those of the on arm and of the second launch hold if it applies.
        alpha: the level of the family of tests.
        beta: one minus the level of the upper limit of a loss.
    """
    on, off, *more = outcomes
    again = more[0] if more else None
    found = []
    for check in Check:
        parting = check is Check.PARTING
        mine, theirs = on.get(check, {}), ((again or {}) if parting else off).get(check, {})
        if mine.keys() & theirs.keys():
            found.append(
                _parted(mine, theirs, between)
                if parting
                else _compare(check, mine, theirs, again.get(check) if again else None)
            )
    tests = [one.p_value for one in found]
    at_odds = [one for one in found if one.p_unlike is not None]
    adjusted = holm([*tests, *(one.p_unlike for one in at_odds if one.p_unlike is not None)])
    results = tuple(
        _result(one, p_holm, alpha, beta) for one, p_holm in zip(found, adjusted, strict=False)
    )
    unlike = tuple(
        one.check
        for one, p_holm in zip(at_odds, adjusted[len(tests) :], strict=True)
        if p_holm < alpha
    )
    return results, unlike


def _compare(
    check: Check,
    on: Mapping[str, bool],
    off: Mapping[str, bool],
    again: Mapping[str, bool] | None,
) -> _Comparison:
    pairs = pair(on, off)
    worse, better, unlike = pairs.p_first_worse, pairs.p_second_worse, None
    if again:
        other, self_ = pair(on, again), pair(off, again)
        # worse against both launches of the off arm (an intersection-union test)
        worse, better = (
            max(worse, other.p_first_worse),
            max(better, other.p_second_worse),
        )
        unlike = min(1.0, 2 * min(self_.p_first_worse, self_.p_second_worse))
    return _Comparison(check, pairs, (on, off), again, worse, better, unlike)


def _parted(
    on: Mapping[str, bool], again: Mapping[str, bool], between: Sequence[Parting]
) -> _Comparison:
    """Compare how often the on arm, and the off arm itself, part early from the off arm.

    More than near ties explain, and more than the off arm from itself; that it parts less often is
    no fault of anyone.
    """
    pairs = pair(on, again)
    early = sum(parting.early for parting in between)
    p_many = stats.binomtest(early, len(between), EARLY_ALLOWED, alternative="greater").pvalue
    p_worse = max(float(p_many), pairs.p_first_worse)
    return _Comparison(Check.PARTING, pairs, (on, again), None, p_worse, 1.0, None)


def _result(one: _Comparison, p_holm: float, alpha: float, beta: float) -> CheckResult:
    on, off = one.first
    worse: Literal["on", "off"] | None = None
    if p_holm < alpha:
        worse = "on" if one.p_on_worse < one.p_off_worse else "off"
    both = [prompt for prompt in on if prompt in off]
    off_good = one.pairs.both + one.pairs.lost
    share = off_good / one.pairs.prompts if one.check.of_task else 1.0
    excludes = one.check is not Check.PARTING
    return CheckResult(
        check=one.check,
        pairs=one.pairs,
        off_good=off_good,
        again_good=None if one.again is None else sum(one.again.get(p, False) for p in both),
        p_holm=p_holm,
        worse=worse,
        loss_at_most=one.pairs.loss_at_most(beta) if excludes else None,
        allowed=LOSS_ALLOWED * share if excludes else None,
        lost=tuple(p for p in both if off[p] and not on[p])[:_SHOWN],
        gained=tuple(p for p in both if on[p] and not off[p])[:_SHOWN],
    )
