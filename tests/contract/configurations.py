"""What stands for the configuration files of targets and drafts: what checkpoints.toml holds."""

import functools
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from specfloor.catalog.model import Family

FILE = Path(__file__).parent / "checkpoints.toml"


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is drafted for; ``architecture`` where it is not the name it has in the file.

    ``config`` is what of its config.json is no default of the class of its ``model_type``, with a
    ``source``; ``mtp`` the architectures that its own draft layers may come to, empty for one
    without any.
    """

    model_type: str
    architecture: str = ""
    mtp: tuple[str, ...] = ()
    config: dict[str, Any] = {}
    source: str = ""


class Draft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The class of drafts that a method takes, with the architectures it may come to."""

    method: str
    checkpoints: tuple[str, ...]
    becomes: tuple[str, ...]
    config: dict[str, Any]
    source: str


class Configurations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them: ``target`` by architecture, ``family`` those of families that have several."""

    family: dict[str, str]
    target: dict[str, Target]
    draft: tuple[Draft, ...]

    def architecture(self, family: Family) -> str | None:
        """Return which architecture a family has, None where the catalogue does not say."""
        first = family.architectures[0] if family.architectures else None
        return self.family.get(family.name, first)

    def target_config(self, name: str) -> dict[str, Any]:
        """Return what stands for a target's config.json."""
        target = self.target[name]
        named = {
            "architectures": [target.architecture or name],
            "model_type": target.model_type,
        }
        return named | target.config

    def draft_of(self, method: str, checkpoint: str) -> Draft:
        """Return the class of a draft checkpoint.

        Raises:
            KeyError: the file has none.
        """
        for draft in self.draft:
            if draft.method == method and checkpoint in draft.checkpoints:
                return draft
        raise KeyError(f"{FILE.name} has no draft {checkpoint} of {method}")


@functools.cache
def load_configurations() -> Configurations:
    """Return what the file has."""
    return msgspec.convert(tomllib.loads(FILE.read_text(encoding="utf-8")), Configurations)
