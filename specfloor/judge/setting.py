"""Which of the ledger's conditions hold for a launch, from what it was started with."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from specfloor.cells import Cell
from specfloor.judge.asked import asked_of, flag_object, flag_value, switch
from specfloor.judge.evidence import ArmEvidence
from specfloor.ledger.model import Facet
from specfloor.runs.records import EngineSettings, LaunchRecord
from specfloor.triage.causes import facets_of_k

Setting = dict[Facet, bool]
"""Facets known to hold or not; what nothing says is left out."""

_SIZES = {
    Facet.TP: ("--tensor-parallel-size", "-tp"),
    Facet.DP: ("--data-parallel-size", "-dp"),
    Facet.PP: ("--pipeline-parallel-size", "-pp"),
    Facet.PCP: ("--prefill-context-parallel-size", "-pcp"),
    Facet.DCP: ("--decode-context-parallel-size", "-dcp"),
}
"""Flags whose size is 1 unless given."""
_SWITCHES = {
    Facet.ASYNC: "async-scheduling",
    Facet.PREFIX_CACHE: "enable-prefix-caching",
    Facet.CHUNKED_PREFILL: "enable-chunked-prefill",
}
"""Flags with a ``--no-`` twin; without either the release's default holds, which is not known."""
_ADDITIONAL = {
    Facet.DSA_CP: "enable_dsa_cp",
    Facet.REDUCE_SAMPLE: "enable_reduce_sample",
    Facet.SHARED_EXPERT_DP: "enable_shared_expert_dp",
}
"""Keys of ``--additional-config``; without one the release's default holds."""
_FLASHCOMM = ("VLLM_ASCEND_ENABLE_FLASHCOMM1", "VLLM_ASCEND_ENABLE_FLASHCOMM")
_QUANTISED = re.compile(r"w\d+a\d+|fp8|int8|mxfp", re.IGNORECASE)
"""Names of quantised checkpoints; a name without one may be of either kind."""
_OPPOSITES = {
    Facet.EAGER: Facet.GRAPH,
    Facet.ASYNC: Facet.SYNC,
    Facet.RUNNER_V2: Facet.RUNNER_V1,
    Facet.SAMPLING: Facet.GREEDY,
}


def setting_of(cell: Cell, arm: ArmEvidence) -> Setting:
    """Return what holds for a cell on one launch, as far as its command and requests say."""
    found: Setting = facets_of_k(cell.k)
    found[Facet.CONCURRENCY] = cell.concurrency > 1
    block = arm.natural or arm.forced
    temperature = block.sent.sampling.get("temperature") if block else None
    if isinstance(temperature, int | float):
        found[Facet.SAMPLING] = temperature > 0
    if arm.launch is not None:
        found |= _of_launch(arm.launch)
    for facet, opposite in _OPPOSITES.items():
        if facet in found:
            found[opposite] = not found[facet]
    return found


def _of_launch(launch: LaunchRecord) -> Setting:
    argv, variables = launch.argv, launch.variables or launch.env
    found: Setting = {}
    for facet, names in _SIZES.items():
        sizes = (flag_value(argv, name) for name in names)
        found[facet] = next(filter(None, sizes), "1") != "1"
    for facet, name in _SWITCHES.items():
        if (on := switch(argv, name)) is not None:
            found[facet] = on
    if flag_value(argv, "--quantization") or _QUANTISED.search(flag_value(argv, "--model") or ""):
        found[Facet.QUANTISED] = True
    if runner := variables.get("VLLM_USE_V2_MODEL_RUNNER"):
        found[Facet.RUNNER_V2] = runner == "1"
    additional = flag_object(argv, "--additional-config")
    found |= {
        facet: bool(additional[name]) for facet, name in _ADDITIONAL.items() if name in additional
    }
    told = additional.get("enable_flashcomm1")
    found[Facet.FLASHCOMM] = (
        any(variables.get(name, "0") not in ("0", "") for name in _FLASHCOMM)
        if told is None
        else bool(told)
    )
    if not found[Facet.FLASHCOMM]:
        # FlashComm1 brought DSA-CP along until it got a key of its own
        found.setdefault(Facet.DSA_CP, False)
    found |= dict(_graph(launch))
    found |= dict(_transfer(flag_object(argv, "--kv-transfer-config")))
    if launch.settings is not None and launch.settings.prefix_caching is not None:
        found[Facet.PREFIX_CACHE] = launch.settings.prefix_caching
    drafts = flag_object(argv, "--speculative-config")
    found[Facet.SCHEDULE] = bool(drafts.get("num_speculative_tokens_per_batch_size"))
    found[Facet.ADAPTIVE] = bool(
        drafts.get("enable_adaptive_verification") or additional.get("dynamic_spec_config")
    )
    return found


def _graph(launch: LaunchRecord) -> Iterator[tuple[Facet, bool]]:
    """Yield how graphs are captured: as the engine says, and where it does not, as was asked."""
    asked, resolved = asked_of(launch.argv), launch.settings or EngineSettings()
    mode = resolved.graph_mode or asked.graph_mode
    eager = asked.eager if resolved.enforce_eager is None else resolved.enforce_eager
    eager = eager or mode == "NONE"
    yield Facet.EAGER, eager
    if eager:
        yield from ((Facet.FULL_GRAPH, False), (Facet.PIECEWISE, False))
    elif mode is not None:
        yield from ((Facet.FULL_GRAPH, "FULL" in mode), (Facet.PIECEWISE, "PIECEWISE" in mode))


def _transfer(config: Mapping[str, Any]) -> Iterator[tuple[Facet, bool]]:
    """Yield whether caches come from another engine, or from a pool; several may be combined."""
    text = json.dumps(config)
    yield Facet.PD, "kv_producer" in text or "kv_consumer" in text
    yield Facet.KV_POOL, "Store" in text or "Pool" in text
