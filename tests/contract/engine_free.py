"""vLLM's own parser and configuration classes, run without an engine, one process a version."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from specfloor.catalog.model import InstallStep, Release
from specfloor.engines.environment import build
from specfloor.engines.indexes import load_indexes
from specfloor.errors import UsageError

ENVIRONMENT = Release(
    name="contract",
    platform="cpu",
    kind="venv",
    vllm="0",
    import_check="import torch, transformers, xgrammar",
    steps=(
        InstallStep(pip=("--no-compile", "torch==2.13.0+cpu"), fallback_index="torch-cpu"),
        InstallStep(
            pip=(
                # few of their modules are ever imported
                "--no-compile",
                "aiohttp",
                "blake3",
                "cachetools",
                "cbor2",
                "cloudpickle",
                "diskcache",
                "einops",
                "fastapi",
                "filelock",
                "gguf",
                "huggingface-hub",
                "jsonschema",
                "llguidance",
                "lm-format-enforcer",
                "mistral-common",
                "msgspec",
                "numpy",
                "openai",
                "openai-harmony",
                "partial-json-parser",
                "pillow",
                "prometheus-client",
                "prometheus-fastapi-instrumentator",
                "psutil",
                "py-cpuinfo",
                "pybase64",
                "pydantic>=2.12",
                "python-json-logger",
                "pyyaml",
                "pyzmq",
                "regex",
                "requests",
                "setproctitle",
                "setuptools",
                "setuptools-scm",
                "tqdm",
                "transformers>=5.16.1,<5.20",
                "typing-extensions",
                "uvloop",
                "wheel",
                "xgrammar",
            )
        ),
    ),
)
"""What importing the parsers of vLLM 0.13 to 0.32 takes, and what source archives of vllm-ascend
take to tell their metadata. Far from all that vLLM requires: no kernels, no media libraries. torch
and transformers are those of the newest vLLM and serve the older ones too."""

SCRIPT = Path(__file__).parent / "scripts" / "parse_commands.py"

TIMEOUT_S = 600.0
"""Seconds one version may take; it takes some ten."""


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a vLLM said of one command: where it refused it and why, both None when it did not.

    ``unknown`` are names of reasoning parsers and tokenizer modes that it does not have itself.
    """

    stage: str | None = None
    error: str | None = None
    unknown: tuple[str, ...] = ()


class Resolution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a vLLM made of one case of speculation: ``method`` and architectures of ``drafts``.

    ``unknown`` is which name of the target it does not know, which leaves the rest unsaid;
    ``error`` why it refused the case. Both are None for one that it takes.
    """

    unknown: str | None
    error: str | None
    method: str | None
    drafts: tuple[str, ...]


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one vLLM said, in the order it was asked."""

    commands: tuple[Answer, ...]
    cases: tuple[Resolution, ...]


def build_environment(cache: Path, progress: Callable[[str], None]) -> Path:
    """Return the interpreter that parsers run in, building its environment when needed.

    Raises:
        EngineBuildError: pip could not install it.
    """
    return build(ENVIRONMENT, (), cache, load_indexes(), progress)


def child_environ(vllm: Path | None = None) -> dict[str, str]:
    """Return the environment of child processes, in which ``vllm`` is the vLLM that is imported."""
    left_out = ("PYTHONPATH", "PYTHONHOME", "HF_HUB_OFFLINE")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in left_out and not name.startswith("VLLM_")
    }
    # what a source archive of vllm-ascend asks for where no NPU tells it
    kept |= {"SOC_VERSION": "ascend910b1", "VLLM_LOGGING_LEVEL": "ERROR"}
    return kept if vllm is None else kept | {"PYTHONPATH": str(vllm)}


def ask(
    python: Path,
    vllm: Path,
    commands: Sequence[Sequence[str]],
    cases: Sequence[Mapping[str, Any]],
) -> Said:
    """Return what the vLLM in a folder says of argument vectors and of cases of speculation.

    Raises:
        UsageError: the process failed; the sentence ends with its last line.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked, said = Path(folder) / "asked.json", Path(folder) / "said.json"
        questions = {"commands": list(map(list, commands)), "cases": list(cases)}
        asked.write_text(json.dumps(questions), encoding="utf-8")
        done = _run([str(python), str(SCRIPT), str(asked), str(said)], child_environ(vllm))
        if done.returncode or not said.exists():
            last = (done.stdout.strip().splitlines() or ["nothing"])[-1]
            raise UsageError(f"the parser of {vllm.name} did not run; it ends with {last!r}")
        return msgspec.json.decode(said.read_bytes(), type=Said)


def _run(command: list[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[Any]:
    return subprocess.run(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
    )
