"""One endpoint: its address, and what one reading of its ``/metrics`` says."""

import http.client
import math
import re
import time
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Sequence
from http import HTTPStatus

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from specfloor.errors import UsageError
from specfloor.signals.counters import Problem, Scrape
from specfloor.triage.metrics import read_metrics_text

EngineKey = tuple[str | None, tuple[tuple[str, str], ...]]
"""The model and the other labels of an engine's series, as ``EngineCounters`` has them."""

_LOAD = re.compile(
    r"^vllm[:_](?:num_requests_(?:running|waiting)|generation_tokens(?:_total)?)[ {].*$",
    re.MULTILINE,
)
_LOAD_NAME = re.compile(r"vllm[:_](?:num_requests_)?(running|waiting|generation_tokens)(?:_total)?")
_MOST_BYTES = 1 << 26
_BLOCK = 1 << 16
_LONGEST_REASON = 200
# as for a server of this host: an address inside a cluster is not behind the environment's proxy
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


class Load(msgspec.Struct, frozen=True):
    """What an engine is busy with: requests, and tokens generated since it started."""

    running: int | None = None
    waiting: int | None = None
    generated: int | None = None


class Sample(msgspec.Struct, frozen=True):
    """One reading of an endpoint.

    ``gauge`` is V0's acceptance rate since its start, a fraction; ``v0`` is set for an engine of
    that generation, which has nothing better.
    """

    scrape: Scrape
    loads: dict[EngineKey, Load] = {}
    gauge: float | None = None
    v0: bool = False


class Rename(msgspec.Struct, frozen=True):
    """Metric names that begin with ``old`` are read as if they began with ``new``."""

    old: str
    new: str

    @classmethod
    def parse(cls, text: str) -> "Rename":
        """Read OLD=NEW; raises UsageError."""
        old, sign, new = text.partition("=")
        if not old or not sign:
            raise UsageError(f"--rename {text} is not OLD=NEW; write --rename gateway_vllm_=vllm:")
        return cls(old, new)

    def applied(self, text: str) -> str:
        """Return a metrics text with the names renamed."""
        return re.sub(rf"^{re.escape(self.old)}", lambda _: self.new, text, flags=re.MULTILINE)


def metrics_url(text: str) -> str:
    """Return the address of the metrics of a server that is spelled in any usual way.

    Raises:
        UsageError: it is no http address.
    """
    whole = text if "://" in text else f"http://{text}"
    try:
        parts = urllib.parse.urlsplit(whole)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        usable = False
    if not usable or any(sign <= " " for sign in whole):
        raise UsageError(f"{text} is no address of a server; write http://HOST:PORT")
    path = parts.path.rstrip("/")
    if not path.endswith("/metrics"):
        path = f"{path.removesuffix('/v1')}/metrics"
    return urllib.parse.urlunsplit(parts._replace(path=path, fragment=""))


def fetch(url: str, timeout_s: float, renames: Sequence[Rename] = ()) -> Sample:
    """Read an endpoint once; one that does not answer is a problem of the scrape, not an error.

    ``timeout_s`` is for each wait, and for the whole answer: one that trickles in is none.
    """
    until = time.monotonic() + timeout_s
    try:
        with _open(url, timeout=timeout_s) as response:
            if response.status == HTTPStatus.OK:
                return read_sample(_body(response, until).decode(errors="replace"), renames)
            reason = f"HTTP {response.status}"
    except (OSError, http.client.HTTPException) as error:
        cause = getattr(error, "reason", error)
        reason = getattr(cause, "strerror", None) or str(error) or type(error).__name__
    # it may quote what the server sent
    reason = "".join(sign if sign.isprintable() else " " for sign in reason)
    reason = " ".join(reason.split())[:_LONGEST_REASON]
    return Sample(Scrape(problem=Problem.NO_ANSWER, sentence=f"gives no metrics ({reason})"))


def _body(response: http.client.HTTPResponse, until: float) -> bytes:
    """Return the whole body; OSError when it is cut, too late or too long, for half is no body."""
    parts, size = [], 0
    while block := response.read1(_BLOCK):
        parts.append(block)
        size += len(block)
        if size > _MOST_BYTES:
            raise OSError(f"an answer of over {_MOST_BYTES >> 20} MB")
        if time.monotonic() > until:
            raise TimeoutError("the answer came too slowly")
    if response.length:
        raise OSError(f"the answer broke off {response.length} bytes before its end")
    return b"".join(parts)


def read_sample(text: str, renames: Sequence[Rename] = ()) -> Sample:
    """Read a ``/metrics`` text of any vLLM, after ``renames``."""
    for rename in renames:
        text = rename.applied(text)
    found = read_metrics_text(text)
    scrape = found.scrape
    if found.gauges is not None:
        return Sample(scrape, gauge=found.gauges.draft_acceptance_rate, v0=True)
    if scrape.problem:
        sentence = f"gives no acceptance: {scrape.sentence}"
        return Sample(msgspec.structs.replace(scrape, sentence=sentence))
    return Sample(scrape, _loads(text))


def _loads(text: str) -> dict[EngineKey, Load]:
    values: dict[EngineKey, dict[str, int]] = defaultdict(dict)
    try:
        families = list(text_string_to_metric_families("\n".join(_LOAD.findall(text)) + "\n"))
    except ValueError:
        return {}
    for sample in (sample for family in families for sample in family.samples):
        name = _LOAD_NAME.fullmatch(sample.name)
        if name and math.isfinite(sample.value):
            labels = dict(sample.labels)
            model = labels.pop("model_name", None)
            field = "generated" if name[1] == "generation_tokens" else name[1]
            values[model, tuple(sorted(labels.items()))][field] = round(sample.value)
    return {key: Load(**counts) for key, counts in values.items()}
