"""The configuration files of a checkpoint, where they lie on this host. Never downloads."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from specfloor.judge.draft_fit import CheckpointConfig

_CONFIG = "config.json"
_QUANTISATION = "quant_model_description.json"
"""What Ascend's quantiser (ModelSlim) writes beside a checkpoint."""
_ROTATION = ("optional", "quarot", "rotation_map", "global_rotation")
"""Where that file names the rotation of the hidden states, if they are rotated."""


def find_config(
    checkpoint: str, environment: Mapping[str, str] = os.environ
) -> CheckpointConfig | None:
    """Return the configuration of a folder or of a hub's name in its cache; None if it is not here.

    The text part of a multimodal model is what drafts and is drafted for.
    """
    for folder in _folders(checkpoint, environment):
        if config := _object(folder / _CONFIG):
            text = config.get("text_config")
            described = _object(folder / _QUANTISATION)
            own = config.get("quantization_config")
            named = own.get("quant_method", "yes") if isinstance(own, dict) else ""
            return CheckpointConfig(
                model=text if isinstance(text, dict) else config,
                quantised=str(described.get("model_quant_type", "ascend") if described else named),
                rotated=_at(described, _ROTATION) is not None if described else None,
            )
    return None


def _folders(checkpoint: str, environment: Mapping[str, str]) -> Iterator[Path]:
    yield Path(checkpoint)
    if checkpoint.count("/") != 1 or checkpoint.startswith(("/", ".")):
        return
    home = Path(environment.get("HOME") or "/")
    face = Path(environment.get("HF_HOME") or home / ".cache/huggingface")
    hub = Path(environment.get("HF_HUB_CACHE") or face / "hub")
    cached = hub / f"models--{checkpoint.replace('/', '--')}" / "snapshots"
    if cached.is_dir():
        yield from sorted(cached.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    scope = Path(environment.get("MODELSCOPE_CACHE") or home / ".cache/modelscope")
    # ModelScope writes the dots of a name as three underscores
    for name in (checkpoint, checkpoint.replace(".", "___")):
        yield scope / "hub" / name
        yield scope / "hub" / "models" / name
        yield scope / "models" / name


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _at(value: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
