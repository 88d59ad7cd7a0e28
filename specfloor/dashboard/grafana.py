"""A Grafana dashboard, as plain values."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from specfloor.dashboard.bounds import Bound
from specfloor.dashboard.names import (
    ACCEPTED_TOKENS,
    BY_POSITION,
    DRAFT_TOKENS,
    DRAFTS,
    Names,
)
from specfloor.judge.floors import Quantity

_SCHEMA_VERSION = 39
"""Of Grafana 10; later ones bring older dashboards up to date when they load them."""
_WIDTH, _HEIGHT = 12, 8  # of 24 columns
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_CHOSEN = 'model_name=~"$model",engine=~"$engine"'
_BY_ENGINE = "by (instance, engine, model_name)"
_ENGINE = "{{model_name}} {{instance}} engine {{engine}}"
_RATE = "$__rate_interval"


class Panel(NamedTuple):
    """A chart: its title, its expressions with their legends, and its unit and limits."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str
    description: str
    most: float | None = None
    floor: float | None = None


def dashboard(names: Names, title: str, bounds: Sequence[Bound] = ()) -> dict[str, Any]:
    """Return a dashboard over the raw series of ``names``, so that it needs no rules."""
    panels = list(_panels(names, bounds) if names.counters else ())
    if names.gauges:
        panels.append(_gauge(names))
    of_models = names.series("num_requests_running")
    return {
        "title": title,
        "uid": None,
        "tags": ["vllm", "speculative decoding", "specfloor"],
        "schemaVersion": _SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Data source",
                    "type": "datasource",
                    "query": "prometheus",
                },
                _variable("model", "Model", f"label_values({of_models}, model_name)"),
                _variable("engine", "Engine", f"label_values({of_models}, engine)"),
            ]
        },
        "panels": [_drawn(number, panel) for number, panel in enumerate(panels)],
    }


def _panels(names: Names, bounds: Sequence[Bound]) -> Iterator[Panel]:
    drafts, tokens, accepted = (
        _rate(names.counter(what, _CHOSEN)) for what in (DRAFTS, DRAFT_TOKENS, ACCEPTED_TOKENS)
    )
    yield Panel(
        "Acceptance rate",
        ((f"{_sum(accepted)} / ({_sum(tokens)} > 0)", _ENGINE),),
        "percentunit",
        "Accepted over drafted tokens. An engine without drafts has no line.",
        most=1.0,
        floor=_floor(bounds, Quantity.ACCEPTANCE_RATE),
    )
    yield Panel(
        "Acceptance length",
        ((f"1 + {_sum(accepted)} / ({_sum(drafts)} > 0)", _ENGINE),),
        "short",
        "Tokens a step, the bonus token included.",
        floor=_floor(bounds, Quantity.ACCEPTANCE_LENGTH),
    )
    by_position = _rate(names.counter(BY_POSITION, _CHOSEN))
    yield Panel(
        "Acceptance by position",
        (
            (
                f"sum by (model_name, position) ({by_position}) / ignoring (position) "
                f"group_left () (sum by (model_name) ({drafts}) > 0)",
                "{{model_name}} position {{position}}",
            ),
        ),
        "percentunit",
        "Share of the steps that accepted each position, over the engines that are chosen.",
        most=1.0,
    )
    yield Panel(
        "Acceptance rate by model",
        (
            (
                f"sum by (model_name) ({accepted}) / (sum by (model_name) ({tokens}) > 0)",
                "{{model_name}}",
            ),
        ),
        "percentunit",
        "Counts of all engines added before anything is divided.",
        most=1.0,
        floor=_floor(bounds, Quantity.ACCEPTANCE_RATE),
    )
    yield Panel(
        "Draft tokens a step",
        ((f"{_sum(tokens)} / ({_sum(drafts)} > 0)", _ENGINE),),
        "short",
        "num_speculative_tokens, or less where a method or a schedule drafts fewer.",
    )
    yield Panel(
        "Drafts a second",
        ((_sum(drafts), _ENGINE),),
        "ops",
        "Steps that verified a draft; 0 while tokens are generated is a configuration that is not "
        "in effect.",
    )
    generated = _rate(names.series("generation_tokens_total", _CHOSEN))
    yield Panel(
        "Tokens a second",
        (
            (f"sum by (model_name) ({tokens})", "{{model_name}} drafted"),
            (f"sum by (model_name) ({accepted})", "{{model_name}} accepted"),
            (f"sum by (model_name) ({generated})", "{{model_name}} generated"),
        ),
        "short",
        "What is drafted and not accepted is work that was thrown away.",
    )
    yield Panel(
        "Requests",
        tuple(
            (
                f"sum by (model_name) ({names.series(f'num_requests_{state}', _CHOSEN)})",
                f"{{{{model_name}}}} {state}",
            )
            for state in ("running", "waiting")
        ),
        "short",
        "Speculation pays less the more requests run together.",
    )


def _gauge(names: Names) -> Panel:
    of_model = 'model_name=~"$model"'
    return Panel(
        "Acceptance rate since the start (V0 engine)",
        (
            (
                names.series("spec_decode_draft_acceptance_rate", of_model),
                "{{model_name}} {{instance}}",
            ),
        ),
        "percentunit",
        "All that an engine of V0 exports; it moves ever more slowly.",
        most=1.0,
    )


def _floor(bounds: Sequence[Bound], quantity: Quantity) -> float | None:
    return min((b.value for b in bounds if b.quantity is quantity), default=None)


def _rate(series: str) -> str:
    return f"rate({series}[{_RATE}])"


def _sum(expression: str) -> str:
    return f"sum {_BY_ENGINE} ({expression})"


def _variable(name: str, label: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _drawn(number: int, panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.floor is not None:
        steps = [{"color": "red", "value": None}, {"color": "green", "value": panel.floor}]
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "min": 0,
        "thresholds": {"mode": "absolute", "steps": steps},
        "custom": {
            "drawStyle": "line",
            "spanNulls": False,
            "thresholdsStyle": {"mode": "off" if panel.floor is None else "line"},
        },
    }
    if panel.most is not None:
        defaults["max"] = panel.most
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "gridPos": {
            "x": number % 2 * _WIDTH,
            "y": number // 2 * _HEIGHT,
            "w": _WIDTH,
            "h": _HEIGHT,
        },
        "targets": [
            {"refId": chr(ord("A") + i), "datasource": _SOURCE, "expr": e, "legendFormat": legend}
            for i, (e, legend) in enumerate(panel.queries)
        ],
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }
