"""What the user knows of the files: their roles, the configuration, what to compare with."""

from pathlib import Path
from typing import Annotated, Any

import msgspec

from specfloor.catalog.versions import FieldVersion, version_of_image
from specfloor.errors import UsageError

_ADAPTIVE = (
    "adaptive_verification",
    "enable_adaptive_verification",
    "dynamic_spec_config",
    "num_speculative_tokens_per_batch_size",
)
_SYNTHETIC = "synthetic"
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class GivenFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file and its role, such as ``log``, ``before``, ``off`` or ``decode-after``."""

    path: str
    role: str = ""


class Baseline(msgspec.Struct, frozen=True):
    """What acceptance should be, for the same model, k, rule and workload.

    ``acceptance_rate`` is a fraction, ``tolerance_points`` are percentage points of it. Fields that
    are not known here are ignored.
    """

    k: Annotated[int, msgspec.Meta(ge=1)] | None = None
    acceptance_rate: _Share | None = None
    acceptance_length: Annotated[float, msgspec.Meta(ge=1)] | None = None
    tolerance_points: Annotated[float, msgspec.Meta(ge=0, lt=100)] | None = None
    per_position: tuple[_Share, ...] | None = None
    per_position_0: _Share | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        """Refuse a length that no k draft tokens give."""
        length, k = self.acceptance_length, self.k
        if length is not None and k is not None and length > k + 1:
            raise ValueError(f"an acceptance_length of {length:g} is over k + 1 = {k + 1}")


class Given(msgspec.Struct, frozen=True):
    """The whole of it; ``config`` is free: what is known in it is used."""

    files: tuple[GivenFile, ...] = ()
    config: dict[str, Any] = {}
    baseline: Baseline | None = None

    def setting(self, *names: str) -> object:
        """Return the first of some settings that is given, also inside one arm's settings."""
        nested = [value for value in self.config.values() if isinstance(value, dict)]
        for settings in (self.config, *nested):
            for name in names:
                if settings.get(name) is not None:
                    return settings[name]
        return None

    @property
    def k(self) -> int | None:
        """num_speculative_tokens, from the configuration or else the baseline."""
        k = self.config.get("k", self.config.get("num_speculative_tokens"))
        if isinstance(k, int) and k > 0:
            return k
        return self.baseline.k if self.baseline else None

    @property
    def tagged(self) -> FieldVersion | None:
        """The release that the tag of the image names; None without one."""
        tag = self.config.get("image_tag") or self.config.get("image")
        if not isinstance(tag, str):
            return None
        return version_of_image(tag if ":" in tag else f"image:{tag}")

    @property
    def adaptive(self) -> bool:
        """Whether the number of drafted or verified tokens follows the load."""
        return bool(self.setting(*_ADAPTIVE))

    @property
    def synthetic(self) -> bool:
        """Whether acceptance is set in the rejection sampler instead of earned."""
        return self.setting("rejection_sample_method") == _SYNTHETIC


def read_given(path: Path) -> Given:
    """Read a file of that shape; the paths in it are relative to its folder.

    Raises:
        UsageError: it cannot be read, is not JSON, or a field is not of its type.
    """
    try:
        given = msgspec.json.decode(path.read_bytes(), type=Given)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror})") from None
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"{path} is not what --given takes ({error}): a JSON object with files "
            "([{path, role}]), config and baseline"
        ) from None
    if not given.files:
        raise UsageError(f"{path} names no files: its list `files` is empty or missing")
    return given
