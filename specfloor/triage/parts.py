"""What the files of each kind say: read, judged, and put in the terms of the JSON."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from specfloor.catalog import load_catalog
from specfloor.host.collect_env import EnvironmentText, read_environment
from specfloor.host.npu_smi import read_npu_smi
from specfloor.i18n import _
from specfloor.triage import bench_tables, bench_vllm
from specfloor.triage.bench import BenchRun, plausible
from specfloor.triage.conclusions import Conclusion, nothing_to_judge
from specfloor.triage.environment import (
    extract_environment,
    variables_known,
    warn_of_devices,
    warn_of_owners,
)
from specfloor.triage.evidence import Group, Run, Warned
from specfloor.triage.extract import (
    Extract,
    extract_bench,
    extract_logs,
    extract_metrics,
    extract_npu,
    extract_responses,
)
from specfloor.triage.findings import Finding
from specfloor.triage.foreign import NAMES
from specfloor.triage.given import Given
from specfloor.triage.inputs import Input
from specfloor.triage.judge import judge_groups
from specfloor.triage.judge_bench import Arm, judge_bench
from specfloor.triage.judge_host import foreign_pids, is_clear, judge_npu
from specfloor.triage.kinds import Kind, objects_in
from specfloor.triage.log import LogReading, read_log
from specfloor.triage.metrics import (
    MetricsReading,
    groups_of,
    read_metrics_text,
    read_scrapes,
    scrapes_in,
)
from specfloor.triage.response import ResponseReading, read_objects, read_streams
from specfloor.triage.rotation import chains
from specfloor.triage.tally import Tally
from specfloor.triage.warn import warn_of_bench, warn_of_log, warn_of_metrics, warn_of_responses


class Part(msgspec.Struct, frozen=True):
    """What the files of one kind say: for JSON, for the judgement, and to warn of.

    ``devices_seen`` is whether it shows how devices are, ``devices_clear`` whether they are well,
    with memory left, and every process on them is known to be the server's.
    """

    name: str
    extract: Extract
    conclusions: tuple[Conclusion, ...] = ()
    warnings: tuple[Warned, ...] = ()
    runs: tuple[Run, ...] = ()
    environment: EnvironmentText | None = None
    devices_seen: bool = False
    devices_clear: bool = False

    @property
    def concluded(self) -> tuple[Conclusion, ...]:
        """The conclusions, or PARSE where acceptance was read and nothing is to be said of it."""
        read = any(run.tally for run in self.runs)
        return self.conclusions or ((nothing_to_judge(),) if read else ())


def _read_logs(inputs: Sequence[Input], given: Given) -> Iterator[Part]:
    roles = dict.fromkeys(one.role.group for one in inputs)
    read = [
        (role, read_log(chain, given.k))
        for role in roles
        for chain in chains(one.source for one in inputs if one.role.group == role)
    ]
    # a file that nobody gave a role and that no server wrote is no server's silence
    logs = [(role, reading) for role, reading in read if role or reading.servers] or read
    several = [role for role, _ in logs].count("") > 1
    groups = []
    for role, reading in logs:
        named = (reading.name, "file") if several and not role else (role, "role")
        groups += _groups_of_log(reading, *named)
    software = next((reading.software for _, reading in logs if reading.software), None)
    if software and not any(reading.servers for _, reading in logs):
        conclusions = [_unsupported(_("{program} log").format(program=NAMES[software]), software)]
    else:
        conclusions = judge_groups(groups, given)
    warnings = [warned for _, reading in logs for warned in warn_of_log(reading)]
    warnings += [
        Warned(
            "unrecognised_file",
            _("{reading} holds no line of a vLLM server").format(reading=reading.name),
        )
        for role, reading in read
        if (role, reading) not in logs
    ]
    yield Part(
        name="logs",
        extract=msgspec.to_builtins(extract_logs(logs, groups, given.k)),
        conclusions=tuple(conclusions),
        warnings=tuple(warnings),
        runs=tuple(run for group in groups for run in group.runs),
    )


def _groups_of_log(reading: LogReading, name: str, what: str) -> list[Group]:
    """Return one group, or one for each server that writes into the log."""
    doubt = None
    if reading.contradictory:
        doubt = _("an acceptance line contradicts itself: {contradiction}").format(
            contradiction=reading.contradiction
        )
    elif reading.cut_at_end or reading.incomplete:
        doubt = _("an acceptance line, or the end of the log, is cut")
    servers = reading.servers or {"": ()}
    groups = []
    for server, runs in servers.items():
        alone = len(servers) == 1
        groups.append(
            Group(
                role=name if alone else server,
                what=what if alone else "server",
                runs=runs,
                nothing=None if any(run.tally for run in runs) else _why_silent(reading, runs),
                doubt=doubt,
                speed=reading.speed,
            )
        )
    return groups


def _why_silent(reading: LogReading, runs: Sequence[Run]) -> str:
    if reading.empty_windows:
        return _("no draft was produced in any window")
    if reading.incomplete or reading.contradictory:
        return _("the acceptance lines of the log are cut or damaged")
    if any(run.speculates or run.k for run in runs):
        return _(
            "speculation is configured and the log has no acceptance line: "
            "nothing was drafted, or statistics are not logged"
        )
    if reading.throughput_lines or any(run.speculates is False for run in runs):
        return _(
            "speculation is off: the log has no acceptance line and no speculative configuration"
        )
    return _("no line of a vLLM server about acceptance was found")


def _read_metrics(inputs: Sequence[Input], given: Given) -> Iterator[Part]:
    readings = []
    for role in dict.fromkeys(one.role.group for one in inputs):
        own = [one for one in inputs if one.role.group == role]
        texts = [
            (one.role.moment, read_metrics_text(text))
            for one in own
            for text in scrapes_in(one.source.whole())
        ]
        if all(moment is not None for moment, _ in texts):
            texts.sort(key=lambda pair: pair[0] or 0)
        elif len(own) > 1:
            texts.sort(key=lambda pair: sum(e.drafted for e in pair[1].scrape.engines))
        readings.append(read_scrapes(role, [text for _, text in texts]))
    groups = [group for reading in readings for group in groups_of(reading)]
    conclusions = judge_groups(groups, given) or _without_a_sum(readings)
    software = next((reading.software for reading in readings if reading.software), None)
    if software:
        conclusions = [
            _unsupported(
                _("{program} metrics").format(program=NAMES.get(software, software)), software
            )
        ]
    yield Part(
        name="metrics",
        extract=msgspec.to_builtins(extract_metrics(readings, given.k)),
        conclusions=tuple(conclusions),
        warnings=tuple(w for reading in readings for w in warn_of_metrics(reading)),
        runs=tuple(run for group in groups for run in group.runs),
    )


def _without_a_sum(readings: Sequence[MetricsReading]) -> list[Conclusion]:
    """Return a finding where the counters that can be read are not all there are."""
    broken = next((reading for reading in readings if reading.problem is not None), None)
    if broken is None:
        return []
    return [
        Conclusion(
            Finding.INCONCLUSIVE,
            _("there is no whole to judge: {sentence}").format(sentence=broken.sentence),
        )
    ]


def _read_responses(inputs: Sequence[Input], given: Given) -> Iterator[Part]:
    for own, streams in (
        ([one for one in inputs if one.kind is Kind.RESPONSE], False),
        ([one for one in inputs if one.kind is Kind.STREAM], True),
    ):
        if not own:
            continue
        texts = [one.source.whole() for one in own]
        if streams:
            reading = read_streams("\n\n".join(texts), given.k)
        else:
            found = [objects_in(text) for text in texts]
            reading = read_objects(
                [value for values, _ in found for value in values], sum(n for _, n in found)
            )
        yield Part(
            name="response",
            extract=extract_responses(reading),
            conclusions=tuple(_judge_responses(reading, given)),
            warnings=tuple(warn_of_responses(reading)),
            runs=(Run(tally=reading.tally, k=reading.k),),
        )


def _judge_responses(reading: ResponseReading, given: Given) -> list[Conclusion]:
    if reading.software:
        return [
            _unsupported(
                _("{program} response").format(program=NAMES[reading.software]), reading.software
            )
        ]
    if reading.merged:
        reason = _("chunks hold more than k+1 tokens: several steps were merged")
        return [
            Conclusion(
                Finding.NO_DATA,
                reason,
                next=(
                    _("stream with return_token_ids to a client that keeps up, or use /metrics"),
                ),
            )
        ]
    if reading.k_unknown:
        reason = _("without k a chunk of two steps cannot be told from one; give --spec-tokens")
        return [Conclusion(Finding.INCONCLUSIVE, reason)]
    tally, steps = reading.tally, reading.stream
    if tally is None and steps is not None and steps.steps and reading.k:
        drafted, accepted = steps.steps * reading.k, steps.accepted_tokens or 0
        tally = Tally(steps.steps, drafted, accepted)
    doubt = reading.unusable[0] if reading.unusable else None
    nothing = doubt or _(
        "neither a per-request object nor chunks that say how many tokens they hold"
    )
    run = Run(tally=tally, k=reading.k)
    return judge_groups([Group("", (run,), nothing=None if tally else nothing, doubt=doubt)], given)


def _read_bench(inputs: Sequence[Input], given: Given) -> Iterator[Part]:
    arms: list[Arm] = []
    lost: list[str] = []
    foreign = False
    for one in inputs:
        text = one.source.whole()
        foreign = foreign or (one.kind is Kind.BENCH_TEXT and bench_vllm.is_of_sglang(text))
        arm = _arm(one, given)
        runs = [plausible(run) for run in _bench_runs(one.kind, text)]
        arms += [Arm(arm, one.source.name, run) for run in runs]
        if not runs:
            lost.append(one.source.name)
    conclusions = judge_bench(arms, given)
    if arms and lost:
        reason = _("{lost}: no report could be read, the file is cut or damaged").format(
            lost=lost[0]
        )
        conclusions.append(Conclusion(Finding.NO_DATA, reason, {"file": lost[0]}))
    if foreign:
        conclusions = [_unsupported(_("SGLang benchmark"), "sglang")]
    yield Part(
        name="bench",
        extract=extract_bench(arms),
        conclusions=tuple(conclusions),
        warnings=tuple(w for arm in arms for w in warn_of_bench(arm)),
        runs=tuple(Run(tally=arm.run.spec) for arm in arms),
    )


def _bench_runs(kind: Kind, text: str) -> list[BenchRun]:
    if kind is Kind.BENCH_JSON:
        return [bench_vllm.read_json(value) for value in objects_in(text)[0]]
    if kind is Kind.BENCH_TABLES:
        if any(title in text for title in bench_tables.AISBENCH_TITLES):
            return bench_tables.read_aisbench(text)
        return bench_tables.read_evalscope(text)
    return bench_vllm.read_text(text)


def _arm(one: Input, given: Given) -> str:
    """Return the arm of a report: a configuration named like the file, else its role."""
    stem = Path(one.source.name).name.partition(".")[0]
    return stem if isinstance(given.config.get(stem), dict) else one.role.group


def _read_environments(inputs: Sequence[Input], given: Given) -> Iterator[Part]:
    known = variables_known(given, load_catalog())
    for one in inputs:
        text = read_environment(one.source.whole())
        if text is None:
            yield _unknown(one, "env")
        else:
            yield Part("env", extract_environment(text, known), environment=text)


def _read_npus(inputs: Sequence[Input], given: Given) -> Iterator[Part]:
    listed = given.config.get("server_pids")
    pids = [pid for pid in listed if isinstance(pid, int)] if isinstance(listed, list) else []
    for one in inputs:
        table = read_npu_smi(one.source.whole())
        if table is None:
            yield _unknown(one, "npu_smi")
            continue
        yield Part(
            name="npu_smi",
            extract=extract_npu(table, pids),
            conclusions=tuple(judge_npu(table, pids)),
            warnings=(
                *warn_of_devices(table, foreign_pids(table, pids)),
                *([] if pids else warn_of_owners(table)),
            ),
            devices_seen=bool(table.devices),
            devices_clear=is_clear(table, pids),
        )


def _read_nothing(inputs: Sequence[Input], _: Given) -> Iterator[Part]:
    for one in inputs:
        yield _unknown(one, "unknown")


def _unknown(one: Input, name: str) -> Part:
    empty = one.kind is Kind.EMPTY
    told = _("{source} is empty") if empty else _("{source} is of no kind that is known")
    reason = one.source.damaged or told.format(source=one.source.name)
    return Part(name, {"totals": None}, (Conclusion(Finding.NO_DATA, reason, beside=True),))


_Reader = Callable[[Sequence[Input], Given], Iterator[Part]]
READERS: tuple[tuple[tuple[Kind, ...], _Reader], ...] = (
    ((Kind.LOG, Kind.UNKNOWN), _read_logs),
    ((Kind.METRICS,), _read_metrics),
    ((Kind.RESPONSE, Kind.STREAM), _read_responses),
    ((Kind.BENCH_TEXT, Kind.BENCH_TABLES, Kind.BENCH_JSON), _read_bench),
    ((Kind.ENVIRONMENT,), _read_environments),
    ((Kind.NPU_SMI,), _read_npus),
    ((Kind.EMPTY,), _read_nothing),
)
"""Kinds and their readers; what the first of them says is the main part of the JSON."""


def _unsupported(what: str, software: str) -> Conclusion:
    return Conclusion(
        Finding.UNSUPPORTED_FORMAT,
        _("{what}: another program, which counts acceptance in its own way").format(what=what),
        {"software": software},
        next=(_("give what a vLLM server wrote"),),
    )
