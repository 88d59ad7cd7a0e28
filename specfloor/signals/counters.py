"""Rung C: differences of the engine's ``/metrics`` counters.

Names are those of vLLM's speculative decoding counters since V1, with or without ``_total``, with
``vllm:`` or, behind gateways that rename, another prefix. ``_created`` series are times, not
counters: they only tell that a counter was made anew.
"""

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from specfloor.i18n import _
from specfloor.signals.counts import DraftCounts, pooled

_COUNTER = re.compile(
    r"(?:[\w:]*[:_])?spec_decode_num_"
    r"(drafts|draft_tokens|accepted_tokens|accepted_tokens_per_pos)(?:_total)?"
)
_CREATED = re.compile(r"(?:[\w:]*[:_])?spec_decode_num_drafts_created")
_WANTED_LINE = re.compile(
    r"^(?:[\w:]*spec_decode_num_|process_start_time_seconds[ {]).*$", re.MULTILINE
)
_SAMPLE_LINE = re.compile(
    r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{.*\})?[ \t]+(?:[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?|NaN|[-+]?Inf)"
    r"(?:[ \t]+-?[0-9.]+)?[ \t]*\r?$",
    re.MULTILINE,
)
_TOTALS = ("drafts", "draft_tokens", "accepted_tokens")
_MOST_POSITIONS = 1000
"""Draft tokens of a step that a scrape may show; the largest k in use has two digits. One damaged
digit in a label must not become a list of a thousand million positions."""


class Problem(StrEnum):
    """Why a scrape, or a pair of them, gives no counts."""

    NO_ANSWER = "no_answer"
    EMPTY = "empty"
    NOT_METRICS = "not_metrics"
    FOREIGN = "foreign"
    """Metrics of another server software."""
    NO_SPECULATION = "no_speculation"
    """Metrics without the speculation series: the server has no speculative configuration."""
    INCOMPLETE = "incomplete"
    """An engine lacks one of drafts, draft tokens and accepted tokens."""
    DAMAGED = "damaged"
    """A counter or a position that would mean an impossible number of draft tokens a step."""
    RESET = "counter_reset"
    """A counter fell, or the process is another one: the server restarted in between."""
    GONE = "gone"
    """An engine is in one scrape only."""


class EngineCounters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The counters of one engine since it started; ``positions`` holds the positions there are.

    ``created`` is the Unix time at which its counters were made, where the text says it.
    """

    model: str | None
    labels: tuple[tuple[str, str], ...]
    steps: int
    drafted: int
    accepted: int
    positions: dict[int, int]
    created: float | None = None


class Scrape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one ``/metrics`` text says about speculation.

    ``process_started`` is a Unix time, None when the text has no such series or several.
    ``software`` names the server of a ``FOREIGN`` text.
    """

    engines: tuple[EngineCounters, ...] = ()
    process_started: float | None = None
    problem: Problem | None = None
    sentence: str = ""
    software: str | None = None


class EngineDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one engine drafted and accepted between two scrapes.

    ``engine`` is the value of its ``engine`` label, or the labels that tell it from the others;
    ``"0"`` for a lone engine without such a label. A position without a series is None, which is
    not 0.
    """

    model: str | None
    engine: str
    labels: tuple[tuple[str, str], ...]
    steps: int
    drafted: int
    accepted: int
    per_position: tuple[int | None, ...]

    @property
    def counts(self) -> DraftCounts:
        """The counts; without positions when one of them is not known."""
        known = tuple(p for p in self.per_position if p is not None)
        positions = known if len(known) == len(self.per_position) else ()
        return DraftCounts(self.steps, self.drafted, self.accepted, positions)


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """After minus before; with a ``problem``, ``engines`` are those it does not touch."""

    engines: tuple[EngineDifference, ...] = ()
    problem: Problem | None = None
    sentence: str = ""

    def of_model(self, model: str | None) -> tuple[EngineDifference, ...]:
        """Return the engines of one model.

        An endpoint with a single model gives it whatever ``model`` says, since gateways rename;
        one with several gives those named so, and none when the name is not among them.
        """
        if len({engine.model for engine in self.engines}) <= 1:
            return self.engines
        return tuple(engine for engine in self.engines if engine.model == model)

    def by_engine(self, model: str | None = None) -> dict[str, DraftCounts]:
        """Return the counts of one model per engine label."""
        return {engine.engine: engine.counts for engine in self.of_model(model)}


def read_counters(text: str) -> Scrape:
    """Read the speculation counters of a ``/metrics`` text.

    Only the lines that matter are parsed: a scrape has hundreds of others, and one is taken around
    every request at concurrency 1.
    """
    # it brings an HTTP server along, for which a log should not wait
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    wanted = "\n".join(_WANTED_LINE.findall(text)) + "\n"
    try:
        samples = [
            sample for family in text_string_to_metric_families(wanted) for sample in family.samples
        ]
    except ValueError as error:
        return Scrape(
            problem=Problem.NOT_METRICS,
            sentence=_("a line of the metrics is broken: {error}").format(error=error),
        )
    started = [
        sample.value
        for sample in samples
        if sample.name == "process_start_time_seconds" and math.isfinite(sample.value)
    ]
    values: dict[tuple[tuple[str, str], ...], dict[str, int]] = defaultdict(dict)
    positions: dict[tuple[tuple[str, str], ...], dict[int, int]] = defaultdict(dict)
    created: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in samples:
        labels = dict(sample.labels)
        position = labels.pop("position", None)
        key = tuple(sorted(labels.items()))
        if _CREATED.fullmatch(sample.name) and math.isfinite(sample.value):
            created[key] = sample.value
        if not (match := _COUNTER.fullmatch(sample.name)):
            continue
        if damage := _damage(sample.name, sample.value, position):
            return _damaged(key, damage)
        if match[1] != "accepted_tokens_per_pos":
            values[key][match[1]] = round(sample.value)
        elif position is not None and position.isdecimal():
            positions[key][int(position)] = round(sample.value)
    if not values:
        return _without_speculation(text)
    engines = []
    for key, counters in values.items():
        if missing := [name for name in _TOTALS if name not in counters]:
            return Scrape(
                problem=Problem.INCOMPLETE,
                sentence=_("the metrics of {engine} have no spec_decode_num_{missing}").format(
                    engine=_spell(key), missing=missing[0]
                ),
            )
        steps, drafted, accepted = (counters[name] for name in _TOTALS)
        if drafted > _MOST_POSITIONS * max(steps, 1):
            return _damaged(
                key,
                _("{drafted} draft tokens in {steps} drafts").format(drafted=drafted, steps=steps),
            )
        model = dict(key).get("model_name")
        rest = tuple(pair for pair in key if pair[0] != "model_name")
        engines.append(
            EngineCounters(model, rest, steps, drafted, accepted, positions[key], created.get(key))
        )
    return Scrape(tuple(engines), process_started=started[0] if len(started) == 1 else None)


def since_start(scrape: Scrape) -> Difference:
    """Return the counts of a single scrape, from the start of each engine."""
    if scrape.problem:
        return Difference(problem=scrape.problem, sentence=scrape.sentence)
    nothing = {
        (e.model, e.labels): EngineCounters(
            e.model, e.labels, 0, 0, 0, dict.fromkeys(e.positions, 0)
        )
        for e in scrape.engines
    }
    return _subtract(nothing, scrape.engines)


def difference(before: Scrape, after: Scrape) -> Difference:
    """Return after minus before, per engine.

    Without usable counters on both sides the result has a problem; a negative difference is never
    given.
    """
    for scrape, sentence in (
        (before, _("{sentence} (before the requests)")),
        (after, _("{sentence} (after the requests)")),
    ):
        if scrape.problem:
            told = sentence.format(sentence=scrape.sentence)
            return Difference(problem=scrape.problem, sentence=told)
    restarted = (
        before.process_started is not None
        and after.process_started is not None
        and before.process_started != after.process_started
    )
    if restarted:
        return Difference(
            problem=Problem.RESET, sentence=_("the server restarted between the scrapes")
        )
    return _subtract({(e.model, e.labels): e for e in before.engines}, after.engines)


def total(by_engine: Mapping[str, DraftCounts]) -> DraftCounts | None:
    """Return the sum over engines; None, not zero, when there is no engine."""
    return pooled(by_engine.values()) if by_engine else None


def _subtract(
    before: dict[tuple[str | None, tuple[tuple[str, str], ...]], EngineCounters],
    after: tuple[EngineCounters, ...],
) -> Difference:
    names = _engine_names(after)
    found: list[EngineDifference] = []
    problem: Problem | None = None
    sentence = ""
    for late in after:
        early = before.get((late.model, late.labels))
        if early is None:
            problem, sentence = (
                Problem.GONE,
                _("{engine} is in the last scrape only").format(engine=_spell(late.labels)),
            )
            continue
        steps, drafted, accepted = (
            late.steps - early.steps,
            late.drafted - early.drafted,
            late.accepted - early.accepted,
        )
        positions = {
            position: value - early.positions[position]
            for position, value in late.positions.items()
            if position in early.positions
        }
        made_anew = None not in (early.created, late.created) and early.created != late.created
        if made_anew or min(steps, drafted, accepted, *positions.values()) < 0:
            problem = Problem.RESET
            sentence = _("the counters of {engine} started anew between the scrapes").format(
                engine=_spell(late.labels)
            )
            continue
        # Positions that have no series at all still show in the drafts: k is drafted over steps.
        k = max(max(late.positions, default=-1) + 1, math.ceil(late.drafted / (late.steps or 1)))
        found.append(
            EngineDifference(
                model=late.model,
                engine=names[late.model, late.labels],
                labels=late.labels,
                steps=steps,
                drafted=drafted,
                accepted=accepted,
                per_position=tuple(positions.get(position) for position in range(k)),
            )
        )
    if lost := before.keys() - {(e.model, e.labels) for e in after}:
        problem, sentence = (
            Problem.GONE,
            _("{engine} is in the first scrape only").format(engine=_spell(min(lost)[1])),
        )
    return Difference(tuple(found), problem, sentence)


def _engine_names(
    engines: tuple[EngineCounters, ...],
) -> dict[tuple[str | None, tuple[tuple[str, str], ...]], str]:
    """Name each engine by the labels in which the engines of its model differ."""
    names = {}
    for engine in engines:
        peers = [dict(e.labels) for e in engines if e.model == engine.model]
        own = dict(engine.labels)
        varying = [name for name in own if len({peer.get(name) for peer in peers}) > 1]
        if varying in ([], ["engine"]):
            name = own.get("engine", "0")
        else:
            name = ",".join(f"{label}={own[label]}" for label in varying)
        names[engine.model, engine.labels] = name
    return names


def _without_speculation(text: str) -> Scrape:
    if not text.strip():
        return Scrape(problem=Problem.EMPTY, sentence=_("the metrics are empty"))
    names = _SAMPLE_LINE.findall(text)
    if not names:
        return Scrape(
            problem=Problem.NOT_METRICS, sentence=_("the answer of the endpoint is no metrics text")
        )
    prefixes = {name.partition(":")[0] for name in names if ":" in name}
    ours = "vllm" in prefixes or any(name.startswith("vllm_") for name in names)
    if prefixes and not ours:
        software = min(prefixes)
        return Scrape(
            problem=Problem.FOREIGN,
            sentence=_("these are the metrics of {software}, not of vLLM").format(
                software=software
            ),
            software=software,
        )
    return Scrape(
        problem=Problem.NO_SPECULATION,
        sentence=_("the metrics have no speculation series: speculation is off"),
    )


def _damage(name: str, value: float, position: str | None) -> str | None:
    """Return what no counter can be, or no position; None where all is well."""
    if not (math.isfinite(value) and value >= 0):
        return f"{name} {value}"
    if position is None or not position.isdecimal():
        return None
    if len(position) > len(str(_MOST_POSITIONS)) or int(position) >= _MOST_POSITIONS:
        return _("a position {position}").format(position=position[:20])
    return None


def _damaged(labels: tuple[tuple[str, str], ...], what: str) -> Scrape:
    return Scrape(
        problem=Problem.DAMAGED,
        sentence=_("a counter of {engine} is damaged: {what} cannot be").format(
            engine=_spell(labels), what=what
        ),
    )


def _spell(labels: tuple[tuple[str, str], ...]) -> str:
    spelled = ", ".join(f"{name}={value}" for name, value in labels)
    return (
        _("the engine with {spelled}").format(spelled=spelled) if spelled else _("the only engine")
    )
