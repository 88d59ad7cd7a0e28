"""``specfloor releases`` and ``specfloor families`` as typed."""

import json

import pytest
from click.testing import CliRunner

from specfloor.catalog import load_catalog
from specfloor.commands.families import families
from specfloor.commands.releases import releases
from specfloor.errors import UsageError


def run(command, *arguments):
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_all_releases_are_listed_and_unknown_is_called_so():
    text = run(releases)
    assert all(name in text for name in load_catalog().releases)
    assert "0.23.0 (default)" in text
    (line,) = [line for line in text.splitlines() if line.startswith("0.10.1rc1 ")]
    assert "unknown" in line
    assert "0.23.0" not in run(releases, "--platform", "cpu")


def test_one_release_is_told_whole_with_the_variables_that_moved():
    text = run(releases, "v0.27.1rc1")
    for part in ("2.10.0.post4", "v0.27.1rc1-a3", "0.23.0.post1", "additional_config.enable_mlapo"):
        assert part in text
    assert "commit                             unknown" in text
    first = run(releases, "0.7.1rc1")
    assert "environment variables" not in first
    assert "triton-ascend                      unknown" in first
    assert "CANN" in run(releases, "cpu-0.32.0")


def test_releases_as_json_are_the_records():
    listed = json.loads(run(releases, "--format", "json", "--platform", "ascend"))
    assert len(listed) == 49
    one = json.loads(run(releases, "0.23.0+empty", "--format", "json"))
    assert (one["name"], one["knobs"]["schedule"]) == ("0.23.0", "absent")


def test_all_families_are_listed():
    text = run(families)
    assert all(name in text for name in load_catalog().families)
    assert "glm_moe_tiny" not in run(families, "--platform", "ascend")


def test_one_family_is_told_whole():
    text = run(families, "glm_5_2")
    for part in ("RedHatAI/GLM-5.2-speculator.dspark", "tier max", "on a3, 16 devices", "3/5/1"):
        assert part in text
    assert "HCCL_OP_EXPANSION_MODE=AIV" in run(families, "glm-4.7")
    assert "mtp" in run(families, "glm_moe_tiny")


def test_families_as_json_are_the_records():
    listed = json.loads(run(families, "--format", "json"))
    assert {one["name"] for one in listed} == set(load_catalog().families)
    assert json.loads(run(families, "kimi-k2", "--format", "json"))["name"] == "kimi-k2.5"


@pytest.mark.parametrize(
    ("command", "asked", "why"),
    [
        (releases, "9.1.0", "product image"),
        (releases, "0.26.0rc2", "unknown release"),
        (families, "glm-9", "unknown family"),
    ],
)
def test_what_is_not_there_is_a_usage_error(command, asked, why):
    with pytest.raises(UsageError, match=why):
        CliRunner().invoke(command, [asked], catch_exceptions=False)
