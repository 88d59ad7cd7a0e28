"""Engines behind URLs, against the fake server."""

import asyncio
import threading

import pytest

from specfloor.cells import OFF
from specfloor.engines.routes import UrlRoute
from specfloor.engines.url import UrlEngines
from specfloor.measure import Fault, NoEngine
from specfloor.plan import Overrides
from specfloor.triage.findings import Finding
from tests.fakes.vllm_server import serving
from tests.unit.builders import CELL, key

ON = CELL.arm


@pytest.fixture
def server():
    """Serve the fake in a thread; yield its URL."""
    started, leave = threading.Event(), threading.Event()
    urls = []

    async def main():
        async with serving() as url:
            urls.append(url)
            started.set()
            await asyncio.to_thread(leave.wait)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    started.wait(10)
    yield urls[0]
    leave.set()
    thread.join()


def start(route, arm=ON, overrides=Overrides()):  # noqa: B008
    return UrlEngines(lambda _: route).start(key(arm), None, overrides)


def test_a_server_that_is_there(server):
    with start(UrlRoute(on=f"{server}/v1/")) as running:
        assert running.endpoint.base_url == server
        assert running.endpoint.model == "fake"
        assert running.endpoint.metrics_urls == (f"{server}/metrics",)
        record = running.describe(key(ON), "engines/x.log", 1.0)
        assert record.version == "0.32.0"
        assert "vllm:spec_decode_num_drafts" in record.speculation_series
        assert (record.argv, record.log) == ((), "")
        assert running.diagnose(0.1) is None


def test_metrics_of_each_engine(server):
    places = (f"{server}/metrics", "http://127.0.0.1:9/metrics")
    with start(UrlRoute(on=server, metrics_on=places, model="mine")) as running:
        assert running.endpoint.metrics_urls == places
        assert running.endpoint.model == "mine"
        assert running.describe(key(ON), "x", 0.0).speculation_series


def test_an_arm_without_a_server_is_left_out(server):
    engines = UrlEngines(lambda _: UrlRoute(on=server))
    engines.prepare(key(ON))
    with pytest.raises(NoEngine, match="no server was named for the off arm; add off=URL"):
        engines.prepare(key(OFF))


def test_other_settings_cannot_be_given(server):
    changed = Overrides(speculative={"x": 1})
    with pytest.raises(NoEngine, match="other settings"), start(UrlRoute(on=server), ON, changed):
        pass


def test_one_that_does_not_answer(server):
    nowhere = UrlRoute(on="http://127.0.0.1:9")
    with pytest.raises(Fault, match="lists no model") as raised, start(nowhere):
        pass
    assert raised.value.finding is Finding.START_FAIL


def test_one_that_has_gone():
    with start(UrlRoute(on="http://127.0.0.1:9", model="m")) as running:
        fault = running.diagnose(0.0)
    assert fault.finding is Finding.CRASH
