import shutil
from pathlib import Path

import numpy as np
import pytest

from specfloor.engines.perturbation import f32_to_bf16, perturb_mtp
from specfloor.errors import UsageError
from tests.fakes.checkpoint import DRAFT, NOISY, UNTOUCHED, read, values, write


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write(tmp_path / "checkpoint", UNTOUCHED | NOISY)


def test_only_the_matrices_of_the_draft_layer_change(checkpoint: Path):
    before = read(checkpoint / "model.safetensors")
    assert perturb_mtp(checkpoint, noise=0.5, seed=1) == tuple(sorted(NOISY))
    after = read(checkpoint / "model.safetensors")
    changed = {name for name in before if before[name][0].tobytes() != after[name][0].tobytes()}
    assert changed == set(NOISY)


@pytest.mark.parametrize("noise", [0.1, 1.0])
@pytest.mark.parametrize("name", NOISY)
def test_the_noise_is_relative_to_each_matrix(checkpoint: Path, name: str, noise: float):
    before = values(read(checkpoint / "model.safetensors")[name])
    perturb_mtp(checkpoint, noise=noise, seed=1)
    added = values(read(checkpoint / "model.safetensors")[name]) - before
    assert added.std() / before.std() == pytest.approx(noise, rel=0.08)
    assert abs(np.corrcoef(added.ravel(), before.ravel())[0, 1]) < 0.08


def test_a_seed_gives_the_same_bytes_and_another_seed_others(checkpoint: Path, tmp_path: Path):
    def perturbed(name: str, seed: int) -> bytes:
        copy = shutil.copytree(checkpoint, tmp_path / name)
        perturb_mtp(copy, noise=0.5, seed=seed)
        return (copy / "model.safetensors").read_bytes()

    assert perturbed("a", 1) == perturbed("b", 1)
    assert perturbed("a2", 1) != perturbed("c", 2)


def test_the_header_keeps_its_bytes(checkpoint: Path):
    file = checkpoint / "model.safetensors"
    before = file.read_bytes()
    perturb_mtp(checkpoint, noise=0.5, seed=1)
    after = file.read_bytes()
    length = 8 + int.from_bytes(before[:8], "little")
    assert after[:length] == before[:length]
    assert len(after) == len(before)


def test_every_shard_is_looked_at(tmp_path: Path):
    folder = write(tmp_path / "sharded", UNTOUCHED, name="model-00001-of-00003.safetensors")
    first, second = [dict([item]) for item in list(NOISY.items())[:2]]
    write(folder, first, name="model-00002-of-00003.safetensors")
    write(folder, second, name="model-00003-of-00003.safetensors")
    assert perturb_mtp(folder, noise=0.5, seed=1) == tuple(sorted(first | second))


def test_bfloat16_keeps_a_matrix_without_deviation(tmp_path: Path):
    name = f"{DRAFT}.eh_proj.weight"
    folder = write(tmp_path / "flat", {name: ("BF16", (4, 4))})
    file = folder / "model.safetensors"
    third = np.full(16, 0x3EAB, np.uint16)
    file.write_bytes(file.read_bytes()[: -third.nbytes] + third.tobytes())
    perturb_mtp(folder, noise=1.0, seed=1)
    assert set(read(file)[name][0].ravel()) == {0x3EAB}


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1.0, 0x3F80),
        (1 + 2**-8, 0x3F80),  # half way: the even neighbour, below
        (1 + 3 * 2**-8, 0x3F82),  # half way: the even neighbour, above
        (1 + 2**-8 + 2**-20, 0x3F81),
        (-1 - 2**-8 - 2**-20, 0xBF81),
        (2 - 2**-20, 0x4000),  # the carry reaches the exponent
    ],
)
def test_bfloat16_is_rounded_as_torch_rounds_it(value: float, bits: int):
    assert f32_to_bf16(np.array([value], np.float32)).tolist() == [bits]


@pytest.mark.parametrize(
    "tensors", [UNTOUCHED, {"model.layers.20.eh_proj.weight": ("F32", (4, 4))}]
)
def test_a_checkpoint_without_a_draft_layer_is_refused(tmp_path: Path, tensors: dict):
    folder = write(tmp_path / "plain", tensors)
    before = (folder / "model.safetensors").read_bytes()
    with pytest.raises(UsageError, match=r"no MTP layer to add noise to in .*model\.layers\.2\."):
        perturb_mtp(folder, noise=0.5, seed=1)
    assert (folder / "model.safetensors").read_bytes() == before
