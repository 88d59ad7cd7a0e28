"""What the shape of a loss says of its cause: the positions, and time."""

from collections.abc import Sequence

from specfloor.ledger.model import Signature
from specfloor.triage.tally import Tally

DEAD_NEXT = 0.02
"""Chance that a position is accepted when the one before it was, below which it is dead. A draft
that works keeps tens of percent, down to the last of 15 positions."""
DEAD_LEAST = 50
"""Drafts accepted at a position below which nothing is said of the next: 50 at a chance of 0.1
would leave the next with none in 0.5 % of the cases, and drafts keep far more."""
_FULL_DRAFTS = 0.9
"""Share of k × drafts that must have been drafted: a position that was not is not dead."""
POSITION_DROP = 0.08
"""Fall of the acceptance of one position that is told, as a fraction of the drafts."""


def dead_positions(tally: Tally) -> tuple[int, ...]:
    """Return the positions, from 0, that accept next to nothing though the one before works."""
    shown = tally.positions
    if not shown or tally.draft_tokens < _FULL_DRAFTS * len(shown) * (tally.drafts or 0):
        return ()
    for i in range(1, len(shown)):
        before, here = shown[i - 1], shown[i]
        if before is None or here is None or before < DEAD_LEAST:
            continue
        if here < DEAD_NEXT * before:
            return tuple(range(i, len(shown)))
    return ()


def fallen_positions(tally: Tally, expected: Sequence[float | None]) -> tuple[int, ...]:
    """Return the positions, from 0, that accept ``POSITION_DROP`` less than expected, or worse."""
    pairs = zip(tally.per_position, expected, strict=False)
    return tuple(
        i
        for i, (here, there) in enumerate(pairs)
        if here is not None and there is not None and there - here > POSITION_DROP
    )


def signature_of_loss(tally: Tally, expected: Sequence[float | None]) -> Signature | None:
    """Return which of the ledger's signatures the positions show; None when they do not tell."""
    first = tally.per_position[0] if tally.per_position else None
    fallen = fallen_positions(tally, expected)
    if first is not None and fallen:
        return Signature.ALL_POSITIONS if fallen[0] == 0 else Signature.LATER_POSITIONS
    return Signature.LATER_POSITIONS if dead_positions(tally) else None


NEXT: dict[Signature, tuple[str, ...]] = {
    Signature.ZERO: (
        "compare the draft's head, rotation and vocabulary with the checkpoint's: "
        "`specfloor fixes --release RELEASE --family FAMILY --method METHOD` lists the known ones",
        "start once with --enforce-eager: zero there too rules the graph out",
        "start once with k = 1: zero there too rules out what draft steps share",
    ),
    Signature.ALL_POSITIONS: (
        "start once with --enforce-eager and once without quantisation: which of them brings "
        "position 0 back tells graph from weights",
        "switch FlashComm, DSA-CP and the KV pool off one at a time: they hand the draft its "
        "hidden states",
    ),
    Signature.LATER_POSITIONS: (
        "start once with k = 1: if position 0 stays as it is, look at what draft steps share "
        "(lengths, slots, positions) on this release",
        "start once with --enforce-eager: positions that come back point at captured metadata",
    ),
    Signature.DECAYS: (
        "restart the server and compare the first minutes: a rate that is back says state leaks",
        "run the same load with prefix caching off, then with fewer requests at once",
    ),
    Signature.LONG_INPUT: (
        "send the same prompts cut to 1,000 tokens: a rate that is back says it is the length",
    ),
    Signature.TOO_GOOD: (
        "compare the answers with those of a server without speculation at temperature 0",
        "look at the texts for repetition: a loop is accepted whole",
    ),
}
"""The experiments that tell the causes of a signature apart, cheapest first."""
