"""The sampler: what it takes, when it stops, and that it stays out of the way."""

import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from specfloor.host import sampling
from specfloor.host.npu_smi import Clock, read_clocks, read_npu_smi
from specfloor.host.sampling import HostSampler

CASES = Path(__file__).parents[2] / "cases" / "npu_smi"
BUSY = CASES / "a2-910b1-busy" / "npu-smi.txt"
COMMON = """\
	NPU ID                         : 1
	Chip Count                     : 1

	Chip ID                        : 0
	Memory Usage Rate(%)           : 0
	HBM Usage Rate(%)              : 79
	Aicore Usage Rate(%)           : 69
	Aicore Freq(MHZ)               : 1850
	Aicore curFreq(MHZ)            : 1400
	Temperature(C)                 : 47
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(sampling, "_FIRST_S", 0.01)


def take(count, **options):
    """Return the first ``count`` samples and those that the end of the context gave."""
    taken = []
    clock = itertools.count(1).__next__
    with HostSampler(taken.append, "a launch", clock=clock, period_s=0.01, **options) as sampler:
        while len(taken) < count:
            time.sleep(0.01)
            sampler.drain()
    return taken


def test_the_processor_is_sampled():
    first, second = take(2, npu=False)[:2]
    assert first.launch == "a launch"
    assert first.t_s < second.t_s
    assert first.problem is None
    assert first.devices == ()
    processor = first.processor
    assert 0 <= processor.busy_pct <= 100
    assert 0 <= processor.own_pct <= 100
    assert 0 < processor.memory_used_bytes < processor.memory_total_bytes


def test_what_this_program_started_counts_as_its_own():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            samples = take(2, npu=False)
        finally:
            busy.kill()
    assert all(busy.pid in sample.own_pids for sample in samples)


def test_what_processes_used_is_counted_from_when_they_were_last_seen():
    processor = sampling._Processor()
    processor._own = {1: 5.0, 2: 3.0}
    own = [process(1, 6.5), process(3, 0.25), process(4, None)]
    assert processor._used_by(own) == pytest.approx(1.75)
    assert processor._used_by(own) == 0.0


def process(pid, seconds):
    def cpu_times():
        if seconds is None:
            raise psutil.NoSuchProcess(pid)
        return SimpleNamespace(user=seconds, system=0.0)

    return SimpleNamespace(pid=pid, cpu_times=cpu_times)


def test_devices_processes_and_the_clock_of_the_hottest_are_sampled(npu_smi, tmp_path):
    (tmp_path / "common").write_text(COMMON)
    npu_smi(f'[ "$*" = "info" ] && exec cat {BUSY}\n[ "$5" = 1 ] && exec cat {tmp_path}/common')
    table = read_npu_smi(BUSY.read_text())
    sample = take(1, npu=True)[0]
    assert sample.devices == table.devices
    assert sample.processes == table.processes
    assert sample.clocks == (Clock(1, 0, 1400, 1850),)
    assert sample.problem is None


@pytest.mark.parametrize(
    ("script", "patience_s", "problem"),
    [
        ("echo 'dcmi module initialize failed. ret is -8005'", 60, "dcmi initialisation failed"),
        ("echo nonsense", 60, "npu-smi info printed no table"),
        ("exec sleep 600", 0.1, "npu-smi did not answer within 0.1 s"),
    ],
)
def test_an_npu_smi_that_fails_is_a_sample_with_a_problem(
    npu_smi, monkeypatch, script, patience_s, problem
):
    monkeypatch.setattr(sampling, "NPU_SMI_S", patience_s)
    npu_smi(script)
    sample = take(1, npu=True)[0]
    assert sample.problem.startswith(problem)
    assert sample.devices == ()
    assert sample.processor is not None


def test_an_npu_smi_that_hangs_does_not_keep_the_end_waiting(npu_smi, tmp_path):
    npu_smi(f"touch {tmp_path}/began; exec sleep 600")
    taken = []
    with HostSampler(taken.append, "x", clock=lambda: 0.0, period_s=0.01, npu=True):
        while not (tmp_path / "began").exists():
            time.sleep(0.01)
    assert taken == []
    assert not any(thread.name == "host sampler" for thread in threading.enumerate())


def test_records_come_in_the_thread_that_asks():
    threads = set()
    take_in = threading.current_thread()
    with HostSampler(
        lambda _: threads.add(threading.current_thread()), "x", clock=lambda: 0.0, period_s=0.01
    ) as sampler:
        while not threads:
            time.sleep(0.01)
            sampler.drain()
    assert threads == {take_in}


def test_a_period_of_nothing_takes_nothing():
    taken = []
    with HostSampler(taken.append, "x", clock=lambda: 0.0, period_s=0):
        pass
    assert taken == []


def test_it_rests_in_proportion_to_what_a_sample_costs(monkeypatch):
    waits = []

    class Stop:
        def wait(self, seconds):
            waits.append(seconds)
            return len(waits) > 2

        def is_set(self):
            return False

    sampler = HostSampler(lambda _: None, "x", clock=lambda: 0.0, period_s=0.5, npu=False)
    sampler._stop = Stop()
    ticks = iter([0.0, 0.2, 10.0, 14.0])
    monkeypatch.setattr(sampler, "_sample", lambda processor: None)
    monkeypatch.setattr(sampling.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(sampling, "_Processor", lambda: None)
    sampler._work()
    assert waits[1:] == pytest.approx([1.8, 36.0])


@pytest.mark.parametrize(
    ("name", "text", "seconds"),
    [
        ("v2", "usage_usec 9\nnr_throttled 2\nthrottled_usec 2500000\n", 2.5),
        ("v1", "nr_periods 1\nnr_throttled 2\nthrottled_time 1500000000\n", 1.5),
        ("none", "usage_usec 9\n", None),
    ],
)
def test_the_quota_of_a_control_group_is_read(tmp_path, monkeypatch, name, text, seconds):
    (tmp_path / name).write_text(text)
    monkeypatch.setattr(sampling, "_QUOTA_FILES", ("/no/such/file", str(tmp_path / name)))
    assert sampling._held_back_s() == seconds


def test_clocks_are_read_a_chip_at_a_time():
    two = COMMON + COMMON.replace("Chip ID                        : 0", "Chip ID : 1")
    assert [clock.chip for clock in read_clocks(two)] == [0, 1]
    assert read_clocks("This device does not support querying common.") == ()
