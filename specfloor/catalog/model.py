"""The types of the catalogue: releases, families, methods, workloads."""

from typing import Any, Literal

import msgspec

from specfloor.cells import slug

Soc = Literal["a2", "a3", "a5", "310p"]
"""A class of Ascend hardware, as image tags spell it: Atlas A2 (910B), A3 (910C), Ascend 950, and
Atlas 300I Duo."""

LogLine = Literal["v0", "v1-0.8.3", "v1-0.9", "v1-0.10.2", "v1-0.11"]
"""A wording of vLLM's log line about acceptance, named after the vLLM that brought it."""

Support = Literal["absent", "accepted", "supported"]
"""What a release does with a knob: knows nothing of it, takes the setting without acting on it in
full (vLLM's own configuration class has it, the Ascend side not), or acts on it."""


class InstallStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of building an engine's environment, in order.

    ``pip`` are arguments after ``pip install``; ``uninstall`` packages to remove; ``env`` variables
    for this step only; ``fallback_index`` names an index of the catalogue's ``indexes`` that is
    added only after the step failed to find a distribution without it.
    """

    pip: tuple[str, ...] = ()
    uninstall: tuple[str, ...] = ()
    env: dict[str, str] = {}
    fallback_index: str | None = None


class Signals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which rungs a release offers; None is unknown.

    ``length_counts_bonus``: whether the log line's mean acceptance length counts the bonus token.
    ``v0_gauges``: whether ``/metrics`` has V0's gauges for an engine of that generation.
    ``bench_fields``: whether the release's own ``bench serve`` writes acceptance to its JSON.
    """

    per_request: bool | None = None
    token_ids: bool | None = None
    counters: bool | None = None
    log_line: LogLine | None = None
    length_counts_bonus: bool | None = None
    v0_gauges: bool | None = None
    bench_fields: bool | None = None


class Knobs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a release lets one set about drafting besides method and k; None is unknown.

    ``schedule``: ``num_speculative_tokens_per_batch_size``. ``adaptive_verification``: vLLM's
    ``enable_adaptive_verification``. ``dynamic_spec_config``: the Ascend counterpart in
    ``additional_config``. ``synthetic``: ``rejection_sample_method: synthetic``. ``verify_rules``:
    ``rejection_sampler_config`` in ``additional_config`` (block and entropy verification).
    """

    schedule: Support | None = None
    adaptive_verification: Support | None = None
    dynamic_spec_config: Support | None = None
    synthetic: Support | None = None
    verify_rules: Support | None = None


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A version under test and what it pairs with.

    ``kind`` says where its engine comes from: ``venv`` is built from ``steps``, ``host`` is the
    interpreter of this host that has vllm-ascend. ``default`` marks the one release of a platform
    that is run when none is asked for.

    ``images`` are tags of the vendor's image repository, by hardware. ``variables`` are the
    environment variables the Ascend plugin reads besides vLLM's own, with their defaults (None:
    none, or not known); ``switches`` says what becomes of a vLLM switch that picks engine or
    runner. ``pypi`` is whether the package index has it. None is unknown throughout.
    """

    name: str
    platform: Literal["cpu", "ascend"]
    kind: Literal["venv", "host"]
    vllm: str
    default: bool = False
    vllm_ascend: str | None = None
    torch: str | None = None
    torch_npu: str | None = None
    cann: str | None = None
    python: str | None = None
    date: str | None = None
    signals: Signals = Signals()
    steps: tuple[InstallStep, ...] = ()
    import_check: str | None = None
    env: dict[str, str] = {}
    sources: tuple[str, ...] = ()
    triton_ascend: str | None = None
    transformers: str | None = None
    commit: str | None = None
    pypi: bool | None = None
    images: dict[Soc, tuple[str, ...]] = {}
    knobs: Knobs = Knobs()
    variables: dict[str, str | None] | None = None
    switches: dict[str, str] = {}
    notes: tuple[str, ...] = ()


class Variable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An environment variable of the Ascend plugin whose meaning moved between releases.

    ``replaced_by`` is the setting that does now what the variable did, if any.
    """

    name: str
    note: str
    replaced_by: str | None = None


class Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a model's files come from.

    ``hub``: a name or path that the engine itself resolves. ``embedded``: a folder under
    ``fixtures/models``. ``gguf_package``: a GGUF file inside the distribution ``package``,
    converted once to safetensors. ``perturbed``: the checkpoint of the family ``source`` with noise
    of ``noise`` standard deviations added to the weight matrices of its MTP layer.
    """

    kind: Literal["hub", "embedded", "gguf_package", "perturbed"]
    source: str
    package: str | None = None
    noise: float | None = None


class Method(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How drafts are made for a family.

    ``k`` are the values of ``num_speculative_tokens`` the suite knows, the default first;
    ``core`` whether it is in the default set; ``config`` further fields of the speculative
    configuration; ``draft`` the draft's checkpoint, ``target`` meaning the target itself, unset
    where the target carries its draft or none is published; ``other_drafts`` further published
    ones; ``requires`` distributions that the engine's environment needs besides; ``drafts_k``
    whether every step drafts exactly k tokens, which rung B needs to know how many were drafted.

    ``first_release`` is the first release with this method for the family, and ``releases`` every
    release known to have it (unset is unknown): an older number can be a newer release, so
    ``first_release`` is not to be compared with. ``spelled`` is the name that vLLM before 0.11.0
    needs. ``bring_draft`` says that nobody publishes a draft, so that the user has to name one.
    ``upstream`` marks what only vLLM's own material documents, on other hardware.
    """

    name: str
    k: tuple[int, ...]
    core: bool = False
    config: dict[str, Any] = {}
    draft: str | None = None
    requires: tuple[str, ...] = ()
    drafts_k: bool = True
    other_drafts: tuple[str, ...] = ()
    first_release: str | None = None
    releases: tuple[str, ...] | None = None
    spelled: str | None = None
    bring_draft: bool = False
    upstream: bool = False
    note: str | None = None


class Placement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a family is served on one class of hardware.

    ``cards`` counts devices as the engine does, over all ``nodes``: an A3 card is two. ``serve``,
    ``env``, ``not_taken_by`` and, where set, ``checkpoint`` stand in for the family's own.
    """

    soc: Soc
    cards: int
    nodes: int = 1
    serve: dict[str, str] = {}
    env: dict[str, str] = {}
    not_taken_by: dict[str, tuple[str, ...]] = {}
    checkpoint: str | None = None
    source: str | None = None


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model line: checkpoint, methods, tiers, launch flags.

    ``tiers`` maps a tier to the chat template arguments that select it, the default first.
    ``workloads`` are in ``workload_set``, a folder under ``fixtures/workloads``;
    ``more_workloads`` are there too and are run only when asked for. ``serve`` are
    flags of the server, values as text, ``""`` for a bare switch. ``not_taken_by`` are the releases
    older than the guide that these flags are of, with those of the flags that they refuse.
    ``floors_of`` names the family whose floors apply, when not its own. ``cards`` is the number of
    NPU devices it is served on, as the engine counts them.

    ``placements`` are the documented ways to serve it by hardware; ``serve`` and ``cards`` are
    those of the family when no placement is chosen. ``checkpoints`` are further published
    checkpoints of the line. ``hardware`` is the least hardware in the vendor's words.
    ``documented_in`` is the first release whose guide or tests speculate with this family.
    """

    name: str
    display: str
    platform: Literal["cpu", "ascend"]
    checkpoint: Checkpoint
    methods: tuple[Method, ...]
    workload_set: str
    workloads: tuple[str, ...]
    tiers: dict[str, dict[str, Any]]
    more_workloads: tuple[str, ...] = ()
    core: bool = False
    aliases: tuple[str, ...] = ()
    serve: dict[str, str] = {}
    env: dict[str, str] = {}
    not_taken_by: dict[str, tuple[str, ...]] = {}
    floors_of: str | None = None
    cards: int = 0
    sources: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    placements: tuple[Placement, ...] = ()
    hardware: str | None = None
    documented_in: str | None = None
    notes: tuple[str, ...] = ()

    def method(self, name: str) -> Method | None:
        """Return the method of a name, in any spelling of it; None when the family has none."""
        return next((one for one in self.methods if slug(one.name) == slug(name)), None)
