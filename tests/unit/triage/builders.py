"""Files as servers and tools write them, and triage of files given as text."""

import json
from pathlib import Path

import msgspec

from specfloor.triage.files import triage
from specfloor.triage.given import Given

CASES = Path(__file__).parents[2] / "cases"


def case_text(kind, case, name):
    """Return a file of a case."""
    return (CASES / kind / case / name).read_text(encoding="utf-8")


def triaged(folder, files, *, roles=None, config=None, baseline=None, release=None, family=None):
    """Write files (name to text or bytes), triage them, and return the JSON as plain values."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    given = msgspec.convert(
        {
            "files": [{"path": name, "role": (roles or {}).get(name, "")} for name in files],
            "config": config or {},
            "baseline": baseline,
        },
        Given,
    )
    report = triage(given, folder, release, family)
    return json.loads(msgspec.json.encode(report)) | {"exit_code": report.exit_code}


def codes(report):
    """Return the codes of the warnings."""
    return {warned["code"] for warned in report["warnings"]}


def verdict(report):
    """Return the class of the verdict."""
    return report["verdict"]["class"]


def at(second):
    """Return a log's time so many seconds after midnight."""
    return f"08-09 {second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def throughput(second, *, engine="000", speed=52.5, running=4, tag="(APIServer pid=27) "):
    """Return the line an engine prints about its throughput; engine None is V0's wording."""
    name = f"Engine {engine}: " if engine is not None else ""
    return (
        f"{tag}INFO {at(second)} [loggers.py:271] {name}Avg prompt throughput: 89.2 tokens/s, "
        f"Avg generation throughput: {speed:.1f} tokens/s, Running: {running} reqs, "
        "Waiting: 0 reqs, GPU KV cache usage: 11.4%, Prefix cache hit rate: 37.2%\n"
    )


def window(second, counts, drafts=200, *, tag="(APIServer pid=27) ", drafted=None, k=None):
    """Return an acceptance line of the final wording; ``counts`` are accepted by position."""
    accepted = sum(counts)
    drafted = drafts * (k or len(counts)) if drafted is None else drafted
    rates = ", ".join(f"{count / drafts:.3f}" for count in counts)
    return (
        f"{tag}INFO {at(second)} [metrics.py:101] SpecDecoding metrics: Mean acceptance length: "
        f"{1 + accepted / drafts:.2f}, Accepted throughput: {accepted / 10:.2f} tokens/s, "
        f"Drafted throughput: {drafted / 10:.2f} tokens/s, Accepted: {accepted} tokens, "
        f"Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, "
        f"Avg Draft acceptance rate: {100 * accepted / drafted:.1f}%\n"
    )


HEALTHY = (174, 140, 104)  # of 200 drafts: 69.7 % accepted
DEAD = (0, 0, 0)


def log(rounds, *, engines=("000",), counts=None, start=0, tag="(APIServer pid=27) "):
    """Return a log of so many reports; ``counts(round, engine)`` are accepted by position."""
    text = ""
    for number in range(rounds):
        for engine in engines:
            text += throughput(start + 10 * number, engine=engine, tag=tag)
            shown = counts(number, engine) if counts else HEALTHY
            if shown is not None:
                text += window(start + 10 * number, shown, tag=tag)
    return text


def started(version="0.23.0", *, second=0, k=3, pid=27):
    """Return the lines of a server's start."""
    return (
        f"(APIServer pid={pid}) INFO {at(second)} [utils.py:299] non-default args: {{'model': "
        f"'GLM-5.2', 'speculative_config': {{'method': 'mtp', 'num_speculative_tokens': {k}}}}}\n"
        f"(EngineCore pid={pid + 1}) INFO {at(second)} [core.py:93] Initializing a V1 LLM engine "
        f"(v{version}) with config: model='GLM-5.2', speculative_config=SpeculativeConfig("
        f"method='mtp', model='GLM-5.2', num_spec_tokens={k}), tokenizer='GLM-5.2'\n"
    )


BASELINE = {"k": 3, "acceptance_rate": 0.69, "acceptance_length": 3.06, "tolerance_points": 5}
