"""Counters from several places: engines side by side, gateways that rename, Prometheus."""

import asyncio
import contextlib
import json
import time

import aiohttp
import pytest
from aiohttp import web

from specfloor.load import metrics
from specfloor.load.client import Endpoint, run_block
from specfloor.load.metrics import merge, read_scrape
from specfloor.signals.counters import Problem, difference, read_counters
from tests.fakes.gateway import gateway
from tests.fakes.vllm_server import serving
from tests.unit.load.test_client import block

NO_SPECULATION = 'vllm:num_requests_running{engine="0"} 1\n'


def text(steps, drafted, accepted, *, prefix="vllm:", engine="0"):
    labels = f'{{engine="{engine}",model_name="m"}}'
    values = {"drafts": steps, "draft_tokens": drafted, "accepted_tokens": accepted}
    return "".join(
        f"{prefix}spec_decode_num_{name}_total{labels} {value}\n" for name, value in values.items()
    )


@contextlib.asynccontextmanager
async def served(app):
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class Prometheus:
    """A Prometheus server: scrapes whenever it is asked ``every`` times."""

    def __init__(self, *, every=1, answer=None):
        self.asked = []
        self._every = every
        self._answer = answer

    def app(self):
        app = web.Application()
        app.router.add_get("/api/v1/query", self._query)
        return app

    async def _query(self, request):
        self.asked.append(request.query["query"])
        if self._answer is not None:
            return web.Response(text=self._answer)
        age = 0 if len(self.asked) % self._every == 0 else 60
        values = [[time.time() - age - 15, "0"], [time.time() - age, str(10 * len(self.asked))]]
        series = [
            {
                "metric": {
                    "__name__": f"vllm:spec_decode_num_{name}_total",
                    "engine": "0",
                    "instance": 'a"b',
                },
                "values": values,
            }
            for name in ("drafts", "draft_tokens", "accepted_tokens")
        ]
        return web.json_response({"status": "success", "data": {"result": series}})


def read(*urls, since=0.0):
    async def main():
        async with aiohttp.ClientSession() as session:
            return await read_scrape(session, urls, since=since)

    return asyncio.run(main())


def read_from(app, path, *, since=0.0):
    async def main():
        async with served(app) as url, aiohttp.ClientSession() as session:
            return await read_scrape(session, [f"{url}{path}"], since=since)

    return asyncio.run(main())


class TestSeveralEngines:
    def test_places_are_told_apart(self):
        found = [
            merge(
                {
                    "http://a:1/metrics": read_counters(text(n, 3 * n, n)),
                    "http://b:1/metrics": read_counters(text(10 * n, 30 * n, 10 * n)),
                }
            )
            for n in (0, 2)
        ]
        gained = difference(*found).by_engine("m")
        assert {name: counts.steps for name, counts in gained.items()} == {
            "endpoint=a:1": 2,
            "endpoint=b:1": 20,
        }

    def test_places_behind_one_gateway_are_told_apart_by_their_paths(self):
        found = [
            merge(
                {
                    "http://gateway/a/metrics": read_counters(text(n, 3 * n, n)),
                    "http://gateway/b/metrics": read_counters(text(10 * n, 30 * n, 10 * n)),
                }
            )
            for n in (0, 2)
        ]
        gained = difference(*found).by_engine("m")
        assert {name: counts.steps for name, counts in gained.items()} == {
            "endpoint=gateway/a/metrics": 2,
            "endpoint=gateway/b/metrics": 20,
        }

    def test_a_place_without_speculation_is_left_out(self):
        found = merge(
            {
                "http://prefill/metrics": read_counters(NO_SPECULATION),
                "http://decode/metrics": read_counters(text(1, 3, 2)),
            }
        )
        assert [one.accepted for one in found.engines] == [2]

    def test_none_with_speculation(self):
        alone = {"http://a/metrics": read_counters(NO_SPECULATION)}
        assert merge(alone).problem is Problem.NO_SPECULATION

    def test_one_that_is_broken_is_named(self):
        found = merge(
            {
                "http://a/metrics": read_counters(text(1, 3, 2)),
                "http://b/metrics": read_counters("<html>"),
            }
        )
        assert found.problem is Problem.NOT_METRICS
        assert found.engines == ()
        assert "(b/metrics)" in found.sentence


class TestPrometheus:
    def test_its_last_samples_are_counters(self):
        prometheus = Prometheus()
        found = read_from(prometheus.app(), '/api/v1/query?query={job="vllm",x="a,b"}')
        assert [(one.steps, one.accepted) for one in found.engines] == [(10, 10)]
        (query,) = prometheus.asked
        assert query.startswith('{__name__=~".*spec_decode_num_.*')
        assert query.endswith(',job="vllm",x="a,b"}[10m]')

    def test_it_waits_for_a_sample_after_the_requests(self, monkeypatch):
        monkeypatch.setattr(metrics, "_POLL_S", 0.01)
        prometheus = Prometheus(every=3)
        found = read_from(prometheus.app(), "/api/v1/query", since=time.time())
        assert [one.steps for one in found.engines] == [30]
        assert len(prometheus.asked) == 3

    def test_it_does_not_wait_for_ever(self, monkeypatch):
        monkeypatch.setattr(metrics, "_POLL_S", 0.01)
        monkeypatch.setattr(metrics, "_FRESH_S", 0.05)
        found = read_from(Prometheus(every=10**6).app(), "/api/v1/query", since=time.time())
        assert found.problem is Problem.NO_ANSWER
        assert "scrape interval" in found.sentence

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (json.dumps({"status": "error", "error": "bad selector"}), "bad selector"),
            ("<html>", "is not Prometheus's"),
            ("[]", "is not Prometheus's"),
        ],
    )
    def test_what_is_no_answer_of_it(self, answer, said):
        found = read_from(Prometheus(answer=answer).app(), "/api/v1/query")
        assert found.problem is Problem.NO_ANSWER
        assert said in found.sentence

    def test_no_series_is_no_speculation(self):
        empty = json.dumps({"status": "success", "data": {"result": []}})
        found = read_from(Prometheus(answer=empty).app(), "/api/v1/query")
        assert found.problem is Problem.EMPTY


def test_a_place_that_does_not_answer_is_named():
    found = read("http://127.0.0.1:9/metrics")
    assert found.problem is Problem.NO_ANSWER
    assert found.sentence.startswith("127.0.0.1:9/metrics does not answer (")


def test_a_block_through_a_gateway_that_renames():
    async def main():
        records, counters = [], []
        async with serving(acceptance=(0.6,)) as url, served(gateway(url)) as front:
            outcome = await run_block(
                Endpoint(front, "fake"), block(), records.append, counters.append
            )
        return outcome, records, counters

    outcome, records, (counted,) = asyncio.run(main())
    assert outcome.failed == 0
    assert counted.problem is None
    assert counted.by_engine["0"].drafted == sum(
        one.speculation.num_draft_tokens for one in records
    )
