"""The ledger's names of families and methods, and the catalogue's."""

from specfloor.catalog import Catalog
from specfloor.cells import slug
from specfloor.errors import UsageError

ANY = "any"
"""In a row's families or methods: every one."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "deepseek-v3": ("deepseek-v3.1", "deepseek-r1"),
    "deepseek-v3.2": ("deepseek-v3.2",),
    "deepseek-v4": (
        "deepseek-v4-flash",
        "deepseek-v4-flash-0731",
        "deepseek-v4-pro",
        "deepseek-v4-pro-0813",
    ),
    "deepseek-v4.1": ("deepseek-v4.1",),
    "dots3-note": ("dots3-note",),
    "gemma4": ("gemma4", "gemma4-12b", "gemma4-e4b"),
    "glm-4.5-moe": ("glm-4.5",),
    "glm-4.6": ("glm-4.6",),
    "glm-4.7": ("glm-4.7",),
    "glm-4.7-flash": ("glm-4.7-flash",),
    "glm-5": ("glm-5",),
    "glm-5.1": ("glm-5.1",),
    "glm-5.2": ("glm-5.2",),
    "glm-5.3": ("glm-5.3",),
    "glm-5.3-flash": ("glm-5.3-flash",),
    "hy4": ("hy4",),
    "kimi-k2": ("kimi-k2.5", "kimi-k2.6", "kimi-k2.7"),
    "kimi-k3": ("kimi-k3",),
    "llama3": ("llama3-eagle",),
    "minimax-m2": ("minimax-m2.5", "minimax-m2.7"),
    "minimax-m3": ("minimax-m3",),
    "pangu-ultra-moe": (),
    "qwen3": ("qwen3-dense", "qwen3-32b"),
    "qwen3-moe": ("qwen3-moe", "qwen3-coder", "qwen3-235b"),
    "qwen3-next": ("qwen3-next",),
    "qwen3-omni": ("qwen3-omni",),
    "qwen3-vl": ("qwen3-vl",),
    "qwen3.5": (
        "qwen3.5-dense",
        "qwen3.5-9b",
        "qwen3.5-moe",
        "qwen3.5-122b",
        "qwen3.6-dense",
        "qwen3.6-moe",
        "qwen3.8-dense",
        "qwen3.8-moe",
    ),
    "step3.5": ("step3.5", "step3.7"),
}
"""Which families of the catalogue a name of the ledger covers.

The ledger names what code can tell apart: a model class and its line. So ``qwen3.5`` is every
checkpoint that the Qwen3.5 classes serve. A name may cover no family of the catalogue.
"""

WITHOUT_ROWS = ("gpt-oss", "hy3", "mimo", "qwen3.8-flash-next")
"""Ascend families that the ledger has no name for; rows about any family still concern them."""

METHODS = (
    "mtp",
    "eagle3",
    "eagle",
    "dspark",
    "dflash",
    "draft_model",
    "ngram",
    "suffix",
    "medusa",
    "extract_hidden_states",
)
"""The ledger's names of methods."""

_SPELLINGS = {"dflash2": "dflash", "ngram_gpu": "ngram", "pard": "draft_model", "p_eagle": "eagle3"}


def ledger_method(method: str) -> str:
    """Return the ledger's name of a method as vLLM or the field spells it.

    Every ``*_mtp`` is ``mtp``, as in vLLM itself since 0.11.0.

    Raises:
        UsageError: the ledger has no such method.
    """
    name = slug(method)
    name = "mtp" if name.endswith("_mtp") else _SPELLINGS.get(name, name)
    if name not in METHODS:
        raise UsageError(
            f"the ledger has no method {method!r}; it has {', '.join(sorted(METHODS))}"
        )
    return name


def ledger_family(family: str) -> str:
    """Return the ledger's name of a family, given by the ledger's name or the catalogue's.

    A family that the ledger has no name for keeps its own: only rows about any family concern it.

    Raises:
        UsageError: neither the ledger nor the catalogue has an Ascend family of this name; for
            aliases and other spellings see ``find_family``.
    """
    if family in FAMILIES or family in WITHOUT_ROWS:
        return family
    if family in _FILED_UNDER:
        return _FILED_UNDER[family]
    raise UsageError(f"the ledger, which is about vLLM-Ascend, has nothing on a family {family!r}")


_FILED_UNDER = {family: name for name, families in FAMILIES.items() for family in families}


def find_family(asked: str, catalog: Catalog) -> str:
    """Return the ledger's name of a family in any spelling, by name or by alias.

    Raises:
        UsageError: neither the catalogue nor the ledger knows it.
    """
    try:
        return ledger_family(catalog.family(asked).name)
    except UsageError:
        own = {slug(name): name for name in FAMILIES}
        if slug(asked) in own:
            return own[slug(asked)]
        raise
