"""Whether the machine was well, and ours alone, while a launch was measured."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

import msgspec

from specfloor.host.npu_smi import Device, Process
from specfloor.i18n import _
from specfloor.runs.records import HostSampleRecord
from specfloor.triage.findings import Finding

_FOREIGN_PCT = 25.0
"""Percent of all cores that others take in the middle sample from which the processor is shared. A
quiet system's own services take a few; a quarter of the cores is what one more busy engine takes
on a small host, and shifts times by more than a speed floor's usual slack of some percent."""
_HELD_BACK = 0.05
"""Share of the time that a quota kept processes from running, from which it is said."""
_SLOWED = 0.97
"""Share of its rated clock under which a working chip is slowed down."""
_WORKS_PCT = 20
"""Percent of its cores' time from which a chip works: an idle one lowers its clock by itself."""
_REPEATED = 2
"""Samples in which something must be seen before it is believed: one may have been taken while a
process of ours began or ended, or between two clocks."""

_Place = tuple[int, int]


class HostSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What samples say of the machine during one launch.

    ``healthy``, ``shared``, ``throttled`` and ``idle`` are None where nothing says. ``healthy`` is
    about the devices' own state, ``shared`` about processes of others, ``throttled`` about clocks
    under their rating or a quota on the processor, ``idle`` about devices that did no work.
    ``finding`` is HARDWARE where a result should not be trusted before the machine is looked at,
    and None otherwise; ``sentence`` says it all in words. Shares are in percent, temperature in °C:
    medians over samples, and the highest temperature.
    """

    samples: int
    healthy: bool | None
    shared: bool | None
    throttled: bool | None
    idle: bool | None
    finding: Finding | None
    sentence: str
    utilisation_pct: float | None = None
    memory_pct: float | None = None
    temp_c: float | None = None


def host_during(samples: Sequence[HostSampleRecord]) -> HostSummary:
    """Return what the samples of one launch say; of none, that nothing is known."""
    if not samples:
        return HostSummary(0, None, None, None, None, None, _("the machine was not sampled"))
    if any(sample.devices for sample in samples):
        return _of_devices(samples)
    summary = _of_processor(samples)
    problem = next((sample.problem for sample in samples if sample.problem), None)
    if problem is None:
        return summary
    sentence = _("the devices could not be read ({problem}); {sentence}").format(
        problem=problem, sentence=summary.sentence
    )
    return msgspec.structs.replace(summary, sentence=sentence, finding=None, shared=None)


def _of_processor(samples: Sequence[HostSampleRecord]) -> HostSummary:
    taken = [sample.processor for sample in samples if sample.processor]
    others = [max(0.0, one.busy_pct - one.own_pct) for one in taken if one.own_pct is not None]
    foreign = median(others) if len(others) >= _REPEATED else None
    shared = None if foreign is None else foreign >= _FOREIGN_PCT
    held_back = _held_back(samples)
    busy = median(one.busy_pct for one in taken) if taken else None
    temperature = max((one.temp_c for one in taken if one.temp_c is not None), default=None)
    said = []
    if shared:
        said.append(
            _("processes of others took {foreign:.0f} % of the processor").format(foreign=foreign)
        )
    if held_back is not None and held_back >= _HELD_BACK:
        said.append(
            _("a quota held processes back {held_back:.0f} % of the time").format(
                held_back=100 * held_back
            )
        )
    if not said and busy is not None:
        said.append(_("the processor looked normal"))
    if busy is not None:
        said.append(
            _("{busy:.0f} % busy in {samples} samples").format(busy=busy, samples=len(samples))
        )
    return HostSummary(
        samples=len(samples),
        healthy=None,
        shared=shared,
        throttled=None if held_back is None else held_back >= _HELD_BACK,
        idle=None,
        finding=Finding.HARDWARE if shared else None,
        sentence=_(", ").join(said) or _("the processor could not be sampled"),
        utilisation_pct=busy,
        memory_pct=median(100 * one.memory_used_bytes / one.memory_total_bytes for one in taken)
        if taken
        else None,
        temp_c=temperature,
    )


def _held_back(samples: Sequence[HostSampleRecord]) -> float | None:
    """Return the share of the time between first and last sample that a quota took."""
    taken = [s.processor.held_back_s for s in samples[1:] if s.processor]
    held = [seconds for seconds in taken if seconds is not None]
    elapsed = samples[-1].t_s - samples[0].t_s
    return sum(held) / elapsed if held and elapsed > 0 else None


def _of_devices(samples: Sequence[HostSampleRecord]) -> HostSummary:
    ours = _our_chips(samples)
    chips = [d for s in samples for d in s.devices if ours is None or _place(d) in ours]
    failing = _failing(chips)
    foreign = None if ours is None else _foreign(samples, ours)
    slowed = _slowed(samples, ours)
    loads = [d.aicore_pct for d in chips if d.aicore_pct is not None]
    idle = None if len(loads) < _REPEATED else not any(loads)
    used = [d.used_share for d in chips if d.used_share is not None]
    temperature = max((d.temp_c for d in chips if d.temp_c is not None), default=None)
    bad = []
    if failing:
        bad.append(_("devices were unwell: {devices}").format(devices=_(", ").join(failing)))
    if foreign:
        bad.append(
            _("processes of others were on our devices (pids {pids})").format(
                pids=_(", ").join(map(str, foreign))
            )
        )
    if slowed:
        bad.append(_("a device ran slower than rated ({slowed})").format(slowed=slowed))
    said = [*bad] or [_("the devices looked normal")]
    if idle:
        said.append(_("none of them did any work in any sample"))
    if foreign is None:
        said.append(_("whose processes were on them is not known"))
    said.append(_figures(len(samples), loads, used, temperature))
    return HostSummary(
        samples=len(samples),
        healthy=not failing,
        shared=None if foreign is None else bool(foreign),
        throttled=None if slowed is None else bool(slowed),
        idle=idle,
        finding=Finding.HARDWARE if bad else None,
        sentence=_("; ").join(said),
        utilisation_pct=median(loads) if loads else None,
        memory_pct=100 * median(used) if used else None,
        temp_c=temperature,
    )


def _our_chips(samples: Sequence[HostSampleRecord]) -> set[_Place] | None:
    """Return the chips with a process of ours; None when none is recognised.

    In a container npu-smi may number processes as the host does, and then none of them is.
    """
    return {_place(p) for s in samples for p in s.processes if p.pid in s.own_pids} or None


def _foreign(samples: Sequence[HostSampleRecord], ours: set[_Place]) -> list[int]:
    seen = Counter(
        pid
        for s in samples
        for pid in {p.pid for p in s.processes if _place(p) in ours and p.pid not in s.own_pids}
    )
    return sorted(pid for pid, times in seen.items() if times >= _REPEATED)


def _failing(chips: Sequence[Device]) -> list[str]:
    states = {(d.npu, d.chip): d.health for d in chips if d.fails}
    return [
        _("NPU {npu} chip {chip} ({health})").format(npu=npu, chip=chip, health=health)
        for (npu, chip), health in sorted(states.items())
    ]


def _slowed(samples: Sequence[HostSampleRecord], ours: set[_Place] | None) -> str | None:
    """Return which chip was slowed while it worked, ``""`` for none; None when nothing says.

    It must be seen in most of the samples in which the chip worked, and more than once.
    """
    seen: dict[_Place, list[float]] = {}
    for sample in samples:
        working = {_place(d) for d in sample.devices if (d.aicore_pct or 0) >= _WORKS_PCT}
        for clock in sample.clocks:
            place = clock.npu, clock.chip
            if place in working and (ours is None or place in ours) and clock.rated_mhz:
                seen.setdefault(place, []).append(clock.now_mhz / clock.rated_mhz)
    if not seen:
        return None
    slow = [
        _("NPU {npu} chip {chip} at {shares:.0f} % of its clock").format(
            npu=npu, chip=chip, shares=100 * median(shares)
        )
        for (npu, chip), shares in sorted(seen.items())
        if len(shares) >= _REPEATED and median(shares) < _SLOWED
    ]
    return _(", ").join(slow)


def _figures(
    samples: int, loads: Sequence[int], used: Sequence[float], temperature: float | None
) -> str:
    parts = [_("{loads:.0f} % busy").format(loads=median(loads))] if loads else []
    if used:
        parts.append(_("memory {used:.0f} % used").format(used=100 * median(used)))
    if temperature is not None:
        parts.append(_("{temperature:.0f} °C at most").format(temperature=temperature))
    taken = _("1 sample") if samples == 1 else _("{n} samples").format(n=samples)
    return _(", ").join([*parts, taken])


def _place(of: Device | Process) -> _Place:
    return of.npu, of.chip
