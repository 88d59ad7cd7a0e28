"""Every case under tests/cases, through the command, against what a correct reader gives."""

import json
import re
import shutil

import pytest
from click.testing import CliRunner

from specfloor.commands.triage import triage
from tests.unit.triage.builders import CASES

_FOLDERS = sorted(path.parent for path in CASES.glob("*/*/expected.json"))
_UNDECIDED = {
    "NO_DATA",
    "INCONCLUSIVE",
    "BASELINE_INVALID",
    "WORKLOAD_INVALID",
    "UNSUPPORTED_FORMAT",
}


@pytest.fixture(params=_FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def case(request, tmp_path):
    """Return a case, a copy of its folder, and what the command prints of it."""
    expected = json.loads((request.param / "expected.json").read_text(encoding="utf-8"))
    folder = tmp_path / "case"
    shutil.copytree(request.param, folder)
    given = folder / "given.json"
    given.write_text(json.dumps(expected["given"]), encoding="utf-8")
    result = CliRunner().invoke(
        triage,
        ["--given", str(given), "--format", "json"],
        standalone_mode=False,
        catch_exceptions=False,
    )
    return expected, json.loads(result.stdout), result.return_value


def test_a_case(case):
    expected, found, exit_code = case
    wanted = expected["expect"]
    differences = list(
        compare(wanted["extract"], found["extract"], "extract", expected["tolerance"])
    )
    assert not differences
    verdict = found["verdict"]
    assert verdict["class"] in {wanted["verdict"]["class"], *wanted["verdict"].get("also_ok", ())}
    for key, value in wanted["verdict"].get("scope", {}).items():
        assert verdict["scope"][key] == value
    codes = {warned["code"] for warned in found["warnings"]}
    assert codes >= set(wanted.get("warnings", ()))
    assert found["schema"] == 1
    assert found["findings"][0]["finding"] == verdict["class"]
    expected_exit = 10 if verdict["class"] in _UNDECIDED else 1
    assert exit_code == (0 if verdict["class"] in {"EXPECTED", "PARSE"} else expected_exit)
    for sentence in wanted.get("must_not", ()):
        check_not(sentence, found, exit_code)


def compare(expected, found, path, tolerance):
    """Yield what differs from what is expected; keys that are not expected are not looked at."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            if key not in found:
                yield f"{path}/{key}", value, "left out"
            else:
                yield from compare(value, found[key], f"{path}/{key}", tolerance)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from compare(one, other, f"{path}/{number}", tolerance)
    elif _is_number(expected) and _is_number(found):
        if abs(expected - found) > slack(path, expected, tolerance) + 1e-9:
            yield path, expected, found
    elif type(expected) is not type(found) or expected != found:
        yield path, expected, found


def slack(path, expected, tolerance):
    """Return how far a number may be off; the cases name tolerances by kind of number."""
    kinds = (
        ("per_position", "per_position"),
        ("acceptance_rate", "acceptance_rate"),
        ("mean_of", "acceptance_rate"),
        ("acceptance_length", "acceptance_length"),
        ("_ms/", "ms"),
        ("tok_s", "tok_s"),
        ("duration_s", "tok_s"),
        ("ratio", "ratio"),
        ("delta_points", "delta_points"),
    )
    if "window_seconds" in path:
        return tolerance["window_seconds_rel"] * expected
    if path.endswith("/drafts") and "drafts_rel" in tolerance:
        return tolerance["drafts_rel"] * expected
    return next((tolerance[kind] for part, kind in kinds if part in path), tolerance["counts"])


def check_not(sentence, found, exit_code):
    """Check an outcome that makes a case fail, where it is more than a wrong number."""
    names = {entry["finding"] for entry in found["findings"]}
    if sentence == "report a pass":
        assert exit_code != 0
    if "report 0 %" in sentence:
        assert all(rate != 0 for rate in _rates(found["extract"]))
    if match := re.fullmatch(r"report (ACCEPT_\w+|TOPOLOGY)", sentence):
        assert match[1] not in names
    if "negative" in sentence:
        assert all(number >= 0 for number in _numbers(found["extract"]))
    if "flip" in sentence:
        assert "BATCH_FLIP" not in names
        assert not found["extract"].get("flip")


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rates(value):
    if isinstance(value, dict):
        for key, inside in value.items():
            if key == "acceptance_rate":
                yield inside
            else:
                yield from _rates(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _rates(inside)


def _numbers(value):
    if _is_number(value):
        yield value
    elif isinstance(value, dict | list):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inside)


def test_the_comparison_sees_what_is_wrong():
    tolerance = {"counts": 0, "acceptance_rate": 0.001}
    wanted = {"a": None, "totals": {"acceptance_rate": 0.5, "drafts": 3}, "list": [1, 2]}
    assert not list(compare(wanted, wanted | {"more": 1}, "", tolerance))
    for wrong in (
        {"a": 0},
        {"a": None, "totals": None, "list": [1, 2]},
        {"a": None, "totals": {"acceptance_rate": 0.502, "drafts": 3}, "list": [1, 2]},
        {"a": None, "totals": {"acceptance_rate": 0.5, "drafts": 4}, "list": [1, 2]},
        {"a": None, "totals": {"acceptance_rate": 0.5, "drafts": 3}, "list": [1]},
        {"a": False, "totals": {"acceptance_rate": 0.5, "drafts": 3}, "list": [1, 2]},
    ):
        assert list(compare(wanted, wrong, "", tolerance))


def test_there_are_cases_of_every_kind():
    kinds = {path.parent.name for path in _FOLDERS}
    assert kinds == {"bench", "env", "logs", "metrics", "npu_smi", "response"}
    assert len(_FOLDERS) >= 84
