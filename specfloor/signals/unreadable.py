"""Why a rung gives no counts, as a value rather than a silent None."""

from enum import StrEnum

import msgspec


class Reason(StrEnum):
    """The kinds of reason."""

    FAILED = "failed"
    """The request failed, so what it drafted is not known in full."""
    ABSENT = "absent"
    """The server did not send the evidence."""
    INCONSISTENT = "inconsistent"
    """The evidence contradicts itself."""
    MERGED_CHUNKS = "merged_chunks"
    """A chunk holds the tokens of several steps."""
    DRAFTS_UNKNOWN = "drafts_unknown"
    """Steps draft any number of tokens up to k: what was accepted is known, what drafted is not."""


class Unreadable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No counts, the reason, and one sentence with the particulars."""

    reason: Reason
    sentence: str
