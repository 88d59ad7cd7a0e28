"""The prompts that show a fault best."""

import msgspec

from specfloor.catalog.model import Family
from specfloor.engines.command import method_of
from specfloor.i18n import _
from specfloor.judge.evidence import Block, CellEvidence
from specfloor.judge.times import clock_of_cell, times_per_token
from specfloor.signals.choose import choose
from specfloor.signals.counts import DraftCounts
from specfloor.vendor import words

SHOWN = 10
"""Prompts that a report shows: as many as somebody sends again by hand."""
LEAST_DRAFTED = 12
"""Drafted tokens from which a request's rate says something: four steps at k = 3."""


class Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt and what was seen on it.

    ``counts`` are those of this run, ``good`` the rate on the good side; ``off_s`` and ``on_s`` the
    seconds per output token of both arms. None and empty counts where not known.
    """

    prompt_id: str
    domain: str
    counts: DraftCounts = DraftCounts()
    good: float | None = None
    off_s: float | None = None
    on_s: float | None = None


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The chosen prompts, best first, and the rule they were chosen by."""

    rule: str
    shown: tuple[Shown, ...]


def prompts_on_acceptance(
    evidence: CellEvidence, good: CellEvidence | None, family: Family
) -> Choice:
    """Return the prompts that lose most acceptance.

    With a good side those whose rate fell most from it, else those of the lowest rate; the more
    drafted tokens the better among equals, then by name. Requests that drafted very little come
    last. A block whose requests have no counts gives the first that were sent.

    Args:
        evidence: the cell's records.
        good: those of the same cell where it is as it should be, if there are any.
        family: the cell's family.
    """
    rates = {
        prompt: counts.rate
        for prompt, (_, counts) in (_counts(good, family) if good else {}).items()
    }
    found = [
        Shown(prompt, domain, counts, rates.get(prompt))
        for prompt, (domain, counts) in _counts(evidence, family).items()
    ]
    if not found:
        return _first_sent(evidence)
    compared = any(one.good is not None for one in found)
    rule = _(words.BY_FALL) if compared else _(words.BY_RATE)

    def place(one: Shown) -> tuple[bool, float, int, str]:
        rate = one.counts.rate or 0.0
        lost = rate - (one.good or 0.0) if compared else rate
        return (one.counts.drafted < LEAST_DRAFTED, lost, -one.counts.drafted, one.prompt_id)

    ordered = sorted(found, key=place)
    return Choice(rule.format(n=len(found)), tuple(ordered[:SHOWN]))


def prompts_on_speed(evidence: CellEvidence) -> Choice:
    """Return the prompts on which speculation gains least: time per token, on over off."""
    off, on = (arms[0].forced if arms else None for arms in (evidence.off, evidence.on))
    clock = clock_of_cell(evidence)
    off_s, on_s = times_per_token(off, clock), times_per_token(on, clock)
    domains = {request.prompt_id: request.domain for request in on.requests} if on else {}
    both = [
        Shown(prompt, domains[prompt], off_s=off_s[prompt], on_s=on_s[prompt])
        for prompt in on_s
        if prompt in off_s
    ]
    if not both:
        return _first_sent(evidence)
    ordered = sorted(both, key=lambda one: (-(one.on_s or 0) / (one.off_s or 1), one.prompt_id))
    return Choice(_(words.BY_TIME).format(n=len(both)), tuple(ordered[:SHOWN]))


def _counts(evidence: CellEvidence, family: Family) -> dict[str, tuple[str, DraftCounts]]:
    block = evidence.on[0].natural if evidence.on else None
    if block is None:
        return {}
    cell = evidence.cell
    drafts_k = method_of(family, cell.arm).drafts_k
    signals = choose(block.requests, block.counters, k=cell.k, drafts_k=drafts_k)
    return {r.prompt_id: (r.domain, r.counts) for r in signals.requests if r.counts.drafted}


def _first_sent(evidence: CellEvidence) -> Choice:
    """Return the first prompts sent, failed ones before others: there is nothing to rank by."""
    blocks = [
        block
        for arm in (*evidence.on, *evidence.off)
        for block in (arm.natural, arm.forced)
        if block
    ]
    sent: Block | None = next((block for block in blocks if block.requests), None)
    requests = sorted(sent.requests, key=lambda r: (r.ok, r.index)) if sent else []
    shown = tuple(Shown(r.prompt_id, r.domain) for r in requests[:SHOWN])
    return Choice(_(words.BY_ORDER), shown)
