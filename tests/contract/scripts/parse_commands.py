"""Runs in an environment with vLLM: what its parser and configuration classes say of commands.

``parse_commands.py ASKED SAID``: both JSON with ``commands`` and ``cases``. A command is an
argument vector of the server, and its answer ``{"stage", "error", "unknown"}``, null, null and
empty for one that is taken; resolve_speculation.py has cases and their answers.
"""

import functools
import importlib
import importlib.util
import json
import sys
from pathlib import Path

from pydantic import ConfigDict, model_validator
from pydantic.dataclasses import dataclass
from resolve_speculation import resolve_all
from vllm.config import SpeculativeConfig
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.reasoning import ReasoningParserManager
from vllm.tokenizers.registry import TokenizerRegistry
from vllm.utils.argparse_utils import FlexibleArgumentParser

HANDLED_BEFORE_THE_REGISTRY = {"auto", "slow"}
"""Tokenizer modes that vLLM turns into others before it looks one up."""


class RefusedError(Exception):
    """Something is not taken."""


def refuse(message):
    raise RefusedError(message)


@functools.cache
def server_arguments():
    """Return the module of the server's arguments; 0.29 moved it."""
    moved = importlib.util.find_spec("vllm.entrypoints.launchers")
    package = "launchers" if moved else "openai"
    return importlib.import_module(f"vllm.entrypoints.{package}.cli_args")


def make_parser():
    parser = server_arguments().make_arg_parser(FlexibleArgumentParser())
    parser.error = refuse
    return parser


# extra fields are forbidden here whatever the release does: some early ones drop them in silence
@dataclass(config=ConfigDict(**SpeculativeConfig.__pydantic_config__ | {"extra": "forbid"}))
class Fields(SpeculativeConfig):
    """The fields of the speculative configuration without the steps that need model files."""

    def __post_init__(self):
        pass

    @model_validator(mode="after")
    def _verify_args(self):
        return self


def unknown_names(arguments):
    """Return the names that no registry has, which the server looks up only once it has started."""
    parser, mode = arguments.reasoning_parser, arguments.tokenizer_mode
    unknown = []
    if parser and parser not in ReasoningParserManager.list_registered():
        unknown.append(parser)
    if mode not in HANDLED_BEFORE_THE_REGISTRY | TokenizerRegistry.tokenizers.keys():
        unknown.append(mode)
    return unknown


def check(parser, argv):
    """Return what refuses an argument vector, at which stage, and the names it does not know."""
    unknown = []
    stage = "parser"
    try:
        arguments = parser.parse_args(argv)
        stage = "server arguments"
        server_arguments().validate_parsed_serve_args(arguments)
        unknown = unknown_names(arguments)
        stage = "engine arguments"
        engine = AsyncEngineArgs.from_cli_args(arguments)
        stage = "speculative configuration"
        if engine.speculative_config is not None:
            Fields(**engine.speculative_config)
    # whatever it is, the server would have ended with it
    except Exception as error:  # noqa: BLE001
        return {"stage": stage, "error": f"{type(error).__name__}: {error}", "unknown": unknown}
    return {"stage": None, "error": None, "unknown": unknown}


def main(asked, said):
    questions = json.loads(Path(asked).read_text(encoding="utf-8"))
    parser = make_parser()
    commands = [check(parser, argv) for argv in questions["commands"]]
    # last: it replaces parts of vLLM
    cases = resolve_all(questions["cases"])
    Path(said).write_text(json.dumps({"commands": commands, "cases": cases}), encoding="utf-8")


main(*sys.argv[1:])
