"""What samples of a machine say, and that ordinary scatter says nothing."""

import random

import msgspec
import pytest

from specfloor.host.npu_smi import Clock, Device, Process
from specfloor.judge.host import host_during
from specfloor.runs.records import HostSampleRecord, ProcessorSample
from specfloor.triage.findings import Finding

OURS, THEIRS = 24000, 777
GIB = 2**30


def processor(busy=90.0, own=85.0, held_back=None):
    return ProcessorSample(busy, own, 2.0, 4 * GIB, 8 * GIB, None, held_back)


def chip(npu=0, health="OK", aicore=70, temp=45):
    return Device(npu, 0, "910B1", health, None, 98.0, temp, aicore, 0, 0, 52020, 65536)


def on(npu, pid):
    return Process(npu, 0, pid, "VLLMWorker_TP", 50000)


def sample(t=0.0, **fields):
    return HostSampleRecord("a launch", t, 0.01, **fields)


def npu(t=0.0, devices=None, processes=None, own=(OURS,), **fields):
    return sample(
        t,
        processor=processor(),
        devices=(chip(0), chip(1)) if devices is None else devices,
        processes=(on(0, OURS),) if processes is None else processes,
        own_pids=own,
        **fields,
    )


def test_without_samples_nothing_is_known():
    found = host_during([])
    assert (found.healthy, found.shared, found.throttled, found.idle) == (None,) * 4
    assert found.finding is None
    assert found.sentence == "the machine was not sampled"


def test_healthy_devices_are_on_record():
    found = host_during([npu(t) for t in range(3)])
    assert (found.healthy, found.shared, found.idle, found.finding) == (True, False, False, None)
    assert found.sentence == (
        "the devices looked normal; 70 % busy, memory 79 % used, 45 °C at most, 3 samples"
    )


@pytest.mark.parametrize("state", ["Alarm", "Critical", "UNKNOWN"])
def test_a_device_that_fails_is_hardware(state):
    found = host_during([npu(), npu(devices=(chip(0, state), chip(1)))])
    assert found.healthy is False
    assert found.finding is Finding.HARDWARE
    assert f"devices were unwell: NPU 0 chip 0 ({state})" in found.sentence


@pytest.mark.parametrize("state", ["Warning", "NA", ""])
def test_a_device_that_only_warns_is_not(state):
    assert host_during([npu(devices=(chip(0, state),))] * 2).finding is None


def test_a_device_that_fails_and_is_not_ours_is_not_either():
    assert host_during([npu(devices=(chip(0), chip(1, "Alarm")))] * 2).finding is None


def test_a_process_of_others_on_our_device_is_hardware():
    found = host_during([npu(processes=(on(0, OURS), on(0, THEIRS)))] * 2)
    assert found.shared is True
    assert found.finding is Finding.HARDWARE
    assert "processes of others were on our devices (pids 777)" in found.sentence


def test_one_on_another_device_is_not():
    found = host_during([npu(processes=(on(0, OURS), on(1, THEIRS)))] * 3)
    assert found.shared is False
    assert found.finding is None


def test_one_that_was_seen_once_is_not():
    passing = npu(processes=(on(0, OURS), on(0, THEIRS)))
    assert host_during([npu(), passing, npu()]).shared is False


def test_where_pids_are_numbered_otherwise_nothing_is_said_of_sharing():
    found = host_during([npu(own=(17,))] * 3)
    assert found.shared is None
    assert found.finding is None
    assert "whose processes were on them is not known" in found.sentence


def test_a_chip_under_its_clock_while_it_works_is_hardware():
    found = host_during([npu(clocks=(Clock(0, 0, 1200, 1850),))] * 2)
    assert found.throttled is True
    assert found.finding is Finding.HARDWARE
    assert "a device ran slower than rated (NPU 0 chip 0 at 65 % of its clock)" in found.sentence


@pytest.mark.parametrize(
    ("aicore", "now", "throttled"), [(70, 1850, False), (0, 800, None), (5, 800, None)]
)
def test_a_chip_at_its_clock_or_at_rest_is_not(aicore, now, throttled):
    found = host_during(
        [npu(devices=(chip(0, aicore=aicore),), clocks=(Clock(0, 0, now, 1850),))] * 3
    )
    assert found.throttled is throttled
    assert found.finding is None


def test_devices_without_any_work_are_idle():
    found = host_during([npu(devices=(chip(aicore=0),))] * 3)
    assert found.idle is True
    assert "none of them did any work" in found.sentence
    busy_once = [npu(devices=(chip(aicore=0),))] * 9 + [npu()]
    assert host_during(busy_once).idle is False


def test_devices_that_could_not_be_read_leave_only_the_processor():
    found = host_during([sample(processor=processor(95, 5), problem="npu-smi did not answer")] * 3)
    assert found.healthy is None
    assert found.shared is None
    assert found.finding is None
    assert found.sentence.startswith("the devices could not be read (npu-smi did not answer)")


def test_a_processor_that_others_use_is_hardware():
    found = host_during([sample(t, processor=processor(98, 50)) for t in range(5)])
    assert found.shared is True
    assert found.finding is Finding.HARDWARE
    assert found.sentence == (
        "processes of others took 48 % of the processor, 98 % busy in 5 samples"
    )


def test_one_that_is_ours_is_normal():
    found = host_during([sample(t, processor=processor(97, 95)) for t in range(5)])
    assert found.shared is False
    assert found.sentence == "the processor looked normal, 97 % busy in 5 samples"


def test_one_sample_is_too_few_to_call_a_processor_shared():
    assert host_during([sample(processor=processor(98, 5))]).shared is None


def test_without_own_shares_nothing_is_said_of_sharing():
    found = host_during([sample(processor=processor(90, None))] * 3)
    assert found.shared is None
    assert found.finding is None


@pytest.mark.parametrize(("seconds", "throttled"), [(0.0, False), (0.1, False), (1.0, True)])
def test_a_quota_that_bites_is_said(seconds, throttled):
    found = host_during([sample(5.0 * n, processor=processor(held_back=seconds)) for n in range(5)])
    assert found.throttled is throttled
    assert ("a quota held processes back" in found.sentence) is throttled
    assert found.finding is None


@pytest.mark.parametrize(("share", "least", "most"), [(8, 0, 0), (18, 0, 2), (32, 98, 100)])
def test_scatter_neither_alarms_nor_hides(share, least, most):
    """Of 100 launches of 20 to 40 samples, in which the load of others scatters widely."""
    draw = random.Random(20260601)
    alarms = 0
    for _ in range(100):
        others = [min(max(draw.gauss(share, 12), 0), 60) for _ in range(draw.randint(20, 40))]
        run = [sample(processor=processor(40 + x, 40)) for x in others]
        alarms += host_during(run).finding is Finding.HARDWARE
    assert least <= alarms <= most


def test_a_summary_is_plain_data():
    found = host_during([npu()] * 3)
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
