"""``specfloor dashboard`` as typed."""

import json

import click
import pytest
import yaml
from click.testing import CliRunner

from specfloor.commands.dashboard import dashboard
from specfloor.dashboard.bounds import bounds_of
from specfloor.errors import UsageError
from specfloor.judge.floors import Floors
from tests.unit.builders import catalog, floor, report_only


def run(*arguments):
    result = CliRunner().invoke(
        dashboard, list(map(str, arguments)), standalone_mode=False, catch_exceptions=False
    )
    return result.stdout


@pytest.fixture
def floors_dir(tmp_path):
    folder = tmp_path / "floors"
    folder.mkdir()
    entry = """
        [[floor]]
        family = "glm-5.2"
        method = "mtp"
        quantity = "acceptance_rate"
        workload = "{}"
        value = {}
        source = "run r"
        date = 2026-11-29
        hardware = "A3"
        reason = "measured"
        n = 40
    """
    text = entry.format("code", 0.7) + entry.format("chat", 0.6)
    (folder / "ascend.toml").write_text(text, encoding="utf-8")
    return folder


def rules_in(folder):
    whole = yaml.safe_load((folder / "specfloor-rules.yaml").read_text(encoding="utf-8"))
    return {
        rule.get("alert") or rule["record"]: rule
        for group in whole["groups"]
        for rule in group["rules"]
    }


def test_both_files_are_written_and_named(tmp_path):
    text = run("-o", tmp_path / "out")
    assert text.splitlines() == [
        f"wrote {tmp_path / 'out' / 'specfloor-dashboard.json'}",
        f"wrote {tmp_path / 'out' / 'specfloor-rules.yaml'}",
        "no alert about a floor: give --family or --floor",
    ]
    found = rules_in(tmp_path / "out")
    assert {name for name in found if name.startswith("Specfloor")} == {
        "SpecfloorAcceptanceCollapsed",
        "SpecfloorEnginesDiffer",
        "SpecfloorFirstPositionFell",
        "SpecfloorNoDrafts",
    }
    shown = json.loads((tmp_path / "out" / "specfloor-dashboard.json").read_text(encoding="utf-8"))
    assert len(shown["panels"]) == 8
    targets = [target for panel in shown["panels"] for target in panel["targets"]]
    assert all("vllm:" in target["expr"] for target in targets)
    places = {tuple(panel["gridPos"].values()) for panel in shown["panels"]}
    assert len(places) == 8


def test_the_lowest_floor_of_a_family_holds_for_the_model_it_is_served_as(tmp_path, floors_dir):
    out = tmp_path / "out"
    text = run("-o", out, "--floors", floors_dir, "--family", "glm-5.2=GLM-5.2")
    assert "floor: acceptance_rate 0.6 of GLM-5.2 (acceptance_rate of glm-5.2 mtp any k" in text
    alert = rules_in(out)["SpecfloorAcceptanceBelowFloor"]
    assert 'specfloor:model_acceptance_rate{model_name="GLM-5.2"} < 0.6 ' in alert["expr"]
    assert alert["for"] == "10m"
    assert alert["labels"]["family"] == "glm-5.2"
    shown = json.loads((out / "specfloor-dashboard.json").read_text(encoding="utf-8"))
    (panel,) = (panel for panel in shown["panels"] if panel["title"] == "Acceptance rate")
    assert panel["fieldConfig"]["defaults"]["thresholds"]["steps"][1]["value"] == 0.6


def test_a_release_with_v0_engines_gets_their_gauge(tmp_path):
    assert "V0's rate since the start only" in run("-o", tmp_path, "--release", "0.7.3")
    assert "SpecfloorEnginesDiffer" not in rules_in(tmp_path)
    shown = json.loads((tmp_path / "specfloor-dashboard.json").read_text(encoding="utf-8"))
    assert [panel["title"] for panel in shown["panels"]] == [
        "Acceptance rate since the start (V0 engine)"
    ]
    run("-o", tmp_path, "--release", "0.9.1")
    assert "SpecfloorEnginesDiffer" in rules_in(tmp_path)
    shown = json.loads((tmp_path / "specfloor-dashboard.json").read_text(encoding="utf-8"))
    assert len(shown["panels"]) == 9


def test_names_and_matchers_of_a_gateway(tmp_path):
    run("-o", tmp_path, "--prefix", "vllm_", "--match", 'namespace="prod"')
    expression = rules_in(tmp_path)["specfloor:drafts:rate"]["expr"]
    assert expression == 'rate(vllm_spec_decode_num_drafts_total{namespace="prod"}[5m])'


@pytest.mark.parametrize("floor", ["nan", "1", "0"])
def test_an_alert_that_never_fires_is_refused(floor, tmp_path):
    with pytest.raises(click.BadParameter):
        run("-o", tmp_path / "out", "--floor", floor)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--release", "99.0"), "99.0"),
        (("--family", "gpt-7"), "gpt-7"),
        (("--family", "glm-4.7"), "glm-4.7 has no floor of its acceptance"),
        (("--family", "glm-5.2", "--family", "glm-4.7=x"), "say what it is served as"),
        (("--prefix", "7{"), "cannot begin the name of a metric"),
        (("--match", "namespace=prod"), "is no list of matchers"),
        (("--match", '}) or vector(1) #"'), "is no list of matchers"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence(arguments, message, tmp_path, floors_dir):
    with pytest.raises(UsageError, match=message):
        run("-o", tmp_path / "out", "--floors", floors_dir, *arguments)
    assert not (tmp_path / "out").exists()


def test_a_missing_folder_of_floors_and_one_that_cannot_be_written_are_said(tmp_path):
    with pytest.raises(UsageError, match="name their folder with --floors"):
        run("-o", tmp_path / "out", "--floors", tmp_path, "--family", "glm-5.2")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written to"):
        run("-o", tmp_path / "file")


def test_a_family_has_the_floors_of_the_one_it_names_and_only_those_of_acceptance():
    family = next(iter(catalog().families.values()))
    entries = Floors((floor(0.6), floor(1.3, quantity="speedup")), (report_only("speedup"),))
    (bound,) = bounds_of(entries, family, "")
    assert bound.value == 0.6
