"""The fake server run as the suite runs the real one: a process, from its command line."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from urllib.error import URLError

import msgspec
import pytest

from specfloor.load.client import Block, Ending, Endpoint, run_block
from specfloor.load.sampling import Sampling
from specfloor.load.workload import Message, Prompt
from specfloor.runs.records import BlockKey, Purpose
from tests.fakes import vllm_server
from tests.fakes.vllm_server import install_fake_vllm, knobs_for

MTP = json.dumps({"method": "mtp", "num_speculative_tokens": 3})
PER_REQUEST = ("--per-request-spec-decode-metrics", "summary")
DEADLINE_S = 60
# the proxy that the environment may name is not asked for a server of this host
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


@pytest.fixture
def start(tmp_path):
    """Start ``python -m vllm...`` with the fake package; returns the process, its URL and log."""
    processes = []

    def start(*argv, env=None, **knobs):
        port = free_port()
        log = tmp_path / "server.log"
        folder = install_fake_vllm(tmp_path / "fake", **knobs)
        with log.open("w") as out:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
                    *("--model", "some/model", "--served-model-name", "tiny"),
                    *("--host", "127.0.0.1", "--port", str(port)),
                    *("--dtype", "float32", "--enforce-eager"),
                    *argv,
                ],
                env=os.environ | {"PYTHONPATH": str(folder)} | (env or {}),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        processes.append(process)
        return process, f"http://127.0.0.1:{port}", log

    yield start
    for process in processes:
        process.kill()
        process.wait()


def wait_until_up(process, url):
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(URLError, ConnectionError), open_url(url) as got:
            if got.status == 200:
                return
        time.sleep(0.02)
    pytest.fail("the fake server did not start")


def send(url, count=4):
    records, counters = [], []
    prompts = tuple(Prompt(f"p{i}", "code", (Message("user", f"Say {i}"),)) for i in range(count))
    key = BlockKey("copy", "off", 1, Purpose.NATURAL)
    block = Block("launch", key, prompts, Sampling(max_tokens=32))
    outcome = asyncio.run(run_block(Endpoint(url, "tiny"), block, records.append, counters.append))
    return outcome, records, counters


def test_it_serves_like_the_real_one(start):
    process, url, log = start("--speculative-config", MTP, *PER_REQUEST)
    wait_until_up(process, f"{url}/health")
    outcome, records, counters = send(url)
    assert outcome.ending is Ending.COMPLETE
    assert (
        sum(r.speculation.num_draft_tokens for r in records) == counters[0].by_engine["0"].drafted
    )
    with open_url(f"{url}/version") as got:
        assert json.load(got) == {"version": "0.32.0"}
    with open_url(f"{url}/v1/models") as got:
        assert json.load(got)["data"][0]["id"] == "tiny"
    process.terminate()
    assert process.wait(DEADLINE_S) is not None
    text = log.read_text()
    assert "Initializing a V1 LLM engine (v0.32.0) with config: model='some/model'" in text
    assert "SpeculativeConfig(method='mtp', model='some/model', num_spec_tokens=3)" in text
    assert "Application startup complete." in text


def test_the_off_arm_has_no_speculation(start):
    process, url, log = start()
    wait_until_up(process, f"{url}/health")
    _, records, counters = send(url)
    assert all(record.speculation is None for record in records)
    assert counters[0].by_engine == {}
    assert "speculative_config=None" in log.read_text()


def test_a_crash_ends_the_process_with_the_cause_above_the_dead_engine(start):
    process, url, log = start("--speculative-config", MTP, crash_after=3)
    wait_until_up(process, f"{url}/health")
    outcome, records, _ = send(url)
    assert outcome.ending is Ending.CRASHED
    assert [record.ok for record in records] == [True, True, False]
    assert process.wait(DEADLINE_S) == 1
    text = log.read_text()
    assert 0 < text.index("RuntimeError: fake device lost") < text.index("EngineDeadError")


@pytest.mark.parametrize(
    ("argv", "knobs", "says"),
    [
        ((), {"start": "fail"}, "ValueError: fake start failure"),
        (PER_REQUEST, {}, "requires speculative decoding to be enabled"),
        (
            ("--speculative-config", MTP, *PER_REQUEST),
            {"version": "0.28.0"},
            "unrecognized arguments",
        ),
    ],
)
def test_starts_that_fail(start, argv, knobs, says):
    process, _, log = start(*argv, **knobs)
    assert process.wait(DEADLINE_S) != 0
    assert says in log.read_text()


def test_the_environment_wins_over_what_was_installed(start):
    faults = json.dumps({"start": "ok", "version": "0.31.0"})
    process, url, _ = start(env={"FAKE_VLLM": faults}, start="fail", version="0.30.0")
    wait_until_up(process, f"{url}/health")
    with open_url(f"{url}/version") as got:
        assert json.load(got) == {"version": "0.31.0"}


def test_never_healthy_answers_but_is_not_well(start):
    process, url, _ = start(start="never_healthy")
    wait_until_up(process, f"{url}/version")
    with pytest.raises(URLError, match="503"):
        open_url(f"{url}/health")


def test_knobs_of_one_arm_win_over_common_ones():
    layers = ({"seed": 1, "on": {"crash_after": 4}}, {"seed": 2, "off": {"seed": 3}})
    on, off = knobs_for(("on",), *layers), knobs_for(("off",), *layers)
    assert (on.seed, on.crash_after) == (2, 4)
    assert (off.seed, off.crash_after) == (3, None)


def test_a_misspelt_knob_is_refused(tmp_path):
    with pytest.raises(msgspec.ValidationError, match="crash_afer"):
        install_fake_vllm(tmp_path, on={"crash_afer": 3})


@pytest.mark.parametrize(
    ("argv", "arms"),
    [
        ((), ("off",)),
        (("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 3}'), ("on",)),
        (
            (
                "--speculative-config",
                '{"method": "mtp", "num_speculative_tokens": 3, '
                '"num_speculative_tokens_per_batch_size": [[1, 8, 3], [9, 99, 0]]}',
            ),
            ("on", "adaptive"),
        ),
        (
            (
                *("--speculative-config", '{"method": "dspark", "num_speculative_tokens": 7}'),
                *("--additional-config", '{"dynamic_spec_config": {"method": "dspark"}}'),
            ),
            ("on", "adaptive"),
        ),
    ],
)
def test_an_adaptive_arm_has_knobs_of_its_own(argv, arms):
    settings, _ = vllm_server._parse(["--model", "m", *argv])
    assert settings.arms == arms
    knobs = knobs_for(arms, {"step_s": 1.0, "adaptive": {"step_s": 3.0}, "on": {"step_s": 2.0}})
    assert knobs.step_s == {"off": 1.0, "on": 2.0, "adaptive": 3.0}[arms[-1]]
