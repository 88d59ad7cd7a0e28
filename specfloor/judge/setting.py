"""Which of the ledger's conditions hold for a launch, from what it was started with."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from specfloor.cells import Cell
from specfloor.judge.evidence import ArmEvidence
from specfloor.ledger.model import Facet
from specfloor.runs.records import LaunchRecord
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
    flags = _flags(launch.argv)
    found: Setting = {Facet.EAGER: "--enforce-eager" in flags}
    for facet, names in _SIZES.items():
        size = next((flags[name] for name in names if name in flags), "1")
        found[facet] = size != "1"
    for facet, name in _SWITCHES.items():
        if f"--{name}" in flags or f"--no-{name}" in flags:
            found[facet] = f"--{name}" in flags
    if "--quantization" in flags:
        found[Facet.QUANTISED] = True
    if runner := launch.env.get("VLLM_USE_V2_MODEL_RUNNER"):
        found[Facet.RUNNER_V2] = runner == "1"
    additional = _object(flags, "--additional-config")
    found |= {
        facet: bool(additional[name]) for facet, name in _ADDITIONAL.items() if name in additional
    }
    told = additional.get("enable_flashcomm1")
    found[Facet.FLASHCOMM] = (
        any(launch.env.get(name, "0") not in ("0", "") for name in _FLASHCOMM)
        if told is None
        else bool(told)
    )
    if not found[Facet.FLASHCOMM]:
        # FlashComm1 brought DSA-CP along until it got a key of its own
        found.setdefault(Facet.DSA_CP, False)
    found |= dict(_graph(flags, eager=found[Facet.EAGER]))
    found |= dict(_transfer(_object(flags, "--kv-transfer-config")))
    drafts = _object(flags, "--speculative-config")
    found[Facet.SCHEDULE] = bool(drafts.get("num_speculative_tokens_per_batch_size"))
    found[Facet.ADAPTIVE] = bool(
        drafts.get("enable_adaptive_verification") or additional.get("dynamic_spec_config")
    )
    return found


def _graph(flags: Mapping[str, str], *, eager: bool) -> Iterator[tuple[Facet, bool]]:
    mode = _object(flags, "--compilation-config").get("cudagraph_mode")
    if eager or mode == "NONE":
        yield from ((Facet.FULL_GRAPH, False), (Facet.PIECEWISE, False), (Facet.EAGER, True))
    elif isinstance(mode, str):
        yield from ((Facet.FULL_GRAPH, "FULL" in mode), (Facet.PIECEWISE, "PIECEWISE" in mode))


def _transfer(config: Mapping[str, Any]) -> Iterator[tuple[Facet, bool]]:
    """Yield whether caches come from another engine, or from a pool; several may be combined."""
    text = json.dumps(config)
    yield Facet.PD, "kv_producer" in text or "kv_consumer" in text
    yield Facet.KV_POOL, "Store" in text or "Pool" in text


def _flags(argv: Sequence[str]) -> dict[str, str]:
    """Return the flags of a command with their values, "" for a bare switch; the last one wins."""
    found = {}
    for flag, after in zip(argv, (*argv[1:], "-"), strict=True):
        name, given, value = flag.partition("=")
        if name.startswith("-"):
            found[name] = value if given else "" if after.startswith("-") else after
    return found


def _object(flags: Mapping[str, str], name: str) -> dict[str, Any]:
    """Return the JSON object that a flag was given; empty without one."""
    try:
        found = json.loads(flags.get(name, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
