"""``/metrics`` texts: differences between scrapes, per engine, model and label; V0's gauges."""

import contextlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from specfloor.i18n import _
from specfloor.signals.counters import (
    Difference,
    EngineDifference,
    Problem,
    Scrape,
    difference,
    read_counters,
    since_start,
)
from specfloor.triage.evidence import Group, Part, Run
from specfloor.triage.foreign import NAMES, software_of_metrics
from specfloor.triage.tally import Tally, total

_NAME = re.compile(r"^(vllm[:_])spec_decode_num_draft_tokens(_total)?[ {]", re.MULTILINE)
_SAMPLE = re.compile(r"^[a-zA-Z_][\w:]*(?:\{.*\})? [-+0-9.eE]+", re.MULTILINE)
_FIRST = re.compile(
    r"^(?:# (?:HELP|TYPE) \S+|[a-zA-Z_:][\w:]*(?:\{[^\n]*\})?)(?=[ {])", re.MULTILINE
)
_SERIES = re.compile(r"^\w+[:_]spec_decode_\w+(?:\{[^\n]*\})?(?= )", re.MULTILINE)
_OURS = re.compile(r"^vllm[:_]", re.MULTILINE)
_V0 = re.compile(
    r"^vllm[:_](?P<name>spec_decode_(?:draft_acceptance_rate|efficiency|num_accepted_tokens"
    r"|num_draft_tokens|num_emitted_tokens)|generation_tokens)(?:_total)?(?:\{[^}\n]*\})? "
    r"(?P<value>[-+0-9.eE]+|NaN)",
    re.MULTILINE,
)
_V0_ONLY = re.compile(
    r"^vllm[:_]spec_decode_(?:draft_acceptance_rate|efficiency|num_emitted_tokens(?:_total)?)[ {]",
    re.MULTILINE,
)
_V1_ONLY = re.compile(r"^vllm[:_]spec_decode_num_drafts(?:_total)?[ {]", re.MULTILINE)
_TORN = 0.01
"""Share by which counters of one scrape may disagree: several processes may write them."""
_INFLATED = 1.05
"""V0 adds its running totals to its counters at every log interval; more emitted than generated
tokens give that away."""


class Gauges(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What V0 exports: rates since the server started, and counters that may be inflated.

    ``efficiency`` is emitted tokens over the most that could have been. The counters are None where
    they are missing or inflated.
    """

    draft_acceptance_rate: float | None
    system_efficiency: float | None
    accepted: int | None = None
    drafted: int | None = None
    emitted: int | None = None

    @property
    def k(self) -> int | None:
        """num_speculative_tokens, which efficiency and counters give together; None without."""
        if not self.drafted or not self.emitted or not self.system_efficiency:
            return None
        # efficiency = emitted ÷ (drafted ÷ k × (k + 1))
        most_per_draft_token = self.emitted / (self.system_efficiency * self.drafted)
        if most_per_draft_token <= 1:
            return None
        k = round(1 / (most_per_draft_token - 1))
        return k if k and abs((k + 1) / k - most_per_draft_token) < 0.01 else None


class MetricsText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One text: the counters of V1, or the gauges of V0, or the problem with it.

    ``names`` is how the counters are spelled, such as ``vllm:*_total``.
    """

    scrape: Scrape
    names: str | None = None
    gauges: Gauges | None = None


class MetricsReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the scrapes of one server say: the sum of the intervals between them.

    ``problem`` is why there is no sum, in ``sentence``; ``engines`` are then those it does not
    touch. With a ``contradiction`` the counters are damaged and there is no sum either. ``idle``
    are engines without drafts in the interval, ``unknown_positions`` those without a series.
    ``since_restart`` is set where the counters were reset. ``single``: one scrape only, so that
    everything is since the start of the server. ``counted`` is what V0's counters say, where they
    can be believed. ``lost`` is the first of a series that could not be read and was passed over.
    """

    role: str
    engines: tuple[EngineDifference, ...] = ()
    intervals: tuple[Tally, ...] = ()
    names: str | None = None
    problem: Problem | None = None
    sentence: str = ""
    software: str | None = None
    since_restart: Tally | None = None
    contradiction: str | None = None
    gauges: Gauges | None = None
    counted: Tally | None = None
    single: bool = False
    lost: Scrape | None = None

    @property
    def drafting(self) -> tuple[EngineDifference, ...]:
        """The engines that drafted something."""
        return tuple(engine for engine in self.engines if engine.steps)

    @property
    def idle(self) -> tuple[str, ...]:
        """The engines that did not, where others did."""
        return tuple(e.engine for e in self.engines if not e.steps) if self.drafting else ()

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in order of appearance."""
        return tuple(dict.fromkeys(engine.model or "" for engine in self.engines))

    @property
    def tally(self) -> Tally | None:
        """The sum over engines; None where there is none to give."""
        if self.problem is not None or self.gauges is not None or self.contradiction:
            return self.counted
        return total(map(tally_of, self.drafting))

    @property
    def k(self) -> int | None:
        """The number of positions."""
        shown = max((len(engine.per_position) for engine in self.engines), default=0)
        if self.since_restart is not None:
            shown = shown or len(self.since_restart.positions)
        return shown or (self.gauges.k if self.gauges else None)

    @property
    def unknown_positions(self) -> tuple[int, ...]:
        """Positions without a series on some engine, from 0."""
        return tuple(
            sorted({i for e in self.engines for i, n in enumerate(e.per_position) if n is None})
        )


def read_metrics_text(text: str) -> MetricsText:
    """Read one ``/metrics`` text, whatever it turns out to be."""
    if text.lstrip()[:1] == "<":
        problem = Scrape(
            problem=Problem.NOT_METRICS, sentence=_("the response is HTML, not metrics")
        )
        return MetricsText(problem)
    if software := software_of_metrics(text):
        return MetricsText(
            Scrape(
                problem=Problem.FOREIGN,
                sentence=_("these are the metrics of {program}, not of vLLM").format(
                    program=NAMES[software]
                ),
                software=software,
            )
        )
    if _SAMPLE.search(text) and not _OURS.search(text):
        return MetricsText(
            Scrape(
                problem=Problem.NO_SPECULATION,
                sentence=_("the metrics have no series of a vLLM server"),
            )
        )
    match = _NAME.search(text)
    names = _("{match}* (no suffix)").format(match=match[1]) if match else None
    if match and match[2]:
        names = f"{match[1]}*_total"
    if _V0_ONLY.search(text) and not _V1_ONLY.search(text):
        return MetricsText(Scrape(), names=names, gauges=_gauges(text))
    return MetricsText(read_counters(text), names=names)


def scrapes_in(text: str) -> list[str]:
    """Return the scrapes that were written one after another into a text, in order.

    They are told by a series about drafts that comes again, and parted where the line comes again
    with which the first of them begins.
    """
    series, first = _SERIES.search(text), _FIRST.search(text)
    if series is None or first is None:
        return [text]
    starts = _places(first[0], text)
    if not 1 < len(starts) == len(_places(series[0], text)):
        return [text]
    return [text[start:end] for start, end in pairwise((*starts, len(text)))]


def _places(begin: str, text: str) -> list[int]:
    pattern = re.compile(rf"^{re.escape(begin)}(?=[ {{])", re.MULTILINE)
    return [match.start() for match in pattern.finditer(text)]


def read_scrapes(role: str, texts: Sequence[MetricsText]) -> MetricsReading:
    """Return what the scrapes of one server, in order of time, say together."""
    names = next((text.names for text in texts if text.names), None)
    if all(text.gauges for text in texts):
        return _of_gauges(role, texts, names)
    scrapes = [text.scrape for text in texts]
    software = next((s.software for s in scrapes if s.software), None)
    lost = None
    usable = [scrape for scrape in scrapes if not scrape.problem]
    if 1 < len(usable) < len(scrapes):  # the counters went on while a scrape was not readable
        lost = next(scrape for scrape in scrapes if scrape.problem)
        scrapes = usable
    if len(scrapes) == 1:
        whole = since_start(scrapes[0])
        differences = [whole]
    else:
        differences = [difference(early, late) for early, late in pairwise(scrapes)]
        whole = difference(scrapes[0], scrapes[-1])
    broken = next((d for d in differences if d.problem), None) or whole
    problem, sentence = broken.problem, broken.sentence
    if problem is Problem.EMPTY:
        sentence = _("empty response: {sentence}").format(sentence=sentence)
    since_restart = None
    if problem is Problem.RESET:
        since_restart = total(
            map(tally_of, (e for e in since_start(scrapes[-1]).engines if e.steps))
        )
    contradictions = (contradiction_of(engine) for d in differences for engine in d.engines)
    return MetricsReading(
        role=role,
        engines=whole.engines,
        intervals=tuple(_interval(d) for d in differences if not d.problem) if not problem else (),
        names=names,
        problem=problem,
        sentence=sentence,
        software=software,
        since_restart=since_restart,
        contradiction=next(filter(None, contradictions), None),
        single=len(scrapes) == 1,
        lost=lost,
    )


def tally_of(engine: EngineDifference) -> Tally:
    """Return the counts of an engine; a position without a series stays unknown."""
    return Tally(engine.steps, engine.drafted, engine.accepted, engine.per_position)


def by_label(engines: Iterable[EngineDifference]) -> dict[str, dict[str, Tally]]:
    """Return sums by every label, apart from the engine's own, in which engines differ."""
    values: dict[str, dict[str, list[Tally]]] = defaultdict(lambda: defaultdict(list))
    for engine in engines:
        for name, value in engine.labels:
            values[name][value].append(tally_of(engine))
    return {
        name: {value: found for value, one in groups.items() if (found := total(one))}
        for name, groups in values.items()
        if len(groups) > 1 and name != "engine"
    }


def contradiction_of(engine: EngineDifference) -> str | None:
    """Return what does not fit together in the counters of an engine; None when all does."""
    slack = _TORN * max(engine.accepted, 1) + 1
    known = [n for n in engine.per_position if n is not None]
    if engine.accepted > engine.drafted:
        return _("engine {engine} accepted {accepted} tokens of {drafted}").format(
            engine=engine.engine, accepted=engine.accepted, drafted=engine.drafted
        )
    if len(known) == len(engine.per_position) and abs(sum(known) - engine.accepted) > slack:
        return _("the positions of engine {engine} do not add up to its accepted tokens").format(
            engine=engine.engine
        )
    if any(late > early + slack for early, late in pairwise(known)) or (
        known and known[0] > engine.steps + slack
    ):
        return _("a position of engine {engine} was accepted more often than possible").format(
            engine=engine.engine
        )
    if engine.per_position and engine.drafted > len(engine.per_position) * engine.steps:
        return _("engine {engine} drafted {drafted} tokens in {steps} drafts").format(
            engine=engine.engine, drafted=engine.drafted, steps=engine.steps
        )
    return None


def groups_of(reading: MetricsReading) -> tuple[Group, ...]:
    """Return the evidence: one group, or one for each model where there are several."""
    if reading.gauges:
        return (_group_of_gauges(reading, reading.gauges),)
    doubt = reading.sentence if reading.problem is not None and reading.drafting else None
    if reading.lost is not None:
        doubt = doubt or _("a scrape could not be read: {sentence}").format(
            sentence=reading.lost.sentence
        )
    nothing = reading.contradiction
    if not reading.drafting:
        nothing = reading.sentence or _("no draft in the interval: the counters stand still")
    models = reading.models if len(reading.models) > 1 else (None,)
    return tuple(
        _group(reading, model, nothing, doubt) for model in (models if not nothing else (None,))
    )


def _group(
    reading: MetricsReading, model: str | None, nothing: str | None, doubt: str | None
) -> Group:
    engines = [e for e in reading.engines if model is None or (e.model or "") == model]
    if nothing:
        engines = []
    tallies = {e.engine: tally_of(e) if e.steps else None for e in engines}
    run = Run(
        tally=total(tallies.values()),
        engines=tallies if len(tallies) > 1 else {},
        parts=tuple(map(Part, reading.intervals)) if model is None and not nothing else (),
        model=model,
        k=reading.k,
    )
    return Group(
        role=reading.role if model is None else model,
        what="role" if model is None else "model",
        runs=(run,),
        nothing=nothing,
        doubt=doubt,
    )


def _interval(found: Difference) -> Tally:
    return total(map(tally_of, found.engines)) or Tally(0, 0, 0)


def _gauges(text: str) -> Gauges:
    values: dict[str, float] = {}
    for match in _V0.finditer(text):
        with contextlib.suppress(ValueError):
            value = float(match["value"])
            if math.isfinite(value):
                values[match["name"].removeprefix("spec_decode_")] = value
    emitted, generated = values.get("num_emitted_tokens"), values.get("generation_tokens")
    inflated = emitted is not None and generated is not None and emitted > generated * _INFLATED
    counts = {
        "accepted": values.get("num_accepted_tokens"),
        "drafted": values.get("num_draft_tokens"),
        "emitted": emitted,
    }
    return Gauges(
        draft_acceptance_rate=values.get("draft_acceptance_rate"),
        system_efficiency=values.get("efficiency"),
        **{name: None if n is None or inflated else round(n) for name, n in counts.items()},
    )


def _of_gauges(role: str, texts: Sequence[MetricsText], names: str | None) -> MetricsReading:
    gauges = [text.gauges for text in texts if text.gauges]
    counted = _counted(gauges[-1])
    if len(gauges) > 1 and counted is not None:
        earlier = _counted(gauges[0])
        counted = counted - earlier if earlier is not None else None
    if counted is not None and counted.draft_tokens <= 0:
        counted = None
    return MetricsReading(
        role=role, names=names, gauges=gauges[-1], counted=counted, single=len(texts) == 1
    )


def _counted(gauges: Gauges) -> Tally | None:
    if gauges.drafted is None or gauges.accepted is None:
        return None
    drafts = gauges.drafted // gauges.k if gauges.k else None
    return Tally(drafts, gauges.drafted, gauges.accepted, emitted_tokens=gauges.emitted)


def _group_of_gauges(reading: MetricsReading, gauges: Gauges) -> Group:
    return Group(
        role=reading.role,
        runs=(Run(tally=reading.counted, k=gauges.k),),
        bare_rate=gauges.draft_acceptance_rate,
        nothing=_("V0's gauges hold no rate") if gauges.draft_acceptance_rate is None else None,
    )
