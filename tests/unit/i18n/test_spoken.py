"""Sentences on record, said in another language."""

import ast
import re

import pytest

from specfloor.i18n import speaking
from specfloor.runs.records import FindingRecord
from specfloor.runs.spoken import RECORDED, spoken
from specfloor.triage.findings import Finding
from tests.messages import PACKAGE


def literals():
    """Return the text of every string of the package, values as ``{}``."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if path.name == "spoken.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
                found.add("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(re.sub(r"\{\w+\}", "{}", node.value))
    return "\n".join(found)


def test_every_sentence_is_one_that_is_written_somewhere():
    written = literals()
    missing = [
        message
        for message in RECORDED
        if any(part not in written for part in re.sub(r"\{\w+\}", "{}", message).split("; {} "))
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        (
            "the engine ended while it served (killed by SIGKILL)",
            "引擎在服务期间结束（被 SIGKILL 杀死）",
        ),
        (
            "0.23.0 does not read VLLM_A, which is set (last read by 0.18.0); B stands for it",
            "0.23.0 不读取已设置的 VLLM_A（最后读取的版本为 0.18.0）；已由 B 取代",
        ),
        ("HTTP 400 instead of an answer: not so", "收到 HTTP 400 而不是回答：not so"),
        ("what a server says", "what a server says"),
    ],
)
def test_a_recorded_sentence_is_said_in_chinese(recorded, said):
    assert spoken(recorded) == recorded
    with speaking("zh"):
        assert spoken(recorded) == said


def test_a_fault_quotes_its_log():
    fault = FindingRecord(
        "l", Finding.CRASH, "the engine ended while it served (exit code 1)", cause="Error: oops"
    )
    assert fault.sentence.endswith("(exit code 1). The log says: Error: oops")
    with speaking("zh"):
        assert fault.sentence == "引擎在服务期间结束（退出码 1）。日志显示：Error: oops"
