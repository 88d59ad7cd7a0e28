import http.server
import itertools
import threading
from types import SimpleNamespace

import pytest

from specfloor.errors import UsageError
from specfloor.signals.counters import Problem
from specfloor.watch.endpoint import Load, Rename, fetch, metrics_url, read_sample
from tests.unit.triage.builders import case_text
from tests.unit.watch.builders import engine, metrics


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://host:8000", "http://host:8000/metrics"),
        ("http://host:8000/", "http://host:8000/metrics"),
        ("host:8000", "http://host:8000/metrics"),
        ("https://gateway/models/a/metrics", "https://gateway/models/a/metrics"),
        ("http://host:8000/v1", "http://host:8000/metrics"),
        ("http://gateway/a?pod=3", "http://gateway/a/metrics?pod=3"),
        ("http://[::1]:8000", "http://[::1]:8000/metrics"),
    ],
)
def test_a_server_is_named_in_any_usual_way(text, url):
    assert metrics_url(text) == url


@pytest.mark.parametrize("text", ["ftp://host", "http://", "http://host:port", "a b", "file:///x"])
def test_what_is_no_address_is_said(text):
    with pytest.raises(UsageError, match="write http://HOST:PORT"):
        metrics_url(text)


@pytest.mark.parametrize("text", ["gateway", "=vllm:"])
def test_a_rename_has_two_sides(text):
    with pytest.raises(UsageError, match="is not OLD=NEW"):
        Rename.parse(text)


def test_counters_and_load_are_read_by_engine():
    sample = read_sample(metrics(engine(10, (8, 5)), engine(4, (1, 0), generated=9)))
    assert [one.accepted for one in sample.scrape.engines] == [13, 1]
    assert sample.loads["GLM-5.2", (("engine", "0"),)] == Load(4, 1, 23)
    assert sample.loads["GLM-5.2", (("engine", "1"),)] == Load(4, 1, 9)


@pytest.mark.parametrize(
    ("prefix", "renames"),
    [("vllm_", ()), ("gw_vllm_", ("gw_vllm_=vllm:",)), ("llm.", ("llm.=vllm:",))],
)
def test_names_of_gateways(prefix, renames):
    text = metrics(engine(10, (8, 5)), prefix=prefix)
    sample = read_sample(text, [Rename.parse(one) for one in renames])
    assert sample.scrape.engines[0].drafted == 20
    assert sample.loads["GLM-5.2", (("engine", "0"),)].running == 4


def test_a_name_that_is_not_renamed_is_no_series():
    sample = read_sample(metrics(engine(10, (8, 5)), prefix="gw_vllm_"))
    assert sample.scrape.problem is Problem.NO_SPECULATION
    assert sample.scrape.sentence.startswith("gives no acceptance: ")


def test_v0_says_a_rate_since_its_start():
    text = "vllm:spec_decode_draft_acceptance_rate 0.71\nvllm:spec_decode_efficiency 0.6\n"
    sample = read_sample(text)
    assert (sample.v0, sample.gauge) == (True, 0.71)


def test_another_program_is_named():
    text = case_text("metrics", "foreign-sglang-metrics", "after.prom")
    assert "SGLang" in read_sample(text).scrape.sentence


@pytest.fixture
def serve():
    """Start a server that gives an answer; return its address."""
    servers = []

    def start(status, body, **headers):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/metrics"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_over_http(serve, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    url = serve(200, metrics(engine(10, (8, 5))).encode())
    assert fetch(url, 5).scrape.engines[0].accepted == 13


def test_half_an_answer_is_no_answer(serve, monkeypatch):
    body = metrics(engine(10, (8, 5))).encode()
    for count, problem in ((0, None), (7, "the answer broke off 7 bytes before its end")):
        scrape = fetch(serve(200, body, Content_Length=str(len(body) + count)), 5).scrape
        assert scrape.sentence == (f"gives no metrics ({problem})" if problem else "")
    times = itertools.count(0, 100)
    monkeypatch.setattr("specfloor.watch.endpoint.time", SimpleNamespace(monotonic=times.__next__))
    assert "the answer came too slowly" in fetch(serve(200, body), 5).scrape.sentence
    monkeypatch.undo()
    monkeypatch.setattr("specfloor.watch.endpoint._MOST_BYTES", len(body) - 1)
    assert "an answer of over" in fetch(serve(200, body), 5).scrape.sentence


def test_what_a_server_sends_does_not_get_to_the_terminal_as_it_is(serve):
    scrape = fetch(serve(302, b"", Location="/metrics"), 5).scrape
    assert "redirect" in scrape.sentence
    assert scrape.sentence.isprintable()


def test_what_gives_no_metrics_is_said_and_no_error(serve):
    for status, body, part in ((503, b"", "503"), (200, b"\xff<html>", "no metrics text")):
        sample = fetch(serve(status, body), 5)
        assert sample.scrape.problem is not None
        assert part in sample.scrape.sentence
    gone = fetch("http://127.0.0.1:9/metrics", 5).scrape
    assert (gone.problem, gone.sentence) == (
        Problem.NO_ANSWER,
        "gives no metrics (Connection refused)",
    )
