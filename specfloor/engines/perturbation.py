"""Noise on a checkpoint's MTP layer: a draft gone bad beside a target that has not."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from specfloor.errors import UsageError

# vLLM gives the draft the target's embedding and head, so noise there would change nothing; the
# router decides which experts run, and with random experts the layer is random whatever its noise.
_LEFT_ALONE = re.compile(r"\bembed_tokens\.|\bshared_head\.head\.|\bmlp\.gate\.")

_STORED: dict[str, npt.DTypeLike] = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
"""Numpy's type for the floating types of a safetensors file; bfloat16 is read as its bits."""


def perturb_mtp(folder: Path, *, noise: float, seed: int) -> tuple[str, ...]:
    """Add Gaussian noise, in place, to the weight matrices of a checkpoint's MTP layer.

    The layer is the one with index ``num_hidden_layers``. Matrices only; the copies of embedding
    and head and the router are left alone. File size, header and every other tensor keep their
    bytes.

    Args:
        folder: a Hugging Face checkpoint; its ``*.safetensors`` are written to.
        noise: standard deviation of the noise in units of the matrix's own.
        seed: of the noise; the same seed, noise and checkpoint give the same bytes.

    Returns:
        The names of the tensors that were changed, sorted.

    Raises:
        UsageError: the folder holds no MTP layer to change.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    prefix = f"model.layers.{config['num_hidden_layers']}."
    rng = np.random.default_rng(seed)
    changed: list[str] = []
    for file in sorted(folder.glob("*.safetensors")):
        data_start, tensors = _header(file)
        for name, tensor in sorted(tensors.items()):
            dtype, shape = tensor["dtype"], tuple(tensor["shape"])
            if not name.startswith(prefix) or _LEFT_ALONE.search(name):
                continue
            if len(shape) != 2 or dtype not in _STORED:
                continue
            offset = data_start + tensor["data_offsets"][0]
            stored = np.memmap(file, _STORED[dtype], mode="r+", offset=offset, shape=shape)
            weights = bf16_to_f32(stored) if dtype == "BF16" else stored.astype(np.float32)
            weights += noise * weights.std() * rng.standard_normal(shape, np.float32)
            stored[:] = f32_to_bf16(weights) if dtype == "BF16" else weights
            stored.flush()
            changed.append(name)
    if not changed:
        raise UsageError(
            f"there is no MTP layer to add noise to in {folder}: "
            f"no weight matrix is named {prefix}*, name a family whose checkpoint has one"
        )
    return tuple(sorted(changed))


def _header(file: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return where a safetensors file's data begins, in bytes, and its tensors by name."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        tensors = json.loads(stream.read(length))
    tensors.pop("__metadata__", None)
    return 8 + length, tensors


def bf16_to_f32(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Return the numbers that the bits of bfloat16 stand for."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def f32_to_bf16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Return the bits of finite numbers in bfloat16, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
