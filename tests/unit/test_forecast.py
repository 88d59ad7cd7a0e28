"""What a plan costs, and how a plan and its refusals are shown."""

import json

import pytest
from click.testing import CliRunner

from specfloor.catalog import load_catalog
from specfloor.catalog.onsite import on_site
from specfloor.cells import Cell
from specfloor.commands.plan import plan
from specfloor.experiments.registry import EXPERIMENTS
from specfloor.forecast import START_S, TOKEN_S, forecast
from specfloor.load.sets import Workloads
from specfloor.plan import Demand, plan_launches
from specfloor.report.plan import plan_lines
from specfloor.runs.records import Purpose

CELL = Cell("0.23.0", "glm-4.7", "mtp", 3, "code", "on", 4)


@pytest.fixture
def workloads(pytestconfig):
    return Workloads(pytestconfig.rootpath / "fixtures" / "workloads", seed=1)


def forecast_of(workloads, *cells, soc="a2", cards=8):
    site = on_site(load_catalog(), soc=soc, cards=cards)
    demands = [Demand(cell, frozenset({Purpose.NATURAL})) for cell in cells]
    return forecast(plan_launches(demands).launches, site.catalog, workloads)


def test_a_launch_takes_its_start_and_its_answers(workloads):
    off, on = forecast_of(workloads, CELL)
    settings = workloads.settings("general", "code")
    prompts = len(workloads.prompts("general", "code"))
    answers = prompts * settings.max_tokens * TOKEN_S / 4
    assert on.seconds == off.seconds == pytest.approx(START_S["ascend"] + answers)
    assert on.cards == 8
    assert on.npu_hours == pytest.approx(8 * on.seconds / 3600)


def test_no_devices_on_a_cpu(workloads):
    cell = Cell("cpu-0.32.0", "glm_moe_tiny", "mtp", 3, "code", "off", 1)
    assert [one.cards for one in forecast_of(workloads, cell)] == [0, 0]


def test_the_lines_name_cost_and_refusals(workloads):
    lines = plan_lines(
        [CELL],
        forecast_of(workloads, CELL),
        {CELL.on_release("0.1.0"): "too old", CELL.on_release("0.2.0"): "too old"},
    )
    assert lines[0].startswith("specfloor: 1 cells, 2 launches, at most about ")
    assert "NPU-hours on up to 8 devices" in lines[0]
    assert f"  cell   {CELL.id}" in lines
    assert lines[-2:] == ["specfloor: 2 cells cannot run here:", "  2 cells: too old"]


class TestCommand:
    def run(self, pytestconfig, *arguments):
        options = ["--fixtures", str(pytestconfig.rootpath / "fixtures"), *arguments]
        return CliRunner().invoke(plan, options, catch_exceptions=False)

    def test_the_full_matrix_on_one_host(self, pytestconfig):
        done = self.run(
            pytestconfig,
            *("--release", "all", "--family", "all", "--soc", "a2", "--cards", "8"),
            *("--format", "json"),
        )
        said = json.loads(done.output)
        releases = {cell.rpartition("-glm_4_7-")[0] for cell in said["cells"] if "glm_4_7" in cell}
        assert "0.18.0" in releases
        assert "0.13.0" not in releases
        assert any("0.13.0-glm_4_7-mtp3" in cell for cell in said["refused"])
        assert any("kimi_k3" in cell for cell in said["refused"])
        assert all(launch["cards"] <= 8 for launch in said["launches"])

    @pytest.fixture
    def fixtures(self, pytestconfig):
        return "--fixtures", pytestconfig.rootpath / "fixtures"

    def test_a_table_with_the_reasons(self, pytestconfig):
        done = self.run(pytestconfig, "--release", "0.18.0", "--release", "0.13.0")
        assert "cell 0.18.0-glm_4_7-mtp3-code-on-c1" in done.output
        assert "0.13.0 does not have mtp for glm-4.7" in done.output
        assert "NPU-hours" in done.output

    def test_where_no_cell_can_run_the_reasons_are_shown_all_the_same(self, typed, fixtures):
        nothing = ("plan", *fixtures, "--family", "glm-5.2", "--soc", "a2", "--cards", "8")
        code, out, err = typed(*nothing)
        assert code == 4
        assert "planned for 8 devices of a2" in out
        assert "glm-5.2 is not documented on one a2 host with 8 devices" in out
        assert err == "specfloor: none of the 3 cells can run here, for the reasons listed\n"
        code, out, err = typed(*nothing, "--format", "json")
        assert code == 4
        said = json.loads(out)
        assert (said["cells"], said["soc"], said["devices"]) == ([], "a2", 8)
        assert len(said["refused"]) == 3

    def test_what_is_known_of_the_cells_is_shown_as_in_the_suite(self, typed, fixtures):
        glm = ("--release", "0.18.0", "--family", "glm-5", "--method", "mtp", "--cards", "16")
        _, out, _ = typed("plan", *fixtures, *glm, "--soc", "a2")
        known = [line for line in out.splitlines() if line.startswith("  KNOWN  ")]
        assert known[0].startswith("  KNOWN  0.18.0 glm-5 mtp3: acceptance fault 10878")
        _, out, _ = typed("plan", *fixtures, "--platform", "cpu", "--family", "glm_moe_tiny")
        assert "KNOWN" not in out

    def test_without_npus_it_says_which_hardware_is_planned_for(self, typed, fixtures, monkeypatch):
        monkeypatch.setattr("specfloor.settings.find_hardware", lambda: None)
        code, out, _ = typed("plan", *fixtures, "--family", "glm-4.7")
        assert code == 0
        assert out.startswith("no NPUs were found or named with --soc and --cards")
        _, out, _ = typed("plan", *fixtures, "--family", "glm-4.7", "--soc", "a2")
        assert out.startswith("planned for a2, of which no devices are known: give --cards too")
        _, out, _ = typed("plan", *fixtures, "--platform", "cpu", "--family", "glm_moe_tiny")
        assert "no NPUs were found" not in out

    def test_experiments_are_shown_with_what_they_are_asked_of(self, typed, fixtures):
        old = ("plan", *fixtures, "--release", "0.18.0", "--family", "glm-5", "--method", "mtp")
        hosts = ("--soc", "a2", "--cards", "16")
        _, out, _ = typed(*old, *hosts, "--experiments", "--format", "json")
        asked = json.loads(out)["experiments"]
        assert list(asked) == list(EXPERIMENTS)
        assert asked["output"]["cells"] == ["0.18.0-glm_5-mtp3-code-on-c1"], "it varies the rest"
        assert len(asked["flip"]["cells"]) == 3
        assert asked["schedule"]["cells"] == []
        assert set(asked["schedule"]["left_out"]) == set(asked["flip"]["cells"])
        _, out, _ = typed(*old, *hosts, "--experiments=small")
        assert asked["schedule"]["left_out"].popitem()[1].split()[0] in out
        assert "experiments (small) have launches besides" in out
        _, out, _ = typed(*old, *hosts)
        assert "flip" not in out
