"""Synthetic checkpoints with a draft layer, written and read without torch."""

import json
from pathlib import Path

import numpy as np

STORED = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I64": np.int64}
DRAFT = "model.layers.2"

NOISY = {
    f"{DRAFT}.eh_proj.weight": ("BF16", (48, 96)),
    f"{DRAFT}.self_attn.q_proj.weight": ("F32", (64, 64)),
    f"{DRAFT}.mlp.experts.0.gate_proj.weight": ("F16", (32, 64)),
    f"{DRAFT}.mlp.shared_experts.down_proj.weight": ("BF16", (64, 32)),
}
UNTOUCHED = {
    f"{DRAFT}.embed_tokens.weight": ("BF16", (32, 16)),
    f"{DRAFT}.shared_head.head.weight": ("BF16", (32, 16)),
    f"{DRAFT}.mlp.gate.weight": ("BF16", (8, 16)),
    f"{DRAFT}.mlp.gate.e_score_correction_bias": ("F32", (8,)),
    f"{DRAFT}.enorm.weight": ("BF16", (16,)),
    f"{DRAFT}.position_table": ("I64", (4, 4)),
    "model.layers.0.mlp.down_proj.weight": ("BF16", (16, 16)),
    "model.layers.20.mlp.down_proj.weight": ("BF16", (16, 16)),
    "lm_head.weight": ("BF16", (32, 16)),
}


def values(tensor: tuple[np.ndarray, str]) -> np.ndarray:
    """Return stored numbers as float64."""
    stored, dtype = tensor
    if dtype == "BF16":
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float64)


def write(folder: Path, tensors: dict, *, layers: int = 2, name: str = "model.safetensors") -> Path:
    """Write a checkpoint of random tensors by name, type and shape; scales differ by tensor."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(7)
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for index, (tensor, (dtype, shape)) in enumerate(tensors.items(), start=1):
        if dtype == "I64":
            raw = rng.integers(0, 9, shape)
        elif dtype == "BF16":
            normal = rng.standard_normal(shape, np.float32) * index
            raw = (normal.view(np.uint32) >> 16).astype(np.uint16)
        else:
            raw = (rng.standard_normal(shape) * index).astype(STORED[dtype])
        begin, data = len(data), data + raw.tobytes()
        header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    (folder / name).write_bytes(len(encoded).to_bytes(8, "little") + encoded + data)
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": layers}))
    return folder


def read(file: Path) -> dict[str, tuple[np.ndarray, str]]:
    """Return the stored numbers and the type of every tensor of a safetensors file."""
    blob = file.read_bytes()
    length = int.from_bytes(blob[:8], "little")
    header = json.loads(blob[8 : 8 + length])
    header.pop("__metadata__")
    return {
        name: (
            np.frombuffer(
                blob[8 + length :][slice(*tensor["data_offsets"])], STORED[tensor["dtype"]]
            ).reshape(tensor["shape"]),
            tensor["dtype"],
        )
        for name, tensor in header.items()
    }
