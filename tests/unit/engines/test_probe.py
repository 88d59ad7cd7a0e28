"""What a running server says of itself, and what it says when it is unwell."""

import contextlib
import http.server
import json
import socket
import threading

import pytest

from specfloor.engines.probe import (
    metric_labels,
    rendered_prompts,
    server_info,
    server_version,
    speculation_series,
)

METRICS = """\
# HELP vllm:spec_decode_num_drafts_total Drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0"} 4.0
# HELP vllm:spec_decode_num_draft_tokens_total Draft tokens.
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{engine="0"} 12.0
# HELP vllm:num_requests_running Requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} 0.0
"""


@pytest.fixture
def serve():
    """Serve bodies by path; a status alone stands for an error, None for a broken answer."""
    with contextlib.ExitStack() as running:

        def serve(pages):
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.answer(pages.get(self.path, 404))

                def do_POST(self):
                    # a rendering is known by the template arguments it is asked for
                    body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                    self.answer(pages.get(json.dumps(body["chat_template_kwargs"]), 404))

                def answer(self, page):
                    if page is None:
                        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf")
                        return
                    status, body = (page, "gone") if isinstance(page, int) else (200, page)
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body.encode())))
                    self.end_headers()
                    self.wfile.write(body.encode())

                def log_message(self, *_):
                    pass

            server = running.enter_context(http.server.HTTPServer(("127.0.0.1", 0), Handler))
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            running.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        yield serve


def test_the_version(serve):
    assert server_version(serve({"/version": '{"version": "0.32.0+cpu"}'})) == "0.32.0+cpu"


@pytest.mark.parametrize("page", [404, 500, None, "", "<html>", "[]", "{}", '{"version": 32}'])
def test_no_version(serve, page):
    assert server_version(serve({"/version": page})) is None


def test_the_series_about_drafts(serve):
    assert speculation_series(serve({"/metrics": METRICS})) == (
        "vllm:spec_decode_num_draft_tokens",
        "vllm:spec_decode_num_drafts",
    )


def test_metrics_without_any_are_not_the_same_as_no_metrics(serve):
    lines = [line for line in METRICS.splitlines(keepends=True) if "spec_decode" not in line]
    assert speculation_series(serve({"/metrics": "".join(lines)})) == ()


@pytest.mark.parametrize("page", [404, 500, None, "", "<html>502 Bad Gateway</html>", "# nothing"])
def test_no_metrics(serve, page):
    assert speculation_series(serve({"/metrics": page})) is None


def test_a_server_that_is_gone():
    # bound, so that nobody else takes it, and not listened to
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert server_version(url) is None
        assert speculation_series(url) is None


INFO = """\
# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="128",enable_prefix_caching="False",engine="0"} 1.0
"""


def test_labels_of_an_information_metric(serve):
    url = serve({"/metrics": INFO})
    assert metric_labels(url, "vllm:cache_config_info")["enable_prefix_caching"] == "False"
    assert metric_labels(url, "vllm:other_info") == {}
    assert metric_labels(serve({"/metrics": "vllm:x{ 1"}), "vllm:x") == {}


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('{"vllm_config": "model=\'m\'"}', "model='m'"),
        ('{"vllm_config": {}}', None),
        ("[]", None),
        ("gone", None),
        (404, None),
    ],
)
def test_the_configuration_of_a_server_in_developer_mode(serve, page, found):
    assert server_info(serve({"/server_info": page})) == found


def test_prompts_are_rendered_by_tier(serve):
    url = serve(
        {
            '{"enable_thinking": false}': '{"tokens": [1, 2, 3]}',
            '{"enable_thinking": true}': '{"tokens": [1, 2, 4]}',
        }
    )
    tiers = {"off": {"enable_thinking": False}, "on": {"enable_thinking": True}, "other": {"x": 1}}
    found = rendered_prompts(url, "m", tiers)
    assert found.keys() == {"off", "on"}
    assert found["off"] != found["on"]


@pytest.mark.parametrize("page", ["no json", "[]", '{"tokens": "1"}', '{"tokens": []}', 500, None])
def test_what_renders_nothing_is_left_out(serve, page):
    assert rendered_prompts(serve({"{}": page}), "m", {"none": {}}) == {}
