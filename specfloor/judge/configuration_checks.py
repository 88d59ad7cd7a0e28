"""Single comparisons of what was asked for with what an engine says or does."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from specfloor.catalog.model import Family, Method
from specfloor.cells import Cell, slug
from specfloor.i18n import _
from specfloor.judge.asked import Asked
from specfloor.judge.evidence import Block
from specfloor.judge.same_text import generated
from specfloor.runs.records import EngineSettings, LaunchRecord
from specfloor.signals.counts import DraftCounts

_EAGER = "NONE"
_MARKS = ("</think>", "<think>")
"""What stays in an answer whose thinking was not taken out by a parser."""
_LEAST_PROMPTS = 3
"""Prompts from which equal numbers of tokens in two tiers mean something."""
_OFF = (False, None, "disabled", "no_think", "none", "off")
"""Values of a template's argument by which a tier does not think."""


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that was asked for and what was found; ``holds`` is None when nothing says."""

    what: str
    asked: str
    found: str
    holds: bool | None


def same_method(asked: str, found: str) -> bool:
    """Whether two names are of one method: MTP had a name for every model line before 0.11."""
    one, other = slug(asked), slug(found)
    return one == other or (one.split("_")[-1] == other.split("_")[-1] == "mtp")


def settings_checks(launch: LaunchRecord, asked: Asked) -> Iterator[Check]:
    """Yield what the engine resolved each setting to that was asked for in so many words."""
    arm, found = launch.key.arm.label, launch.settings or EngineSettings()
    yield from _graph_checks(launch, asked, found)
    if asked.schedule:
        lost = _notice(launch, "schedule_lost")
        yield Check(
            _("schedule of k of the {arm} arm").format(arm=arm),
            str(asked.schedule),
            lost or _("not said"),
            _not(lost),
        )
    if asked.reasoning_parser:
        parser = found.reasoning_parser
        yield Check(
            _("reasoning parser of the {arm} arm").format(arm=arm),
            asked.reasoning_parser,
            _("not said") if parser is None else parser or _("none"),
            None if parser is None else parser == asked.reasoning_parser,
        )
    if asked.prefix_caching is not None and found.prefix_caching is not None:
        yield Check(
            _("prefix caching of the {arm} arm").format(arm=arm),
            _switch(asked.prefix_caching),
            _switch(found.prefix_caching),
            asked.prefix_caching == found.prefix_caching,
        )


def _graph_checks(launch: LaunchRecord, asked: Asked, found: EngineSettings) -> Iterator[Check]:
    arm, lost = launch.key.arm.label, _notice(launch, "graphs_lost")
    if asked.eager:
        if found.enforce_eager is not None:
            mode = _("eager") if found.enforce_eager else found.graph_mode or _("graphs")
            yield Check(
                _("graph mode of the {arm} arm").format(arm=arm),
                _("eager"),
                mode,
                found.enforce_eager,
            )
    elif asked.graph_mode and found.graph_mode:
        yield Check(
            _("graph mode of the {arm} arm").format(arm=arm),
            asked.graph_mode,
            _("NONE, which is eager") if found.graph_mode == _EAGER else found.graph_mode,
            found.graph_mode.upper() == asked.graph_mode.upper(),
        )
    elif lost:
        yield Check(
            _("graph mode of the {arm} arm").format(arm=arm),
            asked.graph_mode or _("graphs"),
            lost,
            False,
        )
    if asked.graph_mode and not asked.eager and (draft := _notice(launch, "draft_eager")):
        yield Check(
            _("graph mode of the draft on the {arm} arm").format(arm=arm),
            asked.graph_mode,
            draft,
            False,
        )


def drafts_check(asked: Asked, cell: Cell, method: Method, drafted: DraftCounts) -> Check | None:
    """Return whether each step drafted what k allows: exactly k where the method always does."""
    if not drafted.steps:
        return None
    k, a_step = asked.k or cell.k, drafted.drafted / drafted.steps
    exact = method.drafts_k and not asked.varies
    return Check(
        _("tokens drafted a step"),
        str(k) if exact else _("at most {k}").format(k=k),
        f"{a_step:.2f}",
        round(a_step) == k if exact else a_step <= k,
    )


def tier_check(
    cell: Cell, family: Family, launch: LaunchRecord, own: Block | None, others: Mapping[str, Block]
) -> Check | None:
    """Return whether the tier became a prompt of its own.

    Tokens that the server renders decide. Where it renders none, prompts with as many tokens as in
    another tier and with the same answers are the same prompts; with other answers, nothing says.
    """
    what, asked = _("effort tier"), _("a prompt of its own for {tier}").format(tier=cell.tier)
    template = family.tiers.get(cell.tier)
    rivals = [tier for tier, arguments in family.tiers.items() if arguments != template]
    if template is None or not rivals:
        return None
    rendered = launch.rendered.get(cell.tier)
    compared = [tier for tier in rivals if tier in launch.rendered]
    if rendered and compared:
        same = next((tier for tier in compared if launch.rendered[tier] == rendered), None)
        found = (
            _("the prompt of {same}").format(same=same)
            if same
            else _("another prompt than {compared}").format(compared=_(", ").join(compared))
        )
        return Check(what, asked, found, same is None)
    if own is None:
        return None
    told = [(tier, _same_prompts(own, others[tier])) for tier in rivals if tier in others]
    if same := next((tier for tier, same in told if same), None):
        return Check(
            what,
            asked,
            _("as many prompt tokens and the same answers as {same}").format(same=same),
            False,
        )
    differs = [tier for tier, same in told if same is False]
    if not differs:
        return None
    return Check(
        what,
        asked,
        _("other numbers of prompt tokens than {differs}").format(differs=_(", ").join(differs)),
        True,
    )


def _same_prompts(one: Block, other: Block) -> bool | None:
    """Return whether two blocks sent the same prompts; None when nothing says."""
    mine, theirs = ({r.prompt_id: r for r in b.requests if r.ok} for b in (one, other))
    pairs = [(mine[p], theirs[p]) for p in mine.keys() & theirs.keys()]
    counted = [(a, b) for a, b in pairs if a.prompt_tokens and b.prompt_tokens]
    if any(a.prompt_tokens != b.prompt_tokens for a, b in counted):
        return False
    greedy = all(b.sent.sampling.get("temperature") == 0 for b in (one, other))
    alike = all(generated(a) == generated(b) for a, b in counted)
    return True if greedy and alike and len(counted) >= _LEAST_PROMPTS else None


def thinking_check(cell: Cell, family: Family, asked: Asked, block: Block | None) -> Check | None:
    """Return whether thinking was taken out of the answers; None when no answer shows any."""
    if block is None or not (asked.reasoning_parser or _thinks(family.tiers.get(cell.tier, {}))):
        return None
    answers = [request for request in block.requests if request.ok]
    marked = [r for r in answers if any(mark in r.text for mark in _MARKS)]
    parsed = [r for r in answers if r.reasoning]
    if 2 * len(marked) >= len(answers) > 0:
        found = _("marks of thinking in the answers of {marked} of {answers} requests").format(
            marked=len(marked), answers=len(answers)
        )
    elif parsed:
        found = _("thinking apart from the answer in {parsed} of {answers} requests").format(
            parsed=len(parsed), answers=len(answers)
        )
    else:
        return None
    return Check(
        _("thinking parser"),
        asked.reasoning_parser or _("thinking apart from the answer"),
        found,
        2 * len(marked) < len(answers),
    )


def _thinks(template: Mapping[str, Any]) -> bool:
    return bool(template) and all(value not in _OFF for value in template.values())


def _notice(launch: LaunchRecord, kind: str) -> str | None:
    return next((notice.text for notice in launch.notices if notice.kind == kind), None)


def _not(lost: str | None) -> bool | None:
    return False if lost else None


def _switch(on: bool) -> str:
    return _("on") if on else _("off")
