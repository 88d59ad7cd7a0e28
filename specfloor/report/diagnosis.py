"""What a diagnosis says at the end of a paragraph: likely causes, what is cleared, what is next."""

from specfloor.i18n import _, ended
from specfloor.triage.diagnosis import Diagnosis, Stage

_SHOWN = 3
"""Causes and experiments in a paragraph; JSON has them all."""


def cause_lines(diagnosis: Diagnosis) -> list[str]:
    """Return the lines that follow what was measured, surest cause first; none without a cause."""
    causes = diagnosis.causes
    if not (causes or diagnosis.exonerated):
        return []
    lines = [_("Likely cause:")]
    for link in diagnosis.links:
        if link.stage is Stage.ACCEPTANCE and link.evidence:
            shape = (
                _("signature {signature}").format(signature=link.signature)
                if link.signature
                else _("no signature")
            )
            lines.append(
                ended(_("  {shape}: {told}").format(shape=shape, told=_("; ").join(link.evidence)))
            )
    lines += [
        ended(
            _("  {confidence} ({stage}): {sentence}").format(
                confidence=_(link.confidence), stage=_(link.stage), sentence=link.sentence
            )
        )
        for link in causes[:_SHOWN]
    ]
    if len(causes) > _SHOWN:
        lines.append(
            _("  and {causes} more that are possible.").format(causes=len(causes) - _SHOWN)
        )
    lines += [
        _("  not {text}.").format(text=text.removesuffix(".")) for text in diagnosis.exonerated
    ]
    if diagnosis.ledger:
        lines.append(_("  fix ledger: {ledger}.").format(ledger=diagnosis.ledger))
    # what explains nothing yet, and the devices, are looked into last
    first = [link for link in causes[:1] if link.stage not in (Stage.HOST, Stage.UNKNOWN)]
    steps = [*(step for link in first for step in link.next), *diagnosis.next]
    lines += [
        _("  next: {step}.").format(step=step) for step in list(dict.fromkeys(steps))[:_SHOWN]
    ]
    return lines
