"""How a server run ended, from the last lines of its log."""

import re

import msgspec

from specfloor.engines.logs import root_cause
from specfloor.triage.evidence import Failure
from specfloor.triage.log_lines import plain

_DIED = re.compile(
    r"(?:died|exited) unexpectedly|EngineDeadError|EngineCore encountered|encountered a fatal error"
    r"|Engine core initialization failed|EngineCore failed|hit an exception|Fatal Python error"
    r"|Segmentation fault|core dumped|\bSIG(?:SEGV|ABRT|BUS|KILL)\b|^terminate called"
    r"|\((?:EngineCore|Worker|VllmWorker)[^()]*\) (?:ERROR|CRITICAL)\b"
    r"|RPC call to \w+ timed out"
)
_HUNG = re.compile(r"No available shared memory broadcast block found")
_HUNG_LEAST = 2
"""vLLM says it once for a slow step, and every minute for one that never ends."""
_STOPPING = re.compile(
    r"Shutting down|[Rr]eceived (?:signal|SIG)|\bSIG(?:TERM|INT)\b|KeyboardInterrupt"
    r"|Waiting for application shutdown|Application shutdown"
)
_WORK = ("prompt throughput", "SpecDecoding metrics", "Speculative metrics")
_BEGIN = "LLM engine (v"


class _Message(msgspec.Struct):
    """Where loggers that write JSON put the line."""

    log: str | None = None
    message: str | None = None
    msg: str | None = None


def failure_in(tail: bytes, engines: int) -> Failure | None:
    """Return how the run whose log ends with ``tail`` failed; None when nothing says it did.

    A failure that ``engines`` or more throughput lines follow was got over: after a death each
    engine may report once more. What happens after the server was told to stop is no failure.
    """
    lines = [message(line) for line in tail.decode(errors="replace").splitlines()]
    begin = max((i for i, line in enumerate(lines) if _BEGIN in line), default=-1)
    lines = lines[begin + 1 :]
    worked = [i for i, line in enumerate(lines) if _WORK[0] in line]
    spare = max(1, engines)
    since = worked[-spare - 1] + 1 if len(worked) > spare else 0
    recent = lines[since:]
    died = next((i for i, line in enumerate(recent) if _DIED.search(line)), None)
    hung = [line for line in recent if _HUNG.search(line)]
    if died is not None and not any(_STOPPING.search(line) for line in recent[:died]):
        return Failure(hung=False, cause=root_cause(recent[died:]) or recent[died].strip())
    last = max((i for i, line in enumerate(recent) if any(w in line for w in _WORK)), default=-1)
    after = [line for line in recent[last + 1 :] if _HUNG.search(line)]
    if died is None and len(after) >= _HUNG_LEAST:
        return Failure(hung=True, cause=hung[-1].strip())
    return None


def message(line: str) -> str:
    """Return a line without colours, and out of the JSON a logger put it in."""
    if line.startswith("{"):
        try:
            found = msgspec.json.decode(line, type=_Message)
        except msgspec.MsgspecError:
            return plain(line)
        line = (found.log or found.message or found.msg or line).rstrip("\n")
    return plain(line)
