"""The names of the series that a release exports."""

import msgspec

from specfloor.catalog.model import Release

DRAFTS = "drafts"
DRAFT_TOKENS = "draft_tokens"
ACCEPTED_TOKENS = "accepted_tokens"
BY_POSITION = "accepted_tokens_per_pos"


class Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How series are spelled and chosen.

    ``counters``: whether there are V1's counters; ``gauges``: whether there are V0's gauges.
    ``match`` are further label matchers for every series, such as ``namespace="prod"``.
    """

    prefix: str = "vllm:"
    counters: bool = True
    gauges: bool = False
    match: str = ""

    def counter(self, what: str, more: str = "") -> str:
        """Return the selector of a counter about drafts."""
        return self.series(f"spec_decode_num_{what}_total", more)

    def series(self, name: str, more: str = "") -> str:
        """Return the selector of any series of the server."""
        matchers = ",".join(filter(None, (self.match, more)))
        return f"{self.prefix}{name}{f'{{{matchers}}}' if matchers else ''}"


def names_of(release: Release | None, prefix: str = "vllm:", match: str = "") -> Names:
    """Return the names of a release.

    Without one, or where nothing is known of its signals, they are V1's, which have been the same
    since vLLM 0.8.5 and are what every engine since exports.
    """
    signals = release.signals if release is not None else None
    if signals is None or signals.counters is not False:
        gauges = signals is not None and signals.v0_gauges is True
        return Names(prefix, counters=True, gauges=gauges, match=match)
    return Names(prefix, counters=False, gauges=signals.v0_gauges is not False, match=match)
