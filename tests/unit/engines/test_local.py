"""Engines of this host: what is prepared once, what is started, and what failures are called."""

import contextlib
from pathlib import Path

import msgspec
import pytest

from specfloor.cells import OFF, Arm
from specfloor.engines import local
from specfloor.engines.command import Command
from specfloor.engines.environment import EngineBuildError
from specfloor.engines.local import LocalEngines, default_cache
from specfloor.engines.routes import PythonRoute
from specfloor.engines.server import Failure, StartFailure
from specfloor.errors import UsageError
from specfloor.measure import Fault
from specfloor.runs.records import LaunchKey
from specfloor.triage.findings import Finding
from tests.unit.builders import CELL, catalog, key

ON, DRAFT = CELL.arm, Arm("draft_model", 2)
CONFIG_LINE = (
    "INFO 01-02 03:04:05 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with config: model='m',"
    " speculative_config=SpeculativeConfig(method='mtp', model='m', num_spec_tokens=3), x=1"
)


class FakeServer:
    """Stands for a server; the class keeps what was started and what is to happen."""

    started: list["FakeServer"]
    refuse: Failure | None
    unwell: Failure | None

    def __init__(self, command: Command, log: Path, options: dict[str, object]) -> None:
        self.command, self.log, self.options = command, log, options
        self.stopped = False
        self.url = "http://nowhere"
        self.startup_s = 1.23456

    @classmethod
    def start(cls, command_on, *, log, **options):
        if cls.refuse:
            raise StartFailure(cls.refuse)
        cls.started.append(cls(command_on(4711), log, options))
        return cls.started[-1]

    def log_lines(self):
        return [CONFIG_LINE] if "--speculative-config" in self.command.argv else ["nothing"]

    def diagnose(self, patience_s):
        return self.unwell and msgspec.structs.replace(
            self.unwell, message=f"waited {patience_s:g} s"
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped = True


@pytest.fixture
def host(monkeypatch):
    """Replace everything that builds, derives, starts or asks; return what was called for."""
    calls = []
    FakeServer.started, FakeServer.refuse, FakeServer.unwell = [], None, None

    def build(release, extra, cache, indexes, progress):
        calls.append(("build", release.name, extra))
        return Path("/built/bin/python")

    def prepare(checkpoint, *, python, models, cache, progress):
        calls.append(("checkpoint", checkpoint.source, python))
        return f"/models/{checkpoint.source}"

    monkeypatch.setattr(local.environment, "build", build)
    monkeypatch.setattr(local.checkpoints, "prepare", prepare)
    monkeypatch.setattr(local, "find_ascend_python", lambda asked: Path("/found/python"))
    monkeypatch.setattr(local, "Server", FakeServer)
    monkeypatch.setattr(local, "server_version", lambda url: "0.32.0")
    monkeypatch.setattr(local, "speculation_series", lambda url: ("vllm:spec_decode_num_drafts",))
    return calls


@pytest.fixture
def engines(host, tmp_path):
    def make(**options):
        return LocalEngines(
            catalog(),
            **{
                "models": tmp_path / "models",
                "cache": tmp_path / "cache",
                "start_timeout_s": 9.0,
                "route": lambda _: None,
                "say": lambda _: None,
                "tick": lambda *_: None,
            }
            | options,
        )

    return make


def argv_of(engines, launch_key, tmp_path):
    with engines.start(launch_key, tmp_path / "engine.log"):
        pass
    return FakeServer.started[-1].command.argv


class TestPreparing:
    def test_once_an_arm(self, engines, host):
        own = engines()
        for _ in range(2):
            own.prepare(key(ON))
        assert [call[0] for call in host] == ["build", "checkpoint"]
        own.prepare(key(ON, 1))
        assert len(host) == 2
        own.prepare(key(OFF))
        assert len(host) == 4

    def test_starting_prepares_what_was_not(self, engines, host, tmp_path):
        argv_of(engines(), key(OFF), tmp_path)
        assert [call[0] for call in host] == ["build", "checkpoint"]

    def test_the_interpreter_asked_for_is_not_built(self, engines, host, tmp_path):
        own = engines(route=lambda _: PythonRoute(Path("/mine/python")))
        assert argv_of(own, key(OFF), tmp_path)[0] == "/mine/python"
        assert host == [("checkpoint", "somewhere/glm", Path("/mine/python"))]

    def test_a_release_of_the_host_is_found(self, engines, host, tmp_path):
        launched = LaunchKey("0.5.0", "big", OFF)
        assert argv_of(engines(), launched, tmp_path)[0] == "/found/python"
        assert [call[0] for call in host] == ["checkpoint"]

    def test_what_a_method_requires_is_asked_for(self, engines, host, monkeypatch):
        known = catalog()
        (family,) = (f for f in known.families.values() if f.name == CELL.family)
        needy = msgspec.structs.replace(family.methods[0], requires=("arctic-inference",))
        known.families[family.name] = msgspec.structs.replace(family, methods=(needy,))
        own = engines()
        monkeypatch.setattr(own, "_catalog", known)
        own.prepare(key(ON))
        own.prepare(key(OFF))
        assert [call for call in host if call[0] == "build"] == [
            ("build", "cpu-2.0", ("arctic-inference",)),
            ("build", "cpu-2.0", ()),
        ]

    @pytest.mark.parametrize(
        ("what", "error"),
        [
            ("environment.build", EngineBuildError("pip could not")),
            ("checkpoints.prepare", UsageError("no such model")),
        ],
    )
    def test_what_cannot_be_made_is_a_start_that_failed(self, engines, monkeypatch, what, error):
        def refuse(*_, **__):
            raise error

        module, name = what.split(".")
        monkeypatch.setattr(getattr(local, module), name, refuse)
        with pytest.raises(Fault, match=str(error)) as caught:
            engines().prepare(key(ON))
        assert caught.value.finding is Finding.START_FAIL

    def test_the_cache_is_the_users(self):
        assert default_cache().name == "specfloor"


class TestStarting:
    def test_the_off_arm(self, engines, tmp_path):
        argv = argv_of(engines(), key(OFF), tmp_path)
        assert argv[1:3] == ("-m", "vllm.entrypoints.openai.api_server")
        assert "/models/somewhere/glm" in argv
        assert argv[argv.index("--port") + 1] == "4711"
        assert "--speculative-config" not in argv

    def test_an_arm_that_drafts(self, engines, tmp_path):
        argv = argv_of(engines(), key(ON), tmp_path)
        config = msgspec.json.decode(argv[argv.index("--speculative-config") + 1])
        assert config == {"method": "mtp", "num_speculative_tokens": 3}

    def test_a_target_that_is_its_own_draft(self, engines, tmp_path):
        argv = argv_of(engines(), key(DRAFT), tmp_path)
        config = msgspec.json.decode(argv[argv.index("--speculative-config") + 1])
        assert config["model"] == "/models/somewhere/glm"

    def test_the_deadline_and_the_progress_are_handed_on(self, engines, tmp_path):
        ticks = []
        argv_of(engines(tick=lambda *news: ticks.append(news)), key(OFF), tmp_path)
        (server,) = FakeServer.started
        assert server.options["deadline_s"] == 9.0
        server.options["progress"](1.0, "loading")
        assert ticks == [(1.0, "loading")]
        assert server.log == tmp_path / "engine.log"

    def test_it_is_stopped_however_the_block_ends(self, engines, tmp_path):
        with (
            contextlib.suppress(ZeroDivisionError),
            engines().start(key(OFF), tmp_path / "engine.log"),
        ):
            raise ZeroDivisionError
        assert FakeServer.started[0].stopped

    def test_a_server_that_does_not_become_healthy(self, engines, tmp_path):
        FakeServer.refuse = Failure(
            Finding.START_FAIL, "it ended", "no memory", tmp_path / "engine.log", 1
        )
        with (
            pytest.raises(Fault, match="it ended") as caught,
            engines().start(key(ON), tmp_path / "engine.log"),
        ):
            pass
        assert (caught.value.finding, caught.value.cause) == (Finding.START_FAIL, "no memory")


class TestRunning:
    @pytest.fixture
    def running(self, engines, tmp_path):
        def start(arm):
            return engines().start(key(arm), tmp_path / "engine.log")

        return start

    def test_it_answers_under_the_name_of_the_family(self, running):
        with running(ON) as server:
            assert (server.endpoint.base_url, server.endpoint.model) == (
                "http://nowhere",
                "glm-9.1-tiny",
            )

    def test_it_describes_what_is_in_effect(self, running):
        with running(ON) as server:
            told = server.describe(key(ON), "engines/x.log", 1.23456)
        assert told.key == key(ON)
        assert told.log == "engines/x.log"
        assert (told.started_s, told.startup_s) == (1.235, 1.235)
        assert told.version == "0.32.0"
        assert (told.resolved_method, told.resolved_k) == ("mtp", 3)
        assert told.speculative_config.startswith("SpeculativeConfig(method='mtp'")
        assert told.speculation_series == ("vllm:spec_decode_num_drafts",)
        assert told.argv == FakeServer.started[0].command.argv

    def test_a_log_that_says_nothing(self, running):
        with running(OFF) as server:
            told = server.describe(key(OFF), "engines/x.log", 0.0)
        assert told.speculative_config is told.resolved_method is told.resolved_k is None

    def test_the_diagnosis_is_a_fault(self, running, tmp_path):
        with running(ON) as server:
            assert server.diagnose(7.0) is None
            FakeServer.unwell = Failure(Finding.HANG, "?", "a cause", tmp_path / "engine.log")
            fault = server.diagnose(7.0)
        assert (fault.finding, fault.message, fault.cause) == (
            Finding.HANG,
            "waited 7 s",
            "a cause",
        )
