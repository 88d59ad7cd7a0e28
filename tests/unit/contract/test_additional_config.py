"""Reading the keys of additional_config from source: what is read, and what is not made up."""

import textwrap

import pytest

from tests.contract.additional_config import known_keys


def keys_of(*modules):
    return known_keys([textwrap.dedent(module) for module in modules])


def dotted(known):
    return {".".join(path) for path in known.paths}


READS = """
    class Prefetch:
        def __init__(self, user_config, vllm_config):
            self.enabled = user_config.get("enabled", False)

    class Compilation:
        def __init__(self, fuse_norm: bool = True, **kwargs):
            self.fuse_muls = kwargs.get("fuse_muls", True)

    class Epbl:
        _defaults = {"dynamic": False, "interval": 600}

        def __init__(self, user_config):
            self.config = self._defaults | user_config

    class AscendConfig:
        def __init__(self, vllm_config):
            additional_config = vllm_config.additional_config or {}
            prefetch = additional_config.get("prefetch", {})
            self.prefetch = Prefetch(prefetch, vllm_config)
            self.compilation = Compilation(**additional_config.get("compilation", {}))
            self.epbl = Epbl(additional_config.get("epbl", {}))
            self.binding = additional_config["binding"] if "binding" in additional_config else True
            self.fused = self._value_of(additional_config, "fused", "SOME_VARIABLE")

        @staticmethod
        def _value_of(additional_config, config_key, variable):
            if config_key in additional_config:
                return additional_config[config_key]
"""


def test_what_is_read_is_known_through_constructors_keywords_defaults_and_helpers():
    assert dotted(keys_of(READS)) == {
        "prefetch",
        "prefetch.enabled",
        "compilation",
        "compilation.fuse_norm",
        "compilation.fuse_muls",
        "epbl",
        "epbl.dynamic",
        "epbl.interval",
        "binding",
        "fused",
    }


def test_a_misspelled_key_is_unknown_at_every_depth():
    known = keys_of(READS)
    config = {"bindings": 1, "prefetch": {"enable": True}, "compilation": {"fuse_norm": False}}
    assert known.unknown(config) == ["bindings", "prefetch.enable"]


def test_what_is_below_an_unknown_key_is_said_once():
    assert keys_of(READS).unknown({"prefetches": {"enabled": True}}) == ["prefetches"]


def test_the_inside_of_a_setting_taken_whole_is_unchecked_not_unknown():
    known = keys_of(READS)
    assert known.unknown({"binding": {"cores": 4}}) == []
    assert known.unchecked({"binding": {"cores": 4}}) == ["binding.cores"]


def test_other_modules_read_too():
    other = """
        def enabled(vllm_config):
            additional_config = getattr(vllm_config, "additional_config", None)
            return bool(additional_config and additional_config.get("elsewhere"))

        class Pass:
            def __init__(self, config):
                self.own = config.additional_config.get("compilation", {})

            def runs(self):
                return self.own.get("late", True)
    """
    assert {"elsewhere", "compilation.late"} <= dotted(keys_of(READS, other))


def test_a_mapping_that_is_another_one_is_not_taken_for_it():
    other = """
        def port(vllm_config, extra):
            # additional_config has nothing to do with it
            return extra.get("port"), vllm_config.kv_config.get("role")
    """
    assert not {"port", "role"} & dotted(keys_of(READS, other))


DECLARED = """
    @config
    class Stair:
        bins: int = 64

    @config
    class Rejection:
        METHODS: ClassVar[tuple[str, ...]] = ("a",)
        block: bool = False
        stair: Stair = field(default_factory=Stair)

    @config
    class Sched:
        balance: bool = False
        chunk: Stair = field(default_factory=Stair)

        @classmethod
        def resolved(cls, additional_config):
            scheduler = additional_config.get("scheduler")

            def _resolve(name, default):
                if name in scheduler:
                    return scheduler[name]
                return additional_config.get(name, default)

            return cls(balance=_resolve("balance", False), chunk=_resolve("chunk", {}))

    @config(config=ConfigDict(frozen=True))
    class AscendConfig:
        binding: bool = True
        ratio: int = 1
        rejection: Rejection = field(default_factory=Rejection)
        scheduler: Sched = field(default_factory=Sched)
        _ids: set[int] = field(init=False)

    def init(vllm_config):
        additional_config = vllm_config.additional_config
        scheduler = Sched.resolved(additional_config)
        _NON_USER_INPUT_KEYS = {"scheduler", "ratio"}
        return AscendConfig(scheduler=scheduler)
"""


def test_declared_fields_are_known_with_those_of_their_classes():
    assert dotted(keys_of(DECLARED)) == {
        "binding",
        "rejection",
        "rejection.block",
        "rejection.stair",
        "rejection.stair.bins",
        "scheduler",
        "scheduler.balance",
        "scheduler.chunk",
        "scheduler.chunk.bins",
        # where they were before they moved into scheduler
        "balance",
        "chunk",
        "chunk.bins",
    }


def test_what_a_release_strips_and_nothing_reads_does_nothing_and_is_unknown():
    assert keys_of(DECLARED).unknown({"ratio": 2}) == ["ratio"]


def test_a_source_without_the_class_is_an_error_not_an_empty_answer():
    with pytest.raises(ValueError, match="AscendConfig"):
        known_keys(["additional_config = {}"])
