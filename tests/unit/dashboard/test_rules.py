"""The rules, held against series by Prometheus' own tool where it is installed."""

import re
import shutil
import subprocess

import pytest
import yaml

from specfloor.catalog import load_catalog
from specfloor.dashboard.bounds import Bound
from specfloor.dashboard.grafana import dashboard
from specfloor.dashboard.names import Names, names_of
from specfloor.dashboard.rules import rules
from specfloor.judge.floors import Quantity

PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (it comes with Prometheus)"
)
RATE = Bound(Quantity.ACCEPTANCE_RATE, 0.6, "a test", "glm", "GLM")
LENGTH = Bound(Quantity.ACCEPTANCE_LENGTH, 2.0, "a test")
V1, V0 = Names(), Names(counters=False, gauges=True)
SPELLINGS = [
    V1,
    Names(gauges=True),
    Names(prefix="vllm_", match='namespace="prod",pod=~"a.*"'),
    V0,
]
MINUTES = 60


def promtool(*arguments):
    result = subprocess.run(
        [PROMTOOL, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def written(folder, content, name="rules.yaml"):
    (folder / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return str(folder / name)


@needs_promtool
@pytest.mark.parametrize("names", SPELLINGS)
def test_prometheus_takes_the_rules(names, tmp_path):
    whole = rules(names, (RATE, LENGTH))
    count = sum(len(group["rules"]) for group in whole["groups"])
    assert f"{count} rules found" in promtool("check", "rules", written(tmp_path, whole))


@needs_promtool
@pytest.mark.parametrize("names", SPELLINGS)
def test_prometheus_takes_every_expression_of_the_dashboard(names, tmp_path):
    panels = dashboard(names, "a title", (RATE,))["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    assert found
    recorded = [
        {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
        for number, expression in enumerate(found)
    ]
    promtool("check", "rules", written(tmp_path, {"groups": [{"name": "g", "rules": recorded}]}))


def counters(engine=0, drafts=10, shares=(0.8, 0.6, 0.4), generated=None, prefix="vllm:", **more):
    """Return series of an engine with so many drafts a minute and these shares by position.

    ``then`` in ``more`` are the shares of the second half of the time.
    """
    labels = {"engine": str(engine), "model_name": "GLM", "instance": "a:1", "job": "vllm"}
    then = more.get("then", shares)
    generated = drafts * (1 + sum(shares)) if generated is None else generated
    gains = {
        "spec_decode_num_drafts_total": (drafts, drafts),
        "spec_decode_num_draft_tokens_total": (drafts * len(shares),) * 2,
        "spec_decode_num_accepted_tokens_total": (drafts * sum(shares), drafts * sum(then)),
        "generation_tokens_total": (generated, generated),
    }
    found = [series(prefix + name, labels, *gain) for name, gain in gains.items()]
    for position, (share, late) in enumerate(zip(shares, then, strict=True)):
        found.append(
            series(
                f"{prefix}spec_decode_num_accepted_tokens_per_pos_total",
                labels | {"position": str(position)},
                drafts * share,
                drafts * late,
            )
        )
    return found


def series(name, labels, early, late):
    spelled = ",".join(f'{label}="{value}"' for label, value in labels.items())
    half = 8 * MINUTES
    values = f"0+{early:g}x{half} {early * half + late:g}+{late:g}x{half}"
    return {"series": f"{name}{{{spelled}}}", "values": values}


def firing(folder, series, minute, names=V1, bounds=(RATE,)):
    """Return the alerts that fire at a minute: those that promtool did not expect."""
    whole = rules(names, bounds)
    written(folder, whole)
    alerts = [
        rule["alert"] for group in whole["groups"] for rule in group["rules"] if "alert" in rule
    ]
    checks = [
        {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": []}
        for alert in dict.fromkeys(alerts)
    ]
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": checks}],
    }
    command = [PROMTOOL, "test", "rules", written(folder, test, "test.yaml")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    found = re.findall(r"alertname: ?Specfloor(\w+), time", result.stdout + result.stderr)
    assert bool(found) == bool(result.returncode), result.stdout + result.stderr
    return set(found)


BUSY = 600  # drafts a minute
HEALTHY = counters(drafts=BUSY)


@needs_promtool
@pytest.mark.parametrize(
    ("told", "minute", "wanted"),
    [
        (HEALTHY, 60, set()),
        (counters(drafts=BUSY, shares=(0, 0, 0)), 8, {"AcceptanceCollapsed"}),
        (counters(drafts=BUSY, shares=(0, 0, 0)), 4, set()),
        (
            counters(drafts=BUSY, shares=(0, 0, 0)),
            20,
            {"AcceptanceCollapsed", "AcceptanceBelowFloor"},
        ),
        (counters(drafts=BUSY, shares=(0.07, *[0.0] * 14)), 20, {"AcceptanceBelowFloor"}),
        (counters(drafts=BUSY, shares=(0.7, 0.5, 0.2)), 20, {"AcceptanceBelowFloor"}),
        (counters(drafts=BUSY, shares=(0.7, 0.6, 0.55)), 20, set()),
        # too few drafts, or none, are no rate to alert about
        (counters(drafts=10, shares=(0, 0, 0)), 60, set()),
        (counters(drafts=0, generated=0), 60, set()),
        (counters(drafts=0, generated=600), 8, set()),
        (counters(drafts=0, generated=600), 20, {"NoDrafts"}),
        (HEALTHY + counters(1, drafts=BUSY), 60, set()),
        (HEALTHY + counters(1, drafts=0, generated=0), 60, set()),
        (HEALTHY + counters(1, drafts=BUSY, shares=(0.75, 0.6, 0.5)), 60, set()),
        (
            HEALTHY + counters(1, drafts=BUSY, shares=(0.6, 0.3, 0.1)),
            60,
            {"EnginesDiffer", "AcceptanceBelowFloor"},
        ),
        (counters(drafts=BUSY, then=(0.75, 0.6, 0.5)), 8 * 60 + 30, set()),
        (
            counters(drafts=BUSY, then=(0.5, 0.3, 0.2)),
            8 * 60 + 30,
            {"FirstPositionFell", "AcceptanceBelowFloor"},
        ),
    ],
)
def test_what_fires(told, minute, wanted, tmp_path):
    assert firing(tmp_path, told, minute) == wanted


@needs_promtool
def test_a_floor_is_of_the_model_it_names(tmp_path):
    slow = counters(drafts=BUSY, shares=(0.7, 0.5, 0.2))
    other = Bound(Quantity.ACCEPTANCE_RATE, 0.6, "a test", "qwen", "Qwen")
    assert firing(tmp_path, slow, 20, bounds=(other,)) == set()
    assert firing(tmp_path, slow, 20, bounds=()) == set()
    assert firing(tmp_path, slow, 20, bounds=(other, LENGTH)) == set()
    short = Bound(Quantity.ACCEPTANCE_LENGTH, 2.5, "a test")
    assert firing(tmp_path, slow, 20, bounds=(short,)) == {"AcceptanceBelowFloor"}


@needs_promtool
def test_series_of_a_gateway_and_of_one_namespace(tmp_path):
    dead = counters(drafts=BUSY, shares=(0, 0, 0), prefix="vllm_")
    assert firing(tmp_path, dead, 8, Names("vllm_")) == {"AcceptanceCollapsed"}
    assert firing(tmp_path, dead, 8, Names("vllm_", match='instance="b:1"')) == set()


@needs_promtool
@pytest.mark.parametrize(
    ("rate", "wanted"),
    [(0.7, set()), (0.01, {"AcceptanceCollapsed", "AcceptanceBelowFloor"})],
)
def test_v0_has_its_gauge(rate, wanted, tmp_path):
    drafted = counters(drafts=BUSY)[1]
    gauge = {
        "series": drafted["series"].replace("num_draft_tokens_total", "draft_acceptance_rate"),
        "values": f"{rate}x60",
    }
    assert firing(tmp_path, [drafted, gauge], 20, V0) == wanted


@needs_promtool
def test_a_record_has_the_value_of_counts_added_up(tmp_path):
    written(tmp_path, rules(Names()))
    one = counters(0, drafts=600, shares=(0.9, 0.6))
    two = counters(1, drafts=60, shares=(0.3, 0.0))
    wanted = {
        "specfloor:model_acceptance_rate": (600 * 1.5 + 60 * 0.3) / (660 * 2),
        "specfloor:model_acceptance_length": 1 + (600 * 1.5 + 60 * 0.3) / 660,
        'specfloor:acceptance_rate{engine="1"}': 0.15,
        'specfloor:acceptance_length{engine="0"}': 2.5,
        'specfloor:draft_length{engine="0"}': 2.0,
        'specfloor:acceptance_by_position{engine="0",position="1"}': 0.6,
    }
    checks = [
        {
            "expr": f"abs(max({expression}) - {value}) < bool 1e-9",
            "eval_time": "20m",
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for expression, value in wanted.items()
    ]
    test = {
        "rule_files": ["rules.yaml"],
        "tests": [{"interval": "1m", "input_series": one + two, "promql_expr_test": checks}],
    }
    promtool("test", "rules", written(tmp_path, test, "test.yaml"))


@pytest.mark.parametrize(
    ("release", "counters", "gauges"),
    [
        ("0.7.3", False, True),
        ("0.9.1", True, True),
        ("0.18.0", True, False),
        ("0.30.0rc2", True, False),
        ("cpu-0.32.0", True, False),
    ],
)
def test_a_release_has_the_names_it_exports(release, counters, gauges):
    names = names_of(load_catalog().release(release))
    assert (names.counters, names.gauges) == (counters, gauges)


def test_a_selector_has_every_matcher():
    names = Names("vllm_", match='a="b"')
    assert names.counter("drafts", 'c="d"') == 'vllm_spec_decode_num_drafts_total{a="b",c="d"}'
    assert Names().counter("drafts") == "vllm:spec_decode_num_drafts_total"
