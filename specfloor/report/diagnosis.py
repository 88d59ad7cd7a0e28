"""What a diagnosis says at the end of a paragraph: likely causes, what is cleared, what is next."""

from specfloor.triage.diagnosis import Diagnosis, Stage

_SHOWN = 3
"""Causes and experiments in a paragraph; JSON has them all."""


def cause_lines(diagnosis: Diagnosis) -> list[str]:
    """Return the lines that follow what was measured, surest cause first; none without a cause."""
    causes = diagnosis.causes
    if not (causes or diagnosis.exonerated):
        return []
    lines = ["Likely cause:"]
    for link in diagnosis.links:
        if link.stage is Stage.ACCEPTANCE and link.evidence:
            shape = f"signature {link.signature}" if link.signature else "no signature"
            lines.append(f"  {shape}: {'; '.join(link.evidence)}.")
    lines += [f"  {link.confidence} ({link.stage}): {link.sentence}." for link in causes[:_SHOWN]]
    if len(causes) > _SHOWN:
        lines.append(f"  and {len(causes) - _SHOWN} more that are possible.")
    lines += [f"  not {text.removesuffix('.')}." for text in diagnosis.exonerated]
    if diagnosis.ledger:
        lines.append(f"  fix ledger: {diagnosis.ledger}.")
    steps = [*(step for link in causes[:1] for step in link.next), *diagnosis.next]
    lines += [f"  next: {step}." for step in list(dict.fromkeys(steps))[:_SHOWN]]
    return lines
