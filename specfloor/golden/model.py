"""The golden file: what acceptance is where everything works, with the conditions it holds under.

The format is described in ``docs/golden.md`` and by ``golden.schema.json`` beside this module.
"""

import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from specfloor.errors import UsageError
from specfloor.signals.counts import Rung

FORMAT: Final = "specfloor-golden"
VERSION = 1
"""Version of the format. A field that readers of the version do not know makes a new one."""

Share = Annotated[float, msgspec.Meta(ge=0, le=1, description="a fraction, 0 to 1")]
Length = Annotated[float, msgspec.Meta(ge=1, description="tokens a step, the bonus token counted")]
Count = Annotated[int, msgspec.Meta(ge=1)]
Name = Annotated[str, msgspec.Meta(min_length=1)]


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An interval of confidence ``level``; ``method`` says in words how it was made."""

    low: float
    high: float
    level: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    method: str

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"the interval ends at {self.high}, below its start {self.low}")


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A share of drafted tokens, or of steps at a position, and its interval."""

    value: Share
    interval: Bounds | None = None


class TokensPerStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An acceptance length and its interval."""

    value: Length
    interval: Bounds | None = None


class Conditions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the figures were found under, and what makes them another's when it changes.

    ``fingerprint`` is the SHA-256 of the prompt set (ids, domains and messages, sorted by id);
    ``prompts`` its size, all of which were measured. ``sampling`` is every parameter that was
    sent, ``template`` the arguments of the chat template that select the tier. ``checkpoint`` is
    what was served, ``draft`` the draft's checkpoint where it has one. ``evidence`` is where the
    counts are from: A the per-request object of the response, B the stream, C the counters.
    """

    release: Name
    hardware: Name
    fingerprint: Name
    prompts: Count
    sampling: dict[str, Any]
    template: dict[str, Any] = {}
    checkpoint: str | None = None
    draft: str | None = None
    vllm: str | None = None
    evidence: Rung | None = None


class Golden(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The acceptance of one family, method, k, workload and tier on one class of hardware.

    ``rate`` is the mean over requests, each weighing the same; ``rate_pooled`` and ``length`` are
    pooled: counts are added before they are divided. ``per_position[i]`` is the share of steps that
    kept at least i + 1 drafted tokens. ``steps`` is how many steps all of it rests on.
    """

    family: Name
    method: Name
    k: Count
    workload: Name
    tier: Name
    concurrency: Count
    date: datetime.date
    conditions: Conditions
    rate: Rate
    rate_pooled: Rate
    length: TokensPerStep
    per_position: tuple[Rate, ...] = ()
    steps: Count

    def __post_init__(self) -> None:
        shares = [rate.value for rate in self.per_position]
        if len(shares) > self.k:
            raise ValueError(f"{len(shares)} positions with k = {self.k}")
        if shares != sorted(shares, reverse=True):
            raise ValueError("a later position is kept more often than an earlier one")
        if self.length.value > self.k + 1:
            raise ValueError(f"a length of {self.length.value:g} with k = {self.k}")
        rates: tuple[Rate | TokensPerStep, ...] = (self.rate, self.rate_pooled, *self.per_position)
        for figure in (*rates, self.length):
            inner = figure.interval
            if inner and not inner.low <= figure.value <= inner.high:
                raise ValueError(f"{figure.value:g} lies outside its interval")


class GoldenFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole file: ``owner`` is who measured it, ``source`` where it can be found, if it is
    published."""

    format: Literal["specfloor-golden"]
    version: Annotated[int, msgspec.Meta(ge=1)]
    owner: Name
    golden: tuple[Golden, ...]
    source: str | None = None


class _Head(msgspec.Struct):
    format: str = ""
    version: int = 0


def decode(data: bytes, name: str) -> GoldenFile:
    """Read a golden file; ``name`` is what to call it.

    Raises:
        UsageError: it is no golden file, its version is newer than this specfloor knows, or
            something in it is not as the format has it.
    """
    try:
        # the version first: a newer one may have fields that this one does not know
        head = msgspec.json.decode(data, type=_Head)
    except msgspec.DecodeError as error:
        raise UsageError(f"{name} is no golden file: {error}") from None
    if head.format != FORMAT:
        raise UsageError(f"{name} is no golden file: its format is not {FORMAT!r}")
    if head.version > VERSION:
        raise UsageError(
            f"{name} has version {head.version} of the golden format and this specfloor reads up "
            f"to {VERSION}; update specfloor"
        )
    try:
        return msgspec.json.decode(data, type=GoldenFile)
    except msgspec.DecodeError as error:
        raise UsageError(f"{name} is not as the golden format has it: {error}") from None


def encode(golden: GoldenFile) -> bytes:
    """Return a golden file as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(golden, order="deterministic"), indent=1) + b"\n"


def read(path: Path) -> GoldenFile:
    """Read a golden file from disk; UsageError as in :func:`decode`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); name a golden file") from None
    return decode(data, str(path))


def schema() -> bytes:
    """Return the JSON schema of the format."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{FORMAT}, version {VERSION}",
        **msgspec.json.schema(GoldenFile),
    }
    return msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=1) + b"\n"
