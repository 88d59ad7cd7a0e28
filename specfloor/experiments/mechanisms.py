"""The three mechanisms that make verification follow the load, and who has which."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from packaging.version import Version

from specfloor.catalog import Catalog
from specfloor.catalog.model import Family, Release
from specfloor.cells import Cell
from specfloor.engines.command import method_of
from specfloor.experiments.schedule import FIELD, KSchedule
from specfloor.i18n import N_, _
from specfloor.judge.schedule import OPEN_END, Schedule
from specfloor.plan import Overrides

RUNNER = "VLLM_USE_V2_MODEL_RUNNER"
"""The switch between vLLM's model runners; unset, vLLM-Ascend takes V1."""
_ADDITIONAL = "--additional-config"
BUDGET: Mapping[str, float] = {
    "initial_verify_budget_per_req": 5,
    "budget_update_interval": 16,
    "budget_threshold": 0.3,
    "min_verify_tokens": 1,
}
"""The parameters of ``dynamic_spec_config``, at the defaults of vLLM-Ascend 0.27.1rc1 to 0.30."""
_DSPARK_SINCE, _OTHERS_SINCE = Version("0.28.0"), Version("0.30.0")
"""The vLLM with ``enable_adaptive_verification`` for DSpark, and that with it for others."""
_MODEL_DRAFTS = frozenset({"dspark", "dflash", "mtp", "eagle", "eagle3", "draft_model"})
_BUDGETED = frozenset({"dspark", "dflash"})


class Mechanism(msgspec.Struct, frozen=True):
    """One way to verify less when the load is high.

    ``refused`` says in a sentence why a cell cannot have it, or None. ``env`` are variables of
    every arm that it is compared in, the fixed one among them. ``counting`` is what becomes of the
    reported acceptance.
    """

    name: str
    setting: str
    refused: Callable[[Cell, Catalog], str | None]
    counting: str
    env: dict[str, str] = {}


def offered(cell: Cell, catalog: Catalog) -> tuple[Mechanism, ...]:
    """Return the mechanisms that a cell's release has for its family and method."""
    return tuple(m for m in MECHANISMS if m.refused(cell, catalog) is None)


def refusals(cell: Cell, catalog: Catalog) -> dict[str, str]:
    """Return why a cell cannot have each of the others, by their setting."""
    found = {m.setting: m.refused(cell, catalog) for m in MECHANISMS}
    return {setting: why for setting, why in found.items() if why}


def fixed(mechanism: Mechanism) -> Overrides:
    """Return what the off and the fixed arm are started with besides what their family says."""
    return Overrides(env=mechanism.env)


def adaptive(mechanism: Mechanism, cell: Cell, catalog: Catalog, schedule: Schedule) -> Overrides:
    """Return what the adaptive arm is started with.

    Args:
        mechanism: one that is offered.
        cell: whose arm.
        catalog: where its family is.
        schedule: for the one that takes a schedule.
    """
    match mechanism.name:
        case "schedule":
            changed = Overrides(speculative={FIELD: [list(entry) for entry in schedule]})
        case "verification":
            changed = Overrides(speculative={"enable_adaptive_verification": True})
        case _:
            family = catalog.family(cell.family)
            changed = Overrides(serve={_ADDITIONAL: _with_budget(family, cell.method)})
    return msgspec.structs.replace(changed, env=mechanism.env)


def default_schedule(k: int, most_concurrent: int) -> Schedule:
    """Return k up to a quarter of the requests in flight, half of it up to a half, then none."""
    quarter, half = max(1, most_concurrent // 4), max(2, most_concurrent // 2)
    ranges = [(1, quarter, k), (quarter + 1, half, k // 2), (half + 1, OPEN_END, 0)]
    if k == 1:
        ranges = [(1, quarter, 1), (quarter + 1, OPEN_END, 0)]
    return tuple(ranges)


def _with_budget(family: Family, method: str) -> str:
    """Return the family's own ``additional_config`` with a budget of verification in it."""
    own: dict[str, Any] = msgspec.json.decode(family.serve.get(_ADDITIONAL) or "{}")
    own["dynamic_spec_config"] = {"method": method, "method_params": dict(BUDGET)}
    return msgspec.json.encode(own).decode()


def _why_no_schedule(cell: Cell, catalog: Catalog) -> str | None:
    return KSchedule().why_not(cell, catalog)


def _why_no_verification(cell: Cell, catalog: Catalog) -> str | None:
    release, family = catalog.release(cell.release), catalog.family(cell.family)
    setting = "enable_adaptive_verification"
    if not _has(release, release.knobs.adaptive_verification, _DSPARK_SINCE):
        return f"{release.name} has no {setting}"
    method = method_of(family, cell.arm)
    only_dspark = Version(release.vllm) < _OTHERS_SINCE
    pipelined = int(family.serve.get("--pipeline-parallel-size") or 1) > 1
    reasons = (
        (
            release.platform == "cpu",
            _("{setting} needs model runner V2 and full graphs, which the CPU has not").format(
                setting=setting
            ),
        ),
        (
            method.name not in _MODEL_DRAFTS,
            _("{setting} trims the drafts of models, and {method} drafts without one").format(
                setting=setting, method=method.name
            ),
        ),
        (
            method.name != "dspark" and only_dspark,
            _("{release} has {setting} for dspark only").format(
                release=release.name, setting=setting
            ),
        ),
        (
            _v2(family) is False,
            _("{family} is served on model runner V1, and {setting} needs V2").format(
                family=family.name, setting=setting
            ),
        ),
        (pipelined, _("{setting} does not go with pipeline parallelism").format(setting=setting)),
        (
            "--enforce-eager" in family.serve,
            _("{setting} needs full graphs, and {family} is served without").format(
                setting=setting, family=family.name
            ),
        ),
        (
            bool(method.config.get("use_local_argmax_reduction")),
            _("{setting} does not go with use_local_argmax_reduction").format(setting=setting),
        ),
    )
    return next((why for holds, why in reasons if holds), None)


def _why_no_budget(cell: Cell, catalog: Catalog) -> str | None:
    release, family = catalog.release(cell.release), catalog.family(cell.family)
    if release.knobs.dynamic_spec_config != "supported":
        return _("{release} has no dynamic_spec_config").format(release=release.name)
    method = method_of(family, cell.arm)
    if method.name not in _BUDGETED:
        return _("dynamic_spec_config is for dspark and dflash, not {method}").format(
            method=method.name
        )
    if _v2(family):
        return _("{family} is served on model runner V2, and dynamic_spec_config needs V1").format(
            family=family.name
        )
    return None


def _has(release: Release, known: str | None, since: Version) -> bool:
    return known == "supported" if known else Version(release.vllm) >= since


def _v2(family: Family) -> bool | None:
    """Whether a family is served on model runner V2; None where it does not say."""
    return {"1": True, "0": False}.get(family.env.get(RUNNER, ""))


MECHANISMS = (
    Mechanism(
        "schedule",
        FIELD,
        _why_no_schedule,
        N_(
            "fewer tokens are drafted at a larger batch and steps at k = 0 count as "
            "no draft, so the rate rises while the length falls"
        ),
    ),
    Mechanism(
        "verification",
        "enable_adaptive_verification",
        _why_no_verification,
        N_(
            "drafts are trimmed after they were scheduled and all of them count as "
            "drafted, so rate and length fall while throughput rises"
        ),
        {RUNNER: "1"},
    ),
    Mechanism(
        "budget",
        "dynamic_spec_config",
        _why_no_budget,
        N_(
            "drafts are trimmed before they are scheduled and only the rest counts "
            "as drafted, so the rate rises while the length falls a little"
        ),
    ),
)
"""All there are, in the order they are run in."""
