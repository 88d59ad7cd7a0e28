"""Asks an engine's interpreter what its SwiGLU kernels compute, without a server."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from specfloor.errors import UsageError
from specfloor.host.programs import run_program
from specfloor.judge.numerics import KernelAnswer

ROWS = (1, 2, 4, 37)
"""One and two rows are what a draft gives an expert; four is the largest count a kernel has been
seen to corrupt, and 37 is many, and no multiple of anything."""
WIDTHS = (96, 128, 640)
"""With gate and up beside each other these are 192 and 256, at which a kernel has been seen to
corrupt its scales, and one that is wide."""
LIMITS = (None, 7.0, 10.0)
"""No limit, and the two that published models have."""
_SCRIPT = Path(__file__).parent / "scripts" / "swiglu.py"
_MARK = "swiglu kernels:"
_TIMEOUT_S = 300.0
"""Importing vLLM takes up to a minute on a busy host, and an NPU compiles kernels at first use."""
_AS_IT_IS = {"TORCHDYNAMO_DISABLE": "1"}
"""A layer compiled anew for every shape takes seconds each and is not the kernel in question."""


def kernel_answer(
    python: Path,
    *,
    limits: Sequence[float | None] = LIMITS,
    seed: int = 20260601,
    env: Mapping[str, str] | None = None,
) -> KernelAnswer:
    """Return what the kernels of the engine of ``python`` compute at and around ``limits``.

    Args:
        python: the interpreter that has vLLM.
        limits: limits of the gate and up to try, None being none.
        seed: of the drawn inputs.
        env: additions to the environment, such as CANN's.

    Raises:
        UsageError: the interpreter gave no answer; the sentence has what it said last.
    """
    request = {"limits": limits, "rows": ROWS, "widths": WIDTHS, "seed": seed}
    output = run_program(
        [str(python), str(_SCRIPT), json.dumps(request)],
        timeout_s=_TIMEOUT_S,
        env=_AS_IT_IS | dict(env or {}),
    )
    lines = output.text.splitlines()
    answer = next((line for line in reversed(lines) if line.startswith(_MARK)), None)
    if answer is None:
        said = output.problem or next((line for line in reversed(lines) if line.strip()), "nothing")
        raise UsageError(
            f"the kernels of {python} could not be run ({said.strip()[:300]}); "
            "name the interpreter that has the release's vLLM"
        )
    return msgspec.json.decode(answer.removeprefix(_MARK), type=KernelAnswer)
