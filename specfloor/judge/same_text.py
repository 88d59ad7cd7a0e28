"""Whether both arms gave the same text."""

from collections.abc import Iterable

import msgspec

from specfloor.i18n import _
from specfloor.runs.records import RequestRecord, ToolCall


class OutputAgreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of ``compared`` prompts that both arms answered, ``same`` got the same text."""

    same: int
    compared: int

    @property
    def share(self) -> float:
        """The share of the prompts with the same text."""
        return self.same / self.compared

    def __str__(self) -> str:
        return _("{same} of {compared}").format(same=self.same, compared=self.compared)


def generated(record: RequestRecord) -> tuple[str, str, tuple[ToolCall, ...]]:
    """Return all that an answer holds: its text, as a hash, its reasoning, its calls of tools."""
    return record.text_sha256, record.reasoning, record.tool_calls


def compare_outputs(
    on: Iterable[RequestRecord], off: Iterable[RequestRecord]
) -> OutputAgreement | None:
    """Compare the texts of two arms prompt by prompt; None when no prompt has both.

    Equality is reported and never judged: without any speculation some greedy texts differ between
    two runs, because sums in another order round near ties another way.
    """
    texts = {r.prompt_id: generated(r) for r in off if r.ok}
    pairs = [texts[r.prompt_id] == generated(r) for r in on if r.ok and r.prompt_id in texts]
    return OutputAgreement(sum(pairs), len(pairs)) if pairs else None
