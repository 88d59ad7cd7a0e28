"""Whether a draft's configuration agrees with its target's, before anything is started. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec

from specfloor.i18n import _
from specfloor.judge.configuration_checks import Check
from specfloor.judge.verdict import Verdict
from specfloor.triage.findings import Finding

_READS_HIDDEN_STATES = ("mtp", "eagle", "eagle3", "dflash", "dspark", "medusa")
"""Methods whose draft starts from what the target computed, and so shares its width."""
_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
"""Names of the number of MTP layers, by model line."""
_ALIKE = (
    "swiglu_limit",
    "swiglu_limits",
    "hidden_act",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "partial_rotary_factor",
    "tie_word_embeddings",
)
"""What an MTP layer computes as the layers of its target do. Other drafts are trained with values
of their own, so that a difference there is shown and proves nothing."""


class CheckpointConfig(msgspec.Struct, frozen=True):
    """What the files of a checkpoint say: ``model`` is ``config.json``, that of its text model.

    ``quantised`` names the method, empty for none; ``rotated`` is whether its hidden states are,
    None without the file that says so.
    """

    model: dict[str, Any]
    quantised: str = ""
    rotated: bool | None = None


class DraftFit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on a pair of configurations."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    reason: str
    checks: tuple[Check, ...]


def judge_draft_fit(
    target: CheckpointConfig, draft: CheckpointConfig | None, method: str
) -> DraftFit:
    """Judge a draft of ``method``; ``draft`` is None when it is part of the target."""
    if draft is None:
        checks = tuple(_of_own_layers(target, method))
    else:
        checks = (*_of_pair(target, draft, method), *_of_rotation(target, draft, method))
    broken = [check for check in checks if check.holds is False]
    if broken:
        reason = _("; ").join(
            _("{what}: the target has {asked}, the draft {found}").format(
                what=c.what, asked=c.asked, found=c.found
            )
            for c in broken
        )
        return DraftFit(Verdict.FAIL, (Finding.CONFIG_NOT_IN_EFFECT,), reason, checks)
    held = [check.what for check in checks if check.holds]
    if not held:
        reason = _("neither configuration has anything to compare")
        return DraftFit(Verdict.NO_DATA, (Finding.NO_DATA,), reason, checks)
    shown = [
        _("{what} {asked} and {found}").format(what=c.what, asked=c.asked, found=c.found)
        for c in checks
        if c.holds is None
    ]
    reason = _("target and draft agree in {held}").format(held=_(", ").join(held))
    if shown:
        reason += _("; they differ, which may be meant, in {shown}").format(
            shown=_("; ").join(shown)
        )
    return DraftFit(Verdict.PASS, (Finding.EXPECTED,), reason, checks)


def _of_own_layers(target: CheckpointConfig, method: str) -> Iterator[Check]:
    if method != "mtp":
        return
    counts = [target.model[name] for name in _LAYERS if name in target.model]
    # a model line that has another name for them says nothing
    if counts:
        layers = max(int(count or 0) for count in counts)
        yield Check(_("MTP layers"), _("at least 1"), str(layers), layers >= 1)


def _of_pair(target: CheckpointConfig, draft: CheckpointConfig, method: str) -> Iterator[Check]:
    ours, theirs = target.model, draft.model
    if (vocabulary := _both(ours, theirs, "vocab_size")) is not None:
        yield _equal(_("vocabulary"), *vocabulary, strict=True)
    reduced, whole = theirs.get("draft_vocab_size"), ours.get("vocab_size")
    if isinstance(reduced, int) and isinstance(whole, int):
        fits = reduced <= whole
        yield Check(
            _("the draft's reduced vocabulary"),
            _("{whole} tokens").format(whole=whole),
            str(reduced),
            fits,
        )
    if method in _READS_HIDDEN_STATES and "hidden_size" in ours:
        width = theirs.get("target_hidden_size") or theirs.get("hidden_size")
        if width is not None:
            yield _equal(_("hidden size"), ours["hidden_size"], width, strict=True)
    strict = method == "mtp"
    for name in _ALIKE:
        if name in ours or name in theirs:
            yield _equal(name, ours.get(name), theirs.get(name), strict=strict)
    yield _equal(
        _("quantisation"), target.quantised or _("none"), draft.quantised or _("none"), strict=False
    )


def _of_rotation(target: CheckpointConfig, draft: CheckpointConfig, method: str) -> Iterator[Check]:
    """Yield whether hidden states are rotated in both: a draft must see them as it was trained.

    A release can rotate an unrotated draft when it loads it, and which do is the ledger's to say;
    none can take a rotation out of a draft whose target has none.
    """
    if method not in _READS_HIDDEN_STATES or not (target.rotated or draft.rotated):
        return
    ours, theirs = (_rotated(one.rotated) for one in (target, draft))
    lost = bool(draft.rotated) and not target.rotated
    holds = True if target.rotated and draft.rotated else False if lost else None
    yield Check(_("rotation of the hidden states"), ours, theirs, holds)


def _both(one: dict[str, Any], other: dict[str, Any], name: str) -> tuple[Any, Any] | None:
    return (one[name], other[name]) if name in one and name in other else None


def _equal(what: str, target: object, draft: object, *, strict: bool) -> Check:
    same = target == draft
    return Check(what, _plain(target), _plain(draft), True if same else False if strict else None)


def _plain(value: object) -> str:
    return _("none") if value is None else str(value)


def _rotated(rotated: bool | None) -> str:
    return _("rotated") if rotated else _("not rotated")
