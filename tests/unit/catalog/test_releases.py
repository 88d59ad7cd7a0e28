"""The releases of the catalogue: complete, consistent, unknown where unknown."""

import datetime

import pytest
from packaging.version import Version

from specfloor.catalog import load_catalog
from specfloor.catalog.model import Release

CATALOG = load_catalog()
ASCEND = [r for r in CATALOG.releases.values() if r.platform == "ascend"]


def release(name: str) -> Release:
    return CATALOG.release(name)


def test_all_forty_nine_are_there_in_order_of_version():
    names = [r.name for r in ASCEND]
    assert len(names) == 49
    assert names == sorted(names, key=Version)
    assert (names[0], names[-1]) == ("0.7.1rc1", "0.30.0rc2")


def test_each_platform_has_one_default():
    assert [r.name for r in ASCEND if r.default] == ["0.23.0"]
    assert len([r for r in CATALOG.releases.values() if r.platform == "cpu" and r.default]) == 1


@pytest.mark.parametrize("one", ASCEND, ids=lambda r: r.name)
def test_an_ascend_release_runs_on_a_host_and_says_where_it_was_read(one):
    assert one.kind == "host"
    assert one.vllm_ascend == one.name
    assert one.sources
    datetime.date.fromisoformat(one.date)
    Version(one.vllm)
    tags = [tag for tags in one.images.values() for tag in tags]
    assert len(tags) == len(set(tags))
    assert all(tag.startswith(f"v{one.name}") for tag in tags)
    assert all(("-a3" in t) == (soc == "a3") for soc, ts in one.images.items() for t in ts)


def test_pairings_checked_by_hand():
    one = release("0.23.0")
    assert (one.vllm, one.torch, one.torch_npu) == ("0.23.0", "2.10.0", "2.10.0.post4")
    assert (one.triton_ascend, one.cann) == ("3.2.2", "9.1.0")
    assert one.images["a3"] == ("v0.23.0-a3", "v0.23.0-a3-openeuler")
    one = release("0.18.0")
    assert (one.vllm, one.torch_npu, one.cann) == ("0.18.0", "2.9.0.post1+git4c901a4", "8.5.1")
    assert release("0.11.0rc0").vllm == "0.11.0rc3"
    assert release("0.10.1rc1").vllm == "0.10.1.1"
    # the later candidate was published after the final release
    assert release("0.13.0rc3").date > release("0.13.0").date


def test_what_is_not_known_stays_unknown():
    assert release("0.7.1rc1").triton_ascend is None
    assert release("0.30.0rc2").commit is None
    assert release("0.10.1rc1").signals.token_ids is None
    assert release("0.7.3").signals.length_counts_bonus is None


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("0.7.3", "v0"),
        ("0.9.1", "v1-0.9"),
        ("0.10.1rc1", "v1-0.9"),
        ("0.10.2rc1", "v1-0.10.2"),
        ("0.11.0", "v1-0.11"),
        ("0.30.0rc2", "v1-0.11"),
    ],
)
def test_the_log_line_is_that_of_the_paired_vllm(name, line):
    assert release(name).signals.log_line == line


def test_rung_a_begins_with_0_29():
    offers = [r.name for r in ASCEND if r.signals.per_request]
    assert offers == ["0.29.0rc1", "0.30.0rc1", "0.30.0rc2"]


def test_v0_gauges_and_v1_counters_change_over():
    assert release("0.7.3").signals.counters is False
    assert release("0.9.1").signals.v0_gauges is True
    assert release("0.9.1").signals.counters is True
    assert release("0.10.0rc1").signals.v0_gauges is False


@pytest.mark.parametrize(
    ("name", "schedule", "vllm", "ascend", "synthetic"),
    [
        ("0.18.0", "absent", "absent", "absent", "absent"),
        ("0.23.0", "absent", "absent", "absent", "accepted"),
        ("0.26.0rc1", "accepted", "absent", "absent", "supported"),
        ("0.27.1rc1", "supported", "absent", "supported", "supported"),
        ("0.28.0rc1", "supported", "supported", "supported", "supported"),
    ],
)
def test_knobs_arrive_one_by_one(name, schedule, vllm, ascend, synthetic):
    knobs = release(name).knobs
    assert knobs.schedule == schedule
    assert knobs.adaptive_verification == vllm
    assert knobs.dynamic_spec_config == ascend
    assert knobs.synthetic == synthetic
