"""From a number to a cause: one pure function over what was judged, whoever judged it.

The order is the one that saves days: what ended the run, acceptance, the configuration in effect,
known fixes, what a step costs, adaptive verification, the devices. A stored run and files alone
both end here; ``specfloor.triage.live`` and ``specfloor.triage.files`` feed it.
"""

from collections.abc import Iterator

import msgspec

from specfloor.i18n import _
from specfloor.ledger.model import Facet, Ledger
from specfloor.triage.causes import Causes, KnownFix, kinds_of, known_faults
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.diagnosis import Confidence, Diagnosis, Link, Stage, Step
from specfloor.triage.facts import ACCEPTANCE, ENDS, INVALID, SPEED, Facts
from specfloor.triage.findings import Finding
from specfloor.triage.steps import (
    Place,
    step_of_avoiding,
    step_of_upgrade,
    steps_of_contrast,
    steps_of_device,
    steps_of_engines,
    steps_of_signature,
    steps_of_step_cost,
    steps_of_unknown_shape,
    steps_of_unwell_device,
)


def diagnose(facts: Facts, ledger: Ledger) -> Diagnosis:
    """Return the chain's findings in order; no links when nothing is wrong."""
    causes, open_ = _asked(facts, ledger), _open(facts)
    links = [
        *_ends(facts),
        *_acceptance(facts, listed=_lists_some(facts, causes)),
        *_configuration(facts),
        *_known(facts, None if open_ else causes),
        *_step_cost(facts),
        *_adaptive(facts),
        *_host(facts),
    ]
    if links:
        links += _unknown(facts, links)
    return Diagnosis(
        cell=facts.cell,
        links=tuple(links),
        exonerated=tuple(_exonerated(facts)) if links else (),
        ledger=_on_ledger(facts, causes) if links or open_ else None,
        ledger_unknown=bool((links or open_) and causes and causes.unknown),
        measured=facts.measured,
        published=facts.published,
        lacking=causes.fixes if open_ and causes else (),
    )


def _open(facts: Facts) -> bool:
    """Whether nothing is found wrong with acceptance only as nothing was there to judge it by."""
    return facts.measured is not None and all(c.finding is None for c in facts.conclusions)


def _ends(facts: Facts) -> Iterator[Link]:
    off = facts.off_failure
    for ended in facts.said(ENDS):
        alone = off is None and facts.off_served
        evidence = (_("the arm without speculation served the same requests"),) if alone else ()
        step = Step(
            _("serve without --speculative-config and send the same requests"),
            _("a failure there too exonerates speculation"),
        )
        yield _link(Stage.RUN, ended, evidence=evidence, steps=() if off or alone else (step,))
    if off is not None:
        yield _link(Stage.RUN, Conclusion(Finding.BASELINE_INVALID, off.reason))
    for invalid in facts.said(INVALID):
        if off is None or invalid.finding is not Finding.BASELINE_INVALID:
            yield _link(Stage.RUN, invalid)


def _acceptance(facts: Facts, *, listed: bool) -> Iterator[Link]:
    faults = facts.said(ACCEPTANCE)
    for number, fault in enumerate(faults):
        # what the figures look like belongs to the first: the others are the same loss again
        steps = steps_of_engines() if fault.finding is Finding.TOPOLOGY else ()
        if not (number or facts.seen or steps):
            steps = steps_of_unknown_shape(facts.place)
        if number or not (facts.seen or facts.contrasts):
            yield _link(Stage.ACCEPTANCE, fault, steps=steps)
            continue
        for contrast in facts.contrasts:
            steps += steps_of_contrast(contrast, facts.place)
        for one in facts.seen:
            steps += steps_of_signature(one.signature, facts.place, listed=listed)
        shown = tuple(one.evidence for one in facts.seen)
        signature = facts.seen[0].signature if facts.seen else fault.signature
        yield _link(
            Stage.ACCEPTANCE,
            msgspec.structs.replace(fault, signature=signature),
            evidence=(*shown, *map(str, facts.contrasts)),
            steps=steps,
        )


def _configuration(facts: Facts) -> Iterator[Link]:
    for wrong in facts.said(frozenset({Finding.CONFIG_NOT_IN_EFFECT})):
        step = Step(
            _("read `speculative_config` in the first lines of the server's log"),
            _("a setting that the release does not know is refused there, or left out"),
        )
        yield _link(Stage.CONFIGURATION, wrong, steps=(step,))
    if facts.said(ACCEPTANCE | SPEED | ENDS | frozenset({Finding.CONFIG_NOT_IN_EFFECT})):
        for flaw in facts.environment:
            flawed = Conclusion(Finding.CONFIG_NOT_IN_EFFECT, flaw)
            yield _link(Stage.CONFIGURATION, flawed, confidence=Confidence.POSSIBLE)


def _asked(facts: Facts, ledger: Ledger) -> Causes | None:
    """Ask the ledger about the first finding it may know the cause of; None when there is none.

    Where acceptance is open, it is asked what may make it, or the speed, worse.
    """
    fault = _explained_by_a_fix(facts)
    kinds = kinds_of(fault.finding) if fault else ()
    if _open(facts) and facts.family is not None:
        # of a family that is not known it would be every row there is
        kinds = kinds_of(Finding.SPEED_REGRESSION)
    if not kinds or facts.release is None:
        return None
    return known_faults(
        ledger,
        facts.release,
        kinds,
        family=facts.family,
        method=facts.method,
        # a fault that takes what the loss is there without is not it
        setting=facts.setting | {c.facet: False for c in facts.contrasts if c.facet and not c.only},
        seen=[one.signature for one in facts.seen],
        needed=[c.facet for c in facts.contrasts if c.facet and c.only],
        drafting=facts.drafting,
    )


def _lists_some(facts: Facts, causes: Causes | None) -> bool:
    """Return whether the ledger has rows that may be behind it, or may have once it is asked."""
    if causes is None:
        return facts.place.platform == "ascend"
    return any(fix.fits is not False for fix in causes.fixes)


def _explained_by_a_fix(facts: Facts) -> Conclusion | None:
    """Return the finding to ask about: the ledger's rows are faults of speculation."""
    for conclusion in facts.conclusions:
        if conclusion.finding in ENDS and facts.off_failure is not None:
            return None
        if conclusion.finding in INVALID:
            continue
        if conclusion.finding in SPEED and facts.off_failure is not None:
            continue
        if kinds_of(conclusion.finding):
            return conclusion
    return None


def _known(facts: Facts, causes: Causes | None) -> Iterator[Link]:
    for fix in causes.fixes if causes else ():
        if fix.fits is False:
            continue
        yield Link(
            stage=Stage.KNOWN_FIX,
            finding=Finding.KNOWN_FIX,
            confidence=Confidence.LIKELY if fix.fits else Confidence.POSSIBLE,
            sentence=fix.sentence,
            evidence=tuple(one.evidence for one in facts.seen) if fix.fits else (),
            fix=fix,
            next=_confirming(fix, facts.place),
        )


def _confirming(fix: KnownFix, place: Place) -> tuple[Step, ...]:
    steps = [step_of_avoiding(setting, fix.kind, fix.change) for setting in fix.avoided_by]
    if fixed := fix.first_final or fix.first:
        steps.append(step_of_upgrade(place, fixed, fix.kind, fix.change))
    return tuple(steps)


def _step_cost(facts: Facts) -> Iterator[Link]:
    lost = facts.said(SPEED)
    if not lost or facts.said(ACCEPTANCE) or facts.off_failure is not None:
        return
    speed, first = facts.speed, lost[0]
    flips = (c.reason for c in lost if c.finding is Finding.BATCH_FLIP)
    flip = speed.flip or next(flips, None)
    evidence = []
    if speed.speedup and speed.length and speed.step_cost:
        evidence.append(
            _(
                "speedup {speedup:.2f} is acceptance length {length:.2f} over step "
                "cost {step_cost:.2f}"
            ).format(speedup=speed.speedup, length=speed.length, step_cost=speed.step_cost)
        )
    eager = facts.setting.get(Facet.EAGER)
    steps = steps_of_step_cost(facts.place, eager=eager)
    if facts.healthy is None and flip is None:
        known = Step(
            facts.place.suite("-k", "acceptance", "--floors", "new-ok"),
            _("acceptance that holds leaves the cost of a step, one that does not the draft"),
        )
        yield Link(
            Stage.STEP_COST,
            first.finding or Finding.SPEED_REGRESSION,
            Confidence.POSSIBLE,
            _("the step may have got dearer, but acceptance is not known to hold"),
            tuple(evidence),
            next=(known, *steps),
        )
        return
    where = _("batch, graph or copies between host and device")
    if flip:
        where = _("the batch: {flip}").format(flip=flip)
    elif eager:
        where = _(
            "eager mode, in which the host starts every operator of draft and target by itself"
        )
    yield Link(
        Stage.STEP_COST,
        first.finding or Finding.SPEED_REGRESSION_ACCEPT_OK,
        Confidence.SHOWN if flip else Confidence.LIKELY,
        _(
            "drafts are accepted and pay less than they should, so a step with "
            "drafts costs too much: {where}"
        ).format(where=where),
        tuple(evidence),
        next=steps,
    )


def _adaptive(facts: Facts) -> Iterator[Link]:
    moving = facts.setting.get(Facet.ADAPTIVE) or facts.setting.get(Facet.SCHEDULE)
    lost = facts.said(ACCEPTANCE | SPEED)
    if not moving or not lost:
        return
    settings = [facet for facet in (Facet.ADAPTIVE, Facet.SCHEDULE) if facts.setting.get(facet)]
    yield Link(
        Stage.ADAPTIVE,
        Finding.BASELINE_INVALID,
        Confidence.POSSIBLE,
        _(
            "the number of drafted or verified tokens follows the load, which moves "
            "acceptance by design; goodput and P99 decide whether it pays"
        ),
        tuple(_("in effect: {facet}").format(facet=facet.value) for facet in settings),
        next=(
            Step(
                _("serve with a constant num_speculative_tokens"),
                _("a figure that is back says the adaptation, not the draft"),
            ),
        ),
    )


def _host(facts: Facts) -> Iterator[Link]:
    for device in facts.devices:
        if device.finding is Finding.HARDWARE:
            steps = steps_of_unwell_device()
            yield _link(Stage.HOST, device, confidence=Confidence.POSSIBLE, steps=steps)


def _unknown(facts: Facts, links: list[Link]) -> Iterator[Link]:
    """Say that nothing explains it, unless a link after acceptance does with some confidence."""
    faults = facts.said(ACCEPTANCE | SPEED | ENDS)
    exonerated = facts.off_failure is not None and not facts.said(ACCEPTANCE)
    if not faults or exonerated:
        return
    reasons = {Stage.CONFIGURATION, Stage.KNOWN_FIX, Stage.STEP_COST, Stage.ADAPTIVE, Stage.HOST}
    if any(link.stage in reasons and link.confidence is not Confidence.POSSIBLE for link in links):
        return
    possible = any(link.stage in reasons for link in links)
    yield Link(
        Stage.UNKNOWN,
        Finding.INCONCLUSIVE,
        Confidence.POSSIBLE,
        _("none of the possible causes is shown to be it")
        if possible
        else _("no known cause fits"),
        next=() if facts.sampled or facts.devices else steps_of_device(facts.place),
    )


def _exonerated(facts: Facts) -> Iterator[str]:
    ended = facts.said(ENDS)
    if ended and facts.off_failure is not None:
        yield _("speculation: a launch without it failed too")
    if facts.said(SPEED) and facts.healthy and not facts.said(ACCEPTANCE):
        yield _("the draft: {healthy}").format(healthy=facts.healthy)
    if facts.in_effect and not facts.said(frozenset({Finding.CONFIG_NOT_IN_EFFECT})):
        yield _("the configuration: {in_effect}").format(in_effect=facts.in_effect)
    if facts.said(ACCEPTANCE) and facts.same_texts:
        yield _("the target and the devices under it: {same_texts}").format(
            same_texts=facts.same_texts
        )
    if facts.sampled and facts.devices_clear and not facts.devices:
        yield _("the devices: npu-smi shows none that is unwell or shared")


def _on_ledger(facts: Facts, causes: Causes | None) -> str | None:
    if causes is None:
        return facts.unasked
    if causes.unknown:
        return causes.unknown
    against = sum(fix.fits is False for fix in causes.fixes)
    left = len(causes.fixes) - against
    told = (
        _("rows that may matter: {fixes}").format(fixes=left)
        if _open(facts)
        else _("rows that may be behind it: {fixes}").format(fixes=left)
    )
    if against:
        told += _(", contradicted by the figures: {against}").format(against=against)
    return _("asked about {release}, up to {as_of}: {told}").format(
        release=causes.release, as_of=causes.as_of, told=told
    )


def _link(
    stage: Stage,
    conclusion: Conclusion,
    *,
    confidence: Confidence = Confidence.SHOWN,
    evidence: tuple[str, ...] = (),
    steps: tuple[Step, ...] = (),
) -> Link:
    assert conclusion.finding is not None
    return Link(
        stage=stage,
        finding=conclusion.finding,
        confidence=confidence,
        sentence=conclusion.reason,
        evidence=tuple(dict.fromkeys((*conclusion.evidence, *evidence))),
        signature=conclusion.signature,
        next=tuple(dict.fromkeys(steps)),
    )
