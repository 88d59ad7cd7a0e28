"""Samples of the machine while it is measured: whether the hardware looked normal, on record."""

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from specfloor.host.npu import has_npu
from specfloor.host.npu_smi import Clock, NpuTable, read_clocks, read_npu_smi
from specfloor.host.programs import NPU_SMI_S, run_program
from specfloor.runs.records import HostSampleRecord, ProcessorSample

PERIOD_S = 5.0
"""Seconds between samples: several in the shortest block, 720 an hour."""
_REST = 9.0
"""After a sample the sampler rests at least this many times as long as taking it lasted, so that it
is at work a tenth of the time at most, however slow npu-smi is."""
_FIRST_S = 0.5
"""Seconds until the first sample, which the processor's shares are means over."""
_QUOTA_FILES = ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat")
_QUOTA_UNITS = {"throttled_usec": 1e-6, "throttled_time": 1e-9}
"""Names of the time that a quota took, in version 2 and 1 of control groups, with their units."""


class HostSampler:
    """Takes samples in a thread of its own while the context is open.

    The thread only gathers. Records go to ``sink`` in :meth:`drain` and at the end, in the thread
    that calls, so that the sink need not be safe for threads and writing is in no timed path.

    Args:
        sink: takes the records.
        launch: id of the launch that is measured.
        clock: gives seconds on the run's clock.
        period_s: seconds between samples; 0 takes none.
        npu: whether to ask npu-smi; where there are devices when None.
    """

    def __init__(
        self,
        sink: Callable[[HostSampleRecord], None],
        launch: str,
        *,
        clock: Callable[[], float],
        period_s: float = PERIOD_S,
        npu: bool | None = None,
    ) -> None:
        self._sink = sink
        self._launch = launch
        self._clock = clock
        self._period_s = period_s
        self._npu = has_npu() if npu is None else npu
        self._taken: deque[HostSampleRecord] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="host sampler", daemon=True)

    def __enter__(self) -> Self:
        """Begin to take samples."""
        if self._period_s > 0:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop at once, an npu-smi that runs included, and hand over what was gathered."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.drain()

    def drain(self) -> None:
        """Hand what was gathered so far to the sink, in the order it was taken."""
        while self._taken:
            self._sink(self._taken.popleft())

    def _work(self) -> None:
        processor = _Processor()
        wait_s = min(_FIRST_S, self._period_s)
        while not self._stop.wait(wait_s):
            began = time.perf_counter()
            record = self._sample(processor)
            took = time.perf_counter() - began
            if not self._stop.is_set():
                self._taken.append(record)
            wait_s = max(self._period_s - took, _REST * took)

    def _sample(self, processor: "_Processor") -> HostSampleRecord:
        began, at = time.perf_counter(), self._clock()
        table = self._table() if self._npu else NpuTable()
        clocks = self._clocks(table)
        # after npu-smi: a process of ours that began while it ran is else taken for another's
        own = _own_processes()
        return HostSampleRecord(
            launch=self._launch,
            t_s=round(at, 3),
            took_s=round(time.perf_counter() - began, 4),
            processor=processor.sample(own),
            devices=table.devices,
            processes=table.processes,
            own_pids=tuple(sorted(process.pid for process in own)),
            clocks=clocks,
            problem=table.error,
        )

    def _table(self) -> NpuTable:
        output = run_program(["npu-smi", "info"], timeout_s=NPU_SMI_S, stop=self._stop)
        if output.problem:
            return NpuTable(error=output.problem)
        return read_npu_smi(output.text) or NpuTable(error="npu-smi info printed no table")

    def _clocks(self, table: NpuTable) -> tuple[Clock, ...]:
        """Return the clocks of the hottest NPU that works: the first one that would be slowed."""
        working = [d for d in table.devices if d.aicore_pct]
        if not working:
            return ()
        hottest = max(working, key=lambda d: d.temp_c or 0)
        argv = ["npu-smi", "info", "-t", "common", "-i", str(hottest.npu)]
        return read_clocks(run_program(argv, timeout_s=NPU_SMI_S, stop=self._stop).text)


class _Processor:
    """The processor's shares since it was last asked."""

    def __init__(self) -> None:
        self._cores = psutil.cpu_count() or 1
        self._times = psutil.cpu_times()
        self._own: dict[int, float] = {}
        self._held_back = _held_back_s()
        self._asked = time.perf_counter()
        self._used_by(_own_processes())

    def sample(self, own: list[psutil.Process]) -> ProcessorSample:
        before, self._times = self._times, psutil.cpu_times()
        idle = sum(
            getattr(self._times, name, 0.0) - getattr(before, name, 0.0)
            for name in ("idle", "iowait")
        )
        whole = sum(self._times[:8]) - sum(before[:8])
        busy = 100.0 * (1.0 - idle / whole) if whole > 0 else 0.0
        began, self._asked = self._asked, time.perf_counter()
        used = self._used_by(own) / max(self._asked - began, 1e-9) / self._cores
        held_before, self._held_back = self._held_back, _held_back_s()
        memory = psutil.virtual_memory()
        return ProcessorSample(
            busy_pct=round(min(max(busy, 0.0), 100.0), 1),
            own_pct=round(min(100.0 * used, 100.0), 1),
            load=round(os.getloadavg()[0], 2),
            memory_used_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            temp_c=_hottest(),
            held_back_s=None
            if self._held_back is None or held_before is None
            else round(self._held_back - held_before, 3),
        )

    def _used_by(self, own: list[psutil.Process]) -> float:
        """Return the seconds that processes have used since they were last looked at.

        One that began in between counts from its beginning; one that has ended is lost.
        """
        now = {}
        for process in own:
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            now[process.pid] = times.user + times.system
        before, self._own = self._own, now
        return sum(max(0.0, used - before.get(pid, 0.0)) for pid, used in now.items())


def _own_processes() -> list[psutil.Process]:
    """Return this process and all that it has started."""
    this = psutil.Process()
    try:
        return [this, *this.children(recursive=True)]
    except psutil.Error:
        return [this]


def _held_back_s() -> float | None:
    for path in _QUOTA_FILES:
        try:
            lines = Path(path).read_text(encoding="ascii").split()
        except (OSError, ValueError):
            continue
        for name, number in itertools.pairwise(lines):
            if name in _QUOTA_UNITS:
                return int(number) * _QUOTA_UNITS[name]
    return None


def _hottest() -> float | None:
    """Return the highest temperature of any sensor, in °C; None where there is none to see."""
    try:
        sensors = psutil.sensors_temperatures()
    except (AttributeError, OSError):
        return None
    return max((one.current for group in sensors.values() for one in group), default=None)
