"""What the source of a vllm-ascend says of the settings that vLLM's own parser lets through."""

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tests.contract.additional_config import KnownKeys, known_keys

_PATCHED = re.compile(r"\b(SpeculativeConfig\.\w+|speculative_config\.\w+Types) = ")
_REGISTRIES = frozenset({"ReasoningParserManager", "TokenizerRegistry"})


class AscendSource(msgspec.Struct, frozen=True):
    """One release's answers.

    ``quantizations`` are the values of ``--quantization`` its platform takes, ``methods`` those of
    the speculative ``method`` it has a proposer for. ``architectures`` are models, and
    ``registers`` reasoning parsers and tokenizer modes, that it adds to those of vLLM.
    ``replaces`` are parts of vLLM's speculative configuration that it exchanges when it starts, so
    that vLLM alone does not show what they do.
    """

    keys: KnownKeys
    quantizations: frozenset[str]
    methods: frozenset[str]
    architectures: frozenset[str]
    registers: frozenset[str]
    replaces: tuple[str, ...]


@functools.cache
def read_source(package: Path) -> AscendSource:
    """Return what the package folder ``vllm_ascend`` says.

    Raises:
        ValueError: a place where releases so far say it is not there.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    platform = ast.parse(texts[package / "platform.py"])
    proposers = ast.parse(texts[package / "spec_decode" / "__init__.py"])
    constants = ast.parse(texts[package / "utils.py"])
    patches = [text for path, text in texts.items() if "patch" in path.parts]
    return AscendSource(
        keys=known_keys(texts.values()),
        quantizations=frozenset(_quantizations(platform, dict(_constants(constants)))),
        methods=frozenset(_methods(proposers)),
        architectures=frozenset(name for text in texts.values() for name in _models(text)),
        registers=frozenset(name for text in patches for name in _registered(text)),
        replaces=tuple(sorted({name for text in patches for name in _PATCHED.findall(text)})),
    )


def _registered(text: str) -> Iterator[str]:
    """Yield the names that a module registers as reasoning parsers or tokenizer modes."""
    if not any(registry in text for registry in _REGISTRIES):
        return
    tree = ast.parse(text)
    constants = dict(_constants(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=registry), attr=called),
                args=args,
                keywords=keywords,
            ) if registry in _REGISTRIES and called.startswith("register"):
                named = [keyword.value for keyword in keywords if keyword.arg == "name"]
                yield _text([*named, *args][0], constants)


def _models(text: str) -> Iterator[str]:
    """Yield the architectures that a module registers."""
    if "register_model(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="register_model"), args=[ast.Constant(value=str(name)), *_]
            ):
                yield name


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text


def _quantizations(platform: ast.Module, constants: dict[str, str]) -> Iterable[str]:
    """Return the texts of the list ``supported_quantization`` of the platform's class."""
    for node in ast.walk(platform):
        match node:
            case (
                ast.AnnAssign(
                    target=ast.Name(id="supported_quantization"), value=ast.List() as all_
                )
                | ast.Assign(
                    targets=[ast.Name(id="supported_quantization")], value=ast.List() as all_
                )
            ):
                return [_text(element, constants) for element in all_.elts]
    raise ValueError("the platform names no supported_quantization")


def _text(node: ast.expr, constants: dict[str, str]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in constants:
            return constants[name]
    raise ValueError(f"{ast.unparse(node)} is not known to be a text")


def _methods(proposers: ast.Module) -> set[str]:
    """Return the texts that the choice of a proposer compares ``method`` with."""
    found: set[str] = set()
    for node in ast.walk(proposers):
        match node:
            case ast.Compare(left=ast.Name(id="method"), comparators=[right]):
                found |= {
                    part.value
                    for part in ast.walk(right)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
    if not found:
        raise ValueError("the choice of a proposer compares method with nothing")
    return found
