"""A soak as it went: its requests in order, its parts, its engines, its prompts by length."""

import itertools
from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np

from specfloor.judge.drift import Sample
from specfloor.judge.estimate import mean_estimate
from specfloor.judge.evidence import Block
from specfloor.judge.verdict import Estimate
from specfloor.runs.records import RequestRecord
from specfloor.signals.choose import choose
from specfloor.signals.counts import RequestCounts

BANDS = 4
"""Bands of prompt lengths, with as many prompts in each."""


class Segment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One part of a soak, from ``starts_s`` on; ``by_engine`` is each engine's acceptance rate."""

    starts_s: float
    requests: int
    mean: Estimate | None
    by_engine: dict[str, float] = {}


class Band(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prompts of ``shortest`` to ``longest`` tokens; ``mean`` is over them."""

    shortest: int
    longest: int
    mean: Estimate


class Soak(msgspec.Struct, frozen=True):
    """The requests of a soak; times are in seconds since its first request was sent.

    ``samples`` and ``counts`` are of the requests that drafted, in the order they were sent;
    ``lengths`` maps prompts to their tokens.
    """

    samples: tuple[Sample, ...]
    counts: tuple[RequestCounts, ...]
    segments: tuple[Segment, ...]
    lengths: dict[str, int]
    requests: int
    failed: int
    seconds: float
    last_healthy_s: float
    gaps: tuple[str, ...]


def soak_of(blocks: Sequence[Block], *, k: int, drafts_k: bool) -> Soak:
    """Put the parts of a soak together.

    Args:
        blocks: in the order they were sent, each with requests.
        k: ``num_speculative_tokens``.
        drafts_k: whether every step of the method drafts exactly k tokens.
    """
    zero = min(request.started_s for block in blocks for request in block.requests)
    samples: list[Sample] = []
    drafting: list[RequestCounts] = []
    segments: list[Segment] = []
    gaps: dict[str, None] = {}
    sent = 0
    for block in blocks:
        signals = choose(block.requests, block.counters, k=k, drafts_k=drafts_k)
        gaps |= dict.fromkeys(signals.gaps if not signals.requests else ())
        good = [request for request in block.requests if request.ok]
        rates = []
        # a rung has counts of every good request or of none
        for request, counts in zip(good, signals.requests, strict=False):
            if (rate := counts.counts.rate) is not None:
                rates.append(rate)
                drafting.append(counts)
                samples.append(_sample(request, sent, zero, rate))
        sent += len(block.requests)
        segments.append(
            Segment(
                starts_s=round(block.requests[0].started_s - zero, 3),
                requests=len(block.requests),
                mean=mean_estimate(rates, low=0, high=1) if rates else None,
                by_engine=_by_engine(block),
            )
        )
    every = [request for block in blocks for request in block.requests]
    ends = [request.started_s + request.finished_s - zero for request in every if request.ok]
    return Soak(
        samples=tuple(samples),
        counts=tuple(drafting),
        segments=tuple(segments),
        lengths={r.prompt_id: r.prompt_tokens for r in every if r.prompt_tokens},
        requests=sent,
        failed=sum(not request.ok for request in every),
        seconds=max(request.started_s + request.finished_s - zero for request in every),
        last_healthy_s=round(max(ends, default=0.0), 3),
        gaps=tuple(gaps),
    )


def bands_of(soak: Soak) -> tuple[Band, ...]:
    """Return the acceptance by length of the prompt, each prompt once with its mean rate.

    Empty with fewer than two prompts a band, or where all are of one length.
    """
    rates: dict[str, list[float]] = defaultdict(list)
    for sample in soak.samples:
        if sample.prompt_id in soak.lengths:
            rates[sample.prompt_id].append(sample.rate)
    ordered = sorted(rates, key=lambda prompt: (soak.lengths[prompt], prompt))
    if len(ordered) < 2 * BANDS or soak.lengths[ordered[0]] == soak.lengths[ordered[-1]]:
        return ()
    ends = [round(len(ordered) * i / BANDS) for i in range(BANDS + 1)]
    return tuple(
        Band(
            shortest=soak.lengths[prompts[0]],
            longest=soak.lengths[prompts[-1]],
            mean=mean_estimate([float(np.mean(rates[p])) for p in prompts], low=0, high=1),
        )
        for prompts in (ordered[a:b] for a, b in itertools.pairwise(ends))
    )


def _sample(request: RequestRecord, before: int, zero: float, rate: float) -> Sample:
    return Sample(
        number=before + request.index + 1,
        at_s=round(request.started_s - zero, 3),
        prompt_id=request.prompt_id,
        rate=rate,
    )


def _by_engine(block: Block) -> dict[str, float]:
    around = next((c for c in block.counters if c.index is None and not c.problem), None)
    if around is None:
        return {}
    rates = {engine: counts.rate for engine, counts in sorted(around.by_engine.items())}
    return {engine: rate for engine, rate in rates.items() if rate is not None}
