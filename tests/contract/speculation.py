"""What vLLM has to make of the speculation of a launch, on configurations without weights."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from specfloor.catalog import Catalog, load_catalog
from tests.contract.ascend_source import AscendSource
from tests.contract.configurations import load_configurations
from tests.contract.engine_free import Resolution
from tests.contract.launches import Launch


class Case(msgspec.Struct, frozen=True):
    """The part of a launch that its vLLM decides with the configurations of target and draft.

    Args:
        target: the target's architecture.
        speculative: the speculative configuration as JSON, without the draft's checkpoint.
        draft: the draft's checkpoint, empty where there is none of its own.
        tensor_parallel: devices that share the target.
    """

    target: str
    speculative: str
    draft: str = ""
    tensor_parallel: int = 1

    @property
    def method(self) -> str:
        """The method that the launch names."""
        return str(json.loads(self.speculative)["method"])

    def question(self) -> dict[str, Any]:
        """Return what a vLLM is asked, with configurations in place of names."""
        known = load_configurations()
        draft = known.draft_of(self.method, self.draft).config if self.draft else None
        return {
            "target": known.target_config(self.target),
            "draft": draft,
            "speculative": json.loads(self.speculative),
            "tensor_parallel": self.tensor_parallel,
        }


def case_of(launch: Launch) -> Case | None:
    """Return the case of a launch.

    None for one without speculation, one that the release refuses for other reasons, one of an
    embedded model, which other tests start, and one of a family of unknown architecture.
    """
    if launch.not_taken:
        return None
    speculative = launch.mapping("--speculative-config")
    target = _target(launch)
    if not speculative or target is None:
        return None
    draft = speculative.pop("model", "")
    return Case(
        target=target,
        speculative=json.dumps(speculative, sort_keys=True),
        draft=draft,
        tensor_parallel=int(launch.flag("--tensor-parallel-size") or 1),
    )


def without_architecture(catalog: Catalog) -> list[str]:
    """Return the families of which the catalogue does not say what they are, by name."""
    known = load_configurations()
    return [
        family.name
        for family in catalog.families.values()
        if family.platform == "ascend" and known.architecture(family) is None
    ]


def _target(launch: Launch) -> str | None:
    family = load_catalog().families[launch.family]
    return load_configurations().architecture(family) if family.platform == "ascend" else None


def needs_the_release(launch: Launch, resolution: Resolution, source: AscendSource) -> str | None:
    """Return why a launch's target is not known to vLLM alone but is where it runs, if it is."""
    name = resolution.unknown
    if name is None:
        return None
    if name in source.architectures:
        return f"{name} is of vllm-ascend {launch.release} itself"
    # an architecture is not spelled as a model type is
    if "--trust-remote-code" in launch.argv and name in _model_types():
        return f"the configuration class of {name} is in its checkpoints"
    return None


def _model_types() -> set[str]:
    return {target.model_type for target in load_configurations().target.values()}


def misfits(case: Case, resolution: Resolution) -> Iterator[str]:
    """Yield a sentence for everything that speaks against a case."""
    if resolution.unknown:
        yield f"vLLM does not know {resolution.unknown}, and nothing adds it"
        return
    if resolution.error:
        yield f"refused: {resolution.error}"
        return
    # vLLM has had names for the draft layers of each model, which all come to one
    method = "mtp" if case.method.endswith("mtp") else case.method
    if resolution.method != method:
        yield f"the method {case.method} comes to {resolution.method}"
    expected = _drafts(case, method)
    drafts = set(resolution.drafts)
    if expected is not None and not (drafts and drafts <= set(expected)):
        yield f"the draft comes to {list(resolution.drafts)}, not to one of {list(expected)}"


def _drafts(case: Case, method: str) -> tuple[str, ...] | None:
    """Return the architectures that a case's draft may come to, None where there is no draft."""
    known = load_configurations()
    if case.draft:
        return known.draft_of(case.method, case.draft).becomes
    return known.target[case.target].mtp if method == "mtp" else None
