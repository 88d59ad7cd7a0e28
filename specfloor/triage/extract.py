"""The numbers of the readers in the names of the JSON that triage prints; see docs/triage.md."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from specfloor.catalog.model import Soc
from specfloor.host.npu_smi import NpuTable
from specfloor.triage.bench import QUANTITIES
from specfloor.triage.evidence import Group, Part, Run
from specfloor.triage.judge_bench import Arm, cost_ratio, flip_of, pairs_of
from specfloor.triage.judge_host import foreign_pids
from specfloor.triage.log import LogReading
from specfloor.triage.metrics import MetricsReading, by_label, tally_of
from specfloor.triage.response import ResponseReading
from specfloor.triage.roles import COMPARED_WITH, NEW, OFF, OLD
from specfloor.triage.tally import Tally, Totals, total, totals_of
from specfloor.triage.timeline import Change, changes, clock, reports, share_of

Extract = dict[str, Any]
_SIXTHS = 6
_MOST_POINTS = 60
"""Points of a time line in JSON; what is asked of it is the shape."""
_MOST_SECONDS = 1000
_SOC_NAMES: dict[Soc, str] = {"a2": "A2", "a3": "A3", "a5": "A5", "310p": "310P"}


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One point of a time line; ``at`` is when its windows ended."""

    at: str | None
    windows: int
    draft_tokens: int
    acceptance_rate: float | None


class Segment(Totals, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The totals of one server run, with the version it says it is."""

    version: str | None


class Found(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a log says of the configuration of a run."""

    version: str | None
    model: str | None
    method: str | None
    k: int | None
    speculates: bool | None


class LogExtract(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What logs say; keys that do not apply are left out, None is not known."""

    log_format: str | None
    windows: int
    incomplete_lines: int
    k: int | None
    totals: Totals | None
    contradictory_lines: int = 0
    by_engine: dict[str, Totals | None] | UnsetType = UNSET
    by_server: dict[str, Totals | None] | UnsetType = UNSET
    by_file: dict[str, Totals | None] | UnsetType = UNSET
    by_role: dict[str, Totals | None] | UnsetType = UNSET
    segments: tuple[Segment, ...] | UnsetType = UNSET
    first_window: Totals | UnsetType = UNSET
    last_window: Totals | UnsetType = UNSET
    first_sixth: Totals | UnsetType = UNSET
    last_sixth: Totals | UnsetType = UNSET
    window_seconds: tuple[float | None, ...] | UnsetType = UNSET
    mean_of_window_rates: float | UnsetType = UNSET
    cumulative: bool | UnsetType = UNSET
    generation_tok_s: dict[str, float] | UnsetType = UNSET
    engine_software: str | UnsetType = UNSET
    configurations: tuple[Found, ...] | UnsetType = UNSET
    timeline: tuple[Point, ...] | UnsetType = UNSET
    change_points: tuple[Change, ...] | UnsetType = UNSET


class MetricsExtract(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What scrapes say: after minus before, summed over engines where they are of one model."""

    k: int | None
    totals: Totals | None
    names: str | None = None
    by_engine: dict[str, Totals | None] | UnsetType = UNSET
    by_model: dict[str, Totals | None] | UnsetType = UNSET
    by_label: dict[str, dict[str, Totals]] | UnsetType = UNSET
    by_role: dict[str, Totals | None] | UnsetType = UNSET
    by_build: dict[str, Totals | None] | UnsetType = UNSET
    delta_points: float | UnsetType = UNSET
    delta_drafts: int | UnsetType = UNSET
    intervals: tuple[Totals, ...] | UnsetType = UNSET
    since_restart: Totals | UnsetType = UNSET
    gauges: dict[str, float | None] | UnsetType = UNSET
    since_start: bool | UnsetType = UNSET
    engine_software: str | UnsetType = UNSET
    change_points: tuple[Change, ...] | UnsetType = UNSET


def extract_logs(
    logs: Sequence[tuple[str, LogReading]], groups: Sequence[Group], k: int | None
) -> LogExtract:
    """Return what logs say; ``logs`` are pairs of role and reading, ``groups`` their evidence."""
    own = [one for one in logs if one[0] not in COMPARED_WITH] or list(logs)
    readings = [reading for _, reading in own]
    shown = [group for group in groups if group.role not in COMPARED_WITH] or list(groups)
    runs = [run for group in shown for run in group.runs]
    servers = {g.role: totals_of(g.tally) for g in shown if g.what == "server"}
    formats = [f for _, reading in logs for f in reading.formats]
    software = next((r.software for r in readings if r.software), None)
    windows = sum(reading.windows for reading in readings)
    roles = dict.fromkeys(role for role, _ in logs)
    alone = readings[0] if len(readings) == 1 else None
    parts = runs[0].parts if len(runs) == 1 else ()
    together = reports(parts)
    sixths = alone is not None and len(runs) == 1 and windows >= _SIXTHS
    return LogExtract(
        log_format=formats[-1] if formats else None,
        windows=windows,
        incomplete_lines=sum(reading.incomplete for reading in readings),
        contradictory_lines=sum(reading.contradictory for reading in readings),
        k=next((group.k for group in shown if group.k), None) or (k if windows else None),
        totals=totals_of(total(reading.tally for reading in readings)),
        by_engine=UNSET if servers else _by_engine(runs),
        by_server=servers or UNSET,
        by_file={r.name: totals_of(r.tally) for _, r in logs} if len(logs) > 1 else UNSET,
        by_role={
            role: totals_of(total(r.tally for other, r in logs if other == role)) for role in roles
        }
        if len(roles) > 1
        else UNSET,
        segments=_segments(runs),
        first_window=_first(alone, last=False),
        last_window=_first(alone, last=True),
        first_sixth=_known(share_of(parts, _SIXTHS)) if sixths else UNSET,
        last_sixth=_known(share_of(parts, _SIXTHS, last=True)) if sixths else UNSET,
        window_seconds=_seconds(parts, windows),
        mean_of_window_rates=_or_unset(alone.mean_of_window_rates if alone else None),
        cumulative=True if any(reading.cumulative for reading in readings) else UNSET,
        generation_tok_s={role: r.speed.mean for role, r in logs if r.speed and role} or UNSET,
        engine_software=software or UNSET,
        configurations=_configurations([run for group in groups for run in group.runs]),
        timeline=_points(together) or UNSET,
        change_points=changes(together) or UNSET,
    )


def extract_metrics(readings: Sequence[MetricsReading], given_k: int | None) -> MetricsExtract:
    """Return what the scrapes of some servers say, one reading each."""
    if len(readings) > 1:
        return _of_servers(readings)
    return _of_server(readings[0], given_k)


def _of_servers(readings: Sequence[MetricsReading]) -> MetricsExtract:
    by_role = {reading.role: totals_of(reading.tally) for reading in readings}
    builds = {role: found for role, found in by_role.items() if role in (OLD, NEW)}
    rates = {role: found.acceptance_rate if found else None for role, found in builds.items()}
    old, new = rates.get(OLD), rates.get(NEW)
    own = [r for r in readings if r.role not in COMPARED_WITH]
    return MetricsExtract(
        k=max((reading.k for reading in readings if reading.k), default=None),
        totals=totals_of(total(r.tally for r in own)),
        names=next((r.names for r in readings if r.names), None),
        by_role=UNSET if len(builds) == len(readings) else by_role,
        by_build=builds if len(builds) == 2 else UNSET,
        delta_points=UNSET if old is None or new is None else (new - old) * 100,
        engine_software=next((r.software for r in readings if r.software), None) or UNSET,
    )


def _of_server(reading: MetricsReading, given_k: int | None) -> MetricsExtract:
    several = len(reading.models) > 1
    engines = {e.engine: tally_of(e) if e.steps else None for e in reading.engines}
    parts = tuple(Part(tally) for tally in reading.intervals)
    still = reading.problem is None and reading.gauges is None and not reading.drafting
    tally = None if several else reading.tally
    totals = totals_of(tally)
    if reading.gauges and totals is None and reading.gauges.draft_acceptance_rate is not None:
        totals = Totals(None, None, None, reading.gauges.draft_acceptance_rate, None)
    return MetricsExtract(
        k=reading.k or (given_k if totals else None),
        totals=totals,
        names=reading.names or None,
        by_engine={name: totals_of(t) for name, t in engines.items()}
        if len(engines) > 1 and not several
        else UNSET,
        by_model={
            model: totals_of(total(tally_of(e) for e in reading.drafting if e.model == model))
            for model in reading.models
        }
        if several
        else UNSET,
        by_label={
            name: {value: found.totals() for value, found in values.items()}
            for name, values in by_label(reading.drafting).items()
        }
        or UNSET,
        delta_drafts=0 if still else UNSET,
        intervals=tuple(part.tally.totals() for part in parts) if len(parts) > 1 else UNSET,
        since_restart=_known(reading.since_restart),
        gauges={
            "draft_acceptance_rate": reading.gauges.draft_acceptance_rate,
            "system_efficiency": reading.gauges.system_efficiency,
        }
        if reading.gauges
        else UNSET,
        since_start=True if reading.single and reading.problem is None else UNSET,
        engine_software=reading.software or UNSET,
        change_points=changes(parts) or UNSET,
    )


def extract_bench(arms: Sequence[Arm]) -> Extract:
    """Return what benchmark reports say, one run each, and how the arms compare."""
    found: Extract = {"runs": [_bench_run(arm) for arm in arms]}
    base = [arm for arm in arms if arm.arm in COMPARED_WITH]
    pairs = pairs_of(base, [arm for arm in arms if arm.arm not in COMPARED_WITH])
    for metric in ("tpot", "ttft"):
        ratios = {
            str(on.run.concurrency): ratio
            for off, on in pairs
            if (ratio := cost_ratio(metric, off.run, on.run)) is not None
        }
        if ratios:
            one = next(iter(ratios.values())) if len(pairs) == 1 else ratios
            found[f"{metric}_ratio_on_off"] = one
    if len(pairs) > 1 and all(off.arm == OFF for off, _ in pairs):
        tpot = {
            on.run.concurrency: ratio
            for off, on in pairs
            if on.run.concurrency and (ratio := cost_ratio("tpot", off.run, on.run)) is not None
        }
        flip = flip_of({c: ratio for c, ratio in tpot.items() if c is not None})
        found["flip"] = {"last_win": flip[0], "first_loss": flip[1]} if flip else None
    if datasets := [arm.run.dataset for arm in arms if arm.run.dataset]:
        found["dataset"] = datasets[0]
    if any(arm.run.ignore_eos for arm in arms):
        found["ignore_eos"] = True
    return found


def extract_responses(reading: ResponseReading) -> Extract:
    """Return what answers say."""
    found: Extract = {"requests": reading.requests, "k": reading.k}
    if reading.software:
        found["engine_software"] = reading.software
    if reading.stream is not None:
        return found | msgspec.structs.asdict(reading.stream)
    found["totals"] = totals_of(reading.tally)
    if reading.mean_of_rates is not None and reading.requests > 1:
        found["mean_of_rates"] = reading.mean_of_rates
    return found


def extract_npu(table: NpuTable, server_pids: Sequence[int]) -> Extract:
    """Return what a table of devices says; with an error, nothing else is known."""
    found: Extract = {
        "layout": table.layout,
        "tool_version": table.tool_version,
        "soc_class": _SOC_NAMES[table.soc] if table.soc else None,
        "device_count": None if table.error else len(table.devices),
        "devices": table.devices,
    }
    if table.error:
        return found | {"error": table.error}
    found |= {
        "npu_ids": sorted({device.npu for device in table.devices}),
        "processes": table.processes,
        "busy": table.busy,
        "hbm_full": list(table.full),
    }
    if server_pids:
        found["foreign_pids"] = list(foreign_pids(table, server_pids))
    return found


def _by_engine(runs: Sequence[Run]) -> dict[str, Totals | None] | UnsetType:
    names = sorted({name for run in runs for name in run.engines})
    if not names or not any(run.tally for run in runs):
        return UNSET
    return {name: totals_of(total(run.engines.get(name) for run in runs)) for name in names}


def _segments(runs: Sequence[Run]) -> tuple[Segment, ...] | UnsetType:
    worked = [run for run in runs if run.tally]
    if len(worked) < 2:
        return UNSET
    return tuple(
        Segment(version=run.version, **msgspec.structs.asdict(run.tally.totals()))
        for run in worked
        if run.tally
    )


def _configurations(runs: Sequence[Run]) -> tuple[Found, ...] | UnsetType:
    found = dict.fromkeys(
        Found(run.version, run.model, run.method, run.k, run.speculates)
        for run in runs
        if run.version or run.model or run.k
    )
    return tuple(found) or UNSET


def _points(parts: Sequence[Part]) -> tuple[Point, ...]:
    size = -(-len(parts) // _MOST_POINTS) or 1
    points = []
    for start in range(0, len(parts), size):
        joined = parts[start : start + size]
        tally = total(part.tally for part in joined)
        assert tally is not None
        windows = sum(part.windows for part in joined)
        points.append(Point(clock(joined[-1].at), windows, tally.draft_tokens, tally.rate))
    return tuple(points)


def _seconds(parts: Sequence[Part], windows: int) -> tuple[float | None, ...] | UnsetType:
    listed = 0 < len(parts) == windows <= _MOST_SECONDS
    if not listed or all(part.seconds is None for part in parts):
        return UNSET
    return tuple(None if part.seconds is None else round(part.seconds, 1) for part in parts)


def _first(reading: LogReading | None, *, last: bool) -> Totals | UnsetType:
    if reading is None or reading.windows < 2:
        return UNSET
    return _known(reading.last_window if last else reading.first_window)


def _known(tally: Tally | None) -> Totals | UnsetType:
    return UNSET if tally is None else tally.totals()


def _or_unset(value: float | None) -> float | UnsetType:
    return UNSET if value is None else value


def _bench_run(arm: Arm) -> Extract:
    run = arm.run
    fields: Extract = {
        name: getattr(run, name)
        for name in (
            "concurrency",
            "completed",
            "failed",
            "duration_s",
            "total_input_tokens",
            "total_output_tokens",
            "output_tok_s",
        )
    }
    fields |= {quantity: run.times[quantity] for quantity in QUANTITIES if run.times.get(quantity)}
    fields |= {"arm": arm.arm or None, "file": arm.file, "spec": totals_of(run.spec)}
    estimate = run.length_estimate
    if run.spec is None and estimate is not None:
        fields["acceptance_length_estimate"] = estimate
    return fields
