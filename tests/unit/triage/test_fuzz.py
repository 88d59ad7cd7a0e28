"""Damaged input: never a traceback, and never a pass where there was a fault."""

import json
import random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specfloor.errors import UsageError
from specfloor.triage.files import triage
from specfloor.triage.findings import Finding
from specfloor.triage.given import Given, GivenFile
from specfloor.triage.report import as_markdown, as_text
from tests.unit.triage.builders import CASES

_ROUNDS = 6  # mutations of every case; longer campaigns use other seeds
_MOVED = 0.08
"""How far damage may move the rate of a pass: what a duplicated or missing window does."""


def _load(path):
    case = json.loads(path.read_text(encoding="utf-8"))
    files = {f["path"]: (path.parent / f["path"]).read_bytes() for f in case["given"]["files"]}
    return case, files


_CASES = [_load(path) for path in sorted(CASES.glob("*/*/expected.json"))]


def mutated(content, rng):
    """Return content with one to a few bytes, lines or stretches damaged."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if not found:
            break
        at = rng.randrange(len(found))
        match rng.randrange(8):
            case 0:
                found[at] = rng.randrange(256)
            case 1:
                found[at] ^= 1 << rng.randrange(8)
            case 2:
                del found[at : at + rng.choice((1, 3, 20, 300, 3000))]
            case 3:
                found[at:at] = rng.randbytes(rng.choice((1, 4, 30)))
            case 4:
                del found[at:]
            case 5:
                other = rng.randrange(len(found))
                found[at:at] = found[other : other + rng.choice((5, 50, 500))]
            case 6:
                digits = [
                    i for i in range(at, min(len(found), at + 200)) if chr(found[i]).isdigit()
                ]
                if digits:
                    found[rng.choice(digits)] = rng.choice(b"0123456789")
            case _:
                lines = bytes(found).split(b"\n")
                one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[one], lines[two] = lines[two], lines[one]
                found = bytearray(b"\n".join(lines))
    return bytes(found)


def check(folder, given, files):
    """Triage files; anything but a report or a sentence for the user fails."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        report = triage(given, folder)
    except UsageError:
        return None
    json.loads(msgspec.json.encode(report))
    assert as_text(report)
    assert as_markdown(report)
    return report


def passes(report):
    """Whether the verdict is a pass."""
    return report is not None and report.verdict.finding == Finding.EXPECTED


def rate_of(report):
    """Return the rate over everything that was read; None without one."""
    return (report.extract.get("totals") or {}).get("acceptance_rate")


@pytest.mark.parametrize("number", range(len(_CASES)), ids=lambda n: _CASES[n][0]["case"])
def test_a_damaged_case_is_no_traceback_and_no_pass(number, tmp_path):
    """Only what passes undamaged may pass, and with the figures it had."""
    case, files = _CASES[number]
    given_files = msgspec.convert(case["given"], Given)
    whole = check(tmp_path, given_files, files)
    rng = random.Random(number)
    for _ in range(_ROUNDS):
        name = rng.choice(sorted(files))
        found = check(tmp_path, given_files, files | {name: mutated(files[name], rng)})
        if not passes(found):
            continue
        assert passes(whole)
        if rate_of(whole) is not None:
            assert rate_of(found) == pytest.approx(rate_of(whole), abs=_MOVED)


_LINES = {line for _, files in _CASES for text in files.values() for line in text.split(b"\n")[:3]}
_WORDS = st.sampled_from(
    [
        *sorted(_LINES),
        b"SpecDecoding metrics: Mean acceptance length: ",
        b"Speculative metrics: Draft acceptance rate: ",
        b"Engine 000: Avg prompt throughput: ",
        b"============ Serving Benchmark Result ============",
        b"data: {",
        b"{",
        b"\x00",
        b"\xff\xfe",
        b"\x1f\x8b",
    ]
)


_STARTS = [
    "",
    "PyTorch version: 2\n",
    "npu-smi x Version: 1\n",
    "==== Serving Benchmark Result ====\n",
    "Performance Parameters\n",
    "Time taken for tests\n",
    "data: {}\n",
    "# TYPE a b\n",
    "#!/bin/sh\n",
    "torch==2\n",
    '{"log": "',
    "SpecDecoding metrics: Mean acceptance length: 3",
]
_REPEATED = [
    *' a=-{("1|[\\\n\t',
    *("a.", "npu-smi ", "dcmi ", "x=", "export A=", "\x1b[", ", 0.111", "LLM engine (v", "data:"),
    *("--speculative-config ", "(a pid=", "non-default args", "EngineDeadError \n", "torch=="),
]


@pytest.mark.parametrize("start", _STARTS)
@pytest.mark.parametrize("repeated", _REPEATED)
def test_what_repeats_without_end_is_read_in_linear_work(start, repeated, tmp_path):
    """No time is checked: a pattern that goes back over such a line would take minutes."""
    content = start + repeated * (60_000 // len(repeated)) + "\n"
    given_file = Given((GivenFile("file"),))
    assert not passes(check(tmp_path, given_file, {"file": content.encode()}))


@given(
    st.lists(st.one_of(_WORDS, st.binary(max_size=60)), max_size=12).map(b"\n".join),
    st.sampled_from(["", "log", "before", "off", "on", "env", "npu_smi", "bench", "stream"]),
)
@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_anything_at_all_is_no_traceback(tmp_path, content, role):
    given_file = Given((GivenFile("file", role),))
    assert not passes(check(tmp_path, given_file, {"file": content}))
