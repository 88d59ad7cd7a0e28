"""Commands to copy: the two servers, the requests, and what to read before and after them."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from specfloor.catalog.model import Family, Release
from specfloor.cells import Arm, Cell
from specfloor.engines.command import method_of, server_command
from specfloor.errors import UsageError
from specfloor.i18n import _
from specfloor.judge.evidence import ArmEvidence, Block
from specfloor.load.sampling import Sampling, request_body
from specfloor.load.sets import Workloads
from specfloor.load.workload import Prompt, fingerprint
from specfloor.vendor import words

PORT = 8000
"""The port of commands made from the catalogue: vLLM's own default."""


class Serve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command that starts one arm; ``recorded`` is whether it is the one that ran."""

    command: str
    recorded: bool


class Prompts(msgspec.Struct, frozen=True):
    """Prompts of a workload by id; ``missing`` says why there are none, and how to get them."""

    by_id: dict[str, Prompt]
    missing: str | None = None


def serve(
    arm: ArmEvidence | None, which: Arm, cell: Cell, family: Family, release: Release
) -> Serve:
    """Return the command of an arm as it ran, or as the catalogue has it when none was recorded.

    Only the interpreter's path and the port, which was a free one, are made the usual ones.

    Args:
        arm: the launch, if there was one.
        which: the arm that is meant.
        cell: the cell that is reported.
        family: the cell's family.
        release: the cell's release.
    """
    if arm and arm.launch:
        return Serve(shell(arm.launch.argv, arm.launch.env), recorded=True)
    draft = method_of(family, cell.arm).draft if which.speculates else None
    model = family.checkpoint.source
    made = server_command(
        Path("python"),
        release=release,
        family=family,
        arm=which,
        model=model,
        draft=model if draft == "target" else draft,
        port=PORT,
    )
    return Serve(shell(made.argv, made.env), recorded=False)


def shell(argv: Sequence[str], env: dict[str, str]) -> str:
    """Return a command for a POSIX shell, a variable or a flag with its value a line."""
    words = ["python", *argv[1:]] if "-m" in argv[1:2] else list(argv)
    if "--port" in words[:-1]:
        words[words.index("--port") + 1] = str(PORT)
    lines = [[f"{name}={shlex.quote(value)}"] for name, value in sorted(env.items())]
    lines.append([])
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(shlex.quote(word))
    return " \\\n  ".join(" ".join(line) for line in lines if line)


def served_name(argv: Sequence[str], family: Family) -> str:
    """Return the name under which a server has its model."""
    words = list(argv)
    if "--served-model-name" in words[:-1]:
        return words[words.index("--served-model-name") + 1]
    return family.name


def find_prompts(block: Block | None, family: Family, folders: Sequence[Path]) -> Prompts:
    """Return the prompts of a block from the first folder of workloads that has those it sent.

    Where none has, what is missing is said of the first folder.
    """
    if block is None:
        return Prompts({}, _(words.NOT_SENT))
    looked = [_prompts_in(folder, block, family) for folder in folders]
    return next((found for found in looked if not found.missing), looked[0])


def _prompts_in(folder: Path, block: Block, family: Family) -> Prompts:
    sent = block.sent
    try:
        workloads = Workloads(folder, sent.seed)
        prompts = workloads.prompts(family.workload_set, sent.block.workload)
    except UsageError as error:
        return Prompts({}, _(words.NOT_FOUND).format(error=error))
    # a block for speed sends the first of the seeded order
    for some in (prompts, prompts[: sent.prompts]):
        if fingerprint(some) == sent.fingerprint:
            return Prompts({prompt.id: prompt for prompt in some})
    return Prompts({}, _(words.CHANGED).format(folder=folder))


def bodies(block: Block, model: str, prompts: Sequence[Prompt]) -> tuple[str, ...]:
    """Return the bodies of requests as they were sent, one line of JSON each."""
    sampling = msgspec.convert(block.sent.sampling, Sampling)
    return tuple(
        request_body(model, prompt, sampling, block.sent.template, continuous_usage=False).decode()
        for prompt in prompts
    )
