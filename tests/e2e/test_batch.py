"""The flip point and the schedule of k on real vLLM, at concurrencies that two cores can carry."""

import pytest

from tests.e2e.test_real_engine import run_suite

pytestmark = pytest.mark.engine

SMALL = ("--family", "smollm2_135m", "--workload", "rewrite", "--experiments=small")


def experiment(cells, name):
    (found,) = (one for cell in cells for one in cell["experiments"] if one["experiment"] == name)
    return found


def test_where_speculation_stops_paying(tmp_path):
    _, output, cells = run_suite(tmp_path, *SMALL, "--max-concurrency", "4", "-k", "flip_point")
    found = experiment(cells, "flip")
    points = found["detail"]["flip"]["points"]
    assert [point["concurrency"] for point in points] == [1, 2, 4], output
    assert {point["pairs"] for point in points} == {3}
    # drafts of copied text are accepted whatever the batch, so the answer is about the cost
    assert found["detail"]["acceptance_flat"] is True, output
    assert found["detail"]["flip"]["answer"] in {"flip", "no flip", "undecided"}, output


def test_the_emitted_schedule_is_one_the_engine_takes(tmp_path):
    _, output, cells = run_suite(tmp_path, *SMALL, "--max-concurrency", "4", "-k", "schedule")
    found = experiment(cells, "schedule")
    schedule = found["detail"]["schedule"]
    assert schedule[0][0] == 1, output
    assert found["findings"][0] not in {"START_FAIL", "CONFIG_NOT_IN_EFFECT", "NO_DATA"}, output
    held = found["detail"]["held"]
    assert [one["concurrency"] for one in held] == [1, 2, 4]
