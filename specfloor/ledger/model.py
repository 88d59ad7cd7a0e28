"""The types of the fix ledger: what was wrong or missing, where, and since when it is not."""

import datetime
import functools
from enum import StrEnum

import msgspec
from packaging.version import Version

from specfloor.i18n import N_, _


class Kind(StrEnum):
    """What a row is about, the most urgent first."""

    ACCEPTANCE = N_("acceptance")
    ACCURACY = N_("accuracy")
    CRASH = N_("crash")
    HANG = N_("hang")
    PERF = N_("perf")
    FEATURE = N_("feature")


class Basis(StrEnum):
    """How it is known which releases have the fault."""

    INTRODUCED_BY = "introduced_by"
    """The change that brought it is known: strong."""
    FEATURE_PRESENT = "feature_present"
    """The releases that have the feature it sits in: an upper bound."""
    UNKNOWN = "unknown"


class Signature(StrEnum):
    """What an acceptance fault does to the figures."""

    ZERO = "zero"
    """Drafts are made and next to none is kept."""
    ALL_POSITIONS = "all-positions"
    """The first position falls too."""
    LATER_POSITIONS = "later-positions"
    """The first position is as it should be, later ones fall."""
    TOO_GOOD = "too-good"
    """Everything is accepted."""
    DECAYS = "decays"
    """Falls with load or time."""
    LONG_INPUT = "long-input"
    """Falls with the length of the input."""


class Facet(StrEnum):
    """A condition of a fault, in a closed vocabulary that can be looked up in a configuration."""

    K_IS_1 = "k=1"
    K_ABOVE_1 = "k>1"
    K_FROM_3 = "k>=3"
    K_FROM_8 = "k>=8"
    GRAPH = "graph"
    FULL_GRAPH = "full-graph"
    PIECEWISE = "piecewise"
    EAGER = "eager"
    RUNNER_V1 = "runner-v1"
    RUNNER_V2 = "runner-v2"
    ENGINE_V0 = "engine-v0"
    ASYNC = "async"
    SYNC = "sync"
    FLASHCOMM = "flashcomm"
    DSA_CP = "dsa-cp"
    PCP = "pcp"
    DCP = "dcp"
    TP = "tp"
    DP = "dp"
    PP = "pp"
    EPLB = "eplb"
    SEQUENCE_PARALLEL = "sequence-parallel"
    LMHEAD_TP = "lmhead-tp"
    SHARED_EXPERT_DP = "shared-expert-dp"
    PD = "pd"
    KV_POOL = "kv-pool"
    PREFIX_CACHE = "prefix-cache"
    CHUNKED_PREFILL = "chunked-prefill"
    SAMPLING = "sampling"
    GREEDY = "greedy"
    QUANTISED = "quantised"
    ROTATED = "rotated"
    REDUCED_VOCABULARY = "reduced-vocabulary"
    SLIDING_WINDOW = "sliding-window"
    PARALLEL_DRAFTING = "parallel-drafting"
    BLOCK_VERIFY = "block-verify"
    REDUCE_SAMPLE = "reduce-sample"
    SCHEDULE = "schedule"
    ADAPTIVE = "adaptive"
    FUSED_MOE = "fused-moe"
    TORCHAIR = "torchair"
    NETLOADER = "netloader"
    LONG_INPUT = "long-input"
    LONG_OUTPUT = "long-output"
    LENGTH_LIMIT = "length-limit"
    CONCURRENCY = "concurrency"
    REASONING = "reasoning"
    STRUCTURED_OUTPUT = "structured-output"
    LOGPROBS = "logprobs"
    MULTIMODAL = "multimodal"
    A2 = "a2"
    A3 = "a3"
    A5 = "a5"
    SOC_310P = "310p"


AVOIDED_BY: dict[Facet, str] = {
    Facet.K_IS_1: N_("num_speculative_tokens above 1"),
    Facet.K_ABOVE_1: "num_speculative_tokens 1",
    Facet.K_FROM_3: N_("num_speculative_tokens at most 2"),
    Facet.K_FROM_8: N_("num_speculative_tokens at most 7"),
    Facet.GRAPH: "--enforce-eager",
    Facet.FULL_GRAPH: N_("cudagraph_mode PIECEWISE, or --enforce-eager"),
    Facet.PIECEWISE: N_("cudagraph_mode FULL_DECODE_ONLY, or --enforce-eager"),
    Facet.EAGER: N_("graph mode"),
    Facet.RUNNER_V1: "VLLM_USE_V2_MODEL_RUNNER=1",
    Facet.RUNNER_V2: "VLLM_USE_V2_MODEL_RUNNER=0",
    Facet.ASYNC: "--no-async-scheduling",
    Facet.SYNC: "--async-scheduling",
    Facet.FLASHCOMM: N_("FlashComm1 off"),
    Facet.DSA_CP: N_("DSA-CP off"),
    Facet.PCP: "--prefill-context-parallel-size 1",
    Facet.DCP: "--decode-context-parallel-size 1",
    Facet.DP: "--data-parallel-size 1",
    Facet.PP: "--pipeline-parallel-size 1",
    Facet.EPLB: N_("expert load balancing off"),
    Facet.SEQUENCE_PARALLEL: N_("sequence parallel off"),
    Facet.LMHEAD_TP: N_("no tensor parallel of its own for the LM head"),
    Facet.SHARED_EXPERT_DP: N_("data parallel of the shared expert off"),
    Facet.PD: N_("prefill and decode on the same engine"),
    Facet.KV_POOL: N_("no KV pool"),
    Facet.PREFIX_CACHE: "--no-enable-prefix-caching",
    Facet.CHUNKED_PREFILL: "--no-enable-chunked-prefill",
    Facet.SAMPLING: "temperature 0",
    Facet.ROTATED: N_("a checkpoint quantised without rotation"),
    Facet.REDUCED_VOCABULARY: N_("a draft with the full vocabulary"),
    Facet.PARALLEL_DRAFTING: N_("a draft that drafts in turns"),
    Facet.REDUCE_SAMPLE: "enable_reduce_sample false",
    Facet.SCHEDULE: N_("no num_speculative_tokens_per_batch_size"),
    Facet.ADAPTIVE: N_("no adaptive verification"),
    Facet.FUSED_MOE: N_("the fused MoE operator off"),
    Facet.TORCHAIR: N_("ACL graph instead of torchair"),
    Facet.NETLOADER: N_("another load format"),
}
"""The setting under which a facet does not hold. Facets that no setting changes are not here."""


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The same change on another branch."""

    pr: int
    branch: str
    date: datetime.date | None = None
    commit: str | None = None


class Row(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """One change of vLLM-Ascend that speculation gains by, or one fault still open.

    ``id`` is the number of the pull request or issue, or a word where there is none. ``fixed_in``
    are the releases that have the change; ``affected`` those that have the fault, by ``basis``
    (None where that is unknown). Releases are named as the catalogue names them, in order of
    version.

    ``families`` and ``methods`` are the ledger's own names, ``any`` included; ``conditions`` are
    what it takes, in words; ``when`` the same in a closed vocabulary; ``avoid`` those of ``when``
    that must hold and that a setting can undo. ``before`` and ``after`` are figures.
    ``first_release`` is the first with the change as made on its own branch; a back-port may have
    shipped earlier.
    """

    id: str
    date: datetime.date
    kind: Kind
    families: tuple[str, ...]
    methods: tuple[str, ...]
    symptom: str
    conditions: tuple[str, ...] = ()
    when: tuple[Facet, ...] = ()
    avoid: tuple[Facet, ...] = ()
    signature: Signature | None = None
    before: str | None = None
    after: str | None = None
    first_release: str | None = None
    fixed_in: tuple[str, ...] = ()
    basis: Basis = Basis.UNKNOWN
    affected: tuple[str, ...] | None = None
    pr: int | None = None
    issue: int | None = None
    commit: str | None = None
    introduced_by: tuple[int, ...] = ()
    requires: tuple[int, ...] = ()
    origin_branch: str = "main"
    branches: tuple[str, ...] = ()
    untagged_branches: tuple[str, ...] = ()
    equivalents: tuple[Equivalent, ...] = ()
    note: str | None = None
    evidence: str
    source: str

    @property
    def avoided_by(self) -> tuple[str, ...]:
        """Settings each of which, judging by the conditions, keeps the fault away."""
        return tuple(_(AVOIDED_BY[facet]) for facet in self.avoid)


class Tag(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A release the ledger was read against, without the leading v.

    ``base`` is the commit of the main branch it was cut from.
    """

    name: str
    date: datetime.date
    branch: str | None = None
    base: str | None = None
    note: str | None = None


class Horizon(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Up to where the ledger knows; of anything later it knows nothing.

    ``not_seen`` are releases up to there that exist and were not read.
    """

    release: str
    date: datetime.date
    not_seen: tuple[str, ...] = ()


class Ledger(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The whole ledger; rows are the newest first."""

    horizon: Horizon
    tags: tuple[Tag, ...]
    rows: tuple[Row, ...]

    @functools.cached_property
    def order(self) -> dict[str, int]:
        """The place of each release as they came out: by date, and by version within a day."""
        tags = sorted(self.tags, key=lambda tag: (tag.date, Version(tag.name)))
        return {tag.name: place for place, tag in enumerate(tags)}

    @functools.cached_property
    def finals(self) -> frozenset[str]:
        """The releases that are no candidates."""
        return frozenset(tag.name for tag in self.tags if not Version(tag.name).is_prerelease)
