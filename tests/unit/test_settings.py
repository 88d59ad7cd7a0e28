"""Settings are checked where they are made."""

import sys
from pathlib import Path

import pytest

from specfloor.engines.routes import PythonRoute, VenvRoute
from specfloor.errors import UsageError
from specfloor.judge.cell import Rule
from specfloor.judge.mixed import Slo
from specfloor.plan import Selection
from tests.unit.builders import settings


def test_the_defaults_hold():
    assert settings().rule == Rule()
    assert settings().rule == Rule(alpha=0.05, beta=0.05, margin=0.05, sampled=False)


def test_the_rule_is_what_was_asked_for():
    asked = settings(alpha=0.01, beta=0.1, margin=0.2, population="sampled")
    assert asked.rule == Rule(alpha=0.01, beta=0.1, margin=0.2, sampled=True)


@pytest.mark.parametrize("name", ["alpha", "beta", "margin"])
@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 5.0, float("nan")])
def test_levels_lie_between_0_and_1(name, value):
    with pytest.raises(UsageError, match=rf"--{name} .* is outside \(0, 1\)"):
        settings(**{name: value})


@pytest.mark.parametrize("share", [0.0, 1.0, 1.5, float("nan")])
def test_a_load_is_a_share_of_the_capacity(share):
    with pytest.raises(UsageError, match=r"--utilisation .* is outside \(0, 1\)"):
        settings(utilisations=(0.5, share))


def test_limits_of_a_load_are_positive_and_part_of_the_rule():
    assert settings(slo=Slo(1.0, 0.05)).rule == Rule(slo=Slo(1.0, 0.05))
    for slo, option in ((Slo(0.0, 1.0), "--slo-ttft"), (Slo(1.0, -1.0), "--slo-tpot")):
        with pytest.raises(UsageError, match=f"{option} .* is not a positive number"):
            settings(slo=slo)


@pytest.mark.parametrize("value", [0.0, -2.0, float("nan")])
def test_a_soak_takes_some_time(value):
    with pytest.raises(UsageError, match=r"--soak .* is not a positive number of minutes"):
        settings(soak_min=value)


def test_a_soak_is_asked_for_in_one_way():
    with pytest.raises(UsageError, match="--soak and --soak-requests both say"):
        settings(soak_min=1.0, soak_requests=100)


@pytest.mark.parametrize("name", ["start", "request", "silence"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_times_are_positive(name, value):
    with pytest.raises(UsageError, match=rf"--{name}-timeout .* is not a positive number"):
        settings(**{f"{name}_timeout_s": value})


@pytest.mark.parametrize(
    ("fields", "option"),
    [
        ({"launches": 0}, "--launches 0"),
        ({"soak_requests": 0}, "--soak-requests 0"),
        ({"selection": Selection(spec_tokens=(3, 0))}, "--spec-tokens 0"),
        ({"selection": Selection(concurrencies=(-2,))}, "--concurrency -2"),
    ],
)
def test_counts_start_at_1(fields, option):
    with pytest.raises(UsageError, match=f"{option} is less than 1"):
        settings(**fields)


@pytest.mark.parametrize("name", ["floors", "workloads"])
def test_folders_are_there(name, tmp_path):
    with pytest.raises(UsageError, match=rf"--{name}-dir .*nowhere is no folder"):
        settings(**{f"{name}_dir": tmp_path / "nowhere"})


def test_the_engines_interpreter_is_a_program(tmp_path):
    mine = Path(sys.executable)
    every = settings(routes={"": PythonRoute(mine)})
    assert every.route("0.23.0") == PythonRoute(mine)
    one = settings(routes={"0.18.0": PythonRoute(mine), "0.21.0rc1": VenvRoute()})
    assert one.route("0.18.0") == PythonRoute(mine)
    assert one.route("0.21.0rc1") == VenvRoute()
    assert one.route("0.23.0") is None
    text = tmp_path / "python"
    text.write_text("")
    for path in (text, tmp_path / "none"):
        with pytest.raises(UsageError, match=r"--engine-python .* is no program"):
            settings(routes={"": PythonRoute(path)})
